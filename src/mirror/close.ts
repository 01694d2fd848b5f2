// The end of a mirror's run. If a stream failed, the run has failed, and says which. Promise kept here: a run that knows of a table
// that differs from the service is never `complete`.

import { joinTexts } from '../core/format.ts'
import type { RunState } from '../core/domain/books.ts'
import type { RunClosing, StreamBooks, Streams } from '../ledger/ledger.ts'
import type { RunOutcome } from '../runs/outcome.ts'

const NAMED_MAX = 5

/** Closes a run. Safe to call again. */
export async function closeMirror(
  ledger: RunClosing & Streams,
  run: number,
  ending: RunOutcome,
): Promise<{ readonly state: RunState; readonly message: string | null }> {
  const streams = await ledger.streams(run)
  const failed = streamFailures(streams)
  const differing = streamDifferences(streams)
  const state =
    ending.kind !== 'finished'
      ? ending.kind
      : failed !== null
        ? 'failed'
        : differing !== null
          ? 'complete_with_differences'
          : 'complete'
  // A stream that failed is reported once.
  const texts = [failed, failed === null ? differing : streamDifferences(streams.filter(isDone))]
  const message = ending.kind === 'failed' ? ending.message : joinTexts(...texts)
  await ledger.closeRun(run, {
    state,
    reason: ending.kind === 'failed' ? (ending.reason ?? null) : null,
    message,
    books: null,
  })
  return { state, message }
}

const isDone = ({ state }: StreamBooks): boolean => state === 'complete'

/** Which streams did not come to their end, and why; null if all of them did. */
export function streamFailures(streams: readonly StreamBooks[]): string | null {
  return named(streams.filter((stream) => !isDone(stream)))
}

/** Which tables are known not to hold what the service holds, and why; null if none is. */
export function streamDifferences(streams: readonly StreamBooks[]): string | null {
  return named(streams.filter(({ differs }) => differs === true))
}

/** What is said of a stream that has no message. */
const STANDS: Readonly<Record<StreamBooks['state'], string>> = {
  waiting: 'its turn did not come',
  pulling: 'it was not read to its end',
  sweeping: 'rows without a record were not looked for to the end',
  approval: 'its deletions were not approved',
  complete: 'it differs from the service',
  failed: 'it failed',
}

function named(streams: readonly StreamBooks[]): string | null {
  if (streams.length === 0) return null
  const names = streams
    .slice(0, NAMED_MAX)
    .map(({ stream, state, message }) => `${stream}: ${message ?? STANDS[state]}`)
  const more = streams.length > NAMED_MAX ? ` (and ${streams.length - NAMED_MAX} more)` : ''
  return `${names.join('; ')}${more}`
}
