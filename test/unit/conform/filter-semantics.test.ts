// The naive evaluation of filters.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FILTER_OPERATORS } from '../../../src/contract/index.ts'
import type { FilterNode, FilterOperator, Properties } from '../../../src/contract/index.ts'
import { compareValues, matchesFilter } from '../../../src/conform/filter-semantics.ts'

const leaf = (op: FilterOperator, value: unknown) => ({ property: 'p', op, value }) as FilterNode
const truth = (op: FilterOperator, value: unknown, stored: unknown) =>
  matchesFilter(leaf(op, value), { p: stored } as Properties)

describe('a leaf', () => {
  test.each([
    ['eq', 'a', 'a', 'yes'],
    ['eq', 'a', 'b', 'no'],
    ['eq', 'a', 'A', 'open'],
    ['eq', 'a', ['b', 'a'], 'yes'],
    ['eq', 'a', null, 'no'],
    ['eq', 1, 1, 'yes'],
    ['eq', { amount: '1.0', unit: 'EUR' }, { amount: '1', unit: 'EUR' }, 'yes'],
    ['eq', { amount: '1', unit: 'EUR' }, { amount: '1', unit: 'USD' }, 'open'],
    ['eq', '2026-03-01T10:00:00Z', '2026-03-01T11:00:00+01:00', 'open'],
    ['neq', 'a', 'a', 'no'],
    ['neq', 'a', 'b', 'yes'],
    ['neq', 'a', null, 'open'],
    ['neq', 'a', ['a', 'b'], 'open'],
    ['neq', 'a', ['b', 'c'], 'yes'],
    ['is_null', true, null, 'yes'],
    ['is_null', true, undefined, 'yes'],
    ['is_null', true, [], 'yes'],
    ['is_null', false, 'a', 'yes'],
    ['is_null', true, '', 'open'],
    ['in', ['a', 'b'], ['x', 'b'], 'yes'],
    ['in', ['a', 'b'], 'ab', 'no'],
    ['not_in', ['a', 'b'], ['a', 'b'], 'no'],
    ['not_in', ['a'], ['a', 'b'], 'open'],
    ['gt', 2, 3, 'yes'],
    ['gt', 2, 2, 'no'],
    ['gte', 2, 2, 'yes'],
    ['lt', 2, null, 'no'],
    ['lte', 'm', 'a', 'open'],
    ['lte', 'm', 'm', 'yes'],
    ['lt', '2026-01-02', '2026-01-01', 'yes'],
    ['gt', { amount: '9', unit: 'EUR' }, { amount: '10', unit: 'EUR' }, 'yes'],
    ['contains', 'b', 'abc', 'yes'],
    ['contains', 'B', 'abc', 'open'],
    ['contains', 'x', ['abc', 'xyz'], 'yes'],
    ['not_contains', 'b', 'abc', 'no'],
    ['contains_any', ['q', 'c'], 'abc', 'yes'],
    ['not_contains_any', ['q', 'z'], 'abc', 'yes'],
    ['starts_with', 'ab', 'abc', 'yes'],
    ['starts_with', 'bc', 'abc', 'no'],
    ['ends_with', 'bc', 'abc', 'yes'],
  ] as const)('%s %j of %j: %s', (op, value, stored, expected) => {
    expect(truth(op, value, stored)).toBe(expected)
  })
})

const stored = fc.oneof(
  fc.constant(null),
  fc.string({ maxLength: 3 }),
  fc.array(fc.string({ maxLength: 3 }), { maxLength: 3 }),
  fc.integer({ min: -3, max: 3 }),
)
const node = fc
  .record({ op: fc.constantFrom(...FILTER_OPERATORS), value: fc.oneof(stored, fc.boolean()) })
  .map(({ op, value }) => leaf(op, value))

test('groups follow the truth of their children', () => {
  fc.assert(
    fc.property(node, node, stored, (a, b, value) => {
      const properties = { p: value } as Properties
      const [one, other] = [matchesFilter(a, properties), matchesFilter(b, properties)]
      const both = matchesFilter({ $and: [a, b] }, properties)
      const either = matchesFilter({ $or: [a, b] }, properties)
      expect(both === 'yes').toBe(one === 'yes' && other === 'yes')
      expect(both === 'no').toBe(one === 'no' || other === 'no')
      expect(either === 'yes').toBe(one === 'yes' || other === 'yes')
      expect(either === 'no').toBe(one === 'no' && other === 'no')
    }),
  )
})

test('an operator and the one that denies it never both match or both fail', () => {
  const twins = [
    ['eq', 'neq'],
    ['in', 'not_in'],
    ['contains', 'not_contains'],
    ['contains_any', 'not_contains_any'],
  ] as const
  fc.assert(
    fc.property(fc.constantFrom(...twins), stored, stored, ([op, denied], value, held) => {
      const truths = [truth(op, value, held), truth(denied, value, held)]
      expect(truths).not.toEqual(['yes', 'yes'])
      expect(truths).not.toEqual(['no', 'no'])
    }),
  )
})

test('order is antisymmetric, and equality is order 0', () => {
  fc.assert(
    fc.property(stored, stored, (a, b) => {
      const [forth, back] = [compareValues(a, b), compareValues(b, a)]
      if (forth === null || back === null) expect(forth).toBe(back)
      else expect(Math.sign(forth) + Math.sign(back)).toBe(0)
    }),
  )
})
