// What this sync wrote into a record before, property by property, as far as the ledger knows: the base of the three-way rule. It is
// known as hashes only. Promises kept here: a value of ours is never taken for one of others if the ledger can tell, whether it was
// sent under another key of the record, through another address of the org, by another matching property, without an answer, or is a
// form that the service made of it.

import { protectsValues } from '../../core/domain/protection.ts'
import { parseJson, type Json } from '../../core/json.ts'
import type {
  AcceptedRecord,
  AcceptedRecords,
  LedgerIdentity,
  PlannedItem,
  RowOfRun,
  Runs,
  StepStates,
} from '../../ledger/ledger.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { runConfigs } from '../look/run-configs.ts'
import { createFieldHasher, parseWritten, KEPT_WITHOUT_BASE } from '../look/baseline-hashes.ts'
import type { RuleSet } from '../look/form-rules.ts'
import { learntForms } from '../look/learnt-forms.ts'
import { parseSeen } from '../look/previous-values.ts'

export interface WrittenBefore {
  /**
   * Baseline hashes of what was written last, as they are stored, also of properties that the mapping has no more; a property that
   * was never written has none.
   */
  readonly marks: ReadonlyMap<string, string>
  base(field: string): string | null
  /** The run that wrote the base; null if there is none, or the ledger does not know. */
  since(field: string): number | null
  alsoOurs(field: string): ReadonlySet<string>
  /** What looks like a form of the base, was read back once, and may be an edit by others as well. */
  lookAlikes(field: string): ReadonlySet<string>
  /** Whether a row of the key was sent without an answer, and the ledger does not have what it sent. */
  readonly isUnclear: boolean
  /** What earlier runs sent without an answer while the key had no record, newest first: the record may be the one that they made. */
  readonly maybeMade: readonly WrittenValues[]
}

/** Values that a run has written, or may have. */
interface WrittenValues {
  readonly run: number
  readonly values: Values
}

interface Asked {
  readonly item: Pick<PlannedItem, 'key' | 'hash'>
  readonly recordId: string
}

