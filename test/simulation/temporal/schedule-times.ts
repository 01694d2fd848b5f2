// When a schedule is due: intervals, calendars, and cron lines as the server turns them into calendars.

import type { temporal } from '@temporalio/proto'
import { CODE, msOf, RpcError } from './wire.ts'

export type ScheduleSpec = temporal.api.schedule.v1.IScheduleSpec
type Calendar = temporal.api.schedule.v1.IStructuredCalendarSpec
type Range = temporal.api.schedule.v1.IRange

const DAY_MS = 86_400_000
const DAYS_MAX = 366 * 5
const EVERY: Readonly<Record<string, readonly [number, number]>> = {
  minute: [0, 59],
  hour: [0, 23],
  dayOfMonth: [1, 31],
  month: [1, 12],
  dayOfWeek: [0, 6],
}
const NAMES = ['minute', 'hour', 'dayOfMonth', 'month', 'dayOfWeek'] as const
const SHORT: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
}

/** The spec with its cron lines as calendars. @throws RpcError */
export function withCalendars(spec: ScheduleSpec): ScheduleSpec {
  const calendars = (spec.cronString ?? []).map(calendarOf)
  return {
    ...spec,
    cronString: [],
    structuredCalendar: [...(spec.structuredCalendar ?? []), ...calendars],
  }
}

function calendarOf(line: string): Calendar {
  const fields = (SHORT[line.trim()] ?? line).trim().split(/\s+/)
  if (fields.length !== NAMES.length)
    throw new RpcError(CODE.invalid, `Invalid schedule spec: ${line}`)
  const parsed = NAMES.map((name, at) => [name, rangesOf(fields[at]!, EVERY[name]!)] as const)
  return { second: [{ start: 0, end: 0, step: 1 }], ...Object.fromEntries(parsed), comment: line }
}

function rangesOf(text: string, [least, most]: readonly [number, number]): Range[] {
  return text.split(',').map((part) => {
    const [, star, from, to, step] = /^(?:(\*)|(\d+)(?:-(\d+))?)(?:\/(\d+))?$/.exec(part) ?? []
    if (star === undefined && from === undefined)
      throw new RpcError(CODE.invalid, `Invalid schedule spec: ${part}`)
    const start = star === undefined ? Number(from) : least
    const end = star === undefined && to === undefined && step === undefined ? start : most
    return {
      start: start % (most + 1 || 1),
      end: to === undefined ? end : Number(to),
      step: Number(step ?? 1),
    }
  })
}

const valuesOf = (ranges: readonly Range[] | null | undefined, all: readonly [number, number]) => {
  const values = new Set<number>()
  for (const { start, end, step } of ranges ?? [{ start: all[0], end: all[1], step: 1 }])
    for (let value = start ?? 0; value <= Math.max(end ?? 0, start ?? 0); value += step || 1)
      values.add(value)
  return values
}

/** Ms that local time is ahead of UTC. */
function offsetMs(zone: string, at: number): number {
  if (zone === '' || zone === 'UTC') return 0
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(at)
  const of = (type: string) => Number(parts.find((part) => part.type === type)?.value)
  const local = Date.UTC(
    of('year'),
    of('month') - 1,
    of('day'),
    of('hour'),
    of('minute'),
    of('second'),
  )
  return local - Math.floor(at / 1_000) * 1_000
}

function nextOfCalendar(calendar: Calendar, zone: string, after: number): number | null {
  const days = {
    month: valuesOf(calendar.month, EVERY['month']!),
    dayOfMonth: valuesOf(calendar.dayOfMonth, EVERY['dayOfMonth']!),
    dayOfWeek: valuesOf(calendar.dayOfWeek, EVERY['dayOfWeek']!),
  }
  const sorted = (ranges: readonly Range[] | null | undefined) =>
    [...valuesOf(ranges ?? [{ start: 0, end: 0, step: 1 }], [0, 0])].toSorted((a, b) => a - b)
  const [hours, minutes, seconds] = [
    sorted(calendar.hour),
    sorted(calendar.minute),
    sorted(calendar.second),
  ]
  const first = Math.floor((after + offsetMs(zone, after)) / DAY_MS) * DAY_MS
  for (let day = 0; day < DAYS_MAX; day++) {
    const midnight = first + day * DAY_MS
    const date = new Date(midnight)
    const isDay =
      days.month.has(date.getUTCMonth() + 1) &&
      days.dayOfMonth.has(date.getUTCDate()) &&
      days.dayOfWeek.has(date.getUTCDay())
    if (!isDay) continue
    for (const hour of hours)
      for (const minute of minutes)
        for (const second of seconds) {
          const local = midnight + ((hour * 60 + minute) * 60 + second) * 1_000
          const at = local - offsetMs(zone, local)
          if (at > after) return at
        }
  }
  return null
}

/** The next time after `after`; null if there is none. */
export function nextTime(spec: ScheduleSpec, after: number): number | null {
  const zone = spec.timezoneName ?? ''
  const times = [
    ...(spec.interval ?? []).flatMap(({ interval, phase }) => {
      const every = msOf(interval)
      if (every <= 0) return []
      const from = msOf(phase)
      return [from + (Math.floor((after - from) / every) + 1) * every]
    }),
    ...(spec.structuredCalendar ?? []).map((one) => nextOfCalendar(one, zone, after)),
  ].filter((one) => one !== null)
  const next = times.length === 0 ? null : Math.min(...times)
  const end = spec.endTime ? msOf(spec.endTime) : Infinity
  return next === null || next > end ? null : next
}
