// Filter trees (sections 2.11 and 4.6): checked, then compiled into one closure.
// Promise kept here: a malformed tree is 400, a wrong one 422 with its reason, and both point at the node.

import { isJsonObject } from '../../core/json.ts'
import {
  FILTER_DEPTH_MAX,
  FILTER_GROUPS_MAX,
  FILTER_LEAVES_MAX,
  FILTER_OPERATORS,
  IN_VALUES_MAX,
} from '../../contract/index.ts'
import type { FilterNode, FilterOperator, ProblemReason } from '../../contract/index.ts'
import { valueKey } from '../schema/field-types.ts'
import type { Scalar, StoredValue } from '../schema/field-types.ts'
import type { ObjectType, CompiledProperty } from '../schema/object-types.ts'
import { RequestRefused, refusalFacts, malformed, describeValue } from '../problems.ts'
import type { Scan } from './scan.ts'
import type { StoredValues } from '../store/record-store.ts'

/** Values one of which a matching record must hold: an index can find the candidates. */
export interface Lookup {
  readonly property: CompiledProperty
  readonly keys: readonly string[]
}

/** A bound that the single value of every matching record satisfies: an order by the property can begin or end there. */
export interface ValueBound {
  readonly property: CompiledProperty
  readonly op: 'gt' | 'gte' | 'lt' | 'lte'
  readonly value: Scalar
}

export interface Filter {
  /** Charges its cost to `scan`. @throws Refusal 504 if a single record costs too much */
  readonly matches: (properties: StoredValues, scan: Scan) => boolean
  readonly lookups: readonly Lookup[]
  readonly bounds: readonly ValueBound[]
}

type Leaf = Extract<FilterNode, { op: FilterOperator }>
type Test = (value: Scalar, scan: Scan) => boolean

const operators: ReadonlySet<string> = new Set(FILTER_OPERATORS)

/** @throws Refusal 400 if the tree is malformed; 422 if it is too deep or has too many groups */
export function checkedFilter(raw: unknown, pointer: string): FilterNode {
  let groups = 0
  let leaves = 0
  let tooDeep: string | null = null
  const check = (node: unknown, at: string, level: number): void => {
    // Nothing below the deepest level is read, so a hostile tree cannot exhaust the stack.
    if (level > FILTER_DEPTH_MAX) {
      tooDeep ??= at
      return
    }
    if (!isJsonObject(node))
      throw malformed(`A filter node was expected, got ${describeValue(node)}`, at)
    const keys = Object.keys(node)
    const group = keys.find((key) => key === '$and' || key === '$or')
    if (group === undefined) {
      leaves += 1
      return checkLeaf(node, keys, at)
    }
    const extra = keys.find((key) => key !== group)
    if (extra !== undefined)
      throw malformed(`Unknown key ${describeValue(extra)} beside ${group}`, at)
    const children = node[group]
    if (!Array.isArray(children) || children.length === 0) {
      throw malformed(`${group}: a list of at least one node was expected`, `${at}/${group}`)
    }
    groups += 1
    children.forEach((child, index) => check(child, `${at}/${group}/${index}`, level + 1))
  }
  check(raw, pointer, 1)
  if (tooDeep !== null) {
    throw refused('filter_too_deep', `At most ${FILTER_DEPTH_MAX} levels were expected`, tooDeep)
  }
  if (groups > FILTER_GROUPS_MAX) {
    const detail = `At most ${FILTER_GROUPS_MAX} groups were expected, got ${groups}`
    throw refused('too_many_filter_groups', detail, pointer)
  }
  if (leaves > FILTER_LEAVES_MAX) {
    const detail = `At most ${FILTER_LEAVES_MAX} conditions were expected, got ${leaves}`
    throw refused('too_many_filter_groups', detail, pointer)
  }
  return raw as FilterNode
}

function checkLeaf(node: Readonly<Record<string, unknown>>, keys: string[], at: string): void {
  const extra = keys.find((key) => !['property', 'op', 'value'].includes(key))
  if (extra !== undefined)
    throw malformed(`Unknown key ${describeValue(extra)} in a filter node`, at)
  if (typeof node['property'] !== 'string') {
    throw malformed('property: the name of a property was expected', `${at}/property`)
  }
  if (typeof node['op'] !== 'string' || !operators.has(node['op'])) {
    const detail = `op: one of ${FILTER_OPERATORS.join(', ')} was expected`
    throw malformed(detail, `${at}/op`)
  }
  if (!keys.includes('value')) throw malformed('value: it is required', `${at}/value`)
}

/**
 * Compiles a checked tree.
 * @throws Refusal 422 unknown_property, operator_not_supported, invalid_filter; 503 without exchange rates
 */
export function compileFilter(
  node: FilterNode,
  type: ObjectType,
  hasRates: boolean,
  at: string,
): Filter {
  if ('op' in node) return compileLeaf(node, type, hasRates, at)
  const [word, nodes] =
    '$and' in node ? (['$and', node.$and] as const) : (['$or', node.$or] as const)
  const children = nodes.map((child, index) =>
    compileFilter(child, type, hasRates, `${at}/${word}/${index}`),
  )
  const tests = children.map((child) => child.matches)
  return word === '$and'
    ? {
        matches: (properties, scan) => tests.every((test) => test(properties, scan)),
        lookups: children.flatMap((child) => child.lookups),
        bounds: children.flatMap((child) => child.bounds),
      }
    : {
        matches: (properties, scan) => tests.some((test) => test(properties, scan)),
        lookups: [],
        bounds: [],
      }
}

