// What a run did over time.

import type { Run, RunReports, Runs, TimelinePoint } from '../ledger/ledger.ts'
import { streamTotals } from './account.ts'
import { secondsBetween } from './format.ts'
import type { StreamReport, WorkReport } from './run-report.ts'

/** Shares of a run's time in a chart: the number has many divisors, so that shares can be merged evenly. */
const SHARES_MAX = 48
/** A shorter run gets figures instead of a chart. */
const CHART_SECONDS_MIN = 5
const RATE_SHARE_SECONDS_MIN = 60

export async function collectWork(
  ledger: RunReports & Runs,
  run: Run,
  streams: readonly StreamReport[] | null,
  limit: number | null,
): Promise<WorkReport> {
  const requests = streams
    ? streamTotals(streams).requests
    : (await ledger.progress(run.id)).requests
  const points = await ledger.timeline(run.id, SHARES_MAX)
  const share = points.length < 2 ? 0 : secondsBetween(points[0]!.at, points[1]!.at)
  const isLong = share * points.length >= CHART_SECONDS_MIN
  return {
    requests,
    limit_per_minute: limit,
    outcomes: isLong
      ? {
          share_seconds: share,
          points: points.map(
            ({ requests: _requests, failedRequests: _failed, ...outcomes }) => outcomes,
          ),
        }
      : null,
    rate: isLong ? rateOf(points, share) : null,
  }
}

/** Merges several shares into one of a minute or more; null if there would be only one. */
function rateOf(points: readonly TimelinePoint[], share: number): WorkReport['rate'] {
  const together = points.findIndex(
    (_, index) =>
      (index + 1) * share >= RATE_SHARE_SECONDS_MIN && points.length % (index + 1) === 0,
  )
  if (together < 0 || together + 1 === points.length) return null
  const size = together + 1
  const seconds = size * share
  const groups = Array.from({ length: points.length / size }, (_, index) =>
    points.slice(index * size, (index + 1) * size),
  )
  return {
    share_seconds: seconds,
    points: groups.map((group) => ({
      at: group[0]!.at,
      per_minute: perMinute(group, ({ requests }) => requests, seconds),
      failed_per_minute: perMinute(group, ({ failedRequests }) => failedRequests, seconds),
    })),
  }
}

const perMinute = (
  points: readonly TimelinePoint[],
  of: (point: TimelinePoint) => number,
  seconds: number,
): number => Number(((points.reduce((sum, point) => sum + of(point), 0) * 60) / seconds).toFixed(1))
