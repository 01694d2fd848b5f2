// Asks the ledger again while it does not answer: the run may go on, and its workers wait for the ledger too.

import { LedgerError, SyncError } from '../../core/errors.ts'
import { systemClock } from '../../core/ports.ts'
import { AWAY_MAX_MS } from './wait-for-end.ts'

const askEveryMs = 2_000
/** What passes by itself: a server that restarts, or is full, and locks of others. */
const passing = new Set(['unreachable', 'crowded', 'slow', 'busy'].map((what) => `ledger_${what}`))

/** The ledger did not answer for so long that waiting ends; the run goes on. */
export class LedgerUnreachable extends SyncError {
  constructor(seconds: number, why: string) {
    super(
      'ledger_away',
      `The ledger has not answered for ${seconds} s, so how the run ends is not known here. The run goes on by itself when the ledger is back. The last answer: ${why}`,
    )
  }
}

export interface LedgerRetry {
  readonly isAway: boolean
  /** What `work` gives; null if the ledger does not answer now. @throws LedgerUnreachable; whatever else `work` throws */
  once<Result>(work: () => Promise<Result>): Promise<{ readonly value: Result } | null>
  /** Asks again until the ledger answers; null if `signal` ends the wait. @throws as `once` */
  until<Result>(
    work: () => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<{ readonly value: Result } | null>
}

/** @param options.noteAway called when the ledger no longer answers, and when it does again */
export function createLedgerRetry(options: {
  noteAway(isAway: boolean): void
  /** Default 10 minutes. */
  readonly awayMaxMs?: number
}): LedgerRetry {
  const { noteAway, awayMaxMs = AWAY_MAX_MS } = options
  let since: number | null = null
  const once: LedgerRetry['once'] = async (work) => {
    try {
      const value = await work()
      if (since !== null) noteAway(false)
      since = null
      return { value }
    } catch (error) {
      if (!(error instanceof LedgerError) || !passing.has(error.code)) throw error
      if (since === null) noteAway(true)
      since ??= systemClock.now()
      const awayMs = systemClock.now() - since
      if (awayMs >= awayMaxMs)
        throw new LedgerUnreachable(Math.round(awayMs / 1_000), error.message)
      return null
    }
  }
  return {
    get isAway() {
      return since !== null
    },
    once,
    async until(work, signal) {
      // Bounded by `awayMaxMs`.
      while (!signal?.aborted) {
        const answer = await once(work)
        if (answer !== null) return answer
        await systemClock.sleep(askEveryMs, signal).catch(() => {})
      }
      return null
    },
  }
}
