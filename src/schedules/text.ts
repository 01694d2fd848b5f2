// When a schedule runs, as the server has it: the server keeps times in its own form, and people edit them.

import {
  DAYS_OF_WEEK,
  MONTHS,
  type CalendarSpecDescription,
  type Range,
  type ScheduleSpecDescription,
} from '@temporalio/client'
import { everyText } from '../core/domain/schedule.ts'

/** `every 15 minutes`, `cron 0 6 * * 1-5 in Europe/Berlin`, or several. What such a text cannot express is only indicated. */
export function scheduleTimesText(spec: ScheduleSpecDescription): string {
  const { intervals = [], calendars = [], skip = [], startAt, endAt, timezone } = spec
  const times = intervals.map(({ every, offset }) =>
    offset ? `${everyText(every)}, ${offset / 1_000} s later` : everyText(every),
  )
  if (calendars.length > 0)
    times.push(`cron ${calendars.map(cronOf).join(' and ')} in ${timezone || 'UTC'}`)
  const isMore = skip.length > 0 || Boolean(startAt ?? endAt) || calendars.some(hasMore)
  return `${times.join(' and ') || 'never'}${isMore ? ' (and more, see the Temporal UI)' : ''}`
}

/** A cron line has no seconds and no years. */
const hasMore = ({ second, year }: CalendarSpecDescription): boolean =>
  year.length > 0 || second.some(({ start, end }) => start !== 0 || end !== 0)

function cronOf(calendar: CalendarSpecDescription): string {
  const numbered = <Name>(ranges: readonly Range<Name>[], names: readonly Name[], first: number) =>
    ranges.map(({ start, end, step }) => ({
      start: names.indexOf(start) + first,
      end: names.indexOf(end) + first,
      step,
    }))
  return [
    fieldOf(calendar.minute, 0, 59),
    fieldOf(calendar.hour, 0, 23),
    fieldOf(calendar.dayOfMonth, 1, 31),
    fieldOf(numbered(calendar.month, MONTHS, 1), 1, 12),
    fieldOf(numbered(calendar.dayOfWeek, DAYS_OF_WEEK, 0), 0, 6),
  ].join(' ')
}

const fieldOf = (ranges: readonly Range<number>[], min: number, max: number): string =>
  ranges
    .map(({ start, end, step }) => {
      if (start === end) return String(start)
      const range = start === min && end === max ? '*' : `${start}-${end}`
      return step === 1 ? range : `${range}/${step}`
    })
    .join(',')
