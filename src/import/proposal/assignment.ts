// Which column goes to which property of one object type. A pair needs a name that fits or values that only such a property has; the
// best pairs are taken first, and each column and each property once.

import type { PropertyWire } from '../../contract/index.ts'
import type { Target } from '../mapping/target.ts'
import { fittingShare, type ColumnFacts } from './columns.ts'
import { cellTypeOf } from './cell-type.ts'
import { readingOf } from './property-reading.ts'
import { FITS_MIN, type Hints, type CellReading } from './reading.ts'
import {
  matchNames,
  NAME_SCORE_MIN,
  takeName,
  takePropertyNames,
  wordsOfType,
  type NameMatch,
} from './words.ts'

/** A column that may go to a property. */
export interface Pair {
  readonly column: ColumnFacts
  readonly property: PropertyWire
  readonly score: number
  /** Why the two belong together. */
  readonly reason: string
  readonly reading: CellReading
}

export interface Assignment {
  /** In the order of the file. */
  readonly pairs: readonly Pair[]
  /** Columns that are not mapped as they are, each with the reason; `pair`: where only a person can say whether it is right. */
  readonly left: readonly {
    readonly column: ColumnFacts
    readonly reason: string
    readonly pair?: Pair
  }[]
}

/** What values of a type with a form of its own add to a name that fits. */
const VALUES_BONUS = 0.2
/** Names of these fields need no help: values of the type are in few other columns. */
const BY_VALUES: Readonly<
  Record<string, { readonly score: number; readonly fits: (value: string) => boolean }>
> = {
  email: { score: 0.5, fits: (value) => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(value.trim()) },
  url: { score: 0.45, fits: (value) => /^https?:\/\/\S+$/i.test(value.trim()) },
}
const BY_OPTIONS_SCORE = 0.45
const BY_VALUES_MIN = 0.9
const FORMLESS = new Set(['text', 'long_text', 'string'])

export function assignColumns(
  columns: readonly ColumnFacts[],
  target: Target,
  hints: Hints,
): Assignment {
  const typeWords = wordsOfType(target.schema, hints.prefix)
  const properties = target.schema.properties.map((property) => ({
    property,
    names: takePropertyNames(property, hints.prefix, typeWords),
  }))
  const found = columns.flatMap((column) => {
    const name = takeName(column.name, typeWords)
    return properties.flatMap(
      ({ property, names }) =>
        pairOf(column, property, matchNames(name, names), { target, hints }) ?? [],
    )
  })
  const ranked = found.toSorted((a, b) => b.score - a.score)
  const taken = new Map<string, Pair>()
  const byColumn = new Map<ColumnFacts, Pair>()
  for (const pair of ranked) {
    if (obstacleOf(pair) !== null || byColumn.has(pair.column)) continue
    if (taken.has(pair.property.name)) continue
    taken.set(pair.property.name, pair)
    byColumn.set(pair.column, pair)
  }
  const best = new Map<ColumnFacts, Pair>()
  for (const pair of ranked) if (!best.has(pair.column)) best.set(pair.column, pair)
  const units = new Set([...byColumn.values()].map(({ reading }) => reading.settings.unit_column))
  return {
    pairs: columns.flatMap((column) => byColumn.get(column) ?? []),
    left: columns
      .filter((column) => !byColumn.has(column) && !units.has(column.name))
      .map((column) => leftColumn(column, best.get(column), taken)),
  }
}

/** Why a pair is not taken; null if it is. */
function obstacleOf({ property, column, reading }: Pair): string | null {
  if (property.writability === 'read_only') return 'is read-only'
  if (column.filled === 0) return 'every cell of it is empty'
  if (reading.problem !== undefined) {
    const percent = Math.floor(reading.fits * 100)
    return percent === 0 ? reading.problem : `${reading.problem}; ${percent} % of the cells fit`
  }
  return property.writability === 'create_only'
    ? 'can be set once only: a value that changes is rejected'
    : null
}

function pairOf(
  column: ColumnFacts,
  property: PropertyWire,
  name: NameMatch | null,
  { target, hints }: { readonly target: Target; readonly hints: Hints },
): Pair | null {
  if (name === null) return pairByValues(column, property, target, hints)
  const reading = readingOf(property, column, target, hints)
  const hasForm =
    !FORMLESS.has(cellTypeOf(property, target.fieldTypes).type) && reading.fits >= FITS_MIN
  const { score, reason } = name
  return { column, property, reading, reason, score: score + (hasForm ? VALUES_BONUS : 0) }
}

function pairByValues(
  column: ColumnFacts,
  property: PropertyWire,
  target: Target,
  hints: Hints,
): Pair | null {
  const { type } = cellTypeOf(property, target.fieldTypes)
  const form = Object.hasOwn(BY_VALUES, type) ? BY_VALUES[type] : undefined
  const isChoice = property.options.length > 1 && column.distinct > 1
  if (form ? fittingShare(column, form.fits) < BY_VALUES_MIN : !isChoice) return null
  const reading = readingOf(property, column, target, hints)
  if (reading.fits < BY_VALUES_MIN) return null
  const score = form?.score ?? BY_OPTIONS_SCORE
  return { column, property, reading, score, reason: 'by its values' }
}

function leftColumn(
  column: ColumnFacts,
  pair: Pair | undefined,
  taken: ReadonlyMap<string, Pair>,
): Assignment['left'][number] {
  if (pair === undefined) return { column, reason: 'no property has such a name' }
  const { property } = pair
  const other = taken.get(property.name)
  if (other) return { column, reason: getsText(property.name, other.column.name) }
  const reason = `${property.name} ${obstacleOf(pair)}`
  const isOpen = property.writability === 'create_only' || column.filled === 0
  const isPossible = isOpen && property.writability !== 'read_only' && pair.score >= NAME_SCORE_MIN
  const isReadable = column.filled === 0 || pair.reading.problem === undefined
  return isPossible && isReadable
    ? { column, reason: column.filled === 0 ? 'every cell is empty' : reason, pair }
    : { column, reason: column.filled === 0 ? 'every cell is empty' : reason }
}

export const getsText = (property: string, column: string): string =>
  `${property} gets column ${JSON.stringify(column)}`
