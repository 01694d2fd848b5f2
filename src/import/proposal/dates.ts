// Days as files write them: which format fits all of a column, and whether two do.

import { dayReader, hasShortYear } from '../../core/date-format.ts'
import { hasValue, fittingShare, type ColumnFacts } from './columns.ts'
import {
  FITS_MIN,
  KIND_MIN,
  type Hints,
  type CellReading,
  type Question,
  type ReadingSettings,
  type Trial,
} from './reading.ts'

export interface DateFormat {
  /** As a mapping names it; undefined: the default. */
  readonly format?: string
  readonly order: 'year' | 'day' | 'month'
}

/** In the order of preference where several fit equally well: the stricter one first. */
const FORMATS: readonly DateFormat[] = [
  { order: 'year' },
  ...['YYYY/MM/DD', 'YYYY.MM.DD', 'YYYYMMDD', 'YYYY-M-D', 'YYYY/M/D', 'YYYY年M月D日'].map(
    (format) => ({
      format,
      order: 'year' as const,
    }),
  ),
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

/** With years of two digits: a day of three small numbers may begin with any of them. */
const SHORT_FORMATS: readonly DateFormat[] = ['.', '/', '-'].flatMap((mark) =>
  (['DD MM YY', 'D M YY', 'MM DD YY', 'M D YY', 'YY MM DD', 'YY M D'] as const).map((format) => ({
    format: format.replaceAll(' ', mark),
    order: format.startsWith('Y') ? 'year' : format.startsWith('D') ? 'day' : 'month',
  })),
)
/** The first of the years that two digits stand for, and those of them that may well be meant of the other century. */
const WINDOW = 1940
const DOUBTED_YEARS = /^19[4-6]/

/** How midnight is written behind a day. */
const MIDNIGHTS = [' 00:00:00', ' 00:00', 'T00:00:00', 'T00:00:00Z', 'T00:00:00.000Z', ' 0:00']

export const settingsOfFormat = ({ format }: DateFormat): ReadingSettings =>
  format === undefined ? {} : { format, ...(hasShortYear(format) && { window: WINDOW }) }
const nameOf = ({ format = 'YYYY-MM-DD' }: DateFormat) => format

/**
 * The formats that fit best: one, or several where no cell and no other column shows whether days, months or years come first, the one
 * with days first.
 */
export function bestFormats(
  trial: Trial,
  { dayFirst }: Hints,
  all: readonly DateFormat[] = FORMATS,
): { readonly formats: readonly DateFormat[]; readonly fits: number; readonly isHinted: boolean } {
  const tried = all.map((one) => ({ ...one, fits: trial(settingsOfFormat(one)) }))
  const fits = Math.max(...tried.map((one) => one.fits))
  const best = tried.filter((one) => one.fits === fits)
  const firstOf = (wanted: DateFormat['order']) => best.find(({ order }) => order === wanted)
  const [byDay, byMonth, byYear] = [firstOf('day'), firstOf('month'), firstOf('year')]
  const found = (formats: readonly DateFormat[], isHinted = false) => ({ formats, fits, isHinted })
  if (byYear && !hasShortYear(byYear.format ?? '')) return found([byYear])
  // No country writes months first with points.
  if (byDay?.format!.includes('.')) return found([byDay])
  const hinted = dayFirst === null ? undefined : dayFirst ? byDay : byMonth
  const fitting = [byDay, byMonth, byYear].filter((one) => one !== undefined)
  return hinted && fitting.length > 1 ? found([hinted], true) : found(fitting)
}

/** Which of several formats the days have. @param settings what each answer has besides */
export function questionOfDays(
  formats: readonly DateFormat[],
  settings: ReadingSettings = {},
): Pick<CellReading, 'question'> {
  if (formats.length < 2) return {}
  const names = formats.map(nameOf)
  const question: Question = {
    about: 'days',
    text: `${names.slice(0, -1).join(', ')} and ${names.at(-1)} ${names.length === 2 ? 'both' : 'all'} fit`,
    answers: formats.map((one) => ({ ...settingsOfFormat(one), ...settings })),
  }
  return { question }
}

export function dateReading(facts: ColumnFacts, trial: Trial, hints: Hints): CellReading {
  const best = [FORMATS, SHORT_FORMATS]
    .flatMap((all) => [all, withMidnight(facts, all)])
    .map((all) => bestFormats(trial, hints, all))
    .reduce((found, one) => (found.fits >= FITS_MIN || one.fits <= found.fits ? found : one))
  const { formats, fits, isHinted } = best
  if (fits < FITS_MIN) return { settings: {}, fits, what: '', problem: dateProblem(facts) }
  const [first] = formats
  return {
    settings: settingsOfFormat(first!),
    fits,
    what: `days as ${nameOf(first!)}${isHinted ? ', as in another column' : ''}`,
    ...questionOfDays(formats),
    ...centuryDoubt(facts, first!),
  }
}

function centuryDoubt(facts: ColumnFacts, { format = '' }: DateFormat): Pick<CellReading, 'doubt'> {
  if (!hasShortYear(format)) return {}
  const read = dayReader(format, { window: WINDOW })
  const isDoubted = (value: string) => DOUBTED_YEARS.test(read(value.trim()) ?? '')
  return hasValue(facts, isDoubted)
    ? { doubt: 'some years of two digits may be of either century, and `window` says which' }
    : {}
}

/** The formats with the midnight that most cells have behind them. */
function withMidnight(facts: ColumnFacts, formats: readonly DateFormat[]): readonly DateFormat[] {
  const share = (midnight: string) =>
    fittingShare(facts, (value) => value.trim().endsWith(midnight))
  const midnight = MIDNIGHTS.reduce((best, one) => (share(one) > share(best) ? one : best))
  return formats.map(({ format = 'YYYY-MM-DD', order }) => ({ format: format + midnight, order }))
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
    fittingShare(facts, (value) => /^\s*(?:--)?\d{1,2}[./-]\d{1,2}\.?\s*$/.test(value)) >= KIND_MIN
  )
    return 'takes days, and the cells have no year'
  if (fittingShare(facts, (value) => /\p{L}{3}/u.test(value)) >= KIND_MIN)
    return 'takes days, and the cells name months: `format: "D MMM YYYY"` with `language` of a mapping reads them'
  return 'takes days, and the cells have no format that is known'
}
