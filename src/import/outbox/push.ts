// Push: the planned items of a segment go out, 50 at a time, in as many lanes as requests may be in flight
// (design section 3). A permit comes first, the batch after: so every request is as full as it can be.

import { operationOfMode, writesRecords } from '../../core/domain/import-modes.ts'
import { ITEM_ATTEMPTS_MAX, LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type {
  BeforeImages,
  KnownLinks,
  Outbox,
  PlannedItem,
  Runs,
  RunSegment,
  SentBatch,
  StepStates,
} from '../../ledger/ledger.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import { noteSentAgain } from '../../runs/sent-again.ts'
import { asSentReader } from '../judge/as-sent.ts'
import { findRows } from './find-rows.ts'
import type { AppliedPlan } from '../judge/applied-plan.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { BodyRoom, itemsOfBody } from './body-room.ts'
import { chosenRows, type RoundRows } from './chosen-rows.ts'
import { Delivery } from './deliver.ts'
import { resolveKeyForms } from '../look/key-forms.ts'
import { PushSlice } from './push-slice.ts'
import type { ClaimedSegment, DeliveryLedger, PushResult } from '../judge/claimed-segment.ts'

interface Job extends StagedImport {
  readonly segment: RunSegment
  /** As the slice before counted them; none for the first one. */
  readonly refusedInRow?: number
  /** The plan that the run keeps to. Default: none. */
  readonly plan?: AppliedPlan | null
}

/**
 * Pushes a segment to its end, or until time runs out.
 * @throws Blocked if a person or the service has to mend something first; QuotaWait for a long wait;
 * FenceLost if another worker has taken the segment over
 */
export async function push(
  deps: ImportDeps<DeliveryLedger & KnownLinks>,
  job: Job,
): Promise<PushResult> {
  const { client, ledger } = deps
  if (!writesRecords(job.config.mode)) return await findRows(deps, job)
  const { run, segment } = job
  // It may read the service's document.
  const asking = client.itemsPerRequest(operationOfMode(job.config.mode))
  const itemsPerRequest = await withHeartbeat(deps, asking)
  const fence = await ledger.claimSegment(run, segment)
  const claimed = { refusedInRow: 0, plan: null, ...job, itemsPerRequest, fence }
  // What was looked up is lost with a slice that ends before it is sent, and so is why a batch was refused.
  const mayEnd = () =>
    delivery.hasOutcomes || (delivery.requests === 0 && !delivery.chooser.looksFirst)
  const slice: PushSlice = new PushSlice(deps, mayEnd)
  const delivery = new Delivery(deps, claimed, slice.mustStop)
  try {
    await resolveKeyForms(deps, job)
    await resendLost(deps, job, delivery, slice)
    const done = await pushRounds(deps, claimed, delivery, slice)
    if (done) await ledger.finishSegment(run, segment, fence)
    return { done, requests: delivery.requests, refusedInRow: delivery.refusedInRow }
  } finally {
    slice.end()
  }
}

/** What was in flight when the last attempt ended: its outcome is unknown, so it is sent again as it was, or looked up. */
async function resendLost(
  { ledger }: ImportDeps<BeforeImages & Outbox & Runs & StepStates>,
  job: Job,
  delivery: Delivery,
  slice: PushSlice,
): Promise<void> {
  const { run, segment } = job
  const room = new BodyRoom()
  let after = 0
  let read: readonly SentBatch[] = []
  const taken = new Set<number>()
  const take = inTurn(async () => {
    await room.enter(slice.signal)
    try {
      if (slice.mustStop()) return null
      if (read.length === 0) read = await ledger.unsettledBatches(run, segment, after)
      const [batch, ...others] = read
      // Rows of a lost batch may be in a new one by now, which has a higher number than all that were lost.
      if (batch === undefined || batch.items.some(({ ordinal }) => taken.has(ordinal))) return null
      for (const { ordinal } of batch.items) taken.add(ordinal)
      read = others
      after = batch.batch
      return { batch, end: room.take(batch.items) }
    } finally {
      room.leave()
    }
  })
  const asSent = asSentReader(ledger, job)
  const { chooser } = delivery
  const acquire = () => slice.inTime(delivery.acquire(slice.signal))
  const resend = async (lost: SentBatch): Promise<boolean> => {
    if (delivery.mayReplay && chooser.keepsImages) {
      await delivery.resume(lost, acquire)
      return true
    }
    const batch = { ...lost, items: await asSent(lost.items) }
    if (!delivery.mayReplay) {
      await chooser.settleLost(batch)
      return true
    }
    if (!(await chooser.isStillAimed(batch))) return true
    const body = delivery.bodyOf(batch)
    const permit = await acquire()
    if (permit === null) return false
    await delivery.redeliver(batch, body, permit)
    return true
  }
  await slice.inLanes(async () => {
    const lost = await take()
    return lost !== null && (await resend(lost.batch).finally(lost.end))
  })
}

/** Calls of `work` one after the other. */
function inTurn<Given extends unknown[], Result>(
  work: (...given: Given) => Promise<Result>,
): (...given: Given) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve()
  return (...given) => {
    const working = last.then(() => work(...given))
    last = working.catch(() => {})
    return working
  }
}

/**
 * First everything planned, then, with growing waits, what was answered 500 or 503 inside an answer. Returns whether nothing is
 * left.
 */
