// Which property says which record a row is, and which column it gets: best a unique property, and a column in which each row has a
// value of its own.

import type { PropertyWire } from '../../contract/index.ts'
import type { Target } from '../mapping/target.ts'
import { cellTypeOf } from './cell-type.ts'
import { fittingShare, type ColumnFacts } from './columns.ts'
import type { Pair } from './assignment.ts'
import { namesIdentifier, wordsOfName } from './words.ts'

export interface KeyCandidate {
  readonly property: string
  readonly column: string
  /** Whether no two records can have the same value. */
  readonly isUnique: boolean
  /** Rows without a value, and rows whose value another row has too. */
  readonly empty: number
  readonly repeated: number
  readonly score: number
}

/** Types whose values can say which record a row is. */
const KEY_TYPES = new Set(['text', 'email', 'phone', 'url', 'number', 'string', 'integer'])
/** So many rows need a value of their own. */
const QUALITY_MIN = 0.9
const KEY_CHARS_MAX = 200

/** The share of the rows that have a value which no other row has before them. */
export const keyQuality = ({ distinct, rows }: ColumnFacts): number =>
  rows === 0 ? 0 : distinct / rows

/**
 * Best first.
 * @param qualityMin the share of rows that need a value of their own
 */
export function keyCandidates(
  columns: readonly ColumnFacts[],
  pairs: readonly Pair[],
  { schema: { properties }, fieldTypes }: Pick<Target, 'schema' | 'fieldTypes'>,
  qualityMin = QUALITY_MIN,
): KeyCandidate[] {
  const candidate = (column: ColumnFacts, property: PropertyWire, bonus: number) => {
    const { type } = cellTypeOf(property, fieldTypes)
    return candidateOf(column, property, { type, bonus, qualityMin })
  }
  const mapped = pairs
    .filter(({ evidence }) => evidence.others.length === 0)
    .map(({ column, property, score }) => candidate(column, property, score / 2))
  const taken = new Set(pairs.map(({ property }) => property.name))
  // A file whose identifier has a name of its own, such as `SKU`, still has one.
  const others = properties
    .filter((property) => property.is_unique && !taken.has(property.name))
    .filter(({ name, label }) => [name, label].some(isIdentifierName))
    .flatMap((property) =>
      columns
        .filter((column) => namesIdentifier(column.name) || fittingShare(column, isAddress) === 1)
        .map((column) => candidate(column, property, namesIdentifier(column.name) ? 0 : -1)),
    )
  return [...mapped, ...others].flatMap((one) => one ?? []).toSorted((a, b) => b.score - a.score)
}

const isAddress = (value: string): boolean => /^[^\s@]+@[^\s@]+$/.test(value.trim())

const isIdentifierName = (name: string): boolean =>
  namesIdentifier(name) ||
  wordsOfName(name).some((word) => ['id', 'external', 'key'].includes(word))

function candidateOf(
  column: ColumnFacts,
  property: PropertyWire,
  {
    type,
    bonus,
    qualityMin,
  }: { readonly type: string; readonly bonus: number; readonly qualityMin: number },
): KeyCandidate | null {
  const { is_unique: isUnique, is_multi: isMulti } = property
  if (!KEY_TYPES.has(type) || property.writability !== 'writable') return null
  if (column.rows > 0 && keyQuality(column) < qualityMin) return null
  if ([...column.values.keys()].some((value) => value.length > KEY_CHARS_MAX)) return null
  // A name is no key, even where no two rows share one.
  const isText = type === 'text' || type === 'string' || type === 'number' || type === 'integer'
  if (isText && !isUnique && !namesIdentifier(property.name) && !namesIdentifier(column.name))
    return null
  const score =
    bonus +
    (isUnique ? 1 : 0) +
    (keyQuality(column) === 1 ? 0.5 : 0) +
    (namesIdentifier(column.name) ? 0.3 : 0) -
    (isMulti ? 0.2 : 0) -
    // Pages and telephones are shared, and change.
    (!isUnique && (type === 'url' || type === 'phone') ? 1 : 0)
  return {
    property: property.name,
    column: column.name,
    isUnique,
    empty: column.rows - column.filled,
    repeated: column.filled - column.distinct,
    score,
  }
}
