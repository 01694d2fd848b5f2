// When a sync is late: what its schedule makes one expect, with room for a run that takes long or is retried.

import type { ScheduleConfig } from '../core/domain/schedule.ts'

const MINUTE_S = 60
const DAY_S = 86_400
const LATE_MIN_S = 15 * MINUTE_S

/**
 * Seconds without a success after which a sync with this schedule is late: three intervals, at least a quarter of an hour. For a
 * cron line: a day if it names several hours, else twice the longest time between two runs that its narrowed fields allow: hour,
 * day of the week, day of the month, month.
 */
export function overdueAfterSeconds({ every_ms, cron, jitter_seconds }: ScheduleConfig): number {
  if (every_ms !== undefined) return Math.max(LATE_MIN_S, (3 * every_ms) / 1_000) + jitter_seconds
  const [, hour = '*', day = '*', month = '*', weekday = '*'] = cron!.trim().split(/\s+/)
  const narrows = (field: string) => field !== '*' && field !== '*/1'
  const longest = [
    { field: month, days: 732 },
    { field: day, days: 62 },
    { field: weekday, days: 14 },
  ].find(({ field }) => narrows(field))
  const days = longest?.days ?? (/^\d+$/.test(hour) ? 2 : 1)
  return days * DAY_S + jitter_seconds
}
