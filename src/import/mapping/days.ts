// Cells that become days and times: in the formats that the mapping states, or as numbers that count them. Promise kept here: a cell
// that two formats read as different days is refused, and a time is cut to milliseconds, as records keep it, and marked as cut.

import {
  dayReader,
  timeSince1970,
  exampleDay,
  spreadsheetDay,
  type ReadDay,
} from '../../core/date-format.ts'
import { isIsoDay } from '../../core/calendar.ts'
import type { PropertyMapping } from '../../../config/index.ts'
import type { Coerced, Coercion } from './coercion.ts'
import { isIsoTime, readTime } from './times.ts'

const DEFAULT = 'YYYY-MM-DD'
const NOTHING: readonly string[] = []

const refuse = (reason: string, expected: string): Coerced => ({ ok: false, reason, expected })

/** The formats of a mapping, as they are written; none where it states none. */
export const formatsOf = ({ format }: Pick<PropertyMapping, 'format'>): readonly string[] =>
  typeof format === 'string' ? [format] : (format ?? NOTHING)

const readersOf = (mapping: PropertyMapping): readonly ReadDay[] => {
  const formats = formatsOf(mapping)
  return (formats.length === 0 ? [DEFAULT] : formats).map((format) => dayReader(format, mapping))
}

const shown = (formats: readonly string[]): string =>
  formats.length === 0 ? DEFAULT : formats.join(' or ')

/** What a cell means under each format; different texts: it is not certain which. */
function readings(mapping: PropertyMapping, read: (day: ReadDay) => string | null): string[] {
  const found = new Set<string>()
  for (const day of readersOf(mapping)) {
    const text = read(day)
    if (text !== null) found.add(text)
  }
  return [...found]
}

const ambiguous = (formats: readonly string[]): Coerced =>
  refuse('ambiguous', `a cell that the formats ${shown(formats)} read as one and the same day`)

const OTHER_FORMAT =
  '; `format:` of the mapping names another form, such as `DD.MM.YYYY`, or several in a list'
/** A number as spreadsheets count days. */
const DAY_NUMBER = /^[1-9]\d{4}(?:\.0+)?$/

export const asDate: Coercion = (cell, { mapping, isOfTexts }) => {
  const { epoch } = mapping
  if (epoch !== undefined) {
    const day = epoch === 'spreadsheet' ? spreadsheetDay(cell.trim()) : null
    return day === null
      ? refuse(
          'not_a_date',
          'a number of days as spreadsheets count them, 61 or more, such as 31182',
        )
      : { ok: true, value: day }
  }
  const formats = formatsOf(mapping)
  if (formats.length === 0 && isIsoDay(cell) && isYear(cell, isOfTexts))
    return { ok: true, value: cell }
  const text = cell.trim()
  const [day, other] = readings(mapping, (read) => read(text))
  if (other !== undefined) return ambiguous(formats)
  if (day === undefined)
    return refuse(
      'not_a_date',
      `a day of the calendar as ${shown(formats)}${dayHint(text, mapping)}`,
    )
  return day < FIRST_YEAR ? refuse('not_a_date', TOO_EARLY) : { ok: true, value: day }
}

/** Years before it are mistyped ones, where people wrote them. */
const FIRST_YEAR = '1000'
const isYear = (time: string, isOfTexts = true): boolean => !isOfTexts || time >= FIRST_YEAR
const TOO_EARLY = 'a day of the year 1000 or a later one'

const DAY_BEFORE_TIME = /^(.*?)[T ]+\d{1,2}:/

/** Which setting may read what is no day in the formats of the mapping. */
function dayHint(text: string, mapping: PropertyMapping): string {
  const isDay = (of: string) => readings(mapping, (read) => read(of)).length > 0
  const [, before] = DAY_BEFORE_TIME.exec(text) ?? []
  const time = before === undefined ? '' : TIME_BEHIND
  if (formatsOf(mapping).length > 0 || /^\d{4}-\d{2}-\d{2}$/.test(text)) return time
  if (DAY_NUMBER.test(text)) return '; `epoch: spreadsheet` of the mapping reads a number of days'
  return before !== undefined && isDay(before) ? time : OTHER_FORMAT + time
}

