// How a file writes days: one format is compiled once, and reads texts. Promise kept here: a text has one day under a format, or none;
// no year is guessed from two digits, and no month from a word that two of them have.

import { isCalendarDay } from './calendar.ts'
import { unaccented } from './unaccented.ts'

/** What a format does not say itself. */
export interface DateWords {
  /** The first of the 100 years that two digits stand for. */
  readonly window?: number | undefined
  /** Of the names of months, as `de`. Default: English. */
  readonly language?: string | undefined
}

/** The day as `2026-01-31`; null if the text is none. */
export type ReadDay = (text: string) => string | null

const TOKEN = /YYYY|YY|MMMM|MMM|MM|DD|M|D|[^]/g
const PARTS: Readonly<Record<string, string>> = {
  YYYY: String.raw`(?<year>\d{4})`,
  YY: String.raw`(?<short>\d{2})`,
  MMMM: String.raw`(?<name>[\p{L}\p{M}.]{1,20})`,
  MMM: String.raw`(?<name>[\p{L}\p{M}.]{1,20})`,
  MM: String.raw`(?<month>\d{2})`,
  M: String.raw`(?<month>\d{1,2})`,
  DD: String.raw`(?<day>\d{2})`,
  D: String.raw`(?<day>\d{1,2})`,
}
/** A day and a month of one or two digits, and nothing that parts them: 111 in `DM` is the 1st of November and the 11th of January. */
const LOOSE = /(?<!D)D(?!D)[YMD\d]*(?<!M)M(?!M)|(?<!M)M(?!M)[YMD\d]*(?<!D)D(?!D)/
/** Hours, minutes and seconds, and the halves of a day. */
const OF_TIMES = /H|h{2}|mm|ss|SSS|\s[Aa]$/

export const FORMAT_EXPECTED =
  'expected YYYY (or YY), MM (or M, MMM, MMMM) and DD (or D), once each, such as `DD.MM.YYYY` or `D-MMM-YY`'

/** What is wrong with a format, as what was expected; null: nothing. */
export function dateFormatProblem(format: string): string | null {
  if (OF_TIMES.test(format))
    return 'expected a day alone, such as `DD.MM.YYYY`: hours and minutes behind it are read without a format'
  const seen = (format.match(TOKEN) ?? []).flatMap((token) =>
    token in PARTS || token === 'Y' ? [token[0]] : [],
  )
  if (seen.toSorted().join('') !== 'DMY') return FORMAT_EXPECTED
  return LOOSE.test(format) ? 'expected a sign between D and M, such as `D.M.YYYY`' : null
}

export const hasShortYear = (format: string): boolean => /(?<!Y)YY(?!Y)/.test(format)
export const hasMonthName = (format: string): boolean => format.includes('MMM')

const compiled = new Map<string, ReadDay>()

/** @param format without a problem */
export function dayReader(format: string, { window, language = 'en' }: DateWords = {}): ReadDay {
  const name = JSON.stringify([format, window, language])
  const known = compiled.get(name)
  if (known !== undefined) return known
  const source = format.replaceAll(
    TOKEN,
    (token) =>
      PARTS[token] ??
      (token === ' ' ? String.raw`\s` : token.replace(/[.*+?^${}()|[\]\\/]/, String.raw`\$&`)),
  )
  const pattern = new RegExp(`^${source}$`, 'u')
  const months = hasMonthName(format) ? monthsIn(language) : null
  const read: ReadDay = (text) => {
    const groups = pattern.exec(text)?.groups
    if (groups === undefined) return null
    const month = months === null ? Number(groups['month']) : months.get(folded(groups['name']!))
    const year =
      groups['year'] === undefined ? yearIn(window, groups['short']) : Number(groups['year'])
    const day = Number(groups['day'])
    if (month === undefined || !isCalendarDay(year, month, day)) return null
    return `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`
  }
  compiled.set(name, read)
  return read
}

const two = (number: number): string => String(number).padStart(2, '0')

/** The year of the window that ends with these digits; 0 without a window. */
function yearIn(window: number | undefined, digits: string | undefined): number {
  if (window === undefined) return 0
  return window + ((((Number(digits) - window) % 100) + 100) % 100)
}

/** Names that spreadsheets write, and Intl does not. */
const OTHER_NAMES: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  de: { mrz: 3, jänner: 1, feber: 2 },
}

