// How far a long step of a run is, noted in the ledger about once a second for people who watch it. Nothing else relies on it.

import type { Clock } from '../core/ports.ts'
import type { StepStates } from '../ledger/ledger.ts'

/** Steps that take long, and whose counts say nothing of how far they are. */
type LongStep = 'stage' | 'verify'

const EVERY_MS = 1_000

/** Next to the positions of the other steps, under a name that no object type has. */
const nameOf = (step: LongStep): string => `@${step}_share`

/** The share of the step that is done, 0 to 1; null if it is not known, or the step has not taken a second yet. */
export async function readShare(
  ledger: StepStates,
  run: number,
  step: LongStep,
): Promise<number | null> {
  const text = await ledger.loadStepState(run, nameOf(step))
  return text === null ? null : Math.min(1, Math.max(0, Number(text)))
}

/** Notes the share of a step, unless that was done within the last second; null is not noted. */
export function shareNoter(
  { ledger, clock }: { readonly ledger: StepStates; readonly clock: Clock },
  run: number,
  step: LongStep,
): (share: number | null) => Promise<void> {
  let notedAt = clock.now()
  return async (share) => {
    const now = clock.now()
    if (share === null || now - notedAt < EVERY_MS) return
    notedAt = now
    await ledger.saveStepState(run, nameOf(step), share.toFixed(4))
  }
}
