// Where a window begins or ends, as a person writes it.

import { isCalendarDay } from './calendar.ts'

/** The instant that a text means, ISO 8601 in UTC with milliseconds; null if it means none. */
export function parseWindowInstant(text: string): string | null {
  const match =
    /^(\d{4})-(\d{2})-(\d{2})([T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?)?$/i.exec(
      text,
    )
  if (!match || !isCalendarDay(Number(match[1]), Number(match[2]), Number(match[3]))) return null
  const [, , , , clock, zone] = match
  const time = clock ? `${text.replace(' ', 'T')}${zone ? '' : 'Z'}` : `${text}T00:00:00Z`
  const ms = Date.parse(time)
  return Number.isNaN(ms) ? null : new Date(ms).toISOString()
}
