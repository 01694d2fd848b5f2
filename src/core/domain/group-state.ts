// What a group knows of its syncs, and its state, from theirs.

import { exitOf, isComplete, type RunState } from './run-states.ts'

/** A sync of a group, and how far it is. */
export interface GroupedSync extends GroupedRun {
  readonly sync: string
  readonly kind: 'import' | 'mirror'
  readonly after: readonly string[]
  /** The run that tries its waiting links at the end of the group; left out where none does. */
  readonly links?: GroupedRun | undefined
  /** What its state would be if its waiting links were linked; left out where it has none. */
  readonly onceLinked?: RunState | undefined
}

/** How far a run of a group is; `waiting`: for those before it, or for one of the places. */
export interface GroupedRun {
  readonly state: RunState | 'waiting'
  /** Number of its run; null before it is opened. */
  readonly run: number | null
  /** The workflow that its run belongs to; null before it begins. */
  readonly workflow: string | null
  /** Why it is so, in one line; null without one. */
  readonly reason: string | null
}

/** The runs of a group as rows: each sync, and below it the run that tries its waiting links, as `links of contacts`. */
export const groupedRuns = (syncs: readonly GroupedSync[]): readonly GroupedSync[] =>
  syncs.flatMap(({ links, ...one }) =>
    links === undefined
      ? [one]
      : [one, { ...links, sync: `links of ${one.sync}`, kind: one.kind, after: [] }],
  )

/** The states that count for a group whose runs have ended: one that has tried the waiting links of a sync answers for them. */
export const countedStates = (syncs: readonly GroupedSync[]): readonly RunState[] =>
  syncs.flatMap(({ state, onceLinked, links }) =>
    (links === undefined ? [state] : [onceLinked ?? state, links.state]).map(ended),
  )

/** One that has not begun does not count as done. */
const ended = (state: GroupedRun['state']): RunState => (state === 'waiting' ? 'cancelled' : state)

/** The worst counts first. A group of which a sync did not come to its end is never complete. */
export function groupStateOf(states: readonly RunState[]): RunState {
  if (states.some((state) => !isComplete(state))) return 'failed'
  const rejects = states.find((state) => state === 'complete_with_rejects')
  return rejects ?? states.find((state) => exitOf(state) !== 'done') ?? 'complete'
}