/** Without capitals, points, and marks over letters. */
const folded = (name: string): string => unaccented(name).replaceAll('.', '')

/** Whether the months of a language have names here. */
export function isLanguage(language: string): boolean {
  try {
    return Intl.DateTimeFormat.supportedLocalesOf(language).length > 0
  } catch {
    return false
  }
}

/** Months by their names, and by what those begin with, where no other month does. */
function monthsIn(language: string): ReadonlyMap<string, number> {
  const found = new Map<string, Set<number>>()
  const add = (name: string, month: number) => {
    const months = found.get(name) ?? new Set()
    found.set(name, months.add(month))
  }
  for (let month = 1; month <= 12; month++)
    for (const name of namesOf(language, month)) {
      add(name, month)
      for (let length = 3; length < name.length; length++) add(name.slice(0, length), month)
    }
  for (const [name, month] of Object.entries(OTHER_NAMES[language.slice(0, 2)] ?? {}))
    add(folded(name), month)
  return new Map(
    [...found].flatMap(([name, [month, ...more]]) =>
      more.length === 0 ? [[name, month!] as const] : [],
    ),
  )
}

/** With a day before them some languages have another form. */
function namesOf(language: string, month: number): readonly string[] {
  const date = Date.UTC(2026, month - 1, 15)
  const forms = (['long', 'short'] as const).flatMap((form) =>
    [{}, { day: 'numeric' } as const].map((day) =>
      new Intl.DateTimeFormat(language, { month: form, timeZone: 'UTC', ...day })
        .formatToParts(date)
        .filter(({ type }) => type === 'month')
        .map(({ value }) => folded(value))
        .join(''),
    ),
  )
  return forms.filter((name) => name !== '' && !/\d/.test(name))
}

/** The 31st of January 2026 in a format. */
export const exampleDay = (format: string, { language = 'en' }: DateWords = {}): string =>
  format.replaceAll(/YYYY|YY|MMMM|MMM|MM|DD|M|D/g, (part) => {
    if (part.startsWith('Y')) return '2026'.slice(-part.length)
    if (part.startsWith('D')) return '31'
    if (part.length < 3) return two(1).slice(-part.length)
    const form = part === 'MMM' ? 'short' : 'long'
    return new Intl.DateTimeFormat(language, { month: form, timeZone: 'UTC' }).format(
      Date.UTC(2026, 0, 31),
    )
  })

const DAY_MS = 86_400_000
/** Before it spreadsheets count a day that never was, the 29th of February 1900. */
const SPREADSHEET_FROM = 61

/** What numbers count, where they are days or times. */
export const EPOCHS = ['s', 'ms', 'spreadsheet'] as const

/** The day that a spreadsheet counts, from the 30th of December 1899 on: 31182 is 1985-05-15. */
export function spreadsheetDay(text: string): string | null {
  const [, days] = /^(\d{1,7})(?:[.,]0+)?$/.exec(text) ?? []
  if (days === undefined || Number(days) < SPREADSHEET_FROM) return null
  return isoTime(Date.UTC(1899, 11, 30) + Number(days) * DAY_MS)?.slice(0, 10) ?? null
}

/** The time that is so many seconds or milliseconds behind the beginning of 1970, as `2021-03-01T10:00:00Z`. */
export function timeSince1970(text: string, epoch: 's' | 'ms'): string | null {
  const match = /^(-?\d{1,15})(?:\.(\d{1,9}))?$/.exec(text)
  if (match === null) return null
  const [, whole, fraction = ''] = match
  if (epoch === 'ms') return /[^0]/.test(fraction) ? null : isoTime(Number(whole))
  // The fraction goes on in the same direction as its number.
  if (whole!.startsWith('-') && /[^0]/.test(fraction)) return null
  const time = isoTime(Number(whole) * 1_000)
  return time === null || !/[^0]/.test(fraction) ? time : `${time.slice(0, -1)}.${fraction}Z`
}

function isoTime(ms: number): string | null {
  const date = new Date(ms)
  if (Number.isNaN(date.getTime())) return null
  const text = date.toISOString()
  return /^\d{4}-/.test(text) && !text.startsWith('0000') ? text.replace('.000Z', 'Z') : null
}
