// Filters, sorts and search (sections 2.11, 4.1 and 4.6): first the structure of the whole tree, then its meaning.

import type { Habits } from './habits.ts'
import { isObject } from './json.ts'
import type { Json, JsonObject } from './json.ts'
import { comparable, fault, isText, operatorsOf, order } from './kinds.ts'
import { malformed, wrong } from './refusal.ts'
import { isSame, valuesOf } from './store.ts'
import type { Org, Rec } from './store.ts'
import type { PropertyDef, TypeDef } from './types.ts'

export type Test = (record: Rec) => boolean

const OPS = new Set([
  'eq',
  'neq',
  'is_null',
  'gt',
  'gte',
  'lt',
  'lte',
  'starts_with',
  'ends_with',
  'contains',
  'not_contains',
  'contains_any',
  'not_contains_any',
  'in',
  'not_in',
])
const LISTS = new Set(['in', 'not_in', 'contains_any', 'not_contains_any'])
const GROUPS_MAX = 50
const DEPTH_MAX = 8

export function filterOf(filter: Json | undefined, org: Org, type: TypeDef, habits: Habits): Test {
  if (filter == null) return () => true
  structure(filter, '/filter')
  const groups = { count: 0 }
  return meaning(filter as JsonObject, { org, type, habits, groups, depth: 1, field: '/filter' })
}

function structure(node: Json, field: string): void {
  if (!isObject(node)) throw malformed('a filter node is an object', field)
  const names = Object.keys(node)
  const group = names.find((name) => name === '$and' || name === '$or')
  if (group !== undefined) {
    const children = node[group]
    if (names.length > 1) throw malformed('a group has one key', field)
    if (!Array.isArray(children) || children.length === 0) {
      throw malformed('a group has at least one child', `${field}/${group}`)
    }
    for (const [index, child] of children.entries()) {
      structure(child as Json, `${field}/${group}/${index}`)
    }
    return
  }
  if (names.some((name) => !['property', 'op', 'value'].includes(name)) || names.length !== 3) {
    throw malformed('a leaf is property, op and value', field)
  }
  if (typeof node['property'] !== 'string') throw malformed('property is a string', field)
  if (typeof node['op'] !== 'string' || !OPS.has(node['op'])) {
    throw malformed('there is no such operator', `${field}/op`)
  }
}

interface Place {
  readonly org: Org
  readonly type: TypeDef
  readonly habits: Habits
  readonly groups: { count: number }
  readonly depth: number
  readonly field: string
}

function meaning(node: JsonObject, place: Place): Test {
  const { depth, field, groups } = place
  if (depth > DEPTH_MAX) throw wrong('filter_too_deep', 'nested too deep', field)
  const group = '$and' in node ? '$and' : '$or' in node ? '$or' : null
  if (group === null) return leaf(node, place)
  if (++groups.count > GROUPS_MAX) throw wrong('too_many_filter_groups', 'too many groups', field)
  const tests = (node[group] as JsonObject[]).map((child, index) =>
    meaning(child, { ...place, depth: depth + 1, field: `${field}/${group}/${index}` }),
  )
  return group === '$and'
    ? (record) => tests.every((test) => test(record))
    : (record) => tests.some((test) => test(record))
}

function leaf(node: JsonObject, { org, type, habits, field }: Place): Test {
  const [name, op, value] = [node['property'] as string, node['op'] as string, node['value']!]
  const property = org.property(type, name)
  if (!property) throw wrong('unknown_property', 'no such property', `${field}/property`)
  if (!operatorsOf(property.kind).includes(op)) {
    throw wrong('operator_not_supported', 'not for this field type', `${field}/op`)
  }
  const invalid = (detail: string) => wrong('invalid_filter', detail, `${field}/value`)
  const held = (record: Rec) => valuesOf(record.properties[name])
  if (op === 'is_null') {
    if (typeof value !== 'boolean') throw invalid('a boolean is expected')
    return (record) => (held(record).length === 0) === value
  }
  const isList = LISTS.has(op)
  if (isList !== Array.isArray(value)) throw invalid(isList ? 'a list is expected' : 'one value')
  const operands = isList ? (value as readonly Json[]) : [value]
  if (operands.length > 100) throw invalid('at most 100 values')
  const isPart = /with|contains/.test(op)
  for (const operand of operands) {
    const problem = isPart
      ? typeof operand === 'string'
        ? null
        : 'a string is expected'
      : operandFault(operand, property)
    if (problem !== null) throw invalid(problem)
  }
  const test = testOf(op.replace('not_', ''), operands, property, habits)
  const isNot = op.startsWith('not_') || op === 'neq'
  return isNot ? (record) => !held(record).some(test) : (record) => held(record).some(test)
}

