// Opens runs: one live run per sync. If a run's workflow is gone, its books are closed first. Promise kept here: a workflow that has ended,
// or has closed its run, opens none, whenever a worker that stood still goes on with that.

import { AlreadyRunning, NotYet, SyncError } from '../core/errors.ts'
import type { Json } from '../core/json.ts'
import { LIVE_STATES } from '../core/domain/books.ts'
import type { Purpose } from '../core/domain/purpose.ts'
import type { Logger } from '../core/ports.ts'
import type { Run, RunClosing, Runs } from '../ledger/ledger.ts'
import { runChange, type RunChange } from './observers.ts'

/** Which workflow execution holds or wants a run. */
export interface RunHolder {
  readonly workflowId: string
  readonly workflowRunId: string
}

/** An attempt of an activity of its workflow. */
export interface ActivityAttempt {
  readonly activityId: string
  readonly attempt: number
}

/** The message of a run whose workflow is gone. */
const ABANDONED =
  'its workflow ended without closing the books (terminated, or its history was lost)'

/** The change of a run whose books were closed because its workflow is gone. */
export const abandonedChange = (run: Run): RunChange =>
  runChange(run, { to: 'failed', reason: 'abandoned', message: ABANDONED })

const takeoversMax = 3

/** Where a server answers late: a workflow that has ended asks for nothing again. */
const notLiveRetryMs = 10_000

/** Closes the books of a run that no workflow works on any more: what was sent is in doubt, what was planned is unsent. */
export async function closeAbandoned(ledger: RunClosing, run: Run): Promise<void> {
  await ledger.settleLeftovers(run.id)
  const books = await ledger.books(run.id)
  await ledger.closeRun(run.id, {
    state: 'failed',
    reason: 'abandoned',
    message: ABANDONED,
    books: run.kind === 'import' ? books : null,
  })
}

interface OpenDeps {
  readonly ledger: RunClosing & Runs
  readonly logger: Logger
  isLive(holder: RunHolder): Promise<boolean>
  /** Finishes the work for a run whose workflow is gone, before its books are closed. */
  readonly abandoning?: ((run: Run) => Promise<void>) | undefined
  /** Called for every run whose books were closed because its workflow is gone. */
  abandoned?(run: Run): Promise<void>
}

interface Opening {
  readonly sync: string
  readonly holder: RunHolder
}

/** @throws NotYet */
async function checkLive(deps: OpenDeps, { sync, holder }: Opening): Promise<void> {
  if (!(await deps.isLive(holder))) throw notOpened(deps, { sync, holder }, 'is not running')
}

function notOpened({ logger }: OpenDeps, { sync, holder }: Opening, why: string): NotYet {
  const { workflowId } = holder
  logger.warn({ sync, workflow: workflowId }, 'run_not_opened')
  return new NotYet(`workflow ${workflowId} ${why}, so it opens no run`, notLiveRetryMs)
}

/** The run that was just opened; it is closed at once if its workflow has ended meanwhile. @throws NotYet */
async function stillLive(deps: OpenDeps, opening: Opening, run: Run): Promise<Run> {
  try {
    await checkLive(deps, opening)
    return run
  } catch (error) {
    if (error instanceof NotYet) await closeAbandoned(deps.ledger, run)
    throw error
  }
}

/**
 * Opens a run, or returns the one that the same workflow opened before.
 * @throws AlreadyRunning if a live workflow holds the sync; NotYet if the workflow that asks is not running any more, or has
 *   closed its run
 */
export async function openOrResumeRun(
  deps: OpenDeps,
  job: {
    sync: string
    kind: Run['kind']
    holder: RunHolder
    config: Json
    /** Default: a regular run. */
    purpose?: Purpose
    of?: number | null
  },
): Promise<Run> {
  const { ledger } = deps
  const { holder, ...run } = job
  const { sync } = run
  for (let takeover = 0; takeover < takeoversMax; takeover++) {
    await checkLive(deps, job)
    const opened = await ledger.openRun({ ...run, ...holder, mode: 'run', once: true })
    if ('run' in opened) return await stillLive(deps, job, opened.run)
    const held = opened.heldBy
    if (held.workflowId === holder.workflowId && held.workflowRunId === holder.workflowRunId) {
      if (LIVE_STATES.includes(held.state)) return held
      throw notOpened(deps, job, `has closed its run ${held.id}`)
    }
    if (await deps.isLive(held)) throw new AlreadyRunning(sync, held.id, held.workflowId)
    deps.logger.warn({ run: held.id, sync, workflow: held.workflowId }, 'run_taken_over')
    await deps.abandoning?.(held)
    await closeAbandoned(ledger, held)
    await deps.abandoned?.(held)
  }
  throw new SyncError(
    'open_failed',
    `Sync "${sync}" could not be opened: other runs of it keep appearing`,
  )
}
