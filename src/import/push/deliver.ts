// Deliver: one batch, from its record in the ledger until every item of it is settled, or the segment has to stop.
// Promises kept here: a batch is recorded before it is sent, and sent soon after that, or not at all; one whose answer
// was lost is sent again byte for byte, or, if it must not be, its records are looked up; an item never pays for the failure of a whole request, nor the others for one item.

import { Blocked, SendDeadlinePassed, SyncError, type ServiceFailure } from '../../core/errors.ts'
import { OPERATIONS } from '../../contract/index.ts'
import { operationOfMode, type ImportOperation } from '../../core/domain/import-modes.ts'
import { QUOTA_WAIT_MAX_MS, SERVICE_FAILURES_MAX } from '../../core/limits.ts'
import type { Permit } from '../../core/ports.ts'
import type { ItemOutcome, PlannedItem, RequestOutcome, SentBatch } from '../../ledger/ledger.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import type { SentAgain } from '../../runs/sent-again.ts'
import type { ImportDeps } from '../ports.ts'
import { RowChooser } from './choose-rows.ts'
import { refusedOutcome, splitRefusedBatch } from './outcome.ts'
import { mayBeOfOneRow, probedItems, RefusedInRow } from './refusals.ts'
import { otherKeyNoter } from './second-records.ts'
import { sendDeadline } from './send-deadline.ts'
import { bodyDigest, bodyText, sendBatch, type RecordedBatch } from './send.ts'
import type { ClaimedSegment, DeliveryLedger } from './claimed-segment.ts'
import { settlement } from './settle.ts'

/** Sendings of one batch while other lanes keep succeeding. */
const sendingsMax = 100

/** What is done with a batch that was refused whole. */
type Refused = (batch: SentBatch, failure: ServiceFailure, ended: RequestOutcome) => Promise<void>

/** What the lanes of a segment share. */
export class Delivery {
  readonly #deps: ImportDeps<DeliveryLedger>
  readonly #job: ClaimedSegment
  readonly #mustStop: () => boolean
  readonly #chooser: RowChooser
  readonly #settle: ReturnType<typeof settlement>
  readonly #noteKey: () => Promise<void>
  /** Requests that are sent and not settled. */
  readonly #inFlight = new Set<Promise<unknown>>()
  #requests = 0
  #failures = 0
  /** Whole requests that failed in a row, over all lanes. */
  #failuresInRow = 0
  readonly #refused: RefusedInRow
  /** Rows of the round that were answered with 500 or 503, and may be sent again. */
  #again: SentAgain | null = null
  /** Whether the service takes rows that are sent alone, as a lane finds out; the others wait for it. */
  #probing: Promise<boolean> | null = null

  constructor(deps: ImportDeps<DeliveryLedger>, job: ClaimedSegment, mustStop: () => boolean) {
    this.#deps = deps
    this.#job = job
    this.#mustStop = mustStop
    this.#chooser = new RowChooser(deps, job)
    this.#settle = settlement(deps, job, this.#chooser)
    this.#noteKey = otherKeyNoter(deps, job.run)
    this.#refused = new RefusedInRow(job.refusedInRow)
  }

  get #operation(): ImportOperation {
    return operationOfMode(this.#job.config.mode)
  }

  get chooser(): RowChooser {
    return this.#chooser
  }

