// Numbers as files write them: point or comma, and what may be a separator of thousands, which is never read.

import { hasValue, fittingShare, type ColumnFacts } from './columns.ts'
import { FITS_MIN, KIND_MIN, type Hints, type CellReading, type Trial } from './reading.ts'

const GROUPED = { '.': /^\s*[+-]?\d{1,3}(?:\.\d{3})+\s*$/, ',': /^\s*[+-]?\d{1,3}(?:,\d{3})+\s*$/ }
const DECIMAL = {
  '.': /^\s*[+-]?\d*\.(?:\d{1,2}|\d{4,})\s*$/,
  ',': /^\s*[+-]?\d*,(?:\d{1,2}|\d{4,})\s*$/,
}
const BOTH = /\d[.,'’\s]\d{3}(?:[.,]\d+)?(?:\D|$)/

const THOUSANDS = 'separators of thousands are not read: export its numbers without them'

/** @param noun what they are, in words */
export function numberReading(
  facts: ColumnFacts,
  trial: Trial,
  hints: Hints,
  noun: string,
): CellReading {
  const point = trial({})
  const comma = trial({ decimal: ',' })
  const mark = comma > point ? ',' : '.'
  const fits = Math.max(comma, point)
  if (fits < FITS_MIN) return { settings: {}, fits, what: '', problem: numberProblem(facts, noun) }
  const reading = {
    settings: mark === ',' ? ({ decimal: mark } as const) : {},
    fits,
    what: mark === ',' ? `${noun} with a decimal comma` : noun,
  }
  const isGrouped = (value: string) => GROUPED[mark].test(value)
  const hasMark = hasValue(facts, (value) => value.includes(mark))
  const isInDoubt =
    hasMark && !hasValue(facts, (value) => value.includes(mark) && !isGrouped(value))
  if (!isInDoubt || hints.decimal === mark) return reading
  // What looks like 1.234 and never like 1.23 is a thousand more often than a decimal.
  const problem =
    hints.decimal === null
      ? `each "${mark}" has three digits behind it, so it may separate thousands; ${THOUSANDS}`
      : THOUSANDS
  return { ...reading, fits: 0, problem }
}

/** The decimal separator that a column shows beyond doubt; null if none. */
export function showsDecimal(facts: ColumnFacts): ',' | '.' | null {
  const isNumber = (value: string) =>
    /^\s*[+-]?\d+\s*$/.test(value) ||
    DECIMAL['.'].test(value) ||
    DECIMAL[','].test(value) ||
    GROUPED['.'].test(value) ||
    GROUPED[','].test(value)
  if (fittingShare(facts, isNumber) < KIND_MIN) return null
  const [point, comma] = (['.', ','] as const).map((mark) =>
    hasValue(facts, (value) => DECIMAL[mark].test(value)),
  )
  return point === comma ? null : point ? '.' : ','
}

function numberProblem(facts: ColumnFacts, noun: string): string {
  if (fittingShare(facts, (value) => /\p{Sc}|\b[A-Z]{3}\b/u.test(value)) >= KIND_MIN)
    return `takes ${noun} without a sign or code`
  if (hasValue(facts, (value) => BOTH.test(value))) return THOUSANDS
  return `takes ${noun}`
}
