// Sends links, one request each, in as many lanes as requests may be in flight. Promises kept here: a link is recorded before it is
// sent, and sent soon after that, or not at all; one whose answer was lost may be sent again, because to link twice is to link
// once; a failure of the service costs no link an attempt, unless the service itself failed at that very link.

import { Blocked, QuotaWait, SendDeadlinePassed, ServiceFailure } from '../../core/errors.ts'
import { Deadline } from '../../core/deadline.ts'
import { ITEM_ATTEMPTS_MAX, QUOTA_WAIT_MAX_MS, SERVICE_FAILURES_MAX } from '../../core/limits.ts'
import type { Permit } from '../../core/ports.ts'
import type { LinkOutcome } from '../../ledger/ledger.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import { acquirePermit } from './fresh-look.ts'
import type { ImportDeps } from '../ports.ts'
import type { PushSlice } from './push-slice.ts'
import { maxWriteAgeMs } from './send-deadline.ts'
import { LinkQueue } from './link-queue.ts'
import {
  answered,
  meaningOfFailure,
  refusedLink,
  unanswered,
  type LinkToSend,
} from '../judge/link-outcome.ts'
import { missingEnds } from '../judge/missing-ends.ts'
import type { LinkJob, LinkLedger } from '../judge/link-scene.ts'

/** Links that the service refuses one after the other, none taken in between, before the run is blocked. */
const REFUSED_IN_ROW_MAX = 50
/** Links at which the service fails with 500, none answered in between, before the run is blocked: where others were taken before. */
const FAILING_IN_ROW_MAX = 50
/** Sendings of one link while others succeed. */
const SENDINGS_MAX = 100

/** What one link came to. `error`: it ends the work; `isLate`: it was not sent, and is sent by a later group. */
interface Delivered {
  readonly outcome: LinkOutcome
  readonly error?: unknown
  readonly isLate?: true
}

type Put =
  | { readonly kind: 'linked'; readonly status: number; readonly requestId: string | null }
  | { readonly kind: 'wait'; readonly error: unknown }
  | { readonly kind: 'failure'; readonly failure: ServiceFailure }

/** What a slice has come to. `isMade`: a link of it is settled. */
export interface LinkProgress {
  isMade: boolean
}

export class LinkDelivery {
  readonly #deps: ImportDeps<LinkLedger>
  readonly #job: LinkJob
  readonly #slice: PushSlice
  readonly #missing: ReturnType<typeof missingEnds>
  #failures = 0
  #failuresInRow = 0
  /** Links at which the service failed with 500, none answered in between. */
  readonly #failing = new Set<string>()
  readonly #progress: LinkProgress
  #refusedInRow: number
  /** Whether the service has taken a link of the run. */
  #takesLinks: boolean

  /** @param before what the slices before know: links refused in a row, and whether any was linked; what this one is told */
  constructor(
    deps: ImportDeps<LinkLedger>,
    job: LinkJob,
    slice: PushSlice,
    before: {
      readonly refusedInRow: number
      readonly takesLinks: boolean
      readonly progress: LinkProgress
    },
  ) {
    this.#deps = deps
    this.#job = job
    this.#slice = slice
    this.#missing = missingEnds(deps, job)
    this.#refusedInRow = before.refusedInRow
    this.#takesLinks = before.takesLinks
    this.#progress = before.progress
  }

  get refusedInRow(): number {
    return this.#refusedInRow
  }