/** A text may be looked for whatever it looks like. */
const operandFault = (operand: Json, property: PropertyDef): string | null =>
  isText(property.kind) && typeof operand === 'string'
    ? null
    : fault(operand, { ...property, kind: property.kind })

function testOf(
  op: string,
  operands: readonly Json[],
  { kind }: PropertyDef,
  habits: Habits,
): (value: Json) => boolean {
  const text = (value: Json) =>
    typeof value === 'string' && isText(kind) ? comparable(value, habits) : value
  const wanted = operands.map(text)
  const first = operands[0]!
  const part = (has: (value: string, piece: string) => boolean) => (value: Json) =>
    wanted.some((piece) => has(String(text(value)), String(piece)))
  switch (op) {
    case 'eq':
    case 'neq':
    case 'in': {
      if (isText(kind)) {
        const all = new Set(wanted)
        return (value) => all.has(text(value))
      }
      return (value) => operands.some((one) => order(value, one, kind) === 0 || isSame(value, one))
    }
    case 'gt':
      return (value) => order(value, first, kind) > 0
    case 'gte':
      return (value) => order(value, first, kind) >= 0
    case 'lt':
      return (value) => order(value, first, kind) < 0
    case 'lte':
      return (value) => order(value, first, kind) <= 0
    case 'starts_with':
      return part((value, piece) => value.startsWith(piece))
    case 'ends_with':
      return part((value, piece) => value.endsWith(piece))
    default:
      return part((value, piece) => value.includes(piece))
  }
}

/** Any text of the record holds the words. */
export function searchOf(search: Json | undefined): Test {
  if (search == null || search === '') return () => true
  if (typeof search !== 'string') throw malformed('search is a string', '/search')
  if (search.length > 200) throw malformed('search has at most 200 characters', '/search')
  const words = search.toLowerCase()
  return (record) =>
    Object.values(record.properties)
      .flatMap((value) => valuesOf(value))
      .some((value) => typeof value === 'string' && value.toLowerCase().includes(words))
}

export interface Sort {
  readonly property: string
  readonly before: (a: Rec, b: Rec) => number
}

export function sortOf(sorts: Json | undefined, org: Org, type: TypeDef): Sort | null {
  if (sorts == null) return null
  if (!Array.isArray(sorts)) throw malformed('sorts is a list', '/sorts')
  if (sorts.length > 1) throw malformed('at most one sort', '/sorts')
  if (sorts.length === 0) return null
  const sort = sorts[0] as Json
  if (
    !isObject(sort) ||
    Object.keys(sort).some((key) => key !== 'property' && key !== 'direction')
  ) {
    throw malformed('a sort is property and direction', '/sorts/0')
  }
  const { property: name, direction = 'asc' } = sort
  if (direction !== 'asc' && direction !== 'desc') {
    throw malformed('direction is asc or desc', '/sorts/0/direction')
  }
  const property = typeof name === 'string' ? org.property(type, name) : undefined
  if (!property) throw wrong('unknown_property', 'no such property', '/sorts/0/property')
  const { kind } = property
  if (property.multi || kind === 'json' || kind === 'currency') {
    throw wrong('unsupported_sort', 'cannot be sorted on', '/sorts/0/property')
  }
  const sign = direction === 'asc' ? 1 : -1
  return {
    property: property.name,
    before: (a, b) => {
      const [left, right] = [a.properties[property.name], b.properties[property.name]]
      // Records without a value come last, either way.
      if (left == null || right == null) {
        return Number(left == null) - Number(right == null) || a.seq - b.seq
      }
      return sign * order(left, right, kind) || a.seq - b.seq
    },
  }
}
