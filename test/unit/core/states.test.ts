// The books: rows read equals the sum of the item states, and nothing is complete before that holds.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  emptyStates,
  finalState,
  isBalanced,
  LIVE_STATES,
  NOT_READ_BACK,
  RUN_STATES,
  type Books,
} from '../../../src/core/domain/books.ts'
import {
  ITEM_STATES,
  REJECT_STATES,
  TERMINAL_STATES,
  type ItemState,
} from '../../../src/core/domain/outcomes.ts'
import { countAll } from '../../../src/core/domain/outcome-counts.ts'

const books = (read: number, states: Partial<Record<ItemState, number>>): Books => ({
  read,
  states: { ...emptyStates(), ...states },
  replayed: 0,
  inDoubt: 0,
  readBack: NOT_READ_BACK,
})

const anyStates = fc.record(
  Object.fromEntries(ITEM_STATES.map((state) => [state, fc.nat(50)])) as Record<
    ItemState,
    fc.Arbitrary<number>
  >,
)

describe('states', () => {
  it('every state is terminal, pending or in flight', () => {
    expect([...TERMINAL_STATES, 'pending', 'in_flight'].toSorted()).toEqual(
      [...ITEM_STATES].toSorted(),
    )
    expect(REJECT_STATES.every((state) => TERMINAL_STATES.includes(state))).toBe(true)
    expect(LIVE_STATES.every((state) => RUN_STATES.includes(state))).toBe(true)
    expect(LIVE_STATES).not.toContain(finalState(books(0, {})))
  })

  it('empty states are all zero, and a fresh object each time', () => {
    const states = emptyStates()
    states.created = 5
    expect(countAll(emptyStates())).toBe(0)
    expect(Object.keys(emptyStates())).toEqual([...ITEM_STATES])
  })
})

describe('isBalanced', () => {
  it.each([
    ['an empty run', books(0, {}), true],
    ['every row in a terminal state', books(3, { created: 1, invalid: 1, not_sent: 1 }), true],
    ['a row without an item', books(3, { created: 2 }), false],
    ['an item without a row', books(1, { created: 2 }), false],
    ['an item that is still pending', books(2, { created: 1, pending: 1 }), false],
    ['an item that is still in flight', books(2, { created: 1, in_flight: 1 }), false],
  ])('%s', (_, given, expected) => {
    expect(isBalanced(given)).toBe(expected)
  })

  it('holds exactly where terminal states alone add up to the rows read', () => {
    fc.assert(
      fc.property(anyStates, fc.integer({ min: -1, max: 1 }), (states, off) => {
        const sum = countAll(states)
        const given = books(sum + off, states)
        expect(isBalanced(given)).toBe(off === 0 && states.pending + states.in_flight === 0)
      }),
    )
  })
})

describe('finalState', () => {
  it('is complete without rejects', () => {
    expect(finalState(books(3, { created: 1, unchanged: 1, superseded: 1 }))).toBe('complete')
  })

  it.each(REJECT_STATES)('says so where a row is %s', (state) => {
    expect(finalState(books(2, { updated: 1, [state]: 1 }))).toBe('complete_with_rejects')
  })

  it('tells rows that were accepted and read back otherwise', () => {
    const readBack = { equal: 1, different: 0, missing: 0, normalised: 1 }
    const given = books(2, { updated: 2 })
    expect(finalState({ ...given, readBack })).toBe('complete')
    for (const found of ['different', 'missing'])
      expect(finalState({ ...given, readBack: { ...readBack, [found]: 1 } })).toBe(
        'complete_with_differences',
      )
  })

  it('tells what a reconciliation left; what it only looked at was not rejected', () => {
    const look = (left: number, states: Partial<Record<ItemState, number>>) =>
      finalState(books(3, states), { left, isLook: true })
    expect(look(0, { unchanged: 3 })).toBe('complete')
    expect(look(2, { unchanged: 1, not_sent: 2 })).toBe('complete_with_differences')
    expect(look(1, { unchanged: 1, not_sent: 1, invalid: 1 })).toBe('complete_with_rejects')
    const mended = finalState(books(3, { updated: 2, not_sent: 1 }), { left: 1, isLook: false })
    expect(mended).toBe('complete_with_rejects')
  })

  it('is never complete where the books do not balance', () => {
    fc.assert(
      fc.property(anyStates, fc.nat(500), (states, read) => {
        const given = books(read, states)
        expect(finalState(given) === 'failed').toBe(!isBalanced(given))
      }),
    )
  })
})
