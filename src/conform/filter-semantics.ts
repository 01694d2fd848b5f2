// What a filter means (specification sections 2.11 and 4.6), evaluated naively over one record. If the specification
// leaves the meaning open (letter case, order of texts, negations without a value), the answer is `open`, and a
// service may answer either way.

import { canonicalDecimal, compareDecimals, decimalOfNumber } from '../core/decimal.ts'
import { isJsonObject } from '../core/json.ts'
import type { FilterNode, FilterOperator, Properties } from '../contract/index.ts'

export type FilterTruth = 'yes' | 'no' | 'open'
type Leaf = Extract<FilterNode, { op: FilterOperator }>

/** Whether a record with these properties matches. */
export function matchesFilter(node: FilterNode, properties: Properties): FilterTruth {
  if ('$and' in node) return all(node.$and.map((child) => matchesFilter(child, properties)))
  if ('$or' in node) return any(node.$or.map((child) => matchesFilter(child, properties)))
  return leafMatches(node, filterValues(properties[node.property]))
}

/** The single values that a property holds: none if it is null, absent or an empty list. */
export function filterValues(value: unknown): readonly unknown[] {
  if (value === null || value === undefined) return []
  return Array.isArray(value) ? value : [value]
}

function leafMatches(leaf: Leaf, values: readonly unknown[]): FilterTruth {
  if (leaf.op === 'is_null') {
    // An empty text is a value to some services and none to others.
    if (values.length > 0 && values.every((value) => value === '')) return 'open'
    return (values.length === 0) === leaf.value ? 'yes' : 'no'
  }
  const positive = POSITIVE[leaf.op]
  const truths = values.map((value) => passes(positive ?? leaf.op, value, leaf.value))
  if (positive === undefined) return any(truths)
  // The specification leaves a negation open if there is no value, and if there are several that differ.
  if (values.length === 0) return 'open'
  const [some, every] = [any(truths), all(truths)]
  return some === every ? not(some) : 'open'
}

/** The positive operator of each negated one. */
const POSITIVE: Readonly<Partial<Record<FilterOperator, FilterOperator>>> = {
  neq: 'eq',
  not_in: 'in',
  not_contains: 'contains',
  not_contains_any: 'contains_any',
}

function passes(op: FilterOperator, value: unknown, operand: unknown): FilterTruth {
  const operands = Array.isArray(operand) ? operand : [operand]
  switch (op) {
    case 'eq':
    case 'in':
      return any(operands.map((each) => equal(value, each)))
    case 'contains':
    case 'contains_any':
      return any(
        operands.map((each) => textTruth(value, each, (text, part) => text.includes(part))),
      )
    case 'starts_with':
      return textTruth(value, operand, (text, part) => text.startsWith(part))
    case 'ends_with':
      return textTruth(value, operand, (text, part) => text.endsWith(part))
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return ordered(op, compareValues(value, operand))
    default:
      return 'open'
  }
}

function ordered(op: 'gt' | 'gte' | 'lt' | 'lte', order: number | null): FilterTruth {
  if (order === null) return 'open'
  if (order === 0) return op === 'gte' || op === 'lte' ? 'yes' : 'no'
  return order > 0 === op.startsWith('gt') ? 'yes' : 'no'
}

/** Texts that differ only in letter case, form or outer white space are neither equal nor different. */
function equal(a: unknown, b: unknown): FilterTruth {
  if (typeof a === 'string' && typeof b === 'string') {
    if (a === b) return 'yes'
    return loose(a) === loose(b) || compareValues(a, b) === 0 ? 'open' : 'no'
  }
  const order = compareValues(a, b)
  if (order !== null) return order === 0 ? 'yes' : 'no'
  return isMoney(a) && isMoney(b) ? 'open' : 'no'
}

function textTruth(
  value: unknown,
  part: unknown,
  test: (text: string, part: string) => boolean,
): FilterTruth {
  if (typeof value !== 'string' || typeof part !== 'string') return 'open'
  if (test(value, part)) return 'yes'
  return test(loose(value), loose(part)) ? 'open' : 'no'
}

const loose = (text: string) => text.normalize('NFKC').trim().toLowerCase()
const dateForm = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/

/** The order of two values, or null if the specification does not define it: texts, and currencies that differ. */
export function compareValues(a: unknown, b: unknown): number | null {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b)
  if (typeof a === 'string' && typeof b === 'string') {
    if (!dateForm.test(a) || !dateForm.test(b) || a.length > 10 !== b.length > 10) {
      return a === b ? 0 : null
    }
    const order = Date.parse(a) - Date.parse(b)
    return Number.isNaN(order) ? null : order
  }
  if (!isMoney(a) || !isMoney(b) || a.unit !== b.unit) return null
  const [amountA, amountB] = [filterDecimal(a.amount), filterDecimal(b.amount)]
  return amountA === null || amountB === null ? null : compareDecimals(amountA, amountB)
}

export interface FilterMoney {
  readonly amount: unknown
  readonly unit: string
}

export function isMoney(value: unknown): value is FilterMoney {
  return isJsonObject(value) && typeof value['unit'] === 'string' && 'amount' in value
}

/** The canonical decimal of a number or a decimal text, or null. */
export function filterDecimal(value: unknown): string | null {
  if (typeof value === 'number') return Number.isFinite(value) ? decimalOfNumber(value) : null
  return typeof value === 'string' ? canonicalDecimal(value) : null
}

function any(truths: readonly FilterTruth[]): FilterTruth {
  if (truths.includes('yes')) return 'yes'
  return truths.includes('open') ? 'open' : 'no'
}

const not = (truth: FilterTruth): FilterTruth =>
  truth === 'yes' ? 'no' : truth === 'no' ? 'yes' : 'open'
const all = (truths: readonly FilterTruth[]): FilterTruth => not(any(truths.map(not)))
