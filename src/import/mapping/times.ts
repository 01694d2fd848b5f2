// Times as files write them: the day in the format of the mapping, then hours and minutes, then the zone, of the cell or of the
// mapping. Promise kept here: a time that its zone has twice or never, as clocks change, is refused.

import { isIsoDay } from '../../core/calendar.ts'
import type { ReadDay } from '../../core/date-format.ts'

const TIME =
  /^(?<day>.*[^\s,])(?:T|,? +)(?<hour>\d{1,2}):(?<minute>\d{2})(?::(?<second>\d{2})(?<fraction>\.\d{1,9})?)?(?: ?(?<half>[AP])M)? ?(?<zone>Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?$/i

const ISO_TIME = /^.{10}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/

/** Whether a text is a time as `2026-01-31T08:15:00Z`: as most files write it, and as it is sent. */
export const isIsoTime = (text: string): boolean =>
  ISO_TIME.test(text) && isIsoDay(text.slice(0, 10))

/**
 * The instant in the form of RFC 3339, with the offset of its zone.
 * @param readDay reads the text of a day
 * @param zone of times that name none; undefined: there is none
 * @returns null if it is no time, or not one
 */
export function readTime(cell: string, readDay: ReadDay, zone: string | undefined): string | null {
  const time = TIME.exec(cell)?.groups
  const date = time ? readDay(time['day']!) : null
  if (!time || date === null) return null
  const [year, month, day] = date.split('-').map(Number) as Numbers
  const hour = hourOf(Number(time['hour']), time['half'])
  const [minute, second] = [Number(time['minute']), Number(time['second'] ?? 0)]
  if (hour === null || minute > 59 || second > 59) return null
  const offset =
    time['zone'] === undefined
      ? zone && offsetIn(zone, Date.UTC(year, month - 1, day, hour, minute, second))
      : offsetText(time['zone'])
  if (!offset) return null
  const text = `${date}T${two(hour)}:${two(minute)}`
  return `${text}:${two(second)}${time['fraction'] ?? ''}${offset}`
}

type Numbers = [number, number, number]

const two = (number: number) => String(number).padStart(2, '0')

/** Of 0 to 23; `half`: A or P, of hours from 1 to 12. */
function hourOf(hour: number, half: string | undefined): number | null {
  if (half === undefined) return hour > 23 ? null : hour
  if (hour < 1 || hour > 12) return null
  return (hour % 12) + (half.toUpperCase() === 'P' ? 12 : 0)
}

/** Those of Kiritimati are the furthest from UTC; `10:00-2024` has no offset. */
const OFFSET_HOURS_MAX = 14

/** `Z` or `+01:00`; null if no zone is so far away. */
function offsetText(zone: string): string | null {
  if (!/^[+-]/.test(zone)) return 'Z'
  const [, sign, hours = '', minutes = '00'] = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone)!
  return Number(hours) > OFFSET_HOURS_MAX || Number(minutes) > 59
    ? null
    : `${sign}${hours}:${minutes}`
}

const formatters = new Map<string, Intl.DateTimeFormat>()
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** The offset of a zone at a time of its clocks, given as if it were UTC; null if they show it twice or never. */
function offsetIn(zone: string, clock: number): string | null {
  if (zone === 'UTC') return 'Z'
  if (/^[+-]/.test(zone)) return offsetText(zone)
  // Clocks change by less than a day.
  const around = [clock - DAY_MS, clock + DAY_MS].map((instant) => offsetAt(zone, instant))
  const fitting = new Set(around.filter((offset) => offsetAt(zone, clock - offset) === offset))
  const [offset] = fitting
  if (offset === undefined || fitting.size > 1 || offset % MINUTE_MS !== 0) return null
  const minutes = Math.abs(offset) / MINUTE_MS
  return `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}

/** How far the clocks of a zone are before UTC, in milliseconds. */
function offsetAt(zone: string, instant: number): number {
  let formatter = formatters.get(zone)
  if (formatter === undefined) {
    const [wide, narrow] = ['numeric', '2-digit'] as const
    const day = { era: 'short', year: wide, month: narrow, day: narrow } as const
    const clock = { hour: narrow, minute: narrow, second: narrow, hourCycle: 'h23' } as const
    formatter = new Intl.DateTimeFormat('en', { timeZone: zone, ...day, ...clock })
    formatters.set(zone, formatter)
  }
  const parts = Object.fromEntries(
    formatter.formatToParts(instant).map(({ type, value }) => [type, value]),
  )
  const [year, month, day] = [parts['year'], parts['month'], parts['day']].map(Number) as Numbers
  const [hour, minute, second] = [parts['hour'], parts['minute'], parts['second']].map(
    Number,
  ) as Numbers
  const shown = Date.UTC(year, month - 1, day, hour, minute, second)
  return shown - Math.floor(instant / 1_000) * 1_000
}
