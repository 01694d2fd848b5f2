// Days and times as spreadsheets rewrite them: in the order and with the words of a language, with two digits of the year, with
// or without seconds. A text is read as every day that it may be: 01/02/2026 is one in January and one in February.

interface Day {
  /** Null if the text has none: a spreadsheet adds the current one. */
  readonly year: number | null
  readonly isShortYear: boolean
  readonly month: number
  /** Null if the text is a month. */
  readonly day: number | null
  /** Its form: two texts of one form have the same order. Empty if the month is a word. */
  readonly form: string
  readonly order: string
}

interface Clock {
  readonly hour: number
  readonly minute: number
  readonly second: number | null
  /** Digits of a fraction of the second. */
  readonly fraction: string
  readonly zone: string
}

interface Moment {
  /** Empty for a time alone. */
  readonly days: readonly Day[]
  readonly clock: Clock | null
}

/** Languages in which spreadsheets write months and days of the week. */
const languages = 'en de fr es it nl pt pl cs da sv nb fi hu tr'.split(' ')

let words: { months: ReadonlyMap<string, number>; weekdays: ReadonlySet<string> } | undefined

/** Names of months and days of the week, long and short, without points. */
function wordsOfCalendars(): NonNullable<typeof words> {
  if (words) return words
  const months = new Map([['mrz', 3]])
  const weekdays = new Set<string>()
  const bare = (name: string) => name.toLowerCase().replaceAll('.', '')
  for (const language of languages)
    for (const length of ['long', 'short'] as const)
      // Next to a day, some languages decline the name.
      for (const day of ['numeric', undefined] as const) {
        const month = new Intl.DateTimeFormat(language, { month: length, day, timeZone: 'UTC' })
        for (let index = 0; index < 12; index++)
          for (const part of month.formatToParts(Date.UTC(2026, index, 1)))
            // Some languages use numbers as names.
            if (part.type === 'month' && /\p{L}/u.test(part.value))
              months.set(bare(part.value), index + 1)
        const weekday = new Intl.DateTimeFormat(language, { weekday: length, timeZone: 'UTC' })
        for (let index = 1; index <= 7; index++)
          weekdays.add(bare(weekday.format(Date.UTC(2026, 0, index))))
      }
  return (words = { months, weekdays })
}

const clockAtEnd =
  /(?:^|[\sT,])(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:[.,](\d{1,9}))?)?\s*(?:([ap])\.?\s?m\.?)?\s*(Z|[+-]\d{2}:?\d{2})?$/i

function clockOf(match: RegExpExecArray): Clock | null {
  const [, hours, minutes, seconds, fraction = '', half, zone = ''] = match
  let hour = Number(hours)
  if (half !== undefined) {
    if (hour < 1 || hour > 12) return null
    hour = (hour % 12) + (half.toLowerCase() === 'p' ? 12 : 0)
  }
  const minute = Number(minutes)
  const second = seconds === undefined ? null : Number(seconds)
  if (minute > 59 || (second ?? 0) > 59) return null
  return { hour, minute, second, fraction, zone: zone.toUpperCase() }
}

/** The day that numbers mean in an order such as `dmy`; null if they are not a day. */
function dayIn(order: string, numbers: readonly string[], form: string): Day | null {
  const part = (letter: string) => {
    const index = order.indexOf(letter)
    return index < 0 ? null : numbers[index]!
  }
  const [year, month, day] = [part('y'), Number(part('m')), part('d')]
  if (month < 1 || month > 12 || (day !== null && (Number(day) < 1 || Number(day) > 31)))
    return null
  if (year !== null && ![1, 2, 4].includes(year.length)) return null
  return {
    year: year === null ? null : Number(year),
    isShortYear: year !== null && year.length < 4,
    month,
    day: day === null ? null : Number(day),
    form,
    order,
  }
}

function daysOf(text: string): readonly Day[] {
  const { months, weekdays } = wordsOfCalendars()
  const parts = text.toLowerCase().match(/\d+|\p{L}+/gu) ?? []
  const meant = parts.filter(
    (part) => months.has(part) || !(weekdays.has(part) || part === 'de' || part === 'of'),
  )
  if (meant.length < 2 || meant.length > 3 || meant.some((part) => part.length > 12)) return []
  const named = meant.findIndex((part) => months.has(part))
  if (meant.some((part, index) => index !== named && !/^\d{1,4}$/.test(part))) return []
  if (/[^\d\p{L}\s./,\-–]/u.test(text)) return []
  const numbers = meant.map((part) => (months.has(part) ? String(months.get(part)) : part))
  const yearAt = meant.findIndex((part) => part.length === 4 && part !== meant[named])
  const form = named >= 0 ? '' : `${text.replaceAll(/\d+/g, '')} ${yearAt}`
  const orders = meant.length === 3 ? ['ymd', 'dmy', 'mdy', 'ydm'] : ['dm', 'md', 'my', 'ym']
  return orders
    .filter((order) => named < 0 || order[named] === 'm')
    .flatMap((order) => dayIn(order, numbers, form) ?? [])
}

function momentOf(text: string): Moment | null {
  const match = clockAtEnd.exec(text)
  const clock = match && clockOf(match)
  if (match && !clock) return null
  const rest = (match ? text.slice(0, match.index) : text).trim().replace(/[.,]$/, '')
  const days = rest === '' ? [] : daysOf(rest)
  return (rest === '' ? clock === null : days.length === 0) ? null : { days, clock }
}

function isSameDay(was: Day, is: Day): boolean {
  if (was.form !== '' && was.form === is.form && was.order !== is.order) return false
  if (was.month !== is.month) return false
  // A month becomes its first day.
  if (was.day === null ? is.day !== null && is.day !== 1 : was.day !== is.day) return false
  if (was.year === null) return true
  if (is.year === null) return false
  return was.isShortYear || is.isShortYear ? was.year % 100 === is.year % 100 : was.year === is.year
}

function isSameClock(was: Clock | null, is: Clock | null): boolean {
  const midnight = { hour: 0, minute: 0, second: null, fraction: '', zone: '' }
  const [a, b] = [was ?? midnight, is ?? midnight]
  if (a.hour !== b.hour || a.minute !== b.minute || a.zone !== b.zone) return false
  if (b.second === null) return is !== null || (a.second ?? 0) === 0
  // Fractions are truncated.
  return (
    (a.second ?? 0) === b.second && a.fraction.padEnd(b.fraction.length, '0').startsWith(b.fraction)
  )
}

/** Whether `is` is how a spreadsheet would write the day or time of `was`. */
export function isTimeFormatOf(was: string, is: string): boolean {
  const before = momentOf(was)
  const after = before && momentOf(is)
  if (!before || !after || !isSameClock(before.clock, after.clock)) return false
  if (before.days.length === 0) return after.days.length === 0
  return after.days.some((day) => before.days.some((other) => isSameDay(other, day)))
}
