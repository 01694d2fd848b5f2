// Which value to filter by, so that some records of a sample match and others do not.

import type { FilterNode, FilterOperator } from '../contract/index.ts'
import { compareValues, matchesFilter, filterValues } from './filter-semantics.ts'
import type { ProbedProperty, RecordSample } from './types.ts'

export interface Candidate {
  readonly sample: RecordSample
  readonly property: ProbedProperty
  readonly filter: FilterNode
  /** Whether the sample has records that match and records that do not. */
  readonly splits: boolean
}

/** Properties of several kinds that are filtered by each operator. */
const CANDIDATES_MAX = 3

/** Filters of an operator over properties of different kinds; those that some records match and others do not come first. */
export function candidatesFor(op: FilterOperator, samples: readonly RecordSample[]): Candidate[] {
  const found = samples.flatMap((sample) =>
    sample.type.properties
      .filter((property) => property.operators.includes(op))
      .flatMap((property) => candidatesOf(op, sample, property)),
  )
  const chosen: Candidate[] = []
  for (const candidate of found.toSorted((a, b) => Number(b.splits) - Number(a.splits))) {
    const { field, isMulti } = candidate.property
    const isOther = chosen.every(
      ({ property }) => property.field.name !== field.name || property.isMulti !== isMulti,
    )
    if (isOther && chosen.length < CANDIDATES_MAX) chosen.push(candidate)
  }
  return chosen
}

function candidatesOf(
  op: FilterOperator,
  sample: RecordSample,
  property: ProbedProperty,
): Candidate[] {
  const stored = sample.records.flatMap(({ properties }) => filterValues(properties[property.name]))
  const values = op === 'is_null' ? [true] : operandsFor(op, stored)
  const filters = values.map((value) => ({ property: property.name, op, value }) as FilterNode)
  const candidates = filters.map((filter): Candidate => {
    const truths = sample.records.map(({ properties }) => matchesFilter(filter, properties))
    return { sample, property, filter, splits: truths.includes('yes') && truths.includes('no') }
  })
  return [candidates.find(({ splits }) => splits) ?? candidates[0]].filter(
    (each) => each !== undefined,
  )
}

/** Values to try, taken from the stored ones; none if there is no value. */
function operandsFor(op: FilterOperator, stored: readonly unknown[]): unknown[] {
  const distinct = [...new Map(stored.map((value) => [JSON.stringify(value), value])).values()]
  const texts = distinct.filter((value) => typeof value === 'string' && value.trim() !== '')
  const [first, middle] = [distinct[0], distinct[Math.floor(distinct.length / 2)]]
  if (first === undefined) return []
  switch (op) {
    case 'eq':
    case 'neq':
      return [middle, first]
    case 'in':
    case 'not_in':
      return [[middle, first], [middle]]
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte': {
      const sorted = distinct.toSorted((a, b) => compareValues(a, b) ?? 0)
      return [sorted[Math.floor(sorted.length / 2)], sorted[0], sorted.at(-1)]
    }
    case 'starts_with':
      return fragments(texts, (size) => [0, Math.ceil(size / 2)])
    case 'ends_with':
      return fragments(texts, (size) => [Math.floor(size / 2), size])
    case 'contains':
    case 'not_contains':
      return fragments(texts, inner)
    case 'contains_any':
    case 'not_contains_any':
      return fragments(texts, inner).map((fragment) => [fragment, 'conform-no-such-fragment'])
    default:
      return []
  }
}

const inner = (size: number): [number, number] => [Math.floor(size / 4), Math.ceil((size * 3) / 4)]

/** Parts of some texts: of the last and the first; and whole texts, which fewer records share. */
function fragments(
  texts: readonly unknown[],
  bounds: (size: number) => [number, number],
): string[] {
  return [texts.at(-1), texts[0]]
    .filter((text) => typeof text === 'string')
    .flatMap((text) => {
      const letters = [...text]
      return [
        letters
          .slice(...bounds(letters.length))
          .join('')
          .trim(),
        text,
      ]
    })
    .filter((part) => part !== '')
}
