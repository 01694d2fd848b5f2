// The register of run states (design section 4). Exit codes, metrics, notifications, the report and the SQL of the ledger derive
// from it.

import { namesOf, namesWith } from '../register.ts'

/** What a person finds in a run; `links` opens a list of the runs of each. */
export type RunLook = 'blocked' | 'rejects' | 'differences'

interface RunStateEntry {
  /**
   * `live`: the run occupies its sync. `complete`: it came to its end, so its watermark counts, and it ends a block. `stopped`: it
   * ended before.
   */
  readonly phase: 'live' | 'complete' | 'stopped'
  /** The exit code, by name, of a command that waits for the run. */
  readonly exit: 'done' | 'rejects' | 'stopped'
  readonly look: RunLook | null
}

const RUN_STATE = {
  running: { phase: 'live', exit: 'stopped', look: null },
  paused: { phase: 'live', exit: 'stopped', look: null },
  blocked: { phase: 'live', exit: 'stopped', look: 'blocked' },
  complete: { phase: 'complete', exit: 'done', look: null },
  /** Rows are left that need a person's attention. */
  complete_with_rejects: { phase: 'complete', exit: 'rejects', look: 'rejects' },
  /** Every row has its outcome, and yet the two sides are known not to hold the same. */
  complete_with_differences: { phase: 'complete', exit: 'rejects', look: 'differences' },
  cancelled: { phase: 'stopped', exit: 'stopped', look: null },
  failed: { phase: 'stopped', exit: 'stopped', look: null },
  /** It did not begin: what its sync is after in a group did not end well. */
  skipped: { phase: 'stopped', exit: 'stopped', look: null },
} as const satisfies Record<string, RunStateEntry>
export type RunState = keyof typeof RUN_STATE

export const RUN_STATES = namesOf(RUN_STATE)

/** States in which a run occupies its sync. */
export const LIVE_STATES: readonly RunState[] = namesWith(RUN_STATE, { phase: 'live' })

/** States that a run never leaves. */
export const FINAL_STATES: readonly RunState[] = RUN_STATES.filter(
  (state) => RUN_STATE[state].phase !== 'live',
)

/** States of runs that came to their end. */
export const COMPLETE_STATES = namesWith(RUN_STATE, { phase: 'complete' })
export type CompleteState = (typeof COMPLETE_STATES)[number]

export const isComplete = (state: RunState): state is CompleteState =>
  RUN_STATE[state].phase === 'complete'

export const exitOf = (state: RunState) => RUN_STATE[state].exit

/** States of runs that a person looks at, by what is found there. */
export const statesToLookAt = RUN_STATES.flatMap((state) => {
  const { look } = RUN_STATE[state]
  return look === null ? [] : [{ state, look }]
})

export const lookOf = (state: RunState): RunLook | null => RUN_STATE[state].look
