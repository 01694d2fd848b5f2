// Deliver: one batch, from the moment it is written down until every item of it is settled, or the segment has to stop.
// Promises kept here: a batch is written down before it is sent, and sent soon after that, or not at all; one whose answer
// was lost is sent again byte for byte; an item never pays for the failure of a whole request.

import { hash as digestOf } from 'node:crypto'
import type { Deadline } from '../../core/deadline.ts'
import { Blocked, SendDeadlinePassed, QuotaWait, ServiceFailure } from '../../core/errors.ts'
import { QUOTA_WAIT_MAX_MS, SERVICE_FAILURES_MAX } from '../../core/limits.ts'
import type { Permit } from '../../core/ports.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type {
  AcceptedRecords,
  ItemOutcome,
  Outbox,
  PlannedItem,
  RequestOutcome,
  RowStaging,
  Runs,
  RunSchema,
  RunSegment,
  SentBatch,
} from '../../ledger/ledger.ts'
import { answerReader } from './answered.ts'
import { secondRecordReader } from './second-records.ts'
import { sendDeadline } from './send-deadline.ts'
import { createItemHasher } from '../verify/baseline-hashes.ts'
import { itemOutcome, refusedOutcome, splitRefusedBatch } from './outcome.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import type { ImportDeps } from '../ports.ts'

const operation = 'batchUpsert'
/** Sendings of one batch while other lanes keep succeeding. */
const sendingsMax = 100

/** The body of a batch: a pure function of its items, so that every sending has the same bytes. */
export const batchBodyText = (items: readonly PlannedItem[]): string =>
  `{"data":[${items.map((item) => item.payload).join(',')}]}`

/** SHA-256 of the body of a batch, hex. */
export const bodyDigest = (items: readonly PlannedItem[]): string =>
  digestOf('sha256', batchBodyText(items), 'hex')

/** A batch that was written down, and until when it may be sent. */
interface Noted {
  readonly batch: SentBatch
  readonly before: Deadline
}

/** What the lanes of a segment share. */
export interface Delivery {
  /** Asks for the right to send one request. `until` ends the wait. */
  acquire(until?: AbortSignal): Promise<Permit>
  /** Writes a new batch down, sends it and sees it through. Returns how many items the service refused with a whole request. */
  deliver(items: readonly PlannedItem[], permit: Permit): Promise<number>
  /** Sends a batch again whose answer was lost. */
  redeliver(batch: SentBatch, permit: Permit): Promise<number>
  requests(): number
}

/** What delivering asks of the ledger: the outbox, and what is known of keys whose record has another id. */
export type DeliveryLedger = AcceptedRecords & Outbox & RowStaging & Runs

