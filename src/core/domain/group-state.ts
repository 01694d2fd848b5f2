// The state of a group, from those of its syncs.

import { exitOf, isComplete, type RunState } from './run-states.ts'

/** The worst counts first. A group of which a sync did not come to its end is never complete. */
export function groupStateOf(states: readonly RunState[]): RunState {
  if (states.some((state) => !isComplete(state))) return 'failed'
  const rejects = states.find((state) => state === 'complete_with_rejects')
  return rejects ?? states.find((state) => exitOf(state) !== 'done') ?? 'complete'
}
