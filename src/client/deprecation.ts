// The headers `Deprecation` (RFC 9745) and `Sunset` (RFC 8594): a service announces the end of the API that it is asked for. Promise
// kept here: whatever the headers hold, the result is two times or nothing; no text of the service is kept.

import { parseHttpDate } from './pacer/headers.ts'

/** Times in ms; null: not said, or no date that can be read. */
export interface AnnouncedEnd {
  readonly sinceMs: number | null
  /** From then on requests may fail. */
  readonly sunsetMs: number | null
}

const FIELD_CHARS_MAX = 1_000
/** The end of the year 9999. */
const LATEST_MS = 253_402_300_799_999

/** `@1688169599`; the forms of an HTTP-date; ISO 8601. Each alone or among others, with parameters or in quotes. */
const DATES = new RegExp(
  [
    String.raw`(?<![\w.@-])@(?<unix>\d{1,12})(?![\w.])`,
    String.raw`(?<http>[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} GMT|[A-Z][a-z]{5,8}, \d\d-[A-Z][a-z]{2}-\d\d [\d:]{8} GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})`,
    String.raw`(?<![\w-])(?<iso>\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?)?)(?![\w:])`,
  ].join('|'),
  'g',
)

/** What the headers of an answer announce; null if nothing. `false` and `?0` announce nothing. */
export function readDeprecation(
  deprecation: string | undefined,
  sunset: string | undefined,
  nowMs: number,
): AnnouncedEnd | null {
  const isSaid = [deprecation, sunset].some(
    (text) => !/^\s*(?:(?:false|\?0)\s*)?$/i.test(text ?? ''),
  )
  return isSaid
    ? { sinceMs: earliest(deprecation, nowMs), sunsetMs: earliest(sunset, nowMs) }
    : null
}

/** The earliest of the dates of a field: who is ready by then is ready for all. */
function earliest(field: string | undefined, nowMs: number): number | null {
  const text = (field ?? '').trim().slice(0, FIELD_CHARS_MAX)
  const times = [...utcAsGmt(/^\d{9,10}$/.test(text) ? `@${text}` : text).matchAll(DATES)]
    .map(({ groups: { unix, http, iso } = {} }) => {
      if (unix !== undefined) return Number(unix) * 1_000
      return http === undefined ? isoTime(iso!) : parseHttpDate(http, nowMs)
    })
    .filter((ms) => ms !== null && ms >= 0 && ms <= LATEST_MS)
  return times.length === 0 ? null : Math.min(...(times as number[]))
}

/** Other names of the same zone. */
const utcAsGmt = (text: string): string =>
  text.replaceAll(/(?<=\d\d:\d\d:\d\d )(?:UTC|UT|Z|[+-]0000)(?![\w])/g, 'GMT')

/** Null for an impossible date, which would become another day. */
function isoTime(text: string): number | null {
  const ms = Date.parse(/T[^Z+-]+$/.test(text) ? `${text}Z` : text)
  const day = Date.parse(`${text.slice(0, 10)}T00:00:00Z`)
  const isDay = !Number.isNaN(day) && new Date(day).toISOString().startsWith(text.slice(0, 10))
  return Number.isNaN(ms) || !isDay ? null : ms
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** Whether the day after which requests may fail has come. */
const isPastSunset = ({ sunsetMs }: AnnouncedEnd, nowMs: number): boolean =>
  sunsetMs !== null && sunsetMs <= nowMs

/** What a service announces, in words: a sentence without its subject and its full stop. */
export function deprecationText(found: AnnouncedEnd, nowMs: number): string {
  const { sinceMs, sunsetMs } = found
  if (isPastSunset(found, nowMs))
    return `its service has announced the end of this API for ${dayOf(sunsetMs!)}, and that day has come: every request may fail from now on. Ask at once who runs the service which version replaces it`
  const since =
    sinceMs === null
      ? 'is deprecated'
      : `${sinceMs <= nowMs ? 'is deprecated since' : 'will be deprecated on'} ${dayOf(sinceMs)}`
  const end =
    sunsetMs === null
      ? 'no day of its end is announced that can be read'
      : `from ${dayOf(sunsetMs)} on requests may fail`
  return `its service announces that this API ${since}; ${end}. Ask who runs the service which version replaces it`
}

/** The same for programs. */
export const deprecationToJson = (found: AnnouncedEnd | null) =>
  found && { since: isoOrNull(found.sinceMs), sunset: isoOrNull(found.sunsetMs) }

const isoOrNull = (ms: number | null): string | null =>
  ms === null ? null : new Date(ms).toISOString()