type BaseLedger = AcceptedRecords & LedgerIdentity & Runs & StepStates

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
  let learnt: ReturnType<typeof learntForms> | undefined

  /** What the rows left as it was that were accepted with the records; null of one whose run does not protect. */
  const readKept = async (all: readonly AcceptedRecord[]) => {
    const asked = await Promise.all(
      all.map(async ({ run, key }) => (protectsValues(await configOf(run)) ? [{ run, key }] : [])),
    )
    const rows = asked.flat()
    const found = rows.length > 0 ? await ledger.keptBefore(rows) : []
    const nameOf = ({ run, key }: RowOfRun) => `${run} ${key}`
    const protecting = new Set(rows.map(nameOf))
    const kept = new Map(found.map((one) => [nameOf(one), writersOf(one.kept)]))
    return (one: RowOfRun) =>
      protecting.has(nameOf(one)) ? (kept.get(nameOf(one)) ?? null) : NONE_KEPT
  }

  const partOf = async (one: AcceptedRecord, kept: Part['kept']): Promise<Part | null> => {
    const { hash, marks: text, run: writer, seen, seenRun } = one
    if (text === null) return null
    const marks = parseWritten(text, await configOf(writer))
    const read = seen == null || seenRun == null ? null : parseSeen(seen, await configOf(seenRun))
    learnt ??= learntForms(ledger, run)
    const forms = formsOf(marks, read, await learnt)
    return { marks, run: writer, isAccepted: hash !== null, ...forms, kept }
  }

  return async (rows, accepted) => {
    restored ??= ledger.restoredAfter()
    const upTo = await restored
    const isKnown = (one: AcceptedRecord | undefined, recordId: string) =>
      one !== undefined && one.run > upTo && (one.recordId ?? recordId) === recordId
    const records = rows.map(({ item: { key }, recordId }) => ({ key, recordId }))
    const ofRecords = rows.length > 0 ? await ledger.acceptedOfRecords(run, records) : []
    /** Whether a row that a run left in doubt may be the last one that was sent: what is sent by another address leaves this one as it was. */
    const isOpenSince = ({ item, recordId }: Asked, run: number) => {
      const own = accepted.get(item.key)
      return !isKnown(own, recordId) || own!.hash === null || own!.run < run
    }
    const doubtful = await sentInDoubt(rows, isOpenSince)
    const keptBy = await readKept([...accepted.values(), ...ofRecords])

    const writtenBefore = async (row: Asked): Promise<WrittenBefore> => {
      const { item, recordId } = row
      const of = ofRecords.filter(
        (one) => isKnown(one, recordId) && (one.recordId !== null || one.key === item.key),
      )
      const own = accepted.get(item.key)
      const known = isKnown(own, recordId) ? [own!] : []
      const all = await Promise.all([...known, ...of].map((one) => partOf(one, keptBy(one))))
      const parts = all.filter((part) => part !== null)
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
  /** Not of one that has been sent again since, or whose record another key has taken over. */
  readonly isAccepted: boolean
  readonly forms: Marks
  /** What was read back once, and no more is known of it. */
  readonly lookAlikes: Marks
  /** Properties that the run left as they were, and which run had written them; null if the ledger does not know any more. */
  readonly kept: Writers | null
}

/** The forms of what was written last. @param learntOf the rules that are known to be the service's */
function formsOf(
  marks: Marks,
  read: ReturnType<typeof parseSeen>,
  learntOf: (field: string) => RuleSet,
): Pick<Part, 'forms' | 'lookAlikes'> {
  const forms = new Map<string, string>()
  const lookAlikes = new Map<string, string>()
  for (const [field, mark] of read?.sent ?? []) {
    if (mark !== marks.get(field)) continue
    const form = read!.forms.get(field)
    const rules = read!.rules.get(field)
    if (form !== undefined) forms.set(field, form)
    if (rules === undefined) continue
    const isLearnt = (learntOf(field) & rules) !== 0
    const found = isLearnt ? forms : lookAlikes
    found.set(field, read!.held.get(field)!)
  }
  return { forms, lookAlikes }
}

type Writers = ReadonlyMap<string, number | null>
const NONE_KEPT: Writers = new Map()

/** What is read here of a value in the list of an image (protection.ts). */
interface KeptOfImage {
  readonly property: string
  readonly since?: number | null
}

/** @param kept the list of an image */
const writersOf = (kept: string | null): Writers =>
  kept === null
    ? NONE_KEPT
    : new Map(
        (JSON.parse(kept) as readonly KeptOfImage[]).map(({ property, since }) => [
          property,
          since ?? null,
        ]),
      )

/** Of each property, the newest part that has it is the base. Rows of one run that have one record were written in any order. */
function joined(
  parts: readonly Part[],
  doubts: readonly Doubt[],
  markOf: ReturnType<typeof createFieldHasher>,
): WrittenBefore {
  const newest = parts.toSorted(
    (one, other) => other.run - one.run || Number(other.isAccepted) - Number(one.isAccepted),
  )
  const marks = new Map<string, string>()
  const writers = new Map<string, Part>()
  for (const part of newest)
    for (const [field, mark] of part.marks) {
      if (writers.has(field)) continue
      marks.set(field, mark)
      if (mark !== KEPT_WITHOUT_BASE) writers.set(field, part)
    }
  const ofWriter = (field: string) => parts.filter(({ run }) => run === writers.get(field)?.run)
  return {
    marks,
    base: (field) => (writers.has(field) ? marks.get(field)! : null),
    since(field) {
      const writer = writers.get(field)
      if (writer === undefined || writer.kept === null) return null
      return writer.kept.has(field) ? writer.kept.get(field)! : writer.run
    },
    alsoOurs(field) {
      const marks = ofWriter(field).flatMap((one) => [one.marks.get(field), one.forms.get(field)])
      const sent = doubts.flatMap(({ values }) =>
        values !== null && Object.hasOwn(values, field) ? [markOf(field, values[field])] : [],
      )
      return new Set([...marks, ...sent].filter((mark) => mark !== undefined))
    },
    lookAlikes: (field) =>
      new Set(ofWriter(field).flatMap(({ lookAlikes }) => lookAlikes.get(field) ?? [])),
    isUnclear: doubts.some(({ values }) => values === null),
    maybeMade: doubts
      .flatMap(({ run, values, isNew }) => (isNew && values !== null ? [{ run, values }] : []))
      .toSorted((one, other) => other.run - one.run),
  }
}

/** What an earlier request has written is newer than all that the ledger knows. */
export function afterWriting(
  before: WrittenBefore,
  written: WrittenValues | undefined,
  markOf: ReturnType<typeof createFieldHasher>,
): WrittenBefore {
  if (written === undefined) return before
  const { run, values } = written
  const ours = new Map(Object.entries(values).map(([name, value]) => [name, markOf(name, value)]))
  return {
    ...before,
    marks: new Map([...before.marks, ...ours]),
    base: (name) => ours.get(name) ?? before.base(name),
    since: (name) => (ours.has(name) ? run : before.since(name)),
    alsoOurs: (name) => (ours.has(name) ? new Set([ours.get(name)!]) : before.alsoOurs(name)),
    lookAlikes: (name) => (ours.has(name) ? new Set() : before.lookAlikes(name)),
  }
}

/** What a run sent of a row without an answer; null: the ledger does not know it. */
interface Doubt {
  readonly run: number
  readonly values: Values | null
  /** Whether the key had no record. */
  readonly isNew: boolean
}

/** Reads what rows of these keys sent without an answer. */
function doubtReader(ledger: AcceptedRecords, run: number) {
  let runsInDoubt: Promise<readonly number[]> | undefined
  return async (
    rows: readonly Asked[],
    isOpenSince: (row: Asked, run: number) => boolean,
  ): Promise<ReadonlyMap<string, readonly Doubt[]>> => {
    const found = new Map<string, Doubt[]>()
    runsInDoubt ??= ledger.runsInDoubt(run, { ofAnyKey: true })
    for (const earlier of await runsInDoubt) {
      const open = rows.filter((row) => isOpenSince(row, earlier))
      const hashes = new Map(open.map(({ item }) => [item.key, item.hash]))
      const sent = hashes.size > 0 ? await ledger.sentInDoubt(earlier, [...hashes.keys()]) : []
      for (const { key, hash, sent: text, isNew } of sent) {
        // What was sent then is what the row has now: that differs from what the record has.
        if (text === null && hash === hashes.get(key)) continue
        const values = text === null ? null : (parseJson(text) as Values)
        found.set(key, [...(found.get(key) ?? []), { run: earlier, values, isNew }])
      }
    }
    return found
  }
}
