// Instants in their one form: UTC, with at most six digits of a second, and no zeros at their end.

import { isCalendarDay } from '../core/calendar.ts'

/** RFC 3339, with the offsets of ISO 8601 without a colon, or without minutes. */
const INSTANT =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,12}))?(?:[Zz]|([+-](?:[01]\d|2[0-3]))(?::?([0-5]\d))?)$/

/**
 * `2026-01-31T08:15:00.5Z`, or null if `value` is no time with an offset, of the years 1 to 9999. Digits beyond the
 * sixth are cut off; `exact` refuses them, unless they are zero.
 */
export function parseInstant(value: unknown, exact = false): string | null {
  if (typeof value !== 'string') return null
  const match = INSTANT.exec(value)
  if (!match) return null
  const [, year, month, day, hour, minute, second, digits = '', hours, minutes = '00'] = match
  if (exact && !/^0*$/.test(digits.slice(6))) return null
  const time = `${hour}:${minute}:${second}`
  const offset = hours === undefined ? 'Z' : `${hours}:${minutes}`
  const ms = Date.parse(`${year}-${month}-${day}T${time}${offset}`)
  if (Number.isNaN(ms) || !isCalendarDay(Number(year), Number(month), Number(day))) return null
  const utc = new Date(ms).toISOString()
  // An offset may lead out of the years 1 to 9999.
  if (utc.length !== 24 || utc < '0001') return null
  const fraction = digits.slice(0, 6).replace(/0+$/, '')
  return `${utc.slice(0, 19)}${fraction === '' ? '' : `.${fraction}`}Z`
}

/** Of milliseconds since 1970. */
export const formatInstant = (ms: number): string => new Date(ms).toISOString()

/** To the millisecond. Everything is later than none. */
export const isLater = (a: string, b: string | null): boolean =>
  b === null || Date.parse(a) > Date.parse(b)

export const earlierInstant = (a: string, b: string): string => (isLater(a, b) ? b : a)
