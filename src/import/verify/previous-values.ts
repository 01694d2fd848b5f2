// What the record of an item held before its values were sent first, field by field, as far as the ledger knows. It distinguishes a
// value that the service did not take from one that it keeps in a form of its own.

import { ownValue, type Json } from '../../core/json.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { KnownBaseline, Runs, WrittenItem } from '../../ledger/ledger.ts'
import { NO_VALUE_HASH } from './normalised.ts'
import {
  createFieldHasher,
  formatBaseline,
  KEPT_WITHOUT_BASE,
  parseBaseline,
} from './baseline-hashes.ts'
import type { StagedImport } from '../ports.ts'
import { runConfigs } from '../run-configs.ts'

type Values = Readonly<Record<string, Json>>
type Marks = ReadonlyMap<string, string>

/** Of one item. */
export interface PreviousValues {
  /** The hash of what the record held for a field before its value was sent; null if that is not known. */
  before(field: string): string | null
  markOf(field: string, value: Json | undefined): string
  /**
   * What was sent, is held, and was held before, as the ledger keeps it for the next time.
   * @param forms the fields that hold a form of what was sent
   */
  seen(held: Values, forms: readonly string[]): string
}

/** What an earlier run saw. */
interface Seen {
  readonly sent: Marks
  readonly held: Marks
  readonly before: Marks
  /** Of `held`, what is a form of what was sent. Earlier versions did not note it. */
  readonly forms: Marks
}

const BETWEEN = '/'

/** @param config of the run that saw it */
export function parseSeen(seen: string, config: ImportConfig): Seen | null {
  const [sent, held, before, forms] = seen
    .split(BETWEEN)
    .map((marks) => parseBaseline(marks, config))
  return sent && held && before ? { sent, held, before, forms: forms ?? new Map() } : null
}

/** Reads what is known of an item of the run. */
export function previousValues(
  ledger: Runs,
  { run, config, schema }: StagedImport,
): (item: WrittenItem, sent: Values) => Promise<PreviousValues> {
  const markOf = createFieldHasher(schema)
  const configOf = runConfigs(ledger, config)

  const readSeen = async ({ seen, seenRun }: KnownBaseline): Promise<Seen | null> =>
    seen === null || seenRun === null ? null : parseSeen(seen, await configOf(seenRun))

  return async (item, sent) => {
    const { known } = item
    // Until an item is settled, the ledger has the hashes of what was sent before it in place of its own.
    const last =
      known === null
        ? null
        : known.run === run
          ? { marks: known.lastBaseline, run: known.lastRun }
          : { marks: known.marks, run: known.run }
    const marks =
      last?.marks != null && last.run !== null
        ? parseBaseline(last.marks, await configOf(last.run))
        : null
    const seen = known === null ? null : await readSeen(known)
    // What was seen counts for what was sent last only. An update has not sent all that it leaves behind.
    const isSeen = seen !== null && (known!.seenRun! > (last?.run ?? 0) || isPart(seen.sent, marks))

    const beforeOf = (field: string): string | null => {
      if (item.state === 'created') return NO_VALUE_HASH
      const now = markOf(field, sent[field])
      if (isSeen && seen.sent.has(field))
        return (seen.sent.get(field) === now ? seen.before : seen.held).get(field) ?? null
      const mark = marks?.get(field)
      return mark === undefined || mark === now || mark === KEPT_WITHOUT_BASE ? null : mark
    }
    return {
      before: beforeOf,
      markOf,
      seen(values, forms) {
        const fields = Object.keys(sent)
        const text = (markIn: (field: string) => string | null) => {
          const found = fields.flatMap((field) => {
            const mark = markIn(field)
            return mark === null ? [] : [[field, mark] as const]
          })
          return formatBaseline(new Map(found), config)
        }
        return [
          text((field) => markOf(field, sent[field])),
          text((field) => markOf(field, ownValue(values, field))),
          text(beforeOf),
          text((field) => (forms.includes(field) ? markOf(field, ownValue(values, field)) : null)),
        ].join(BETWEEN)
      },
    }
  }
}

const isPart = (one: Marks, other: Marks | null): boolean =>
  other !== null && [...one].every(([field, mark]) => other.get(field) === mark)
