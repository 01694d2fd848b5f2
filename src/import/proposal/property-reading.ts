// How the cells of a column would have to be read to become values of a property: date format, decimal separator, words of yes and
// no, separator of lists. Each way is tried with the code that a run uses, on the values of the first rows. Promise kept here: where
// two ways fit and mean different values, neither is taken: that is a question for a person.

import type { PropertyWire } from '../../contract/index.ts'
import { contradicts } from '../../core/currencies.ts'
import { digitsOfAnyScript } from '../../core/digits.ts'
import { coerceColumn, compileColumn } from '../mapping/columns.ts'
import { isUnit } from '../mapping/units.ts'
import type { Target } from '../mapping/target.ts'
import { changedColumn, countCells, hasValue, fittingShare, type ColumnFacts } from './columns.ts'
import { dateReading } from './dates.ts'
import type { GuessEvidence } from './evidence.ts'
import { cellTypeOf } from './cell-type.ts'
import { numberReading, symbolOf } from './numbers.ts'
import { timeReading } from './times.ts'
import { wordsOfName } from './words.ts'
import { domainOf } from '../mapping/domain.ts'
import { booleanReading } from './booleans.ts'
import {
  FITS_MIN,
  type Hints,
  type CellReading,
  type ReadingSettings,
  type Trial,
} from './reading.ts'

const PHONE = /^\+?[\d\s()./x-]{3,40}$/i
const URL_TEXT = /^https?:\/\/\S+$/i

/** What the service accepts of a type whose cells a run sends as they are. */
const SHAPES: Readonly<
  Record<string, { readonly fits: (value: string) => boolean; readonly expected: string }>
> = {
  phone: {
    fits: (value) => PHONE.test(value) && /\d.*\d.*\d/.test(value),
    expected: 'phone numbers',
  },
  url: { fits: (value) => URL_TEXT.test(value), expected: 'http or https URLs' },
}

/** How a column would be read, and what the rows say of that. */
export interface PropertyReading extends CellReading {
  readonly evidence: GuessEvidence
}

export function readingOf(
  property: PropertyWire,
  facts: ColumnFacts,
  target: Target,
  hints: Hints,
): PropertyReading {
  const fieldType = target.fieldTypes.find(({ name }) => name === property.field_type)
  const { type, setting } = cellTypeOf(property, target.fieldTypes)
  const fitsWith = fitterOf(property, facts, target, type)
  const trial: Trial = (settings) => fittingShare(facts, fitsWith(settings))
  const found = readingOfType(
    type,
    { property, facts, hints, units: new Set(fieldType?.units) },
    (settings) => trial({ ...setting, ...settings }),
  )
  const { question } = found
  const { unit_column: unitColumn, ...plain } = { ...setting, ...found.settings }
  const fits = fitsWith({
    ...plain,
    ...(unitColumn !== undefined && { unit: someUnit(fieldType?.units) }),
  })
  const others = [question?.text, found.doubt].filter((one) => one !== undefined)
  const given = { ...setting, ...facts.guard?.settings }
  return {
    ...found,
    settings: { ...given, ...found.settings },
    evidence: { ...countCells(facts.all, fits), others },
    ...(question && {
      question: { ...question, answers: question.answers.map((one) => ({ ...given, ...one })) },
    }),
  }
}

const someUnit = (units: Iterable<string> | undefined): string => [...(units ?? [])][0] ?? 'EUR'

function readingOfType(
  type: string,
  {
    property,
    facts,
    hints,
    units,
  }: {
    readonly property: PropertyWire
    readonly facts: ColumnFacts
    readonly hints: Hints
    readonly units: ReadonlySet<string>
  },
  trial: Trial,
): CellReading {
  switch (type) {
    case 'date':
      return dateReading(withPlainDigits(facts), trial, hints)
    case 'datetime':
      return timeReading(facts, trial, hints)
    case 'number':
    case 'integer':
      return numberReading(withPlainDigits(facts), trial, hints, 'numbers')
    case 'currency':
      return currencyReading(withPlainDigits(facts), trial, hints, units)
    case 'boolean':
      return booleanReading(facts, trial)
    case 'user':
      return { settings: {}, fits: 0, what: '', problem: 'takes ids of users of the service' }
    case 'object':
    case 'array':
      return { settings: {}, fits: trial({}), what: 'JSON', problem: 'takes JSON' }
    default:
      return domainReading(property, facts, trial) ?? listReading(property, facts, trial, type)
  }
}

const withPlainDigits = (facts: ColumnFacts): ColumnFacts =>
  changedColumn(facts, { settings: {}, change: digitsOfAnyScript })

/** Reads the values as a run would, and checks what the service would. */
function fitterOf(
  property: PropertyWire,
  facts: ColumnFacts,
  target: Target,
  type: string,
): (settings: ReadingSettings) => (value: string) => boolean {
  const shape = Object.hasOwn(SHAPES, type) ? SHAPES[type] : undefined
  const options = new Set<unknown>(property.options.map(({ value }) => value))
  return (settings) => {
    const column = compileColumn(property, { ...settings, column: facts.name }, [facts.name], {
      target,
      empty: 'omit',
      extract: null,
      map: null,
      phones: null,
    })
    return (value) => {
      const coerced = coerceColumn(column, { ordinal: 1, line: 1, cells: [value] }, value)
      if (!coerced.ok) return false
      const parts = [coerced.value].flat()
      if (options.size > 0 && !parts.every((one) => options.has(one))) return false
      return shape === undefined || parts.every((one) => shape.fits(String(one)))
    }
  }
}

const SEPARATORS = [' ::: ', ';', '|', ',']

