// The end of a mirror's run. Its account is its streams; a run of which one stream failed has failed, and says which.

import type { RunState } from '../core/states.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Ending } from '../runs/ending.ts'

const NAMED_MAX = 5

/** Closes a run. Safe to call again. */
export async function closeMirror(
  ledger: Ledger,
  run: number,
  ending: Ending,
): Promise<{ readonly state: RunState; readonly message: string | null }> {
  const failed = (await ledger.streams(run)).filter(({ state }) => state !== 'complete')
  const state =
    ending.kind === 'finished' ? (failed.length > 0 ? 'failed' : 'complete') : ending.kind
  const names = failed
    .slice(0, NAMED_MAX)
    .map(({ stream, state, message }) => `${stream}: ${message ?? state}`)
  const more = failed.length > NAMED_MAX ? ` (and ${failed.length - NAMED_MAX} more)` : ''
  const message =
    ending.kind === 'failed'
      ? ending.message
      : failed.length > 0
        ? `${names.join('; ')}${more}`
        : null
  await ledger.closeRun(run, {
    state,
    reason: ending.kind === 'failed' ? (ending.reason ?? null) : null,
    message,
    books: null,
  })
  return { state, message }
}
