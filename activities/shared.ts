// What the activities of imports and mirrors have in common: the states of runs, the border for errors, and how a run is opened.

import { createBorder } from './border.ts'
import type { SharedDeps } from './deps.ts'
import { createRunOpener } from './open-run.ts'
import { runStates } from './run-states.ts'

export type SharedActivities = ReturnType<typeof createSharedActivities>

export function createSharedActivities(deps: SharedDeps) {
  const states = runStates(deps)
  return { ...states, activity: createBorder(deps, states), openRun: createRunOpener(deps) }
}
