// Days as files write them: which format fits all of a column, and whether two do.

import { hasValue, fittingShare, type ColumnFacts } from './columns.ts'
import { FITS_MIN, KIND_MIN, type Hints, type CellReading, type Trial } from './reading.ts'

export interface DateFormat {
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

/** How midnight is written behind a day. */
const MIDNIGHTS = [' 00:00:00', ' 00:00', 'T00:00:00', 'T00:00:00Z', 'T00:00:00.000Z', ' 0:00']

export const settingsOfFormat = ({ format }: DateFormat) => (format === undefined ? {} : { format })
const nameOf = ({ format = 'YYYY-MM-DD' }: DateFormat) => format

/**
 * The formats that fit best: one, or two where no cell and no other column shows whether days or months come first, the one with days
 * first.
 */
export function bestFormats(
  trial: Trial,
  { dayFirst }: Hints,
  all: readonly DateFormat[] = FORMATS,
): { readonly formats: readonly DateFormat[]; readonly fits: number; readonly isHinted: boolean } {
  const tried = all.map((one) => ({ ...one, fits: trial(settingsOfFormat(one)) }))
  const fits = Math.max(...tried.map((one) => one.fits))
  const best = tried.filter((one) => one.fits === fits)
  const byDay = best.find(({ order }) => order === 'day')
  const byMonth = best.find(({ order }) => order === 'month')
  const found = (formats: readonly DateFormat[], isHinted = false) => ({ formats, fits, isHinted })
  if (best[0]!.order === 'year' || !byDay || !byMonth) return found([best[0]!])
  // No country writes months first with points.
  if (byDay.format!.includes('.')) return found([byDay])
  if (dayFirst !== null) return found([dayFirst ? byDay : byMonth], true)
  return found([byDay, byMonth])
}

export function dateReading(facts: ColumnFacts, trial: Trial, hints: Hints): CellReading {
  const plain = bestFormats(trial, hints)
  const best = plain.fits >= FITS_MIN ? plain : bestFormats(trial, hints, withMidnight(facts))
  const { formats, fits, isHinted } = best
  if (fits < FITS_MIN) return { settings: {}, fits, what: '', problem: dateProblem(facts) }
  const [first, second] = formats
  const reading = {
    settings: settingsOfFormat(first!),
    fits,
    what: `days as ${nameOf(first!)}${isHinted ? ', as in another column' : ''}`,
  }
  if (second === undefined) return reading
  return {
    ...reading,
    question: {
      about: 'days',
      text: `${nameOf(first!)} and ${nameOf(second)} both fit`,
      answers: [settingsOfFormat(first!), settingsOfFormat(second)],
    },
  }
}

/** The formats with the midnight that most cells have behind them. */
function withMidnight(facts: ColumnFacts): readonly DateFormat[] {
  const share = (midnight: string) =>
    fittingShare(facts, (value) => value.trim().endsWith(midnight))
  const midnight = MIDNIGHTS.reduce((best, one) => (share(one) > share(best) ? one : best))
  return FORMATS.map(({ format = 'YYYY-MM-DD', order }) => ({ format: format + midnight, order }))
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
    return 'takes days, and the cells have times other than midnight as well'
  if (
    fittingShare(facts, (value) => /^\s*\d{1,2}[./-]\d{1,2}[./-]\d{2}\s*$/.test(value)) >= KIND_MIN
  )
    return 'takes days whose year has four digits'
  if (
    fittingShare(facts, (value) => /^\s*(?:--)?\d{1,2}[./-]\d{1,2}\.?\s*$/.test(value)) >= KIND_MIN
  )
    return 'takes days, and the cells have no year'
  if (fittingShare(facts, (value) => /\p{L}{3}/u.test(value)) >= KIND_MIN)
    return 'takes days with the month as a number'
  return 'takes days, and the cells have no format that is known'
}
