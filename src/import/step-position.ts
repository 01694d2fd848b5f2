// The position of a step of a run, kept in the ledger: a step that failed or was killed continues from there.

import type { StepStates } from '../ledger/ledger.ts'

/** Positions are kept next to the streams of a run, under names that no object type has. */
const PREFIX = '@'

export interface StepPosition<Kept> {
  /** The last position, or the beginning. */
  readonly kept: Kept
  keep(position: Kept): Promise<void>
  /** The step has sent a request that writes, and it was answered. */
  sent(): Promise<void>
}

/** @param beginning of a step that has no position yet */
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
    keep: (position) => ledger.saveStepState(run, name, JSON.stringify(position)),
    sent: () => ledger.noteRequests(run, name, 1),
  }
}
