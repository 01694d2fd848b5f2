// Filter trees (sections 2.11 and 4.6): checked, then compiled into one closure.
// Promise kept here: a malformed tree is 400, a wrong one 422 with its reason, and both point at the node.

import { isJsonObject } from '../../core/json.ts'
import {
  FILTER_DEPTH_MAX,
  FILTER_GROUPS_MAX,
  FILTER_LEAVES_MAX,
  FILTER_OPERATORS,
} from '../../contract/index.ts'
import type { FilterNode } from '../../contract/index.ts'
import type { StoredValue } from '../schema/field-types.ts'
import { knownProperty, type ObjectType, type CompiledProperty } from '../schema/object-types.ts'
import { RequestRefused, refusalFacts, malformed, describeValue, refused } from '../problems.ts'
import { compileOperator, invalid } from './operators.ts'
import type { Leaf, ValueBound, ValueTest } from './operators.ts'
import type { Scan } from '../store/scan.ts'
import type { StoredValues } from '../store/slots.ts'

/** Values one of which a matching record must hold: an index can find the candidates. */
export interface Lookup {
  readonly property: CompiledProperty
  readonly keys: readonly string[]
}

export interface Filter {
  /** Charges its cost to `scan`. @throws Refusal 504 if a single record costs too much */
  readonly matches: (properties: StoredValues, scan: Scan) => boolean
  readonly lookups: readonly Lookup[]
  readonly bounds: readonly ValueBound[]
}

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
  const counts = [
    [groups, FILTER_GROUPS_MAX, 'groups'],
    [leaves, FILTER_LEAVES_MAX, 'conditions'],
  ] as const
  for (const [count, max, what] of counts) {
    if (count <= max) continue
    const detail = `At most ${max} ${what} were expected, got ${count}`
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
  if (word === '$or') return testing((values, scan) => tests.some((test) => test(values, scan)))
  return {
    matches: (properties, scan) => tests.every((test) => test(properties, scan)),
    lookups: children.flatMap((child) => child.lookups),
    bounds: children.flatMap((child) => child.bounds),
  }
}

/** A filter that neither an index nor an order helps to find. */
const testing = (matches: Filter['matches']): Filter => ({ matches, lookups: [], bounds: [] })

function compileLeaf(leaf: Leaf, type: ObjectType, hasRates: boolean, at: string): Filter {
  const property = knownProperty(type, leaf.property, `${at}/property`)
  if (!property.wire.operators.includes(leaf.op)) {
    const detail = `${property.name} supports ${property.wire.operators.join(', ')}, not ${leaf.op}`
    throw refused('operator_not_supported', detail, `${at}/op`)
  }
  needRates(property, hasRates)
  const { name } = property
  if (leaf.op === 'is_null') {
    if (typeof leaf.value !== 'boolean') throw invalid('true or false', leaf.value, at)
    const wanted = leaf.value
    return testing((properties) => (properties[name] === null) === wanted)
  }
  const { test, negated, keys, bound } = compileOperator(leaf.op, leaf.value, property, at)
  return {
    matches: (properties, scan) => holds(properties[name]!, test, scan) !== negated,
    lookups: keys && !negated ? [{ property, keys }] : [],
    bounds: bound && !property.wire.is_multi ? [bound] : [],
  }
}

/** One stored value that passes is enough. */
function holds(value: StoredValue, test: ValueTest, scan: Scan): boolean {
  if (value === null) return false
  scan.charge(1)
  if (!Array.isArray(value)) return test(value, scan)
  scan.charge(value.length)
  return value.some((each) => test(each, scan))
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
