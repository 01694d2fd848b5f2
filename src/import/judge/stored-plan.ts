// What is known of a plan as a whole, in the ledger next to its rows and images: its digest and parts, and when it was made.

import type { RowVerdict } from '../../core/domain/row-changes.ts'
import type { StepStates } from '../../ledger/ledger.ts'
import type { PlanDigest } from './plan-digest.ts'

/** A property of the records that are updated. */
export interface PropertyTotal {
  readonly property: string
  /** Rows that change it. */
  readonly rows: number
  /** Those of them that clear it. */
  readonly cleared: number
  /** Rows in which others changed it, and it stays as it is. Default: none. */
  readonly kept?: number
}

/** What a plan comes to: no row has to be read for it. */
export interface PlanTotals {
  /** Rows to be sent; those that were looked up are the sum of the verdicts. */
  readonly planned: number
  readonly verdicts: Readonly<Record<RowVerdict, number>>
  /** Properties of the records that get other values. */
  readonly properties: readonly PropertyTotal[]
}

export interface StoredPlan extends PlanDigest {
  /** When it was made: ISO 8601 in UTC. */
  readonly at: string
  /** Not of one that was made before totals were kept. */
  readonly totals?: PlanTotals
}

/** Next to the positions of the steps, under a name that no object type has. */
const NAME = '@plan'

export const storePlan = (ledger: StepStates, run: number, plan: StoredPlan): Promise<void> =>
  ledger.saveStepState(run, NAME, JSON.stringify(plan))

/** The plan of a run; null if it has none. */
export async function readPlan(ledger: StepStates, run: number): Promise<StoredPlan | null> {
  const text = await ledger.loadStepState(run, NAME)
  return text === null ? null : (JSON.parse(text) as StoredPlan)
}
