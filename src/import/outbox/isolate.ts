// Takes apart a batch that was refused whole, until the rows that the service does not take are alone; or finds that it refuses whatever
// is sent. Promise kept here: rows do not pay for the one that is refused.

import type { Blocked, ServiceFailure } from '../../core/errors.ts'
import type { PlannedItem, RequestOutcome, SentBatch } from '../../ledger/ledger.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import type { ImportDeps } from '../ports.ts'
import type { ClaimedSegment, DeliveryLedger } from '../judge/claimed-segment.ts'
import type { RowChooser } from '../judge/choose-rows.ts'
import { refusedOutcome, splitRefusedBatch } from '../look/outcome.ts'
import { probedItems, type RefusedInRow } from '../judge/refusals.ts'

/** What is done with a batch that was refused whole. */
export type Refused = (
  batch: SentBatch,
  failure: ServiceFailure,
  ended: RequestOutcome,
) => Promise<void>

/** What it asks of the delivery. */
interface Sending {
  readonly chooser: RowChooser
  readonly refusedInRow: RefusedInRow
  /** Requests that are sent and not settled. */
  readonly inFlight: ReadonlySet<Promise<unknown>>
  /** Sends rows until they are settled. Returns whether any was sent. */
  deliver(items: readonly PlannedItem[], refused: Refused): Promise<boolean>
  release(batch: SentBatch, ended: RequestOutcome): Promise<void>
  halted(failure: ServiceFailure): Blocked
  mustStop(): boolean
  isBlocked(): boolean
}

export class Isolation {
  readonly #deps: ImportDeps<DeliveryLedger>
  readonly #job: ClaimedSegment
  readonly #sending: Sending
  /** Whether the service takes rows that are sent alone, as a lane finds out; the others wait for it. */
  #probing: Promise<boolean> | null = null
  /** Requests that were refused whole, and brought no outcome. */
  refusedWhole = 0

  constructor(deps: ImportDeps<DeliveryLedger>, job: ClaimedSegment, sending: Sending) {
    this.#deps = deps
    this.#job = job
    this.#sending = sending
  }

  /** A batch that was refused whole: for the sake of rows of it, or whatever is sent. @throws Blocked in the latter case */
  readonly isolateOrHalt: Refused = async (batch, failure, ended) => {
    const sending = this.#sending
    const isAlone = batch.items.length === 1
    if (failure.disposition === 'reject' || (isAlone && (await this.#takesOthers())))
      return await this.#isolate(batch, failure, ended)
    await this.#release(batch, ended)
    if (isAlone) throw sending.halted(failure)
    // Only one lane finds out: a service that refuses everything is asked a few times more, not a few times by each lane.
    const taken = new Set<PlannedItem>()
    const probing = (this.#probing ??= this.#probe(batch.items, taken).finally(
      () => (this.#probing = null),
    ))
    if (!(await probing)) {
      if (sending.mustStop()) return
      if (!(await this.#takesOthers())) throw sending.halted(failure)
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
    const { refusedInRow, inFlight } = this.#sending
    if (!refusedInRow.maySetAside(itemsPerRequest)) return false
    if (await ledger.hasAccepted(run)) return true
    // The first rows of all may be on their way.
    await withHeartbeat(this.#deps, Promise.all(inFlight))
    return await ledger.hasAccepted(run)
  }

  /**
   * Sends rows of a batch alone until the service takes one. What needs not be sent any more is added to `taken`. Returns whether it took
   * one.
   */
  async #probe(items: readonly PlannedItem[], taken: Set<PlannedItem>): Promise<boolean> {
    const { mustStop, deliver } = this.#sending
    for (const item of probedItems(items)) {
      if (mustStop()) return false
      let isRefused = false
      const isSent = await deliver([item], async (batch, _failure, ended) => {
        isRefused = true
        await this.#release(batch, ended)
      })
      if (isRefused) continue
      taken.add(item)
      if (isSent) return true
    }
    return false
  }

  /** A batch that was refused whole is sent in parts, until the items that the service does not take are alone. */
  readonly #isolate: Refused = async (batch, failure, ended) => {
    const { chooser, refusedInRow } = this.#sending
    if (batch.items.length === 1) {
      const { run, segment, fence } = this.#job
      const refused = [refusedOutcome(batch.items[0]!, failure)]
      const outcomes = chooser.decides ? await chooser.decide(batch, refused) : refused
      if (outcomes[0]!.state === 'refused') refusedInRow.noteAlone(failure)
      return await this.#deps.ledger.settle(run, segment, fence, batch, ended, outcomes)
    }
    await this.#release(batch, ended)
    await this.#deliverParts(batch.items, failure)
  }

  async #release(batch: SentBatch, ended: RequestOutcome): Promise<void> {
    this.refusedWhole++
    await this.#sending.release(batch, ended)
  }

  async #deliverParts(items: readonly PlannedItem[], failure: ServiceFailure): Promise<void> {
    const { mustStop, isBlocked, deliver } = this.#sending
    const parts = items.length > 1 ? splitRefusedBatch(items, failure) : [items]
    // Other rows of the batch were taken where this one was refused as all might be: no part of it is asked for that again.
    const refused = failure.disposition === 'reject' ? this.isolateOrHalt : this.#isolate
    for (const part of parts) {
      if (mustStop() || isBlocked()) break
      await deliver(part, refused)
    }
  }
}
