// The end of a mirror's run. Its account is its streams; a run of which one stream failed has failed, and says which.

import type { RunState } from '../core/states.ts'
import type { Ledger, StreamBooks } from '../ledger/ledger.ts'
import type { Ending } from '../runs/ending.ts'

const NAMED_MAX = 5

/** Closes a run. Safe to call again. */
export async function closeMirror(
  ledger: Ledger,
  run: number,
  ending: Ending,
): Promise<{ readonly state: RunState; readonly message: string | null }> {
  const failed = failuresOf(await ledger.streams(run))
  const state = ending.kind === 'finished' ? (failed === null ? 'complete' : 'failed') : ending.kind
  const message = ending.kind === 'failed' ? ending.message : failed
  await ledger.closeRun(run, {
    state,
    reason: ending.kind === 'failed' ? (ending.reason ?? null) : null,
    message,
    books: null,
  })
  return { state, message }
}

/** Which streams did not come to their end, and why; null where all of them did. */
export function failuresOf(streams: readonly StreamBooks[]): string | null {
  const failed = streams.filter(({ state }) => state !== 'complete')
  if (failed.length === 0) return null
  const names = failed
    .slice(0, NAMED_MAX)
    .map(({ stream, state, message }) => `${stream}: ${message ?? state}`)
  const more = failed.length > NAMED_MAX ? ` (and ${failed.length - NAMED_MAX} more)` : ''
  return `${names.join('; ')}${more}`
}