  /** Whether a batch may be sent again whose answer was lost. */
  get mayReplay(): boolean {
    return OPERATIONS[this.#operation].replay
  }

  get requests(): number {
    return this.#requests
  }

  /** Whole requests that failed: no answer, or one that says to try again later. */
  get failures(): number {
    return this.#failures
  }

  get refusedInRow(): number {
    return this.#refused.count
  }

  /** What blocks the run, if the service refuses row after row. */
  get blocked(): Blocked | null {
    return this.#refused.blocked(this.#job.itemsPerRequest, this.#deps.tuning)
  }

  /** Rows that were answered with 500 or 503 since this was called last; null if none was. */
  takeAgain(): SentAgain | null {
    const again = this.#again
    this.#again = null
    return again
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
  async deliver(
    items: readonly PlannedItem[],
    permit: Permit,
    refused: Refused = this.#isolateOrHalt,
  ): Promise<void> {
    const { ledger } = this.#deps
    const { run, segment, fence } = this.#job
    const body = bodyText(this.#job.config, items)
    const batch = { operation: this.#operation, digest: bodyDigest(body), items }
    const recorded = await this.#record(body, permit, () =>
      ledger.recordSend(run, segment, fence, batch),
    )
    await this.#sendUntilSettled(recorded, permit, false, refused)
  }

  /** The body that a batch of an earlier attempt was sent with. @throws SyncError `replay_differs` if it cannot be rebuilt */
  bodyOf(batch: SentBatch): string {
    const body = bodyText(this.#job.config, batch.items)
    if (bodyDigest(body) === batch.digest) return body
    throw new SyncError(
      'replay_differs',
      `Run ${this.#job.run}: batch ${batch.batch} cannot be rebuilt as it was sent`,
    )
  }

  /** Sends a batch again whose answer was lost. */
  async redeliver(batch: SentBatch, body: string, permit: Permit): Promise<void> {
    const recorded = await this.#recordResend(batch, body, permit, true)
    await this.#sendUntilSettled(recorded, permit, true, this.#isolateOrHalt)
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
    refused: Refused,
  ): Promise<void> {
    let recorded = first
    let permit = firstPermit
    let isDoubtful = mayBeDone
    for (let sendings = 1; ; sendings++) {
      const { batch, body } = recorded
      const sending = this.#sendOnce(recorded, permit)
      const settled = sending.catch(() => {})
      this.#inFlight.add(settled)
      const result = await sending.finally(() => this.#inFlight.delete(settled))
      if (result.kind === 'answer') return
      if (result.kind === 'wait') {
        await this.#recordNotDone(batch, result.ended, isDoubtful)
        throw result.error
      }
      const { failure, ended } = result
      this.#logFailure(batch, failure)
      if (failure.disposition === 'reject' || mayBeOfOneRow(failure)) {
        this.#failuresInRow = 0
        return await refused(batch, failure, ended)
      }
      this.#failures++
      if (failure.outcomeUnknown && !this.mayReplay)
        return await this.#settleLost(batch, failure, ended)
      isDoubtful ||= failure.outcomeUnknown
      if (failure.disposition === 'halt') {
        await this.#recordNotDone(batch, ended, isDoubtful)
        throw this.#halted(failure)
      }
      await this.#deps.ledger.recordNoAnswer(this.#job.run, batch, ended)
      await this.#backOff(failure, sendings)
      const next = await this.#permitToResend(batch, ended, isDoubtful)
      if (next === null) return
      permit = next
      recorded = await this.#recordResend(batch, body, permit, failure.outcomeUnknown)
    }
  }

  /** The answer of a batch was lost that must not be sent again. What the look-up leaves open stays sent. */
  async #settleLost(
    batch: SentBatch,
    failure: ServiceFailure,
    ended: RequestOutcome,
  ): Promise<void> {
    await this.#deps.ledger.recordNoAnswer(this.#job.run, batch, ended)
    await this.#backOff(failure, 1)
    if (!this.#mustStop()) await this.#chooser.settleLost(batch)
  }

  /** One request, and what its answer changes. */
  async #sendOnce(recorded: RecordedBatch, permit: Permit): ReturnType<typeof sendBatch> {
    this.#requests++
    const result = await sendBatch(this.#deps, this.#job.config, recorded, permit)
    await this.#noteKey()
    if (result.kind !== 'answer') return result
    this.#failuresInRow = 0
    this.#refused.noteAnswer(result.answer.data)
    const outcomes = await this.#settle(recorded.batch, result.answer, result.ended)
    outcomes.forEach((outcome) => this.#noteAgain(outcome))
    return result
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

  #noteAgain({ state, httpStatus, code }: ItemOutcome): void {
    if (state !== 'planned' || (httpStatus ?? 0) < 500) return
    const rows = (this.#again?.rows ?? 0) + 1
    this.#again = { rows, status: httpStatus ?? 0, code }
  }

  #halted({ block, message }: ServiceFailure): Blocked {
    return new Blocked(block, message, this.#deps.tuning.blocked_probe_ms)
  }

  /** A batch that was refused whole: for the sake of rows of it, or whatever is sent. @throws Blocked in the latter case */
  readonly #isolateOrHalt: Refused = async (batch, failure, ended) => {
    const isAlone = batch.items.length === 1
    if (failure.disposition === 'reject' || (isAlone && (await this.#takesOthers())))
      return await this.#isolate(batch, failure, ended)
    await this.#release(batch, ended)
    if (isAlone) throw this.#halted(failure)
    // Only one lane finds out: a service that refuses everything is asked a few times more, not a few times by each lane.
    const taken = new Set<PlannedItem>()
    const probing = (this.#probing ??= this.#probe(batch.items, taken).finally(
      () => (this.#probing = null),
    ))
    if (!(await probing)) {
      if (this.#mustStop()) return
      if (!(await this.#takesOthers())) throw this.#halted(failure)
    }
    await this.#deliverParts(
      batch.items.filter((item) => !taken.has(item)),
      failure,
    )
  }

  /** Whether a refusal may be that of the rows alone: the service has taken others of this sync, in this run or an earlier one. */
  async #takesOthers(): Promise<boolean> {
    const { ledger } = this.#deps
    const { itemsPerRequest, run } = this.#job
    if (!this.#refused.maySetAside(itemsPerRequest)) return false
    if (await ledger.hasAccepted(run)) return true
    // The first rows of all may be on their way.
    await withHeartbeat(this.#deps, Promise.all(this.#inFlight))
    return await ledger.hasAccepted(run)
  }

  /** Sends rows of a batch alone until the service takes one, which is added to `taken`. Returns whether it did. */
  async #probe(items: readonly PlannedItem[], taken: Set<PlannedItem>): Promise<boolean> {
    for (const item of probedItems(items)) {
      if (this.#mustStop()) return false
      let isRefused = false
      await this.deliver([item], await this.acquire(), async (batch, _failure, ended) => {
        isRefused = true
        await this.#release(batch, ended)
      })
      if (isRefused) continue
      taken.add(item)
      return true
    }
    return false
  }

  /** A batch that was refused whole is sent in parts, until the items that the service does not take are alone. */
  readonly #isolate: Refused = async (batch, failure, ended) => {
    if (batch.items.length === 1) {
      const { run, segment, fence } = this.#job
      const refused = [refusedOutcome(batch.items[0]!, failure)]
      const { decides } = this.#chooser
      const outcomes = decides ? await this.#chooser.decide(batch, refused) : refused
      if (outcomes[0]!.state === 'rejected') this.#refused.noteAlone(failure)
      return await this.#deps.ledger.settle(run, segment, fence, batch, ended, outcomes)
    }
    await this.#release(batch, ended)
    await this.#deliverParts(batch.items, failure)
  }

  async #deliverParts(items: readonly PlannedItem[], failure: ServiceFailure): Promise<void> {
    const parts = items.length > 1 ? splitRefusedBatch(items, failure) : [items]
    // Other rows of the batch were taken where this one was refused as all might be: no part of it is asked for that again.
    const refused = failure.disposition === 'reject' ? this.#isolateOrHalt : this.#isolate
    for (const part of parts) {
      if (this.#mustStop() || this.blocked !== null) break
      await this.deliver(part, await this.acquire(), refused)
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

  /**
   * Null if the segment has to stop: what stays `sent` is sent again by the next attempt of the segment. Null also if rows of the
   * batch have to go elsewhere: then it is taken apart.
   */
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
      if (!(await this.#chooser.isStillAimed(batch))) return null
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
