// Dates and times as text. Promise kept here: only real calendar days pass, and a time has one stored form: UTC with
// milliseconds and Z, so that text order is time order; a time with more digits is refused, not cut.

import { isCalendarDay } from '../../core/calendar.ts'

const time =
  /^(\d{4}-\d\d-\d\d)[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,3}0*)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/

/** The day itself, or undefined if `raw` is not a real day `YYYY-MM-DD` from year 1 on. */
export function parseDate(raw: unknown): string | undefined {
  if (typeof raw !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(raw)) return undefined
  const year = Number(raw.slice(0, 4))
  const month = Number(raw.slice(5, 7))
  const day = Number(raw.slice(8, 10))
  return isCalendarDay(year, month, day) ? raw : undefined
}

/** `2026-01-02T03:04:05.678Z`, or undefined if `raw` is not RFC 3339 with an offset, or is finer than a millisecond. */
export function parseDatetime(raw: unknown): string | undefined {
  if (typeof raw !== 'string') return undefined
  const match = time.exec(raw)
  if (!match || parseDate(match[1]) === undefined) return undefined
  const utc = new Date(raw.toUpperCase()).toISOString()
  // An offset may lead out of the years 1 to 9999: the stored form would then not be a valid time, or would have another length,
  // and text order would no longer be time order.
  return utc.length === 24 && utc >= '0001' ? utc : undefined
}
