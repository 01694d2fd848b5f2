// The steps of a run, in their order, with the times that the ledger has of them: when it was opened, its first request, the answer to
// its last one, and when it was closed.

import { isComplete, LIVE_STATES } from '../../core/domain/books.ts'
import type { Run } from '../../ledger/ledger.ts'
import type { LiveProgress } from '../../report/live-progress.ts'
import { jobOf } from '../../runs/job.ts'
import { TEXT } from '../texts.ts'
import type { RunStep } from './shapes.ts'

type Phase = LiveProgress['phase']
type Times = { readonly first: string; readonly last: string | null } | null

/** The steps of an import as the phases of a live one name them. */
function phasesOf(run: Run): readonly Phase[] {
  if (run.kind === 'mirror') return ['reading']
  const { sync, reconcile } = jobOf(run, 'import')
  if (reconcile !== undefined)
    return reconcile.repair
      ? ['staging', 'comparing', 'sending', 'closing']
      : ['staging', 'comparing', 'closing']
  return [
    'staging',
    'sending',
    ...(sync.import.links?.length ? (['linking'] as const) : []),
    ...(removes(sync.import) ? (['deleting'] as const) : []),
    ...(sync.import.verify === 'none' ? [] : (['verifying'] as const)),
    'closing',
  ]
}

const removes = ({
  missing_rows: missing,
  delete_when: when,
}: {
  readonly missing_rows?: unknown
  readonly delete_when?: unknown
}): boolean => (missing !== undefined && missing !== 'ignore') || when !== undefined

/** @param approvedAt when a person let the run go on after its source was read; null: it asked nobody */
export function stepsOfRun(
  run: Run,
  progress: LiveProgress | null,
  times: Times,
  approvedAt: string | null,
): RunStep[] {
  const phases = phasesOf(run)
  const isLive = LIVE_STATES.includes(run.state)
  const now = isLive && progress !== null ? Math.max(0, phases.indexOf(progress.phase)) : null
  const reached = now ?? lastReached(run, phases, times)
  const steps = phases.map((phase, at): RunStep => {
    const state = now === null ? endedState(run, phase, at - reached) : liveState(at - now)
    const shown = state !== 'next' && state !== 'left'
    const [from, to] = shown ? spanOf(phase, phases, run, times) : [null, null]
    return {
      name: TEXT.phases[phase],
      state,
      from,
      to: state === 'now' ? null : to,
      text: state === 'now' && progress !== null ? progress.amount : null,
    }
  })
  if (approvedAt === null || steps[0] === undefined) return steps
  // The wait for the person is no time of the reading.
  const approval = {
    name: TEXT.approved,
    state: 'done',
    from: null,
    to: approvedAt,
    text: null,
  } as const
  return [{ ...steps[0], to: null }, approval, ...steps.slice(1)]
}

/** @param ahead steps behind the one that the run is in */
const liveState = (ahead: number): RunStep['state'] =>
  ahead < 0 ? 'done' : ahead === 0 ? 'now' : 'next'

/** @param ahead steps behind the last one that the run came to */
function endedState(run: Run, phase: Phase, ahead: number): RunStep['state'] {
  // Whatever ended a run, its books are closed with it.
  if (isComplete(run.state) || (phase === 'closing' && run.state !== 'skipped')) return 'done'
  return ahead < 0 ? 'done' : ahead === 0 ? 'ended' : 'left'
}

/** How far a run came that has ended. */
function lastReached(run: Run, phases: readonly Phase[], times: Times): number {
  if (isComplete(run.state)) return phases.length - 1
  if (run.state === 'skipped') return -1
  const sending = phases.indexOf('sending')
  return times !== null && sending >= 0 ? sending : 0
}

/** What is known of the time of a phase: what follows the last batch begins with its answer, and ends with the run. */
function spanOf(
  phase: Phase,
  phases: readonly Phase[],
  run: Run,
  times: Times,
): [string | null, string | null] {
  switch (phase) {
    case 'reading':
      return [run.openedAt, run.closedAt]
    case 'staging':
      return [run.openedAt, times?.first ?? null]
    case 'sending':
      return [times?.first ?? null, times?.last ?? null]
    default: {
      const isNext = phases[phases.indexOf(phase) - 1] === 'sending'
      return [isNext ? (times?.last ?? null) : null, phase === 'closing' ? run.closedAt : null]
    }
  }
}