const TIME_BEHIND =
  "; a day has no time: `pattern: '^(?<day>.*?)[T ]+[0-9]+:'` of the mapping leaves it out"

/** Whoever means the first moment of a day says so. */
const DAY_ALONE = `; a day alone has no time: \`pattern: '^(?<day>\\S+)$'\`, \`template: "{day} 00:00"\` and \`else: keep\` of the mapping make midnight of it`

/** Seconds or milliseconds since 1970, of times in this century. */
const SECONDS = /^1[0-9]{9}(?:\.\d+)?$/
const MILLISECONDS = /^1[0-9]{12}$/
/** As seconds they are times until the year 5138. */
const MILLISECONDS_MIN = 1e11

/** Names of zones that files write, and that mean several zones, or none for certain. */
const ZONE_LETTERS =
  /^(.*?) *[([]?(EST|EDT|ET|CST|CDT|CT|MST|MDT|MT|PST|PDT|PT|AST|ADT|CET|CEST|MEZ|MESZ|WET|WEST|EET|EEST|MSK|BST|IST|JST|KST|HKT|SGT|AEST|AEDT|AWST|NZST|NZDT|BRT)[)\]]?$/

export const asDatetime: Coercion = (cell, { mapping, isOfTexts }) => {
  const { epoch, zone } = mapping
  const text = cell.trim()
  if (epoch === 's' || epoch === 'ms') {
    const time = timeSince1970(text, epoch)
    const what =
      epoch === 's'
        ? 'seconds, such as 1614592800, since 1970'
        : 'milliseconds, such as 1614592800000, since 1970; numbers below 100,000,000,000 look like seconds, which `epoch: s` reads'
    return time === null || (epoch === 'ms' && Math.abs(Number(text)) < MILLISECONDS_MIN)
      ? refuse('not_a_datetime', `a number of ${what}`)
      : toMilliseconds(time)
  }
  const formats = formatsOf(mapping)
  if (formats.length === 0 && isIsoTime(cell) && isYear(cell, isOfTexts))
    return { ok: true, value: cell }
  const [time, other] = readings(mapping, (day) => readTime(text, day, zone))
  if (other !== undefined) return ambiguous(formats)
  if (time !== undefined) return toMilliseconds(time)
  const day = exampleDay(formats[0] ?? DEFAULT, mapping)
  const expected =
    zone === undefined
      ? `a time with its zone, such as ${day}T08:15:00Z or ${day}T08:15:00+01:00; \`zone:\` of the mapping names that of times without one`
      : `a time such as ${day} 08:15:00, which the clocks of ${zone} show once; another one with its zone, such as ${day}T08:15:00+01:00`
  const [, local, letters] = ZONE_LETTERS.exec(text) ?? []
  const isZoned =
    local !== undefined &&
    readings(mapping, (one) => readTime(local, one, zone ?? 'UTC')).length > 0
  const hint = isZoned
    ? `; \`pattern: '^(?<time>.*?) *[(]?(?:${letters})[)]?$'\` with \`else: keep\` of the mapping leaves ${letters} out, which names no zone for certain`
    : isIsoDay(text)
      ? DAY_ALONE
      : SECONDS.test(text)
        ? '; `epoch: s` reads seconds since 1970'
        : MILLISECONDS.test(text)
          ? '; `epoch: ms` reads milliseconds since 1970'
          : formats.length === 0 && /\d[./ -]\d|\p{L}{3}/u.test(text) && !/^\d{4}-/.test(text)
            ? OTHER_FORMAT
            : ''
  return refuse('not_a_datetime', expected + hint)
}

/** Finer times are refused by services, or cut by them, and then differ from what was sent. */
function toMilliseconds(time: string): Coerced {
  if (time < FIRST_YEAR) return refuse('not_a_datetime', TOO_EARLY)
  const [, before, digits, after] = /^(.*\.)(\d{4,})(\D.*)$/.exec(time) ?? []
  if (digits === undefined) return { ok: true, value: time }
  const value = `${before}${digits.slice(0, 3)}${after}`
  return /[^0]/.test(digits.slice(3)) ? { ok: true, value, isCut: true } : { ok: true, value }
}