async function pushRounds(
  deps: ImportDeps<DeliveryLedger>,
  job: ClaimedSegment,
  delivery: Delivery,
  slice: PushSlice,
): Promise<boolean> {
  const { ledger, clock, tuning, signal } = deps
  const sendAll = roundSender(delivery, slice)
  const { chooser } = delivery
  const choose = (items: readonly PlannedItem[]) => chooser.choose(items)
  const limits = { limit: job.itemsPerRequest, mustStop: slice.mustStop, slice: slice.signal }
  let isNoted = false
  // The slice before has waited for the rows that are due now.
  for (let round = await firstRound(ledger, job); round <= ITEM_ATTEMPTS_MAX; round++) {
    const planned = dispenser(ledger, job, round, slice.signal)
    await sendAll(chooser.looksFirst ? chosenRows(planned, choose, limits) : planned)
    const again = delivery.takeAgain()
    if (again !== null || isNoted) await noteSentAgain(ledger, job.run, again)
    isNoted = again !== null
    if (slice.isOver()) return false
    const left = await firstPlanned(ledger, job)
    if (left === null) break
    const waits = tuning.item_backoff_ms
    await clock.sleep(waits[Math.min(round, waits.length) - 1] ?? 0, signal)
  }
  return true
}

/** The first round that has anything to send. */
async function firstRound(ledger: Outbox, { run, segment }: ClaimedSegment): Promise<number> {
  for (let round = 1; round < ITEM_ATTEMPTS_MAX; round++) {
    const choice = { after: segment.first - 1, attemptsBelow: round, limit: 1 }
    if ((await ledger.nextPlanned(run, segment, choice)).length > 0) return round
  }
  return ITEM_ATTEMPTS_MAX
}

/** The first item of a segment that may be sent still; null if none is left. */
export async function firstPlanned(
  ledger: Outbox,
  { run, segment }: { readonly run: number; readonly segment: RunSegment },
): Promise<PlannedItem | null> {
  const choice = { after: segment.first - 1, attemptsBelow: ITEM_ATTEMPTS_MAX, limit: 1 }
  const [item] = await ledger.nextPlanned(run, segment, choice)
  return item ?? null
}

/** Sends what a dispenser hands out, unless the service refuses row after row. */
function roundSender(delivery: Delivery, slice: PushSlice) {
  return async (planned: RoundRows): Promise<void> => {
    const room = new BodyRoom()
    const takeBody = inTurn(async () => {
      if (room.isFull) return null
      const items = slice.mustStop() ? [] : await planned.take()
      return { items, end: room.take(items) }
    })
    /** A body and its permit; otherwise, whether there may be more of them. */
    const prepared = async () => {
      await planned.prepare()
      if (slice.mustStop() || planned.isEmpty()) return false
      const permit = await slice
        .inTime(delivery.acquire(planned.signal))
        .catch((error: unknown) => {
          if (planned.isEmpty()) return null
          throw error
        })
      if (permit === null) return false
      try {
        const body = await takeBody()
        if (body !== null && body.items.length > 0) return { ...body, permit }
      } catch (error) {
        permit.unused()
        throw error
      }
      // Bodies were larger than expected, and this lane waits until there is room; or another lane was faster.
      permit.unused()
      return !planned.isEmpty()
    }
    await slice.inLanes(async () => {
      if (slice.mustStop() || planned.isEmpty()) return false
      await room.enter(planned.signal)
      const body = await prepared().finally(() => room.leave())
      if (typeof body === 'boolean') return body
      const { items, permit, end } = body
      await slice
        .timed(
          () => delivery.deliver(items, permit),
          () => delivery.failures,
        )
        .finally(end)
      const { blocked } = delivery
      if (blocked !== null) throw blocked
      return true
    })
  }
}

/** Hands out the planned items of a round, in ordinal order, each once, to whichever lane asks. */
function dispenser(
  ledger: Outbox,
  { run, segment, itemsPerRequest: limit }: ClaimedSegment,
  round: number,
  slice: AbortSignal,
): RoundRows {
  let after = segment.first - 1
  let read: readonly PlannedItem[] = []
  let isReadToEnd = false
  const empty = new AbortController()
  const readOn = async () => {
    const options = { after, attemptsBelow: round, limit: LEDGER_ROWS_MAX }
    const items = await ledger.nextPlanned(run, segment, options)
    after = items.at(-1)?.ordinal ?? segment.last
    // Only a page without items shows that there are no more.
    isReadToEnd = items.length === 0 || after >= segment.last
    read = read.length === 0 ? items : [...read, ...items]
  }
  const next = async (rows: number): Promise<readonly PlannedItem[]> => {
    const isOneBody = read.length < rows && itemsOfBody(read, rows) === read.length
    if (isOneBody && !isReadToEnd) await readOn()
    const count = itemsOfBody(read, rows)
    const items = read.slice(0, count)
    read = read.slice(count)
    if (read.length === 0 && !isReadToEnd) await readOn()
    // A permit for which nothing is left would keep the request of another lane waiting.
    if (read.length === 0 && isReadToEnd) empty.abort()
    return items
  }
  const take = inTurn(next)
  return {
    isEmpty: () => empty.signal.aborted,
    signal: AbortSignal.any([empty.signal, slice]),
    prepare: async () => {},
    take: (rows = limit) => take(rows),
  }
}
