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
export async function drainInFlight({ ledger, clock }: Deps, run: Run): Promise<number> {
  for (const segment of await ledger.openSegments(run.id))
    await ledger.claimSegment(run.id, segment)
  if (run.kind === 'import' && jobOf(run, 'import').sync.import.links)
    await ledger.claimLinks(run.id)
  return waitAfter(await ledger.lastSentAt(run.id), run, clock)
}

/** As `drainInFlight`. @throws StillInFlight if there is something to wait for */
export async function checkDrained(deps: Deps, run: Run): Promise<void> {
  const wait = await drainInFlight(deps, run)
  if (wait > 0) throw new StillInFlight(run.id, wait)
}

/**
 * The same for the writes that are not batches: they are sent only while their run is open, and soon after that was checked.
 * @throws StillInFlight if a run of the sync was closed a moment ago because its workflow was gone, after all of its batches
 */
export async function checkSingleWritesDrained(
  { ledger, clock }: Deps,
  sync: string,
  before: number,
): Promise<void> {
  for (const run of await ledger.runs({ sync, limit: RUNS_MAX })) {
    if (run.id >= before || run.reason !== 'abandoned' || run.kind !== 'import') continue
    if (run.rowsRead === null || (await ledger.openSegments(run.id)).length > 0) continue
    const wait = waitAfter(run.closedAt, run, clock)
    if (wait > 0) throw new StillInFlight(run.id, wait)
  }
}

/** Clocks of two machines differ, so the wait is never longer than the maximum age of a write. */
function waitAfter(instant: string | null, run: Run, { now }: Deps['clock']): number {
  if (instant === null) return 0
  const ageMs = maxWriteAgeMs({ ...DEFAULT_IMPORT_TUNING, ...jobOf(run).tuned })
  return Math.min(ageMs, Date.parse(instant) + ageMs - now())
}
