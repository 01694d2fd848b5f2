// Waits between the sendings of batches that failed whole, and when a service that goes on failing blocks the run.

import { Blocked, SendDeadlinePassed, type ServiceFailure } from '../../core/errors.ts'
import { SERVICE_FAILURES_MAX } from '../../core/limits.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import type { ImportDeps } from '../ports.ts'

/** Sendings of one batch while other lanes keep succeeding. */
export const SENDINGS_MAX = 100

/** What the lanes of a segment share. */
export class BackOff {
  readonly #deps: ImportDeps
  /** Whole requests that failed in a row, over all lanes. */
  #inRow = 0

  constructor(deps: ImportDeps) {
    this.#deps = deps
  }

  noteAnswer(): void {
    this.#inRow = 0
  }

  /** Waits before the next sending. @throws Blocked after too many failures */
  async wait(failure: ServiceFailure, sendings: number): Promise<void> {
    // This process was late, not the service.
    const isLate = failure instanceof SendDeadlinePassed
    if (!isLate) this.#inRow++
    if (this.#inRow >= SERVICE_FAILURES_MAX || sendings >= SENDINGS_MAX) throw this.#gaveUp(failure)
    if (isLate) return
    const { clock, signal, tuning } = this.#deps
    const waits = tuning.resend_backoff_ms
    const wait = waits[Math.min(sendings, waits.length) - 1] ?? 0
    // It may be minutes: the activity is alive meanwhile.
    await withHeartbeat(this.#deps, clock.sleep(failure.retryAfterMs ?? wait, signal))
  }

  /** A service that fails for too long blocks the run; a redirect that stays is for a person to mend. */
  #gaveUp({ status = 0, block, message, retryAfterMs }: ServiceFailure): Blocked {
    const { tuning } = this.#deps
    const isRedirect = status >= 300 && status < 400
    const wait = isRedirect ? tuning.blocked_probe_ms : tuning.service_probe_ms
    return new Blocked(isRedirect ? block : 'service', message, retryAfterMs ?? wait)
  }
}
