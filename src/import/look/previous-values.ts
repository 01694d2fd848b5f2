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
import type { RuleSet } from './form-rules.ts'
import { runConfigs } from './run-configs.ts'

type Values = Readonly<Record<string, Json>>
type Marks = ReadonlyMap<string, string>

/** Of one item. */
export interface PreviousValues {
  /** The hash of what the record held for a field before its value was sent; null if that is not known. */
  before(field: string): string | null
  markOf(field: string, value: Json | undefined): string
  /**
   * What was sent, is held, and was held before, as the ledger keeps it for the next time.
   * @param forms the fields that hold what looks like a form of what was sent
   */
  seen(held: Values, forms: readonly SeenForm[]): string
}

/** A field that holds what looks like a form of what was sent. */
export interface SeenForm {
  readonly field: string
  /** Whether the answer to the row has shown it: then others have not written it since. */
  readonly isAnswered: boolean
  /** The rules that make it of what was sent. */
  readonly rules: RuleSet
}

/** What an earlier run saw. */
interface Seen {
  readonly sent: Marks
  readonly held: Marks
  readonly before: Marks
  /** Of `held`, what is a form of the service's own: an answer has shown it, or two runs have sent the same and read it alike. */
  readonly forms: Marks
  /** Of the other fields that look like a form: the rules that make it. */
  readonly rules: ReadonlyMap<string, RuleSet>
}

const BETWEEN = '/'

/** @param config of the run that saw it */
export function parseSeen(seen: string, config: ImportConfig): Seen | null {
  const [sent, held, before, forms = NO_MARKS, rules = NO_MARKS] = seen
    .split(BETWEEN)
    .map((marks) => parseBaseline(marks, config))
  if (!sent || !held || !before) return null
  const sets = [...rules].map(([field, digits]) => [field, parseInt(digits, RULE_BASE)] as const)
  return { sent, held, before, forms, rules: new Map(sets) }
}

const NO_MARKS: Marks = new Map()
const RULE_BASE = 32
/** As long as a baseline hash. */
const rulesText = (rules: RuleSet): string => rules.toString(RULE_BASE).padStart(6, '0')

/** What a run sees of an item, field by field. */
class Seeing implements Seen {
  readonly sent = new Map<string, string>()
  readonly held = new Map<string, string>()
  readonly before = new Map<string, string>()
  readonly forms = new Map<string, string>()
  readonly rules = new Map<string, RuleSet>()

  copy(field: string, from: Seen): void {
    for (const part of ['sent', 'held', 'before', 'forms'] as const) {
      const mark = from[part].get(field)
      if (mark !== undefined) this[part].set(field, mark)
    }
    const rules = from.rules.get(field)
    if (rules !== undefined) this.rules.set(field, rules)
  }

  text(config: ImportConfig): string {
    const rules = new Map([...this.rules].map(([field, set]) => [field, rulesText(set)]))
    return [this.sent, this.held, this.before, this.forms, rules]
      .map((marks) => formatBaseline(marks, config))
      .join(BETWEEN)
  }
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
        const earlier = seen !== null && known!.seenRun! < run ? seen : null
        const now = new Seeing()
        for (const [field, mark] of earlier?.sent ?? [])
          // What the row has not sent this time is as it was seen then.
          if (!Object.hasOwn(sent, field) && marks?.get(field) === mark) now.copy(field, earlier!)
        for (const field of Object.keys(sent)) {
          now.sent.set(field, markOf(field, sent[field]))
          now.held.set(field, markOf(field, ownValue(values, field)))
          const before = beforeOf(field)
          if (before !== null) now.before.set(field, before)
        }
        for (const { field, isAnswered, rules } of forms) {
          const held = now.held.get(field)!
          const isReadAlike =
            earlier?.sent.get(field) === now.sent.get(field) && earlier?.held.get(field) === held
          if (isAnswered || isReadAlike) now.forms.set(field, held)
          else now.rules.set(field, rules)
        }
        return now.text(config)
      },
    }
  }
}

const isPart = (one: Marks, other: Marks | null): boolean =>
  other !== null && [...one].every(([field, mark]) => other.get(field) === mark)