function compileLeaf(leaf: Leaf, type: ObjectType, hasRates: boolean, at: string): Filter {
  const property = type.properties.get(leaf.property)
  if (!property) {
    const detail = `${type.name} has no property ${describeValue(leaf.property)}`
    throw refused('unknown_property', detail, `${at}/property`)
  }
  if (!property.wire.operators.includes(leaf.op)) {
    const detail = `${property.name} supports ${property.wire.operators.join(', ')}, not ${leaf.op}`
    throw refused('operator_not_supported', detail, `${at}/op`)
  }
  needRates(property, hasRates)
  const { name } = property
  if (leaf.op === 'is_null') {
    if (typeof leaf.value !== 'boolean') throw invalid('true or false', leaf.value, at)
    const wanted = leaf.value
    return {
      matches: (properties) => (properties[name] === null) === wanted,
      lookups: [],
      bounds: [],
    }
  }
  const { test, negated, keys, bound } = testOf(leaf, property, at)
  return {
    matches: (properties, scan) => holds(properties[name]!, test, scan) !== negated,
    lookups: keys && !negated ? [{ property, keys }] : [],
    bounds: bound && !property.wire.is_multi ? [bound] : [],
  }
}

/** One stored value that passes is enough. */
function holds(value: StoredValue, test: Test, scan: Scan): boolean {
  if (value === null) return false
  scan.charge(1)
  if (!Array.isArray(value)) return test(value, scan)
  scan.charge(value.length)
  return value.some((each) => test(each, scan))
}

/** Whether a text contains the fragment. */
export function contains(text: string, part: string, scan: Scan): boolean {
  // The worst case of a search is the product of the two lengths.
  scan.charge(1 + (text.length * (64 + part.length)) / 4_096)
  return text.includes(part)
}

/** The test of one stored value. A negated operator matches exactly what its positive counterpart does not. */
function testOf(
  leaf: Leaf,
  property: CompiledProperty,
  at: string,
): {
  test: Test
  negated: boolean
  keys?: string[]
  bound?: ValueBound
} {
  const negated = leaf.op === 'neq' || leaf.op.startsWith('not_')
  const operand = (raw: unknown, place = at): Scalar => {
    const value = property.field.operand(raw)
    if (value === undefined) throw invalid(property.field.expected, raw, place)
    return value
  }
  const text = (raw: unknown, place = at): string => {
    const value = typeof raw === 'string' ? raw : undefined
    if (value === undefined) throw invalid('a text', raw, place)
    return property.wire.field_type === 'email' ? value.toLowerCase() : value
  }
  const list = <T>(each: (raw: unknown, place: string) => T): T[] => {
    if (!Array.isArray(leaf.value)) throw invalid('a list', leaf.value, at)
    if (leaf.value.length > IN_VALUES_MAX) {
      throw invalid(`at most ${IN_VALUES_MAX} values`, leaf.value, at)
    }
    return leaf.value.map((raw, index) => each(raw, `${at}/value/${index}`))
  }
  switch (leaf.op) {
    case 'eq':
    case 'neq': {
      const key = valueKey(operand(leaf.value))
      return { test: (value) => valueKey(value) === key, negated, keys: [key] }
    }
    case 'in':
    case 'not_in': {
      const keys = list(operand).map(valueKey)
      const wanted = new Set(keys)
      return { test: (value) => wanted.has(valueKey(value)), negated, keys: [...wanted] }
    }
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte': {
      const { op } = leaf
      const limit = operand(leaf.value)
      const compare = property.field.compare as (a: Scalar, b: Scalar) => number
      const passes = {
        gt: (order: number) => order > 0,
        gte: (order: number) => order >= 0,
        lt: (order: number) => order < 0,
        lte: (order: number) => order <= 0,
      }[op]
      const bound = { property, op, value: limit }
      return { test: (value) => passes(compare(value, limit)), negated, bound }
    }
    case 'starts_with': {
      const start = text(leaf.value)
      return { test: (value) => valueKey(value).startsWith(start), negated }
    }
    case 'ends_with': {
      const end = text(leaf.value)
      return { test: (value) => valueKey(value).endsWith(end), negated }
    }
    case 'contains':
    case 'not_contains': {
      const part = text(leaf.value)
      return { test: (value, scan) => contains(valueKey(value), part, scan), negated }
    }
    default: {
      const parts = list(text)
      return {
        test: (value, scan) => parts.some((part) => contains(valueKey(value), part, scan)),
        negated,
      }
    }
  }
}

/** Section 4.6: sorting or filtering on a currency property needs exchange rates. */
export function needRates(property: CompiledProperty, hasRates: boolean): void {
  if (hasRates || property.wire.field_type !== 'currency') return
  const detail = `${property.name} cannot be compared: exchange rates are unavailable`
  throw new RequestRefused({
    ...refusalFacts('exchange_rate_unavailable', detail),
    headers: { 'Retry-After': '30' },
  })
}

function refused(reason: ProblemReason, detail: string, field: string): RequestRefused {
  return new RequestRefused(refusalFacts(reason, detail, field))
}

function invalid(expected: string, got: unknown, at: string): RequestRefused {
  const field = at.includes('/value/') ? at : `${at}/value`
  return refused('invalid_filter', `value: expected ${expected}, got ${describeValue(got)}`, field)
}
