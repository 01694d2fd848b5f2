// What of a run may be tuned, and how far: a person who may start a run may slow it down or speed it up, but not make it one that
// can never work, that overloads a service, or whose approval expires before anyone sees it.

import { nearestWord } from '../suggest.ts'

/** The minimum of each setting; for a list, of each wait in it. */
const MINIMUM = {
  import: {
    rows_per_segment: 1_000,
    in_flight: 1,
    segments_in_flight: 1,
    // As long as a page of records may take to be looked up: what a slice does not end, the next one begins anew.
    segment_ms: 15_000,
    service_probe_ms: 1_000,
    blocked_probe_ms: 1_000,
    resend_backoff_ms: 100,
    item_backoff_ms: 100,
    refused_in_row_max: 0,
    approval_ms: 60_000,
    heartbeat_timeout_ms: 15_000,
  },
  mirror: {
    streams_in_flight: 1,
    readers: 1,
    rows_per_range: 100,
    rows_per_merge: 1,
    merge_ms: 0,
    stream_ms: 1_000,
    edges_ms: 100,
    read_backoff_ms: 100,
    service_probe_ms: 1_000,
    blocked_probe_ms: 1_000,
    approval_ms: 60_000,
    heartbeat_timeout_ms: 15_000,
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, number>>>>

/** Variable of a worker, and of a command: if it is 1, the minimum does not apply. For tests, which would wait for minutes. */
export const SMALL_TUNING = 'RECORDS_SYNC_SMALL_TUNING'

export const tunable = (kind: keyof typeof MINIMUM): string => Object.keys(MINIMUM[kind]).join(', ')

/** Why a run of that kind cannot be tuned so, in one sentence; null if it can. */
export function tuningProblem(
  kind: keyof typeof MINIMUM,
  tuning: object,
  env: Readonly<Record<string, string | undefined>>,
): string | null {
  const least: Readonly<Record<string, number>> = MINIMUM[kind]
  for (const [name, value] of Object.entries(tuning) as [string, unknown][]) {
    const minimum = Object.hasOwn(least, name) ? least[name] : undefined
    if (minimum === undefined) {
      const near = nearestWord(name, Object.keys(least))
      const meant = near === undefined ? '' : ` (did you mean ${near}?)`
      const what = kind === 'import' ? 'an import' : 'a mirror'
      return `${JSON.stringify(name.slice(0, 60))} cannot be tuned in ${what}${meant}; these can: ${tunable(kind)}`
    }
    if (env[SMALL_TUNING] === '1') continue
    const values: readonly unknown[] = Array.isArray(value) ? value : [value]
    if (values.some((each) => Number(each) < minimum))
      return `${name}: expected ${minimum} or more${Array.isArray(value) ? ' for each wait' : ''}`
  }
  return null
}
