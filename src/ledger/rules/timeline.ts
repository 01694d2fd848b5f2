// What a run did over its time, in equal shares: requests by when they were sent, items by when their last request was settled.

import { timedOutcome, TIMED_OUTCOMES, type TimedState } from '../../core/domain/outcomes.ts'
import { zeroCounts } from '../../core/register.ts'
import type { TimelinePoint } from '../roles/run-reports.ts'

/** A request. Times are milliseconds since 1970. */
export interface TimedRequest {
  readonly batch: number
  readonly sentAt: number
  /** Null if no answer is recorded. */
  readonly settledAt: number | null
  readonly status: number | null
}

/**
 * @param first when the first request was sent
 * @param last when the last request was sent or settled
 */
export function timelineBetween(first: number, last: number, points: number) {
  const width = Math.max(1, (last - first) / points)
  const shares = Math.max(1, Math.ceil((last - first) / width))
  const line = Array.from({ length: shares }, (_, share) => ({
    at: new Date(first + share * width).toISOString(),
    requests: 0,
    failedRequests: 0,
    ...zeroCounts(TIMED_OUTCOMES),
  }))
  const shareOf = (time: number) =>
    line[Math.max(0, Math.min(shares - 1, Math.floor((time - first) / width)))]!
  /** When the last request of a batch was settled, by batch. */
  const settled: number[] = []
  return {
    /** Of a batch, in the order of its attempts. */
    addRequest({ batch, sentAt, settledAt, status }: TimedRequest): void {
      const share = shareOf(sentAt)
      share.requests++
      if (status === null || status < 200 || status > 299) share.failedRequests++
      settled[batch] = settledAt ?? sentAt
    },
    /** After all requests. */
    addItems(batch: number, state: TimedState, items: number): void {
      shareOf(settled[batch] ?? first)[timedOutcome(state)] += items
    },
    points: (): readonly TimelinePoint[] => line,
  }
}
