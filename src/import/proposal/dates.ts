// Days as files write them: which format fits all of a column, and whether two do.

import { hasValue, fittingShare, type ColumnFacts } from './columns.ts'
import { FITS_MIN, KIND_MIN, type Hints, type CellReading, type Trial } from './reading.ts'

interface DateFormat {
  /** As a mapping names it; undefined: the default. */
  readonly format?: string
  readonly order: 'year' | 'day' | 'month'
}

/** In the order of preference where several fit equally well: the stricter one first. */
const FORMATS: readonly DateFormat[] = [
  { order: 'year' },
  ...['YYYY/MM/DD', 'YYYY.MM.DD', 'YYYYMMDD', 'YYYY-M-D', 'YYYY/M/D'].map((format) => ({
    format,
    order: 'year' as const,
  })),
  ...['.', '/', '-'].flatMap((mark) =>
    [`DD${mark}MM${mark}YYYY`, `D${mark}M${mark}YYYY`].map((format) => ({
      format,
      order: 'day' as const,
    })),
  ),
  ...['/', '-', '.'].flatMap((mark) =>
    [`MM${mark}DD${mark}YYYY`, `M${mark}D${mark}YYYY`].map((format) => ({
      format,
      order: 'month' as const,
    })),
  ),
]

const settingsOf = ({ format }: DateFormat) => (format === undefined ? {} : { format })
const nameOf = ({ format = 'YYYY-MM-DD' }: DateFormat) => format

export function dateReading(facts: ColumnFacts, trial: Trial, hints: Hints): CellReading {
  const tried = FORMATS.map((one) => ({ ...one, fits: trial(settingsOf(one)) }))
  const most = Math.max(...tried.map(({ fits }) => fits))
  if (most < FITS_MIN) return { settings: {}, fits: most, what: '', problem: dateProblem(facts) }
  const best = tried.filter(({ fits }) => fits === most)
  const byDay = best.find(({ order }) => order === 'day')
  const byMonth = best.find(({ order }) => order === 'month')
  const reading = (one: DateFormat, why = '') => ({
    settings: settingsOf(one),
    fits: most,
    what: `days as ${nameOf(one)}${why}`,
  })
  if (best[0]!.order === 'year' || !byDay || !byMonth) return reading(best[0]!)
  // No country writes months first with points.
  if (byDay.format!.includes('.')) return reading(byDay)
  if (hints.dayFirst !== null)
    return reading(hints.dayFirst ? byDay : byMonth, ', as in another column')
  return {
    ...reading(byDay),
    question: {
      about: 'days',
      text: `${nameOf(byDay)} and ${nameOf(byMonth)} both fit`,
      answers: [settingsOf(byDay), settingsOf(byMonth)],
    },
  }
}

const NUMERIC_DAY = /^\s*(\d{1,2})[./-](\d{1,2})[./-]\d{4}\b/

/** Whether the days of a column come before its months; null if they do not show it, or it has other values. */
export function showsDayFirst(facts: ColumnFacts): boolean | null {
  const isNumeric = (value: string) => NUMERIC_DAY.test(value)
  if (fittingShare(facts, isNumeric) < KIND_MIN) return null
  const part = (group: 1 | 2) => (value: string) => Number(NUMERIC_DAY.exec(value)?.[group]) > 12
  const [day, month] = [hasValue(facts, part(1)), hasValue(facts, part(2))]
  return day === month ? null : day
}

function dateProblem(facts: ColumnFacts): string {
  if (fittingShare(facts, (value) => /\d[T ]\d{1,2}:\d{2}/.test(value)) >= KIND_MIN)
    return 'takes days, and the cells have times as well'
  if (
    fittingShare(facts, (value) => /^\s*\d{1,2}[./-]\d{1,2}[./-]\d{2}\s*$/.test(value)) >= KIND_MIN
  )
    return 'takes days whose year has four digits'
  if (fittingShare(facts, (value) => /\p{L}{3}/u.test(value)) >= KIND_MIN)
    return 'takes days with the month as a number'
  return 'takes days, and the cells have no format that is known'
}