  /** Sends links until each is settled, or time is up: those that are left are planned still. */
  async send(links: readonly LinkToSend[], isReplayed: boolean): Promise<void> {
    const queue = new LinkQueue(links, maxWriteAgeMs(this.#deps.tuning))
    const slice = this.#slice
    // Bounded by the slice of time: a lane may put back what it could not send in time, after others have found nothing left.
    while (!queue.isEmpty && !slice.mustStop())
      await slice.inLanes(() => this.#turn(queue, isReplayed))
  }

  /** Settles links that need no request. */
  async settle(outcomes: readonly LinkOutcome[]): Promise<void> {
    if (outcomes.length === 0) return
    await this.#settle(outcomes)
    this.#progress.isMade = true
  }

  async #settle(outcomes: readonly LinkOutcome[]): Promise<void> {
    const { run, fence, scene } = this.#job
    await this.#deps.ledger.settleLinks(run, fence, outcomes, scene.bounds)
  }

  /** One group. Returns whether there may be more. */
  async #turn(queue: LinkQueue, isReplayed: boolean): Promise<boolean> {
    if (this.#slice.mustStop() || queue.isEmpty) return false
    const permit = await this.#slice.inTime(acquirePermit(this.#deps, this.#slice.signal))
    if (permit === null) return false
    const group = queue.take()
    if (group.links.length === 0) {
      permit.unused()
      return false
    }
    const deadline = new Deadline(maxWriteAgeMs(this.#deps.tuning))
    try {
      await this.#record(group.links, isReplayed)
    } catch (error) {
      permit.unused()
      throw error
    }
    const settled: LinkOutcome[] = []
    let first: Permit | null = permit
    let failed: Delivered | null = null
    const left = [...group.links]
    for (;;) {
      const [link] = left
      if (link === undefined || failed !== null) break
      // The permit that was waited for before is used in any case.
      if (first === null && (this.#slice.mustStop() || group.isLate())) break
      const delivered = await this.#slice.timed(
        () => this.#deliver(link, first, deadline),
        () => this.#failures,
      )
      first = null
      if (delivered.isLate) break
      left.shift()
      settled.push(delivered.outcome)
      if (delivered.error !== undefined) failed = delivered
      this.#deps.beat(1)
    }
    await this.#settle([...settled, ...left.map(({ link }) => unanswered(link, 'pending'))])
    if (settled.length > 0) this.#progress.isMade = true
    queue.done(group, settled.length, left)
    if (failed !== null) throw failed.error
    return true
  }

  /** One link, until it is settled or the work has to stop. */
  async #deliver(given: LinkToSend, first: Permit | null, before: Deadline): Promise<Delivered> {
    let sent = given
    let permit = first
    let isDoubtful = false
    for (let sendings = 1; ; sendings++) {
      const open = () => unanswered(sent.link, isDoubtful ? 'in_flight' : 'pending', null, sent)
      try {
        permit ??= await this.#slice.inTime(acquirePermit(this.#deps, this.#slice.signal))
        if (permit === null) return isDoubtful ? { outcome: open() } : late(open())
        const put = await this.#put(sent, permit, before)
        permit = null
        if (put.kind === 'wait') return { outcome: open(), error: put.error }
        if (put.kind === 'linked') {
          this.#noteAnswer()
          this.#refusedInRow = 0
          this.#takesLinks = true
          return { outcome: answered(sent, 'linked', put) }
        }
        const { failure } = put
        isDoubtful ||= failure.outcomeUnknown
        if (failure instanceof SendDeadlinePassed)
          return isDoubtful ? { outcome: open() } : late(open())
        const next = await this.#afterFailure(sent, failure, sendings)
        if (next !== null && 'outcome' in next) return next
        sent = next ?? sent
      } catch (error) {
        return { outcome: open(), error }
      }
    }
  }

  /** What a failed request means for its link; the link with other records, or null, is sent again. @throws what ends the work */
  async #afterFailure(
    sent: LinkToSend,
    failure: ServiceFailure,
    sendings: number,
  ): Promise<Delivered | LinkToSend | null> {
    const meaning = meaningOfFailure(failure)
    const { run } = this.#job
    const { status, problemCode: code, kind } = failure
    if (meaning !== 'target')
      this.#deps.logger.warn({ run, status, code, kind, sendings }, 'link_failed')
    switch (meaning) {
      case 'target':
      case 'gone':
        this.#noteAnswer()
        return await this.#missing[meaning](sent, failure)
      case 'link': {
        this.#noteAnswer()
        const outcome = refusedLink(sent, 'refused', failure)
        return ++this.#refusedInRow > this.#refusedMax
          ? { outcome, error: this.#allRefused(failure) }
          : { outcome }
      }
      case 'fails': {
        const isSpent = sent.link.attempts + 1 >= ITEM_ATTEMPTS_MAX
        const outcome = refusedLink(sent, isSpent ? 'outcome_unknown' : 'pending', failure)
        this.#failures++
        this.#failing.add(`${sent.link.ordinal} ${sent.link.number}`)
        // A service that fails at all links fails at five different ones; at links that failed before it fails for their sake.
        const isOfLinks = this.#takesLinks || sent.link.attempts > 0
        return this.#failing.size >= (isOfLinks ? FAILING_IN_ROW_MAX : SERVICE_FAILURES_MAX)
          ? { outcome, error: this.#gaveUp(failure) }
          : { outcome }
      }
      case 'halt':
        throw new Blocked(failure.block, failure.message, this.#deps.tuning.blocked_probe_ms)
      case 'later':
        await this.#backOff(failure, sendings)
        return null
    }
  }

  async #put(
    { link: { association }, sourceId, targetId }: LinkToSend,
    permit: Permit,
    sendBefore: Deadline,
  ): Promise<Put> {
    const { client, priority, signal } = this.#deps
    const { object_type } = this.#job.config
    const path = { object_type, id: sourceId, association_type: association }
    const parts = { path, body: { data: { target_id: targetId } } }
    const options = { permit, priority, signal, maxWaitMs: QUOTA_WAIT_MAX_MS, sendBefore }
    try {
      const sending = client.call('associateRecords', parts, options)
      const { status, requestId = null } = await withHeartbeat(this.#deps, sending)
      return { kind: 'linked', status, requestId }
    } catch (error) {
      if (error instanceof QuotaWait) return { kind: 'wait', error }
      // The signal does not tear a write that is on its way, so this one was not sent.
      if (signal.aborted && error === signal.reason) return { kind: 'wait', error }
      if (!(error instanceof ServiceFailure)) throw error
      return { kind: 'failure', failure: error }
    }
  }

  async #record(links: readonly LinkToSend[], isReplayed: boolean): Promise<void> {
    const { run, fence } = this.#job
    const sent = links.map(({ link: { ordinal, number }, sourceId, targetId }) => ({
      ordinal,
      number,
      sourceId,
      targetId,
    }))
    await this.#deps.ledger.recordLinksSent(run, fence, sent, { isReplayed })
  }

  /** The service works, whatever it says of a link. */
  #noteAnswer(): void {
    this.#failuresInRow = 0
    this.#failing.clear()
  }

  /** Waits before the next sending. @throws Blocked after too many failures */
  async #backOff(failure: ServiceFailure, sendings: number): Promise<void> {
    this.#failures++
    if (++this.#failuresInRow >= SERVICE_FAILURES_MAX || sendings >= SENDINGS_MAX)
      throw this.#gaveUp(failure)
    const { clock, tuning } = this.#deps
    const waits = tuning.resend_backoff_ms
    const wait = failure.retryAfterMs ?? waits[Math.min(sendings, waits.length) - 1] ?? 0
    await withHeartbeat(this.#deps, clock.sleep(wait, this.#slice.signal))
  }

  #gaveUp({ status = 0, block, message, retryAfterMs }: ServiceFailure): Blocked {
    const { tuning } = this.#deps
    const isRedirect = status >= 300 && status < 400
    const wait = isRedirect ? tuning.blocked_probe_ms : tuning.service_probe_ms
    return new Blocked(isRedirect ? block : 'service', message, retryAfterMs ?? wait)
  }

  get #refusedMax(): number {
    return Math.max(REFUSED_IN_ROW_MAX, this.#deps.tuning.refused_in_row_max)
  }

  #allRefused({ block }: ServiceFailure): Blocked {
    return new Blocked(
      block,
      `the service refused ${this.#refusedInRow} links in a row; the reasons are in the ledger. If it is right about each of them, tune refused_in_row_max`,
      this.#deps.tuning.blocked_probe_ms,
    )
  }
}

const late = (outcome: LinkOutcome): Delivered => ({ outcome, isLate: true })
