// Which column goes to which property of one object type. A pair needs a name that fits or values that only such a property has; the
// best pairs are taken first, and each column and each property once.

import type { PropertyWire } from '../../contract/index.ts'
import type { Target } from '../mapping/target.ts'
import { fittingShare, type ColumnFacts } from './columns.ts'
import { cellTypeOf } from './cell-type.ts'
import { doubtOf, type GuessEvidence } from './evidence.ts'
import { readingOf, type PropertyReading } from './property-reading.ts'
import { FITS_MIN, type Hints } from './reading.ts'
import {
  bareName,
  COLUMN_PREFIX,
  matchNames,
  NAME_SCORE_MIN,
  saysMore,
  sharedPrefix,
  takeName,
  takePropertyNames,
  wordsOfType,
  type TakenName,
} from './words.ts'
import { areTurnedAlike } from './other-meanings.ts'

/** A column that may go to a property. */
export interface Pair {
  readonly column: ColumnFacts
  readonly property: PropertyWire
  readonly score: number
  /** Why the two belong together. */
  readonly reason: string
  readonly reading: PropertyReading
  /** That of the reading, and what the name may mean besides. */
  readonly evidence: GuessEvidence
  /** Why it waits for a person; null: it is active. */
  readonly doubt: string | null
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
  const columnPrefix = sharedPrefix(
    columns.map(({ name }) => name),
    COLUMN_PREFIX,
  )
  const taken = (name: string) => takeName(bareName(name, columnPrefix), typeWords)
  const found = columns.flatMap((column) => {
    const name = taken(column.name)
    return properties.flatMap(
      ({ property, names }) => pairOf(column, property, { name, names }, { target, hints }) ?? [],
    )
  })
  const ranked = withRivals(found).toSorted((a, b) => b.score - a.score)
  const byProperty = new Map<string, Pair>()
  const byColumn = new Map<ColumnFacts, Pair>()
  for (const pair of ranked) {
    if (obstacleOf(pair) !== null || byColumn.has(pair.column)) continue
    if (byProperty.has(pair.property.name)) continue
    byProperty.set(pair.property.name, pair)
    byColumn.set(pair.column, pair)
  }
  const best = new Map<ColumnFacts, Pair>()
  for (const pair of ranked) if (!best.has(pair.column)) best.set(pair.column, pair)
  /** Whether the column would have a property, if its name did not say the contrary, another time or another person. */
  const isTurnedAway = ({ name }: ColumnFacts): boolean => {
    const { turns, ...rest } = taken(name)
    return (
      turns.size > 0 &&
      properties.some(({ names }) =>
        names.some((one) => matchNames({ ...rest, turns: one.turns }, [one]) !== null),
      )
    )
  }
  const units = new Set([...byColumn.values()].map(({ reading }) => reading.settings.unit_column))
  return {
    pairs: columns.flatMap((column) => byColumn.get(column) ?? []),
    left: columns
      .filter((column) => !byColumn.has(column) && !units.has(column.name))
      .map((column) => leftColumn(column, best.get(column), byProperty, isTurnedAway(column))),
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
  { name: taken, names }: { readonly name: TakenName; readonly names: readonly TakenName[] },
  { target, hints }: { readonly target: Target; readonly hints: Hints },
): Pair | null {
  const name = matchNames(taken, names)
  if (name === null) return pairByValues(column, property, taken, names, { target, hints })
  const reading = readingOf(property, column, target, hints)
  const hasForm =
    !FORMLESS.has(cellTypeOf(property, target.fieldTypes).type) && reading.fits >= FITS_MIN
  const { score, reason, unlike } = name
  const isChosen = property.options.length > 0 && reading.fits >= BY_VALUES_MIN
  const isNamed = unlike.length === 0 || (isChosen && column.distinct > 1)
  return paired(column, property, reading, {
    reason,
    score: score + (hasForm ? VALUES_BONUS : 0),
    others: isNamed ? [] : ['the names are only similar'],
  })
}

function paired(
  column: ColumnFacts,
  property: PropertyWire,
  reading: PropertyReading,
  { reason, score, others }: Pick<Pair, 'reason' | 'score'> & Pick<GuessEvidence, 'others'>,
): Pair {
  const evidence = { ...reading.evidence, others: [...others, ...reading.evidence.others] }
  const doubt = doubtOf(evidence)
  return { column, property, reading, reason, score, evidence, doubt }
}

const BY_VALUES_REASON = 'by its values'

/** Where values alone speak for a column, another one with such values is as likely. */
function withRivals(found: readonly Pair[]): Pair[] {
  const placeOf = ({ property, score }: Pair) => `${score} ${property.name}`
  const counts = new Map<string, number>()
  for (const pair of found) counts.set(placeOf(pair), (counts.get(placeOf(pair)) ?? 0) + 1)
  return found.map((pair) => {
    if (pair.reason !== BY_VALUES_REASON || counts.get(placeOf(pair)) === 1) return pair
    const others = [...pair.evidence.others, 'another column has such values too']
    const evidence = { ...pair.evidence, others }
    return { ...pair, evidence, doubt: doubtOf(evidence) }
  })
}

function pairByValues(
  column: ColumnFacts,
  property: PropertyWire,
  name: TakenName,
  names: readonly TakenName[],
  { target, hints }: { readonly target: Target; readonly hints: Hints },
): Pair | null {
  if (!names.some(({ turns }) => areTurnedAlike(name.turns, turns))) return null
  const { type } = cellTypeOf(property, target.fieldTypes)
  const form = Object.hasOwn(BY_VALUES, type) ? BY_VALUES[type] : undefined
  const isChoice = property.options.length > 1 && column.distinct > 1
  if (form ? fittingShare(column, form.fits) < BY_VALUES_MIN : !isChoice) return null
  const reading = readingOf(property, column, target, hints)
  if (reading.fits < BY_VALUES_MIN) return null
  const score = form?.score ?? BY_OPTIONS_SCORE
  const others = saysMore(name) ? ['its name says more, which may be another thing'] : []
  return paired(column, property, reading, {
    reason: BY_VALUES_REASON,
    score,
    others,
  })
}

function leftColumn(
  column: ColumnFacts,
  pair: Pair | undefined,
  taken: ReadonlyMap<string, Pair>,
  isTurnedAway: boolean,
): Assignment['left'][number] {
  if (pair === undefined) return { column, reason: isTurnedAway ? TURNED_TEXT : NAMELESS_TEXT }
  const { property } = pair
  const other = taken.get(property.name)
  const isRival = pair.reason !== BY_VALUES_REASON && obstacleOf(pair) === null
  if (other)
    return {
      column,
      reason: isRival ? getsText(property.name, other.column.name) : NAMELESS_TEXT,
    }
  const reason = `${property.name} ${obstacleOf(pair)}`
  const isOpen = property.writability === 'create_only' || column.filled === 0
  const isPossible = isOpen && property.writability !== 'read_only' && pair.score >= NAME_SCORE_MIN
  const isReadable = column.filled === 0 || pair.reading.problem === undefined
  return isPossible && isReadable
    ? { column, reason: column.filled === 0 ? 'every cell is empty' : reason, pair }
    : { column, reason: column.filled === 0 ? 'every cell is empty' : reason }
}

const NAMELESS_TEXT = 'no property has such a name'
const TURNED_TEXT = 'its name says the contrary, another time, or whose else it is'

export const getsText = (property: string, column: string): string =>
  `${property} gets column ${JSON.stringify(column)}`
