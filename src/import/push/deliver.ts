// Deliver: one batch, from its record in the ledger until every item of it is settled, or the segment has to stop.
// Promises kept here: a batch is recorded before it is sent, and sent soon after that, or not at all; one whose answer
// was lost is sent again byte for byte; an item never pays for the failure of a whole request.

import { Blocked, SendDeadlinePassed, SyncError, type ServiceFailure } from '../../core/errors.ts'
import { operationOfMode, type ImportOperation } from '../../core/domain/import-modes.ts'
import { QUOTA_WAIT_MAX_MS, SERVICE_FAILURES_MAX } from '../../core/limits.ts'
import type { Permit } from '../../core/ports.ts'
import type { PlannedItem, RequestOutcome, SentBatch } from '../../ledger/ledger.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import type { ImportDeps } from '../ports.ts'
import { refusedOutcome, splitRefusedBatch } from './outcome.ts'
import { sendDeadline } from './send-deadline.ts'
import { bodyDigest, bodyText, sendBatch, type RecordedBatch } from './send.ts'
import { settlement, type ClaimedSegment, type DeliveryLedger } from './settle.ts'

/** Sendings of one batch while other lanes keep succeeding. */
const sendingsMax = 100

/** What the lanes of a segment share. */
export class Delivery {
  readonly #deps: ImportDeps<DeliveryLedger>
  readonly #job: ClaimedSegment
  readonly #mustStop: () => boolean
  readonly #settle: ReturnType<typeof settlement>
  #requests = 0
  /** Whole requests that failed in a row, over all lanes. */
  #failuresInRow = 0
  /** Items that were refused alone, by whole requests, since the service last took a batch. */
  #refusedInRow: number

  constructor(deps: ImportDeps<DeliveryLedger>, job: ClaimedSegment, mustStop: () => boolean) {
    this.#deps = deps
    this.#job = job
    this.#mustStop = mustStop
    this.#settle = settlement(deps, job)
    this.#refusedInRow = job.refusedInRow
  }

  get #operation(): ImportOperation {
    return operationOfMode(this.#job.config.mode)
  }

  get requests(): number {
    return this.#requests
  }

  get refusedInRow(): number {
    return this.#refusedInRow
  }

  /** Asks for the right to send one request. `until` ends the wait. */
  acquire(until = this.#deps.signal): Promise<Permit> {
    const { client, priority } = this.#deps
    return withHeartbeat(
      this.#deps,
      client.quota.acquire({ priority, signal: until, maxWaitMs: QUOTA_WAIT_MAX_MS }),
    )
  }

  /** Records a new batch and sends it until it is settled. */
  async deliver(items: readonly PlannedItem[], permit: Permit): Promise<void> {
    const { ledger } = this.#deps
    const { run, segment, fence } = this.#job
    const body = bodyText(items)
    const batch = { operation: this.#operation, digest: bodyDigest(body), items }
    const recorded = await this.#record(body, permit, () =>
      ledger.recordSend(run, segment, fence, batch),
    )
    await this.#sendUntilSettled(recorded, permit, false)
  }

  /** The body that a batch of an earlier attempt was sent with. @throws SyncError `replay_differs` if it cannot be rebuilt */
  bodyOf(batch: SentBatch): string {
    const body = bodyText(batch.items)
    if (bodyDigest(body) === batch.digest) return body
    throw new SyncError(
      'replay_differs',
      `Run ${this.#job.run}: batch ${batch.batch} cannot be rebuilt as it was sent`,
    )
  }

  /** Sends a batch again whose answer was lost. */
  async redeliver(batch: SentBatch, body: string, permit: Permit): Promise<void> {
    const recorded = await this.#recordResend(batch, body, permit, true)
    await this.#sendUntilSettled(recorded, permit, true)
  }

