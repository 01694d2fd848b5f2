// Push: the planned items of a segment go out, 50 at a time, in as many lanes as requests may be in flight
// (design section 3). A permit comes first, the batch after: so every request is as full as it can be.

import { Blocked, SyncError } from '../../core/errors.ts'
import { ITEM_ATTEMPTS_MAX } from '../../core/limits.ts'
import type { Permit } from '../../core/ports.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { PlannedItem, RunSchema, RunSegment } from '../../ledger/ledger.ts'
import { bodyDigest, createDelivery, type DeliveryLedger } from './deliver.ts'
import { resolveKeyForms } from './key-forms.ts'
import type { ImportDeps } from '../ports.ts'

/** What a call of `push` reached. */
export interface PushResult {
  /** False where time ran out first: call again. */
  readonly done: boolean
  readonly requests: number
}

interface Job {
  readonly run: number
  readonly config: ImportConfig
  readonly schema: RunSchema | null
  readonly segment: RunSegment
}

/** Batches of which the service refused every item, with whole requests, before the run is `blocked: contract`. */
const refusedBatchesMax = 2

/**
 * Pushes a segment to its end, or until time runs out.
 * @throws Blocked where a person or the service has to mend something first; QuotaWait for a long wait;
 * FenceLost where another worker has taken the segment over
 */
export async function push(deps: ImportDeps<DeliveryLedger>, job: Job): Promise<PushResult> {
  const { client, ledger, clock, tuning } = deps
  const itemsPerRequest = await client.upsertsPerRequest()
  const fence = await ledger.claimSegment(job.run, job.segment)
  const deadline = clock.now() + tuning.segment_ms
  const timeUp = new AbortController()
  const ended = new AbortController()
  clock.sleep(tuning.segment_ms, ended.signal).then(
    () => timeUp.abort(),
    () => {},
  )
  try {
    return await pushUntil(deps, { ...job, itemsPerRequest, fence }, deadline, timeUp.signal)
  } finally {
    ended.abort()
  }
}

/** `timeUp` aborts at the deadline: a permit that came then would only be given back, and somebody else waits for it. */
async function pushUntil(
  deps: ImportDeps<DeliveryLedger>,
  job: Job & { readonly itemsPerRequest: number; readonly fence: number },
  deadline: number,
  timeUp: AbortSignal,
): Promise<PushResult> {
  const { ledger, clock, tuning, signal } = deps
  const { run, segment, itemsPerRequest, fence } = job
  /** The first error ends every lane; batches in flight are settled first. */
  let stopped: { error: unknown } | null = null
  const halted = new AbortController()
  // A timer and a clock that was set may disagree: the earlier one counts, everywhere alike.
  const isOver = () => timeUp.aborted || clock.now() >= deadline
  const mustStop = () => stopped !== null || signal.aborted || isOver()
  const delivery = createDelivery(deps, job, mustStop)
  let refusedBatches = 0

  const inLanes = async (lane: () => Promise<void>): Promise<void> => {
    const guarded = async () => {
      try {
        await lane()
      } catch (error) {
        stopped ??= { error }
        halted.abort()
      }
    }
    await Promise.all(Array.from({ length: tuning.in_flight }, guarded))
    if (signal.aborted) throw signal.reason
    if (stopped !== null) throw (stopped as { error: unknown }).error
  }

  await resolveKeyForms(deps, job)

  /** Aborts when time is up, with the work, and where another lane failed. */
  const slice = AbortSignal.any([timeUp, halted.signal, signal])
  /** Null where time is up before a permit comes. */
  const acquireInTime = (until: AbortSignal): Promise<Permit | null> =>
    delivery.acquire(until).catch((error: unknown) => {
      if (timeUp.aborted && !signal.aborted && stopped === null) return null
      throw error
    })

  // What was in flight when the last attempt ended: its outcome is unknown, so it is sent again as it was.
  const lost = [...(await ledger.unsettledBatches(run, segment))]
  await inLanes(async () => {
    for (let batch = lost.shift(); batch && !mustStop(); batch = lost.shift()) {
      if (bodyDigest(batch.items) !== batch.digest)
        throw new SyncError(
          'replay_differs',
          `Run ${run}: batch ${batch.batch} cannot be rebuilt as it was sent`,
        )
      const permit = await acquireInTime(slice)
      if (permit === null) return
      await delivery.redeliver(batch, permit)
    }
  })

  /** Hands out the planned items of a round, in ordinal order, each once, to whichever lane asks. */
  const dispenser = (round: number) => {
    let after = segment.first - 1
    let last: Promise<unknown> = Promise.resolve()
    const empty = new AbortController()
    const next = async (): Promise<readonly PlannedItem[]> => {
      const items = await ledger.nextPlanned(run, segment, {
        after,
        attemptsBelow: round,
        limit: itemsPerRequest,
      })
      after = items.at(-1)?.ordinal ?? segment.last
      // A permit that nothing is left for would keep somebody else's request waiting.
      if (items.length < itemsPerRequest || after >= segment.last) empty.abort()
      return items
    }
    return {
      isEmpty: () => empty.signal.aborted,
      /** Aborts with the last item handed out, and with the slice. */
      signal: AbortSignal.any([empty.signal, slice]),
      take: () => {
        const turn = last.then(next)
        last = turn.catch(() => {})
        return turn
      },
    }
  }

  // Rounds: first everything planned, then, with growing waits, what was answered 500 or 503 inside an answer.
  for (let round = 1; round <= ITEM_ATTEMPTS_MAX; round++) {
    const planned = dispenser(round)
    await inLanes(async () => {
      // Bounded by the segment's items: every pass takes some, or ends.
      while (!mustStop() && !planned.isEmpty()) {
        const permit = await acquireInTime(planned.signal).catch((error: unknown) => {
          if (planned.isEmpty()) return null
          throw error
        })
        if (permit === null) return
        const items = mustStop() ? [] : await planned.take()
        if (items.length === 0) return permit.unused()
        const refused = await delivery.deliver(items, permit)
        if (refused < items.length || items.length === 1) continue
        if (++refusedBatches >= refusedBatchesMax)
          throw new Blocked(
            'contract',
            `the service refused ${refusedBatches} batches down to the last item; the reasons are in the ledger`,
            tuning.blocked_probe_ms,
          )
      }
    })
    if (isOver()) return { done: false, requests: delivery.requests() }
    const [left] = await ledger.nextPlanned(run, segment, {
      after: 0,
      attemptsBelow: ITEM_ATTEMPTS_MAX,
      limit: 1,
    })
    if (!left) break
    const waits = tuning.item_backoff_ms
    await clock.sleep(waits[Math.min(round, waits.length) - 1] ?? 0, signal)
  }
  await ledger.finishSegment(run, segment, fence)
  return { done: true, requests: delivery.requests() }
}
