// Numbers as files write them: point or comma, separators of thousands, and signs before or behind. A mark that may be either is a
// question.

import { changedColumn, hasValue, fittingShare, type ColumnFacts } from './columns.ts'
import { isAllInParentheses, negativeOf, unsigned } from './negatives.ts'
import {
  FITS_MIN,
  KIND_MIN,
  type CellReading,
  type Hints,
  type ReadingSettings,
  type Trial,
} from './reading.ts'

type Marks = Pick<ReadingSettings, 'decimal' | 'thousands'>

/** In the order of preference where several fit equally well. */
const MARKS: readonly Marks[] = [
  {},
  { decimal: ',' },
  { thousands: ',' },
  { decimal: ',', thousands: '.' },
  { thousands: ' ' },
  { decimal: ',', thousands: ' ' },
  { thousands: "'" },
]

const GROUPED = { '.': /^[+-]?[1-9]\d{0,2}(?:\.\d{3})+$/, ',': /^[+-]?[1-9]\d{0,2}(?:,\d{3})+$/ }
/** `1.234` has both meanings; `1.234.567` and `0.234` have one. */
const TWICE = { '.': /^[+-]?[1-9]\d{0,2}\.\d{3}$/, ',': /^[+-]?[1-9]\d{0,2},\d{3}$/ }
const DECIMAL = {
  '.': /^[+-]?(?:[\d,]*\.(?:\d{1,2}|\d{4,})|0+\.\d{3})$/,
  ',': /^[+-]?(?:[\d.]*,(?:\d{1,2}|\d{4,})|0+,\d{3})$/,
}

/** A sign of a currency, a percent sign or a code, before or behind digits; a minus is none. */
const SYMBOL =
  /^[+-]?\s*(\p{L}{1,3}\.|[^\s\d.,+()'’\u2010-\u2015\u2212-]{1,3})\s*[\d.,+-]|\d[.,]?-?\s*(\p{L}{1,3}\.|[^\s\d.,+()'’\u2010-\u2015\u2212-]{1,3})$/u
/** Signs and codes of currencies; any other mark, such as `<` or `%`, may change the value. */
const MONEY = /^(?:\p{L}{0,2}\p{Sc}|[A-Z]{3}|(?:kr|kč|zł|ft|fr|lei|sfr|rs)\.?|元|円|원)$/iu
/** `5k` and `3 Mio` are not 5 and 3: a mark that multiplies is no sign to leave out. */
const MULTIPLE = /^(?:[kmbt]|bn|mn|mio|mil|mrd|mld|tsd|tds|crs?|cr|lac|[千万億亿兆萬])\p{Sc}?$/iu

/** The sign that numbers have; undefined: none, or more than one. */
export function symbolOf(facts: ColumnFacts): string | undefined {
  const found = new Set<string>()
  for (const value of changedColumn(facts, unsigned).values.keys()) {
    const [, before, behind] = SYMBOL.exec(value.trim()) ?? []
    const symbol = before ?? behind
    if (symbol !== undefined) found.add(symbol)
  }
  const [only] = found
  return found.size === 1 && !MULTIPLE.test(only!) ? only : undefined
}

const bare = (value: string): string => value.replaceAll(/[^\d.,+-]/g, '')