  /** Uses the permit only if the ledger took the record. */
  async #record(
    body: string,
    permit: Permit,
    write: () => Promise<SentBatch>,
  ): Promise<RecordedBatch> {
    const sendBefore = sendDeadline(this.#deps.tuning)
    try {
      return { batch: await write(), body, sendBefore }
    } catch (error) {
      permit.unused()
      throw error
    }
  }

  #recordResend(
    batch: SentBatch,
    body: string,
    permit: Permit,
    replayed: boolean,
  ): Promise<RecordedBatch> {
    const { run, segment, fence } = this.#job
    const again = { operation: this.#operation, replayed }
    return this.#record(body, permit, () =>
      this.#deps.ledger.recordResend(run, segment, fence, batch, again),
    )
  }

  /** `mayBeDone`: an earlier sending of the batch may have been carried out. */
  async #sendUntilSettled(
    first: RecordedBatch,
    firstPermit: Permit,
    mayBeDone: boolean,
  ): Promise<void> {
    let recorded = first
    let permit = firstPermit
    let isDoubtful = mayBeDone
    for (let sendings = 1; ; sendings++) {
      const { batch, body } = recorded
      this.#requests++
      const result = await sendBatch(this.#deps, this.#job.config, recorded, permit)
      if (result.kind === 'answer') {
        this.#failuresInRow = 0
        this.#refusedInRow = 0
        return await this.#settle(batch, result.answer, result.ended)
      }
      if (result.kind === 'wait') {
        await this.#recordNotDone(batch, result.ended, isDoubtful)
        throw result.error
      }
      const { failure, ended } = result
      this.#logFailure(batch, failure)
      if (failure.disposition === 'reject') {
        this.#failuresInRow = 0
        return await this.#isolate(batch, failure, ended)
      }
      isDoubtful ||= failure.outcomeUnknown
      if (failure.disposition === 'halt') {
        await this.#recordNotDone(batch, ended, isDoubtful)
        throw new Blocked(failure.block, failure.message, this.#deps.tuning.blocked_probe_ms)
      }
      await this.#deps.ledger.recordNoAnswer(this.#job.run, batch, ended)
      await this.#backOff(failure, sendings)
      const next = await this.#permitToResend(batch, ended, isDoubtful)
      if (next === null) return
      permit = next
      recorded = await this.#recordResend(batch, body, permit, failure.outcomeUnknown)
    }
  }

  /** This sending was not carried out. An earlier one may have been: then the batch stays in doubt. */
  async #recordNotDone(
    batch: SentBatch,
    ended: RequestOutcome,
    isDoubtful: boolean,
  ): Promise<void> {
    if (isDoubtful) await this.#deps.ledger.recordNoAnswer(this.#job.run, batch, ended)
    else await this.#release(batch, ended)
  }

  async #release(batch: SentBatch, ended: RequestOutcome): Promise<void> {
    const { run, segment, fence } = this.#job
    await this.#deps.ledger.release(run, segment, fence, batch, ended)
  }

  /** A batch that was refused whole is sent in parts, until the items that the service does not take are alone. */
  async #isolate(batch: SentBatch, failure: ServiceFailure, ended: RequestOutcome): Promise<void> {
    if (batch.items.length === 1) {
      const { run, segment, fence } = this.#job
      const outcome = refusedOutcome(batch.items[0]!, failure)
      this.#refusedInRow++
      return await this.#deps.ledger.settle(run, segment, fence, batch, ended, [outcome])
    }
    await this.#release(batch, ended)
    for (const part of splitRefusedBatch(batch.items, failure)) {
      if (this.#mustStop()) break
      await this.deliver(part, await this.acquire())
    }
  }

  /** Waits before the next sending. @throws Blocked after too many failures */
  async #backOff(failure: ServiceFailure, sendings: number): Promise<void> {
    // This process was late, not the service.
    const isLate = failure instanceof SendDeadlinePassed
    if (!isLate) this.#failuresInRow++
    if (this.#failuresInRow >= SERVICE_FAILURES_MAX || sendings >= sendingsMax)
      throw this.#gaveUp(failure)
    if (isLate) return
    const { clock, signal, tuning } = this.#deps
    const waits = tuning.resend_backoff_ms
    const wait = waits[Math.min(sendings, waits.length) - 1] ?? 0
    // It may be minutes: the activity is alive meanwhile.
    await withHeartbeat(this.#deps, clock.sleep(failure.retryAfterMs ?? wait, signal))
  }

  /** Null if the segment has to stop: what stays `sent` is sent again by the next attempt of the segment. */
  async #permitToResend(
    batch: SentBatch,
    ended: RequestOutcome,
    isDoubtful: boolean,
  ): Promise<Permit | null> {
    // A batch that certainly was not carried out leaves no item in doubt; its answer is recorded already.
    const leave = async () => {
      if (!isDoubtful) await this.#release(batch, ended)
    }
    if (this.#mustStop()) {
      await leave()
      return null
    }
    try {
      return await this.acquire()
    } catch (error) {
      await leave()
      throw error
    }
  }

  /** A service that fails for too long blocks the run; a redirect that stays is for a person to mend. */
  #gaveUp({ status = 0, block, message, retryAfterMs }: ServiceFailure): Blocked {
    const { tuning } = this.#deps
    const isRedirect = status >= 300 && status < 400
    const wait = isRedirect ? tuning.blocked_probe_ms : tuning.service_probe_ms
    return new Blocked(isRedirect ? block : 'service', message, retryAfterMs ?? wait)
  }

  #logFailure(batch: SentBatch, failure: ServiceFailure): void {
    const { status, problemCode: code, kind } = failure
    this.#deps.logger.warn(
      { run: this.#job.run, batch: batch.batch, attempt: batch.attempt, status, code, kind },
      'batch_failed',
    )
  }
}
