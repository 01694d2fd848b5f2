// A worker's metrics, by name: docs/monitoring.md lists them. Names begin with `records_sync_` and end with their unit. Promise
// kept here: labels are names of the configuration, of object types, and our own words; never a value of a row.

import type { Clock } from '../core/ports.ts'
import type { RequestObserver } from '../resources/client-registry.ts'
import { Registry, type Counter, type Gauge } from './registry.ts'

/** Where parts of the page come from. */
export const COLLECTED = ['config', 'ledger', 'temporal'] as const
export type CollectedPart = (typeof COLLECTED)[number]

/** Upper bounds of a run's duration, s. */
const DURATIONS_S = [1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400]
/** An answer's numbers of the quota are dropped after this time: other clients use the quota too. */
const QUOTA_KNOWN_MS = 120_000

export type Metrics = ReturnType<typeof createMetrics>

export function createMetrics(clock: Clock) {
  const registry = new Registry()
  const counter = (name: string, help: string) => registry.counter(`records_sync_${name}`, help)
  const gauge = (name: string, help: string) => registry.gauge(`records_sync_${name}`, help)
  const requests = requestMetrics(counter, gauge, clock)

  return {
    ready: gauge('ready', 'Whether a part that the worker cannot do without is there: 1 or 0.'),
    rows: counter('rows_total', 'Rows settled by this worker, of a mirror: rows of its tables.'),
    links: counter('links_total', 'Links of imports; counted when their run closes.'),
    keptValues: counter('kept_values_total', 'Values that runs left as others changed them.'),
    writtenOver: counter('written_over_values_total', 'Values of others that runs wrote over.'),
    deletions: counter(
      'deletions_total',
      'Records whose rows are gone from the source, or ask for it, by outcome and reason, of runs that this worker closed.',
    ),
    runs: counter('runs_total', 'Runs that this worker closed, by final state.'),
    runDuration: registry.histogram(
      'records_sync_run_duration_seconds',
      'From the opening of a run to its close.',
      DURATIONS_S,
    ),
    runState: gauge(
      'run_state',
      "1 for the state of a sync's newest run, and why it stands still.",
    ),
    differences: gauge(
      'differences',
      "Whether a sync's newest run ended and knows that the two sides do not hold the same: 1 or 0.",
    ),
    lastSuccess: gauge(
      'last_success_timestamp_seconds',
      'When the newest successful run of a sync was closed; 0 where runs have ended and none succeeded.',
    ),
    lateAfter: gauge(
      'late_after_seconds',
      'Age of the last success after which a sync with a schedule, or of a group with one, is late.',
    ),
    scheduleMissing: gauge(
      'schedule_missing',
      'Whether the schedule that a sync or a group is configured with is not on the Temporal server: 1 or 0.',
    ),
    oldestPending: gauge(
      'oldest_pending_seconds',
      'Since when rows wait to be sent: the age of the run that has them; 0 where none wait.',
    ),
    mirrorLag: gauge(
      'mirror_lag_seconds',
      "How old a mirror's table may be: since the start of the newest run that came to its end.",
    ),
    notifications: counter(
      'notifications_total',
      'Notifications that this worker has sent, or could not send.',
    ),
    collectErrors: counter(
      'collect_errors_total',
      'Times that a part of this page was missing, because what it is read from did not answer.',
    ),

    requests: requests.observer,

    text(): string {
      requests.showQuotas()
      return registry.text()
    },
  }
}

/** Requests of this worker, and the quota as their answers say. */
function requestMetrics(
  counter: (name: string, help: string) => Counter,
  gauge: (name: string, help: string) => Gauge,
  clock: Clock,
) {
  const lastAnswers = new Map<
    string,
    { limit: number | null; remaining: number | null; atMs: number }
  >()

  const requests = counter(
    'requests_total',
    'Requests that this worker sent, by the status of their answer; none: no answer came.',
  )
  const waits = counter(
    'quota_wait_seconds_total',
    'Seconds that requests of this worker have waited for the quota.',
  )
  const limit = gauge(
    'quota_limit_requests',
    'Requests a minute that the service allows, as its last answer to this worker said.',
  )
  const remaining = gauge(
    'quota_remaining_requests',
    'Requests that are left, as the last answer to this worker said.',
  )

  const sunset = gauge(
    'api_sunset_timestamp_seconds',
    'When the API of a connection ends, as its service announces; 0 where it announces an end without a day.',
  )

  return {
    observer: {
      answered(connection, { priority, status, limit, remaining, deprecation }) {
        requests.add({ connection, priority, status: status === null ? 'none' : String(status) })
        if (deprecation !== null) sunset.set({ connection }, (deprecation.sunsetMs ?? 0) / 1_000)
        if (status !== null) lastAnswers.set(connection, { limit, remaining, atMs: clock.now() })
      },
      waited(connection, { priority, ms }) {
        waits.add({ connection, priority }, ms / 1_000)
      },
    } satisfies RequestObserver,

    showQuotas(): void {
      limit.clear()
      remaining.clear()
      for (const [connection, last] of lastAnswers) {
        if (clock.now() - last.atMs > QUOTA_KNOWN_MS) continue
        if (last.limit !== null) limit.set({ connection }, last.limit)
        if (last.remaining !== null) remaining.set({ connection }, last.remaining)
      }
    },
  }
}
