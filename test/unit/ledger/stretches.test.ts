// Items whose ordinals follow each other are changed by one statement.

import { expect, it } from 'vitest'
import { stretches } from '../../../src/ledger/rules/ranges.ts'

const item = (ordinal: number, state = 'created') => ({ ordinal, state })
const rangesOf = (items: readonly { ordinal: number; state: string }[]) =>
  stretches(items, (a, b) => a.state === b.state).map(({ first, last, items: of }) => [
    first,
    last,
    of.length,
  ])

it('has every item once, in its order', () => {
  const items = [2, 3, 4, 7, 9, 10].map((ordinal) => item(ordinal))
  expect(stretches(items).flatMap(({ items: of }) => of)).toEqual(items)
  expect(rangesOf([])).toEqual([])
})

it('ends at a gap, and where items are not alike', () => {
  expect(rangesOf([1, 2, 3].map((ordinal) => item(ordinal)))).toEqual([[1, 3, 3]])
  expect(rangesOf([item(1), item(2), item(4), item(5, 'updated'), item(6, 'updated')])).toEqual([
    [1, 2, 2],
    [4, 4, 1],
    [5, 6, 2],
  ])
})

it('takes items that are in no order one by one', () => {
  expect(rangesOf([item(3), item(2), item(1)])).toEqual([
    [3, 3, 1],
    [2, 2, 1],
    [1, 1, 1],
  ])
})
