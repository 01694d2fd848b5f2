// Where a step of a run stands, kept in the ledger: a step that failed or was killed goes on from there instead of beginning anew.

import type { StepStates } from '../ledger/ledger.ts'

/** What is kept beside the streams of a run has a name that no object type has. */
const PREFIX = '@'

export interface StepPosition<Kept> {
  /** What was kept last, or the beginning. */
  readonly kept: Kept
  keep(place: Kept): Promise<void>
  /** The step has sent a request that writes, and it was answered. */
  sent(): Promise<void>
}

/** @param beginning where a step begins that never kept a place */
export async function stepPosition<Kept extends object>(
  ledger: StepStates,
  run: number,
  step: string,
  beginning: Kept,
): Promise<StepPosition<Kept>> {
  const name = `${PREFIX}${step}`
  const text = await ledger.loadStepState(run, name)
  return {
    kept: text === null ? beginning : { ...beginning, ...(JSON.parse(text) as Kept) },
    keep: (place) => ledger.saveStepState(run, name, JSON.stringify(place)),
    sent: () => ledger.noteRequests(run, name, 1),
  }
}