/** @param noun what they are, in words */
export function numberReading(
  cells: ColumnFacts,
  trial: Trial,
  hints: Hints,
  noun: string,
): CellReading {
  const negative = negativeOf(cells.all)
  const facts = changedColumn(cells, unsigned)
  const below = negative === undefined ? {} : { negative }
  const found = symbolOf(cells)
  const isMoney = found !== undefined && MONEY.test(found)
  const isPlain = isMoney || MARKS.some((marks) => trial({ ...marks, ...below }) >= FITS_MIN)
  const symbol = isMoney || !isPlain ? found : undefined
  const sign = { ...(symbol !== undefined && { symbol }), ...below }
  const doubt = numberDoubt(cells, isPlain ? undefined : symbol, negative)
  const tried = MARKS.map((marks) => ({ marks, fits: trial({ ...marks, ...sign }) }))
  const fits = Math.max(...tried.map((one) => one.fits))
  if (fits < FITS_MIN) return { settings: {}, fits, what: '', problem: numberProblem(facts, noun) }
  const best = tried.filter((one) => one.fits === fits).map(({ marks }) => marks)
  const reading = (marks: Marks): CellReading => ({
    settings: { ...marks, ...sign },
    fits,
    what: wordsOf(noun, { ...marks, ...sign }),
    ...(doubt !== null && { doubt }),
  })
  const mark = ([',', '.'] as const).find(
    (one) =>
      hasValue(facts, (value) => TWICE[one].test(bare(value))) &&
      !hasValue(facts, (value) => bare(value).includes(one) && !TWICE[one].test(bare(value))),
  )
  const other = mark === '.' ? ',' : '.'
  const isInDoubt =
    mark !== undefined && !hasValue(facts, (value) => DECIMAL[other].test(bare(value)))
  if (!isInDoubt) return reading(best[0]!)
  const asDecimal: Marks = mark === ',' ? { decimal: ',' } : {}
  const asThousands: Marks = mark === ',' ? { thousands: ',' } : { decimal: ',', thousands: '.' }
  if (hints.decimal !== null) return reading(hints.decimal === mark ? asDecimal : asThousands)
  return {
    ...reading(asThousands),
    question: {
      about: 'marks',
      text: `each "${mark}" has three digits behind it, so it may separate thousands or decimals`,
      hint: `this line says thousands; for decimals ${mark === ',' ? 'write `decimal: ","` instead of' : 'remove `decimal` and'} \`thousands\``,
      answers: [asThousands, asDecimal].map((marks) => ({ ...marks, ...sign })),
    },
  }
}

/** What the numbers may mean besides. @param symbol one that is of no currency */
function numberDoubt(
  { all }: ColumnFacts,
  symbol: string | undefined,
  negative: ReadingSettings['negative'],
): string | null {
  if (symbol !== undefined) return `the sign ${symbol} may change what a number means`
  return negative === 'parentheses' && isAllInParentheses(all)
    ? 'all of the numbers are in parentheses, which need not mean that they are below zero'
    : null
}

const NEGATIVES = { trailing: 'a minus behind', parentheses: 'parentheses for below zero' }

function wordsOf(noun: string, { decimal, thousands, symbol, negative }: ReadingSettings): string {
  const parts = [
    ...(decimal === ',' ? ['a decimal comma'] : []),
    ...(thousands === undefined ? [] : [`"${thousands}" between thousands`]),
    ...(symbol === undefined ? [] : [`a sign, ${symbol}`]),
    ...(negative === undefined ? [] : [NEGATIVES[negative]]),
  ]
  return parts.length === 0 ? noun : `${noun} with ${parts.join(' and ')}`
}

/** The decimal separator that a column shows beyond doubt; null if none. */
export function showsDecimal(facts: ColumnFacts): ',' | '.' | null {
  const isNumber = (value: string) => {
    const text = bare(value)
    return (
      value.trim().length <= text.length + 5 &&
      (/^[+-]?\d+$/.test(text) ||
        [DECIMAL['.'], DECIMAL[','], GROUPED['.'], GROUPED[',']].some((form) => form.test(text)))
    )
  }
  if (fittingShare(facts, isNumber) < KIND_MIN) return null
  const [point, comma] = (['.', ','] as const).map((mark) =>
    hasValue(facts, (value) => DECIMAL[mark].test(bare(value))),
  )
  return point === comma ? null : point ? '.' : ','
}

const BOTH = /\d[.,'’\s]\d{3}(?:[.,]\d+)?(?:\D|$)/

function numberProblem(facts: ColumnFacts, noun: string): string {
  if (fittingShare(facts, (value) => /\p{Sc}|\b[A-Z]{3}\b/u.test(value)) >= KIND_MIN)
    return `takes ${noun} with one sign or code, or none`
  if (hasValue(facts, (value) => BOTH.test(value)))
    return `takes ${noun}, and the cells have different separators`
  return `takes ${noun}`
}
