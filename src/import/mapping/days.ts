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

export const asDate: Coercion = (cell, { mapping }) => {
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
  if (formats.length === 0 && isIsoDay(cell)) return { ok: true, value: cell }
  const [day, other] = readings(mapping, (read) => read(cell.trim()))
  if (other !== undefined) return ambiguous(formats)
  if (day !== undefined) return { ok: true, value: day }
  const hint =
    formats.length > 0 || /^\d{4}-\d{2}-\d{2}$/.test(cell.trim())
      ? ''
      : DAY_NUMBER.test(cell.trim())
        ? '; `epoch: spreadsheet` of the mapping reads a number of days'
        : OTHER_FORMAT
  return refuse('not_a_date', `a day of the calendar as ${shown(formats)}${hint}`)
}

/** Whoever means the first moment of a day says so. */
const DAY_ALONE = `; a day alone has no time: \`pattern: '^(?<day>\\S+)$'\`, \`template: "{day} 00:00"\` and \`else: keep\` of the mapping make midnight of it`

/** Seconds or milliseconds since 1970, of times in this century. */
const SECONDS = /^1[0-9]{9}(?:\.\d+)?$/
const MILLISECONDS = /^1[0-9]{12}$/

export const asDatetime: Coercion = (cell, { mapping }) => {
  const { epoch, zone } = mapping
  const text = cell.trim()
  if (epoch === 's' || epoch === 'ms') {
    const time = timeSince1970(text, epoch)
    const what =
      epoch === 's' ? 'seconds, such as 1614592800' : 'milliseconds, such as 1614592800000'
    return time === null
      ? refuse('not_a_datetime', `a number of ${what}, since 1970`)
      : toMilliseconds(time)
  }
  const formats = formatsOf(mapping)
  if (formats.length === 0 && isIsoTime(cell)) return { ok: true, value: cell }
  const [time, other] = readings(mapping, (day) => readTime(text, day, zone))
  if (other !== undefined) return ambiguous(formats)
  if (time !== undefined) return toMilliseconds(time)
  const day = exampleDay(formats[0] ?? DEFAULT, mapping)
  const expected =
    zone === undefined
      ? `a time with its zone, such as ${day}T08:15:00Z or ${day}T08:15:00+01:00; \`zone:\` of the mapping names that of times without one`
      : `a time such as ${day} 08:15:00, which the clocks of ${zone} show once; another one with its zone, such as ${day}T08:15:00+01:00`
  const hint = isIsoDay(text)
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
  const [, before, digits, after] = /^(.*\.)(\d{4,})(\D.*)$/.exec(time) ?? []
  if (digits === undefined) return { ok: true, value: time }
  const value = `${before}${digits.slice(0, 3)}${after}`
  return /[^0]/.test(digits.slice(3)) ? { ok: true, value, isCut: true } : { ok: true, value }
}
