// The last writes of a run whose workflow is gone: its worker may have recorded some that it has not sent yet. Promise kept
// here: before their outcome is looked up, and before a newer run begins, none of them can be sent any more.

import { StillInFlight } from '../../core/errors.ts'
import { jobOf } from '../../runs/job.ts'
import type { Clock } from '../../core/ports.ts'
import type { LinkOutbox, Outbox, Run, Runs } from '../../ledger/ledger.ts'
import { maxWriteAgeMs } from './send-deadline.ts'
import { DEFAULT_IMPORT_TUNING } from '../ports.ts'

/** Runs of a sync that are checked. */
const RUNS_MAX = 5

interface Deps {
  readonly ledger: LinkOutbox & Outbox & Runs
  readonly clock: Pick<Clock, 'now'>
}

/**
 * Takes the run's segments, and its links, from the worker that has them, so that it records no further batch. Returns the time until the recorded
 * ones can no longer be sent, ms.
 */
export async function drainInFlight(deps: Deps, run: Run): Promise<number> {
  return waitAfter(await takeOver(deps, run), run, deps.clock)
}

/** Returns when the last write of the run was recorded. */
async function takeOver({ ledger }: Deps, run: Run): Promise<string | null> {
  for (const segment of await ledger.openSegments(run.id))
    await ledger.claimSegment(run.id, segment)
  if (run.kind === 'import' && jobOf(run, 'import').sync.import.links)
    await ledger.claimLinks(run.id)
  return await ledger.lastSentAt(run.id)
}

/** Instants that are remembered. */
const SEEN_MAX = 100

/**
 * Waits that are asked for again and again; one of a worker. Where the clock was set back, the last write of a run is in the future for as
 * long: so none of them is longer than a write may be old, from when it was asked for first.
 */
export class InFlightWaits {
  /** By run and instant: `performance.now()` of the first time. */
  readonly #seen = new Map<string, number>()

  /** What is left after the instant, ms. */
  after(instant: string | null, run: Run, clock: Deps['clock']): number {
    const wait = waitAfter(instant, run, clock)
    if (wait <= 0) return wait
    const what = `${run.workflowRunId} ${instant}`
    const since = this.#seen.get(what) ?? performance.now()
    this.#seen.set(what, since)
    const [oldest] = this.#seen.keys()
    if (this.#seen.size > SEEN_MAX) this.#seen.delete(oldest!)
    return Math.min(wait, since + ageMaxMs(run) - performance.now())
  }
}

type CheckDeps = Deps & { readonly waits: InFlightWaits }

/** As `drainInFlight`. @throws StillInFlight if there is something to wait for */
export async function checkDrained(deps: CheckDeps, run: Run): Promise<void> {
  const wait = deps.waits.after(await takeOver(deps, run), run, deps.clock)
  if (wait > 0) throw new StillInFlight(run.id, wait)
}

/**
 * The same for the writes that are not batches: they are sent only while their run is open, and soon after that was checked.
 * @throws StillInFlight if a run of the sync was closed a moment ago because its workflow was gone, after all of its batches
 */
export async function checkSingleWritesDrained(
  { ledger, clock, waits }: CheckDeps,
  sync: string,
  before: number,
): Promise<void> {
  for (const run of await ledger.runs({ sync, limit: RUNS_MAX })) {
    if (run.id >= before || run.reason !== 'abandoned' || run.kind !== 'import') continue
    if (run.rowsRead === null || (await ledger.openSegments(run.id)).length > 0) continue
    const wait = waits.after(run.closedAt, run, clock)
    if (wait > 0) throw new StillInFlight(run.id, wait)
  }
}

const ageMaxMs = (run: Run): number =>
  maxWriteAgeMs({ ...DEFAULT_IMPORT_TUNING, ...jobOf(run).tuned })

/** Clocks of two machines differ, so the wait is never longer than the maximum age of a write. */
function waitAfter(instant: string | null, run: Run, { now }: Deps['clock']): number {
  if (instant === null) return 0
  return Math.min(ageMaxMs(run), Date.parse(instant) + ageMaxMs(run) - now())
}