export function createDelivery(
  deps: ImportDeps<DeliveryLedger>,
  job: {
    run: number
    config: ImportConfig
    schema: RunSchema | null
    segment: RunSegment
    fence: number
  },
  mustStop: () => boolean,
): Delivery {
  const { ledger, client, clock, tuning, signal, priority } = deps
  const { run, config, schema, segment, fence } = job
  const marksOf = schema && createItemHasher(config, schema)
  const readAnswer = answerReader(config, schema)
  const noteSecondRecords = secondRecordReader(deps, job)
  let requests = 0
  /** Whole requests that failed in a row, over all lanes. */
  let failuresInRow = 0

  const acquire = (until = signal) =>
    withHeartbeat(
      deps,
      client.quota.acquire({ priority, signal: until, maxWaitMs: QUOTA_WAIT_MAX_MS }),
    )

  /** One sending. Its result is a value: the books come first, whatever happened. */
  const send = async ({ batch, before }: Noted, permit: Permit) => {
    const startedAt = clock.now()
    const ended = (status: number | null, requestId?: string | null): RequestOutcome => ({
      status,
      requestId: requestId ?? null,
      durationMs: clock.now() - startedAt,
    })
    requests++
    let answered = 0
    try {
      const sending = client.batchUpsert(
        config.object_type,
        config.matching_property,
        { body: batchBodyText(batch.items), count: batch.items.length },
        { permit, priority, signal, maxWaitMs: QUOTA_WAIT_MAX_MS, sendBefore: before },
      )
      const answer = await withHeartbeat(deps, sending)
      answered = batch.items.length
      return { kind: 'answer', answer, ended: ended(200, answer.requestId) } as const
    } catch (error) {
      // A refusal by the quota comes before the work: nothing was carried out.
      if (error instanceof QuotaWait) return { kind: 'wait', error, ended: ended(429) } as const
      // A write that is on its way is not torn by the signal, so this one was not.
      if (signal.aborted && error === signal.reason)
        return { kind: 'wait', error, ended: ended(null) } as const
      if (!(error instanceof ServiceFailure)) throw error
      const status = error.kind === 'problem' ? (error.status ?? null) : null
      return { kind: 'failure', failure: error, ended: ended(status, error.requestId) } as const
    } finally {
      deps.beat(answered)
    }
  }

  /** What was accepted is remembered by its marks. */
  const marked = (item: PlannedItem, outcome: ItemOutcome): ItemOutcome =>
    marksOf && (outcome.state === 'created' || outcome.state === 'updated')
      ? { ...outcome, marks: marksOf(item) }
      : outcome

  /** A batch that was refused whole is sent in parts, until the items that the service does not take stand alone. */
  const isolate = async (
    batch: SentBatch,
    failure: ServiceFailure,
    ended: RequestOutcome,
  ): Promise<number> => {
    if (batch.items.length === 1) {
      await ledger.settle(run, segment, fence, batch, ended, [
        refusedOutcome(batch.items[0]!, failure),
      ])
      return 1
    }
    await ledger.release(run, segment, fence, batch, ended)
    let refused = 0
    for (const part of splitRefusedBatch(batch.items, failure)) {
      if (mustStop()) break
      refused += await deliver(part, await acquire())
    }
    return refused
  }

  /** `mayBeDone`: an earlier sending of the batch may have been carried out. */
  const seeThrough = async (
    first: Noted,
    firstPermit: Permit,
    mayBeDone = false,
  ): Promise<number> => {
    let note = first
    let permit = firstPermit
    let isDoubtful = mayBeDone
    for (let sending = 0; ; sending++) {
      const { batch } = note
      const result = await send(note, permit)
      if (result.kind === 'answer') {
        failuresInRow = 0
        const outcomes = batch.items.map((item, index) => {
          const told = result.answer.data[index]!
          return readAnswer(item, marked(item, itemOutcome(item, told)), told.record)
        })
        const told = await noteSecondRecords(batch.items, outcomes)
        await ledger.settle(run, segment, fence, batch, result.ended, told)
        return 0
      }
      // This sending was not carried out; an earlier one may have been, and then the batch stays in doubt.
      const notDone = async (ended: RequestOutcome) => {
        if (isDoubtful) await ledger.recordNoAnswer(run, batch, ended)
        else await ledger.release(run, segment, fence, batch, ended)
      }
      if (result.kind === 'wait') {
        await notDone(result.ended)
        throw result.error
      }
      const { failure, ended } = result
      const { status, problemCode: code, kind } = failure
      deps.logger.warn(
        { run, batch: batch.batch, attempt: batch.attempt, status, code, kind },
        'batch_failed',
      )
      if (failure.disposition === 'reject') {
        failuresInRow = 0
        return await isolate(batch, failure, ended)
      }
      if (failure.disposition === 'halt') {
        isDoubtful ||= failure.outcomeUnknown
        await notDone(ended)
        throw new Blocked(failure.block, failure.message, tuning.blocked_probe_ms)
      }
      await ledger.recordNoAnswer(run, batch, ended)
      isDoubtful ||= failure.outcomeUnknown
      /** Nobody is left in doubt by a batch that certainly was not carried out; its answer is noted already. */
      const leave = async () => {
        if (!isDoubtful) await ledger.release(run, segment, fence, batch, ended)
      }
      // This process was late, not the service.
      const isLate = failure instanceof SendDeadlinePassed
      if (!isLate) failuresInRow++
      if (failuresInRow >= SERVICE_FAILURES_MAX || sending + 1 >= sendingsMax) throw gaveUp(failure)
      const waits = tuning.resend_backoff_ms
      const wait = waits[Math.min(sending, waits.length - 1)] ?? 0
      // It may be minutes: the activity is alive meanwhile.
      if (!isLate) await withHeartbeat(deps, clock.sleep(failure.retryAfterMs ?? wait, signal))
      // What stays `sent` is sent again by the next attempt of this segment.
      if (mustStop()) {
        await leave()
        return 0
      }
      try {
        permit = await acquire()
      } catch (error) {
        await leave()
        throw error
      }
      note = await resend(batch, permit, failure.outcomeUnknown)
    }
  }

  /** Who does not get through for too long waits; a redirect is something that a person has to mend, if it stays. */
  const gaveUp = ({ status = 0, block, message, retryAfterMs }: ServiceFailure): Blocked => {
    const isRedirect = status >= 300 && status < 400
    const wait = isRedirect ? tuning.blocked_probe_ms : tuning.service_probe_ms
    return new Blocked(isRedirect ? block : 'service', message, retryAfterMs ?? wait)
  }

  /** Spends the permit only where the ledger took the note. */
  const noted = async (write: () => Promise<SentBatch>, permit: Permit): Promise<Noted> => {
    const before = sendDeadline(tuning)
    try {
      return { batch: await write(), before }
    } catch (error) {
      permit.unused()
      throw error
    }
  }
  const resend = (batch: SentBatch, permit: Permit, replayed: boolean) => {
    const again = { operation, replayed }
    return noted(() => ledger.recordResend(run, segment, fence, batch, again), permit)
  }

  const deliver = async (items: readonly PlannedItem[], permit: Permit): Promise<number> => {
    const batch = { operation, digest: bodyDigest(items), items }
    const note = await noted(() => ledger.recordSend(run, segment, fence, batch), permit)
    return await seeThrough(note, permit)
  }

  return {
    acquire,
    deliver,
    redeliver: async (batch, permit) =>
      await seeThrough(await resend(batch, permit, true), permit, true),
    requests: () => requests,
  }
}
