// What a service makes of the values of each property, learnt from the rows that a run reads back: a rule that shows in several rows, and
// that no row speaks against. One row alone shows nothing: what it holds may be an edit by a person between the write and the reading.

import { ownValue } from '../../core/json.ts'
import type { Run, Runs, StepStates } from '../../ledger/ledger.ts'
import { protectsValues } from '../../core/domain/protection.ts'
import { jobOf } from '../../runs/job.ts'
import type { PropertyValues } from './look-up.ts'
import { RULE_BITS, rulesThatChange, rulesThatMake, type RuleSet } from './form-rules.ts'

/** Rows that show a rule before it counts. */
const ROWS_MIN = 3
/** Earlier runs of a sync that are asked. */
const RUNS_MAX = 50
/** Next to the positions of the steps, under a name that no object type has. */
const NAME = '@forms'

/** Of a property. */
interface Tally {
  /** Rows that show a rule, by its place. */
  readonly rows: Readonly<Record<number, number>>
  /** Rules that a row speaks against, in this run. */
  readonly against: RuleSet
}

type Tallies = Readonly<Record<string, Tally>>

interface Stored {
  readonly destination: number | null
  readonly tallies: Tallies
}

type FormLedger = Pick<Runs, 'run' | 'runs'> & StepStates

const NOTHING: Tally = { rows: {}, against: 0 }

const rowsOf = ({ rows }: Tally, at: number): number => rows[at] ?? 0

/** The rules by which the service is known to change values of a property. */
const provenRules = (tally: Tally): RuleSet =>
  RULE_BITS.reduce(
    (proven, bit, at) =>
      rowsOf(tally, at) >= ROWS_MIN && (tally.against & bit) === 0 ? proven | bit : proven,
    0,
  )

/** What a row that was read back shows: of properties that it holds as they were sent, or as what looks like a form of that. */
export interface RowReadBack {
  readonly sent: PropertyValues
  readonly held: PropertyValues
  readonly values: readonly {
    readonly field: string
    readonly fieldType: string
    readonly isForm: boolean
  }[]
}

/** Collects what the rows of a run show. */
export class FormTallies {
  readonly #destination: number | null
  readonly #tallies: Map<string, Tally>
  #isChanged: boolean

  constructor({ destination, tallies }: Stored, isOfRun: boolean) {
    this.#destination = destination
    this.#tallies = new Map(Object.entries(tallies))
    // What earlier runs have learnt is kept with each run: the next one looks there first.
    this.#isChanged = !isOfRun && this.#tallies.size > 0
  }

  add({ sent, held, values }: RowReadBack): void {
    for (const { field, fieldType, isForm } of values) {
      const tally = this.#tallies.get(field) ?? NOTHING
      const next = isForm
        ? withRow(tally, rulesThatMake(sent[field], ownValue(held, field), fieldType))
        : withAgainst(tally, rulesThatChange(sent[field], fieldType, ~tally.against))
      if (next === tally) continue
      this.#tallies.set(field, next)
      this.#isChanged = true
    }
  }

  async save(ledger: StepStates, run: number): Promise<void> {
    if (!this.#isChanged) return
    const stored = { destination: this.#destination, tallies: Object.fromEntries(this.#tallies) }
    await ledger.saveStepState(run, NAME, JSON.stringify(stored))
    this.#isChanged = false
  }
}

function withRow(tally: Tally, rules: RuleSet): Tally {
  if (rules === 0) return tally
  const seen = RULE_BITS.flatMap((bit, at) => ((rules & bit) === 0 ? [] : [at]))
  const more = seen.map((at) => [at, Math.min(rowsOf(tally, at) + 1, ROWS_MIN)])
  return { ...tally, rows: { ...tally.rows, ...Object.fromEntries(more) } }
}

const withAgainst = (tally: Tally, rules: RuleSet): Tally =>
  rules === 0 ? tally : { ...tally, against: tally.against | rules }

const parseStored = (text: string): Stored => JSON.parse(text) as Stored

/** What earlier runs have learnt of the same destination; of the newest one that has learnt anything. */
async function learntBefore(ledger: FormLedger, run: Run): Promise<Tallies> {
  for (const { id } of await ledger.runs({ sync: run.sync, limit: RUNS_MAX })) {
    if (run.id > 0 && id >= run.id) continue
    const text = await ledger.loadStepState(id, NAME)
    if (text === null) continue
    const { destination, tallies } = parseStored(text)
    return destination === run.destination ? tallies : {}
  }
  return {}
}

/** What was learnt before goes on, but for what a row of that run spoke against: services change. */
const goingOn = (tallies: Tallies): Tallies =>
  Object.fromEntries(
    Object.entries(tallies).map(([field, tally]) => {
      const kept = RULE_BITS.flatMap((bit, at) =>
        rowsOf(tally, at) > 0 && (tally.against & bit) === 0 ? [[at, rowsOf(tally, at)]] : [],
      )
      return [field, { rows: Object.fromEntries(kept), against: 0 }]
    }),
  )

/** Where the rows of a run that protects values are added; null of another one. */
export async function formTallies(ledger: FormLedger, id: number): Promise<FormTallies | null> {
  const run = await ledger.run(id)
  if (run === null || !protectsValues(jobOf(run, 'import').sync.import)) return null
  const own = await ledger.loadStepState(id, NAME)
  if (own !== null) return new FormTallies(parseStored(own), true)
  const tallies = goingOn(await learntBefore(ledger, run))
  return new FormTallies({ destination: run.destination, tallies }, false)
}

/** Reads the rules that runs before this one have proven, by property. */
export async function learntForms(
  ledger: FormLedger,
  id: number,
): Promise<(field: string) => RuleSet> {
  const run = await ledger.run(id)
  const tallies = run === null ? {} : await learntBefore(ledger, run)
  return (field) => provenRules(ownValue(tallies, field) ?? NOTHING)
}
