// What is known of a plan as a whole, in the ledger next to its rows and images: its digest and parts, and when it was made.

import type { StepStates } from '../../ledger/ledger.ts'
import type { PlanDigest } from './plan-digest.ts'

export interface StoredPlan extends PlanDigest {
  /** When it was made: ISO 8601 in UTC. */
  readonly at: string
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