/** Domains that some cells have as URLs, for a property that takes domains; null if it is no such property or column. */
function domainReading(
  { name, label, is_multi: isMulti, options }: PropertyWire,
  facts: ColumnFacts,
  trial: Trial,
): CellReading | null {
  const isOfDomains = [name, label].some((one) => wordsOfName(one).includes('domain'))
  const isOther = (value: string) => domainOf(value) !== value.trim()
  if (!isOfDomains || isMulti || options.length > 0 || !hasValue(facts, isOther)) return null
  const settings = { type: 'domain' } as const
  const fits = trial(settings)
  const what = 'domains, without https:// and www.'
  return fits < FITS_MIN ? null : { settings, fits, what }
}

const COMMAS = 'commas in its cells may separate values, of which `split: ","` makes a list'

/** Texts and options, of which a cell may hold several. */
function listReading(
  property: PropertyWire,
  facts: ColumnFacts,
  trial: Trial,
  type: string,
): CellReading {
  const what = WHAT[type] ?? ''
  const single = trial({})
  const splits = property.is_multi
    ? SEPARATORS.filter((split) => hasValue(facts, (value) => value.includes(split)))
    : []
  // Any text fits; a comma is part of many.
  const isPlain = type === 'text' || type === 'long_text' || type === 'string'
  const tried = splits
    .filter((split) => !isPlain || split !== ',')
    .map((split) => ({ settings: { split }, fits: trial({ split }) }))
  const best = tried.reduce(
    (found, one) => (one.fits > found.fits || (isPlain && one.fits >= found.fits) ? one : found),
    { settings: {}, fits: single },
  )
  const isDoubted = !('split' in best.settings) && isPlain && splits.includes(',')
  const reading = { ...best, what, ...(isDoubted && { doubt: COMMAS }) }
  if (best.fits >= FITS_MIN) return reading
  return { ...reading, problem: expectedText(property, type) }
}

const WHAT: Readonly<Record<string, string>> = {
  email: 'e-mail addresses',
  phone: 'phone numbers',
  url: 'URLs',
  select: 'options of the property',
  multi_select: 'options of the property',
}
const OPTIONS_SHOWN_MAX = 6

function expectedText({ options }: PropertyWire, type: string): string {
  if (options.length > 0) {
    const shown = options.slice(0, OPTIONS_SHOWN_MAX).map(({ value }) => value)
    const more = options.length - shown.length
    return `takes ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}; \`map\` of a mapping says what other values become`
  }
  return `takes ${SHAPES[type]?.expected ?? WHAT[type] ?? 'other values'}`
}

function currencyReading(
  facts: ColumnFacts,
  trial: Trial,
  hints: Hints,
  units: ReadonlySet<string>,
): CellReading {
  const some = someUnit(units)
  const amounts = numberReading(
    facts,
    (settings) => trial({ ...settings, unit: some }),
    hints,
    'amounts',
  )
  const sign = symbolOf(facts) ?? ''
  const [byName, bySign] = [unitIn(facts.name, units), unitIn(sign, units)]
  const named = byName ?? bySign
  if (amounts.problem !== undefined) return { ...amounts, settings: { unit: named ?? some } }
  const withUnit = (unit: ReadingSettings): CellReading => ({
    ...amounts,
    settings: { ...amounts.settings, ...unit },
    ...(amounts.question && {
      question: {
        ...amounts.question,
        answers: amounts.question.answers.map((one) => ({ ...one, ...unit })),
      },
    }),
  })
  const [column, ...more] = hints.unitColumns
  if (named !== null) {
    const doubt = unitDoubt({ byName, bySign, sign, column })
    return { ...withUnit({ unit: named }), ...(doubt !== null && { doubt }) }
  }
  if (column !== undefined && more.length === 0) return withUnit({ unit_column: column })
  const text = 'the file does not say in which currency'
  const hint = `write it where it says ${some}`
  const found = withUnit({ unit: some })
  const { question: marks } = found
  const question = marks
    ? { ...marks, text: `${marks.text}; ${text}`, hint: `${marks.hint}; ${hint}` }
    : { about: 'unit' as const, text, hint, answers: [] }
  return { ...found, question }
}

const SIGNS: Readonly<Record<string, string>> = { '€': 'EUR', '£': 'GBP' }

/** What else than the unit of the column's name or sign is said of the currency; null if nothing. */
function unitDoubt({
  byName,
  bySign,
  sign,
  column,
}: {
  readonly byName: string | null
  readonly bySign: string | null
  readonly sign: string
  readonly column: string | undefined
}): string | null {
  if (byName !== null && (bySign === null ? contradicts(sign, byName) : bySign !== byName))
    return `its name says ${byName}, and its cells have the sign of another currency`
  return column === undefined ? null : 'another column has currencies, and they may be those'
}

/** The currency that a column's name has in it: `Umsatz (EUR)`, `price_usd`. */
export function unitIn(name: string, units: ReadonlySet<string>): string | null {
  const words = name.toUpperCase().split(/[^\p{L}\p{Sc}]+|(?<=\p{Sc})|(?=\p{Sc})/u)
  const codes = words
    .map((word) => (Object.hasOwn(SIGNS, word) ? SIGNS[word]! : word))
    .filter((word) => (units.size > 0 || COMMON_UNITS.has(word)) && isUnit(word, units))
  return new Set(codes).size === 1 ? codes[0]! : null
}

/** Of services that list none: other codes are words too, such as ALL, CUP or TOP. */
const COMMON_UNITS = new Set(
  'EUR USD GBP CHF JPY CAD AUD SEK NOK DKK PLN CZK HUF INR CNY BRL MXN ZAR SGD HKD NZD KRW AED ILS'.split(
    ' ',
  ),
)
