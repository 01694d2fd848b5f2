// What this sync wrote into a record before, property by property, as far as the ledger knows: the base of the three-way rule. It is
// known as hashes only. Promises kept here: a value of ours is never taken for one of others if the ledger can tell, whether it was
// sent under another key of the record, without an answer, or is a form that the service made of it.

import { parseJson, type Json } from '../../core/json.ts'
import type {
  AcceptedRecord,
  AcceptedRecords,
  LedgerIdentity,
  PlannedItem,
  Runs,
} from '../../ledger/ledger.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { runConfigs } from '../run-configs.ts'
import { createFieldHasher, parseBaseline, KEPT_WITHOUT_BASE } from '../verify/baseline-hashes.ts'
import { parseSeen } from '../verify/previous-values.ts'

export interface WrittenBefore {
  /** Baseline hashes of what was written last, as they are stored; a property that was never written has none. */
  readonly marks: ReadonlyMap<string, string>
  /** The run that wrote it; null if none did. */
  readonly run: number | null
  base(field: string): string | null
  alsoOurs(field: string): ReadonlySet<string>
  /** Whether a row of the key was sent without an answer, and the ledger does not have what it sent. */
  readonly isUnclear: boolean
}

interface Asked {
  readonly item: Pick<PlannedItem, 'key' | 'hash'>
  readonly recordId: string
}

type BaseLedger = AcceptedRecords & LedgerIdentity & Runs

/** Reads what was written before for at most 100 rows whose keys have a record each, by key. */
export function writtenBeforeReader(
  deps: ImportDeps<BaseLedger>,
  { run, config, schema }: StagedImport,
): (
  rows: readonly Asked[],
  accepted: ReadonlyMap<string, AcceptedRecord>,
) => Promise<ReadonlyMap<string, WrittenBefore>> {
  const { ledger } = deps
  const configOf = runConfigs(ledger, config)
  const markOf = createFieldHasher(schema)
  const sentInDoubt = doubtReader(ledger, run)
  let restored: Promise<number> | undefined

  const partOf = async ({ marks: text, run: writer, seen, seenRun }: AcceptedRecord) => {
    if (text === null) return null
    const marks = parseBaseline(text, await configOf(writer))
    const read = seen == null || seenRun == null ? null : parseSeen(seen, await configOf(seenRun))
    const forms = [...(read?.forms ?? [])].filter(
      ([field]) => read!.sent.get(field) === marks.get(field),
    )
    return { marks, run: writer, forms: new Map(forms) }
  }

  return async (rows, accepted) => {
    restored ??= ledger.restoredAfter()
    const upTo = await restored
    const isKnown = (one: AcceptedRecord | undefined, recordId: string) =>
      one !== undefined && one.run > upTo && (one.recordId ?? recordId) === recordId
    // What is accepted of the key counts; if nothing is, it may have been written under another key.
    const open = rows.filter(({ item, recordId }) => {
      const own = accepted.get(item.key)
      return !isKnown(own, recordId) || own!.hash === null
    })
    const ids = open.map(({ recordId }) => recordId)
    const others = open.length > 0 ? await ledger.acceptedOfRecords(run, ids) : []
    const doubtful = open.length > 0 ? await sentInDoubt(open) : NO_DOUBTS
    const isOpen = new Set(open)

    const writtenBefore = async (row: Asked): Promise<WrittenBefore> => {
      const { item, recordId } = row
      const of = others.filter((one) => one.recordId === recordId && one.run > upTo)
      const own = accepted.get(item.key)
      const known = isKnown(own, recordId) ? [own!] : []
      const all = isOpen.has(row) ? [...known, ...of] : known
      const counting = all.filter(({ hash }) => hash !== null)
      const sources = counting.length > 0 ? counting : all
      const last = await Promise.all(sources.map(partOf))
      const parts = last.filter((part) => part !== null)
      return joined(parts, doubtful.get(item.key) ?? [], markOf)
    }
    const found = new Map<string, WrittenBefore>()
    for (const row of rows) found.set(row.item.key, await writtenBefore(row))
    return found
  }
}

type Marks = ReadonlyMap<string, string>
type Values = Readonly<Record<string, Json>>

/** What was accepted with the record, and the forms that the service made of it. */
interface Part {
  readonly marks: Marks
  readonly run: number
  readonly forms: Marks
}

const NOTHING: Marks = new Map()
const NO_DOUBTS: ReadonlyMap<string, readonly (Values | null)[]> = new Map()

/** The newest part is the base. */
function joined(
  parts: readonly Part[],
  doubts: readonly (Values | null)[],
  markOf: ReturnType<typeof createFieldHasher>,
): WrittenBefore {
  const [last] = parts.toSorted((one, other) => other.run - one.run)
  return {
    marks: last?.marks ?? NOTHING,
    run: last?.run ?? null,
    base(field) {
      const mark = last?.marks.get(field)
      return mark === undefined || mark === KEPT_WITHOUT_BASE ? null : mark
    },
    alsoOurs(field) {
      const marks = parts.flatMap((one) => [one.marks.get(field), one.forms.get(field)])
      const sent = doubts.flatMap((values) =>
        values !== null && Object.hasOwn(values, field) ? [markOf(field, values[field])] : [],
      )
      return new Set([...marks, ...sent].filter((mark) => mark !== undefined))
    },
    isUnclear: doubts.includes(null),
  }
}

/** Reads what rows of these keys sent without an answer; null of one of which the ledger does not know it. */
function doubtReader(ledger: AcceptedRecords, run: number) {
  let runsInDoubt: Promise<readonly number[]> | undefined
  return async (rows: readonly Asked[]): Promise<typeof NO_DOUBTS> => {
    const found = new Map<string, (Values | null)[]>()
    runsInDoubt ??= ledger.runsInDoubt(run, { ofAnyKey: true })
    const hashes = new Map(rows.map(({ item }) => [item.key, item.hash]))
    for (const earlier of await runsInDoubt)
      for (const { key, hash, sent } of await ledger.sentInDoubt(earlier, [...hashes.keys()])) {
        // What was sent then is what the row has now: that differs from what the record has.
        if (sent === null && hash === hashes.get(key)) continue
        const values = sent === null ? null : (parseJson(sent) as Values)
        found.set(key, [...(found.get(key) ?? []), values])
      }
    return found
  }
}
