// Deliver: one batch, from its record in the ledger until every item of it is settled, or the segment has to stop.
// Promises kept here: a batch is recorded before it is sent, and sent soon after that, or not at all; one whose answer was lost is sent
// again byte for byte, or its records are looked up; where rows are looked up before they are sent, they are before every sending; an
// item never pays for the failure of a whole request, nor the others for one item.

import { Blocked, QuotaWait, SyncError, type ServiceFailure } from '../../core/errors.ts'
import { OPERATIONS } from '../../contract/index.ts'
import { operationOfMode, type ImportOperation } from '../../core/domain/import-modes.ts'
import type { Permit } from '../../core/ports.ts'
import type { ItemOutcome, PlannedItem, RequestOutcome, SentBatch } from '../../ledger/ledger.ts'
import type { SentAgain } from '../../runs/sent-again.ts'
import type { ImportDeps } from '../ports.ts'
import { BackOff, SENDINGS_MAX } from './back-off.ts'
import { RowChooser } from '../judge/choose-rows.ts'
import type { Deadline } from '../../core/deadline.ts'
import { acquirePermit, sendUntil, withFreshLook, type ReadyRows } from './fresh-look.ts'
import { Isolation, type Refused } from './isolate.ts'
import { mayBeOfOneRow, RefusedInRow } from '../judge/refusals.ts'
import { otherKeyNoter } from '../judge/second-records.ts'
import { sendDeadline } from './send-deadline.ts'
import { bodyDigest, bodyText, sendBatch, type RecordedBatch } from './send.ts'
import type { ClaimedSegment, DeliveryLedger } from '../judge/claimed-segment.ts'
import { settlement } from './settle.ts'

/** A batch that is written down, with the right to send it. */
interface Recording {
  readonly body: string
  readonly permit: Permit
  /** As of the rows; null where they need not be looked up. */
  readonly until: Deadline | null
}

interface Granted {
  readonly recorded: RecordedBatch
  readonly permit: Permit
}

/** What the lanes of a segment share. */
export class Delivery {
  readonly #deps: ImportDeps<DeliveryLedger>
  readonly #job: ClaimedSegment
  readonly #mustStop: () => boolean
  readonly chooser: RowChooser
  readonly #settle: ReturnType<typeof settlement>
  readonly #noteKey: () => Promise<void>
  /** Requests that are sent and not settled. */
  readonly #inFlight = new Set<Promise<unknown>>()
  /** Requests that were sent. */
  requests = 0
  #failures = 0
  readonly #backOff: BackOff
  readonly #refused: RefusedInRow
  /** Rows of the round that were answered with 500 or 503, and may be sent again. */
  #again: SentAgain | null = null
  readonly #isolation: Isolation

