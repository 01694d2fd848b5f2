// The end of a mirror's reconciliation: what differs, and up to when both sides are known to be equal.

import {
  differencesText,
  sumOfDifferences,
  type DifferenceCounts,
} from '../../core/domain/differences.ts'
import { formatNumber, joinTexts } from '../../core/format.ts'
import { jobOf } from '../../runs/job.ts'
import { isWholeScope, WHOLE_SCOPE } from '../../core/domain/purpose.ts'
import type { RunState } from '../../core/domain/books.ts'
import type {
  Differences,
  Run,
  RunClosing,
  Runs,
  StepStates,
  StreamBooks,
  Streams,
} from '../../ledger/ledger.ts'
import type { RunOutcome } from '../../runs/outcome.ts'
import { streamDifferences, streamFailures } from '../close.ts'
import { earlierInstant } from '../instant.ts'
import { parseState } from './state.ts'

export interface ReconcileClosed {
  readonly state: RunState
  readonly message: string | null
  /** Records that differ: all that were found, and those that were not repaired. */
  readonly counts: { readonly found: DifferenceCounts; readonly left: DifferenceCounts }
}

/** Closes a run. Safe to call again. */
export async function closeReconcile(
  ledger: Differences & RunClosing & Runs & StepStates & Streams,
  run: number,
  ending: RunOutcome,
): Promise<ReconcileClosed> {
  const streams = await ledger.streams(run)
  const counts = await ledger.differenceCounts(run)
  const failed = streamFailures(streams)
  const left = sumOfDifferences(counts.left)
  const gone = streamDifferences(streams)
  const state =
    ending.kind !== 'finished'
      ? ending.kind
      : failed !== null
        ? 'failed'
        : left > 0 || gone !== null
          ? 'complete_with_differences'
          : 'complete'
  const message =
    ending.kind === 'failed'
      ? ending.message
      : (failed ?? joinTexts(differenceText(counts, streams), gone))
  await ledger.closeRun(run, {
    state,
    reason: ending.kind === 'failed' ? (ending.reason ?? null) : null,
    message,
    books: null,
    verifiedThrough: state === 'complete' ? await verifiedThrough(ledger, run, streams) : null,
  })
  return { state, message, counts }
}

/** `12 of 1,000,000 records differ: 4 missing, 8 stale`; null if none does. */
function differenceText(
  counts: ReconcileClosed['counts'],
  streams: readonly Pick<StreamBooks, 'serviceCount'>[],
): string | null {
  const records = streams.reduce((sum, { serviceCount }) => sum + (serviceCount ?? 0), 0)
  return differencesText(counts, `${formatNumber(records)} records`)
}

/**
 * Up to when the warehouse is known to hold what the service holds; null if that is not known.
 *
 * It is known of a run that compared every type of the mirror and left no difference, if each stream was read whole, or was
 * counted by its times of modification: whatever changes a record at the service moves it on that axis, so a change that was
 * missed makes counts differ, but for what counting.ts says. Counts by time of creation do not see a changed value, and a
 * sample not the rest; a value altered in the warehouse is seen by reading everything only. What changed
 * since the mirror ran last is not in the warehouse yet, so if there was such a record, and it was not repaired, the time
 * is the watermark of its stream, and otherwise when the run began.
 */
async function verifiedThrough(
  ledger: Differences & RunClosing & Runs & StepStates & Streams,
  id: number,
  streams: readonly StreamBooks[],
): Promise<string | null> {
  const run = (await ledger.run(id)) as Run
  const scope = jobOf(run).reconcile ?? WHOLE_SCOPE
  if (!isWholeScope(scope)) return null
  let through = run.openedAt
  for (const { stream } of streams) {
    const place = parseState(await ledger.loadStepState(id, stream))
    if (place === null) return null
    if (place.how !== 'read' && (place.how !== 'counted' || place.axis !== 'modified')) return null
    if (place.pending === 0 || scope.repair) continue
    if (place.watermark === null) return null
    through = earlierInstant(through, place.watermark)
  }
  return through
}