  constructor(deps: ImportDeps<DeliveryLedger>, job: ClaimedSegment, mustStop: () => boolean) {
    this.#deps = deps
    this.#job = job
    this.#mustStop = mustStop
    this.chooser = new RowChooser(deps, job)
    this.#settle = settlement(deps, job, this.chooser)
    this.#noteKey = otherKeyNoter(deps, job.run)
    this.#refused = new RefusedInRow(job.refusedInRow)
    this.#backOff = new BackOff(deps)
    this.#isolation = new Isolation(deps, job, {
      chooser: this.chooser,
      refusedInRow: this.#refused,
      inFlight: this.#inFlight,
      deliver: async (items, refused) => this.deliver(items, await this.acquire(), refused),
      release: (batch, ended) => this.#release(batch, ended),
      halted: (failure) => this.#halted(failure),
      mustStop,
      isBlocked: () => this.blocked !== null,
    })
  }

  get #operation(): ImportOperation {
    return operationOfMode(this.#job.config.mode)
  }

  /** Whether a batch may be sent again whose answer was lost. */
  get mayReplay(): boolean {
    return OPERATIONS[this.#operation].replay
  }

  /** Whether a request brought outcomes, or may have: one that was refused whole is sent again in parts. */
  get hasOutcomes(): boolean {
    return this.requests > this.#isolation.refusedWhole
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
    return acquirePermit(this.#deps, until)
  }

  /** Records a new batch and sends it until it is settled. Returns whether anything was sent. */
  async deliver(
    items: readonly PlannedItem[],
    permit: Permit,
    refused: Refused = this.#isolation.isolateOrHalt,
  ): Promise<boolean> {
    const ready = await this.#fresh(items, permit)
    if (ready === null) return false
    const recorded = await this.#recordNew(ready)
    await this.#sendUntilSettled({ recorded, permit: ready.permit }, false, refused)
    return true
  }

  /** Rows whose look-up, where there has to be one, is young enough. @param permit null: they have to be looked up first */
  async #fresh(items: readonly PlannedItem[], permit: Permit): Promise<ReadyRows | null> {
    return this.chooser.keepsImages
      ? await this.#look(items, { permit, isLost: false })
      : { items, permit, until: null }
  }

  #look(
    items: readonly PlannedItem[],
    {
      permit = null,
      isLost,
      acquire = () => this.acquire(),
    }: {
      readonly permit?: Permit | null
      readonly isLost: boolean
      readonly acquire?: (() => Promise<Permit | null>) | undefined
    },
  ): Promise<ReadyRows | null> {
    const chooser = this.chooser
    return withFreshLook(
      {
        choose: (rows) => chooser.choose(rows, { isLost }),
        lookedAt: (rows) => chooser.lookedAt(rows),
        acquire,
        mustStop: this.#mustStop,
        deps: this.#deps,
      },
      items,
      permit,
    )
  }

  /** `replayed`: the rows were sent before, and it is not known what became of that. */
  #recordNew({ items, permit, until }: ReadyRows, replayed = false): Promise<RecordedBatch> {
    const { run, segment, fence } = this.#job
    const body = bodyText(this.#job.config, items)
    const batch = { operation: this.#operation, digest: bodyDigest(body), items, replayed }
    return this.#record({ body, permit, until }, () =>
      this.#deps.ledger.recordSend(run, segment, fence, batch),
    )
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
    const recorded = await this.#recordResend(batch, { body, permit, until: null }, true)
    await this.#sendUntilSettled({ recorded, permit }, true, this.#isolation.isolateOrHalt)
  }

  /**
   * Looks up what became of a batch whose answer was lost, and sends again what has to be.
   * @param acquire null: time was up first. Then it stays sent
   */
  async resume(batch: SentBatch, acquire: () => Promise<Permit | null>): Promise<void> {
    const next = await this.#lookAgain(batch, true, acquire)
    if (next !== null) await this.#sendUntilSettled(next, true, this.#isolation.isolateOrHalt)
  }

  /** Null if nothing of a batch is to be sent again, or not now. What was certainly not carried out is a new batch. */
  async #lookAgain(
    batch: SentBatch,
    isLost: boolean,
    acquire?: () => Promise<Permit | null>,
  ): Promise<Granted | null> {
    if (this.#mustStop()) return null
    const ready = await this.#look(batch.items, { isLost, acquire })
    if (ready === null) return null
    const { items, permit, until } = ready
    const body = bodyText(this.#job.config, items)
    const isSame = isLost && bodyDigest(body) === batch.digest
    const recorded = isSame
      ? await this.#recordResend({ ...batch, items }, { body, permit, until }, true)
      : await this.#recordNew(ready, isLost)
    return { recorded, permit }
  }

  /** Uses the permit only if the ledger took the record. */
  async #record(
    { body, permit, until }: Recording,
    write: () => Promise<SentBatch>,
  ): Promise<RecordedBatch> {
    const sendBefore = sendUntil(sendDeadline(this.#deps.tuning), until)
    try {
      return { batch: await write(), body, sendBefore }
    } catch (error) {
      permit.unused()
      throw error
    }
  }

  #recordResend(batch: SentBatch, recording: Recording, replayed: boolean): Promise<RecordedBatch> {
    const { run, segment, fence } = this.#job
    const again = { operation: this.#operation, replayed }
    return this.#record(recording, () =>
      this.#deps.ledger.recordResend(run, segment, fence, batch, again),
    )
  }

  /** `mayBeDone`: an earlier sending of the batch may have been carried out. */
  async #sendUntilSettled(first: Granted, mayBeDone: boolean, refused: Refused): Promise<void> {
    let granted = first
    let isDoubtful = mayBeDone
    for (let sendings = 1, waits = 0; ;) {
      const { batch } = granted.recorded
      const sending = this.#sendOnce(granted)
      const settled = sending.catch(() => {})
      this.#inFlight.add(settled)
      const result = await sending.finally(() => this.#inFlight.delete(settled))
      if (result.kind === 'answer') return
      if (result.kind === 'wait') {
        await this.#recordNotDone(batch, result.ended, isDoubtful)
        // A rate that was refused is no failure. The quota makes the next request wait; a long wait ends the work.
        const isShort = this.chooser.keepsImages && result.error instanceof QuotaWait
        if (!isShort || ++waits >= SENDINGS_MAX) throw result.error
        const next = await this.#lookAgain(batch, isDoubtful)
        if (next === null) return
        granted = next
        continue
      }
      const { failure, ended } = result
      this.#logFailure(batch, failure)
      if (failure.disposition === 'reject' || mayBeOfOneRow(failure)) {
        this.#backOff.noteAnswer()
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
      const about = { ended, isDoubtful, sendings: sendings++ }
      const next = await this.#afterFailure(granted, failure, about)
      if (next === null) return
      granted = next
    }
  }

  /** Waits until a batch that failed whole may be sent again. Null if it stays, or goes elsewhere. */
  async #afterFailure(
    { recorded: { batch, body } }: Granted,
    failure: ServiceFailure,
    about: {
      readonly ended: RequestOutcome
      readonly isDoubtful: boolean
      readonly sendings: number
    },
  ): Promise<Granted | null> {
    const { ended, isDoubtful, sendings } = about
    if (this.chooser.keepsImages) {
      await this.#recordNotDone(batch, ended, isDoubtful)
      await this.#backOff.wait(failure, sendings)
      return await this.#lookAgain(batch, isDoubtful)
    }
    await this.#deps.ledger.recordNoAnswer(this.#job.run, batch, ended)
    await this.#backOff.wait(failure, sendings)
    const permit = await this.#permitToResend(batch, ended, isDoubtful)
    if (permit === null) return null
    const recorded = await this.#recordResend(
      batch,
      { body, permit, until: null },
      failure.outcomeUnknown,
    )
    return { recorded, permit }
  }

  /** The answer of a batch was lost that must not be sent again. What the look-up leaves open stays sent. */
  async #settleLost(
    batch: SentBatch,
    failure: ServiceFailure,
    ended: RequestOutcome,
  ): Promise<void> {
    await this.#deps.ledger.recordNoAnswer(this.#job.run, batch, ended)
    await this.#backOff.wait(failure, 1)
    if (!this.#mustStop()) await this.chooser.settleLost(batch)
  }

  /** One request, and what its answer changes. */
  async #sendOnce({ recorded, permit }: Granted): ReturnType<typeof sendBatch> {
    this.requests++
    const waitsOut429 = !this.chooser.keepsImages
    const result = await sendBatch(this.#deps, this.#job.config, recorded, { permit, waitsOut429 })
    await this.#noteKey()
    if (result.kind !== 'answer') return result
    this.#backOff.noteAnswer()
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
    if (state !== 'pending' || (httpStatus ?? 0) < 500) return
    const rows = (this.#again?.rows ?? 0) + 1
    this.#again = { rows, status: httpStatus ?? 0, code }
  }

  #halted({ block, message }: ServiceFailure): Blocked {
    return new Blocked(block, message, this.#deps.tuning.blocked_probe_ms)
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
      if (!(await this.chooser.isStillAimed(batch))) return null
      return await this.acquire()
    } catch (error) {
      await leave()
      throw error
    }
  }

  #logFailure(batch: SentBatch, failure: ServiceFailure): void {
    const { status, problemCode: code, kind } = failure
    // Its values may have gone over those of a later run: a reconciliation shows it.
    if (failure.leftLate) this.#deps.logger.error({ run: this.#job.run }, 'write_left_late')
    this.#deps.logger.warn(
      { run: this.#job.run, batch: batch.batch, attempt: batch.attempt, status, code, kind },
      'batch_failed',
    )
  }
}
