// What may be deleted without a person, and what never.

import { expect, test } from 'vitest'
import { isPlausible, deletionPermission } from '../../../src/mirror/deletions.ts'
import { staysText } from '../../../src/mirror/sweep.ts'

const limit = { deletions_max_percent: 10 }

test.each([
  // At most ten rows, or at most the share, need nobody.
  [10, 11, null, 'granted'],
  [11, 110, null, 'granted'],
  [11, 109, null, 'ask'],
  [300, 900, null, 'ask'],
  [300, 900, { approved: true, rows: 300 }, 'granted'],
  [300, 900, { approved: true, rows: 400 }, 'granted'],
  // More than was asked about: asked again.
  [300, 900, { approved: true, rows: 299 }, 'ask'],
  [300, 900, { approved: false, rows: 299 }, 'refused'],
] as const)('%i of %i rows, %j: %s', (rows, of, verdict, may) => {
  expect(deletionPermission(rows, of, limit, verdict, { isLess: false })).toBe(may)
})

test.each([
  [1, null, 'ask'],
  [10, { approved: false, rows: 10 }, 'refused'],
  [10, { approved: true, rows: 10 }, 'granted'],
  [11, { approved: true, rows: 10 }, 'ask'],
] as const)('%i rows with a key that sees less, %j: %s', (rows, verdict, may) => {
  expect(
    deletionPermission(rows, 1_000, { deletions_max_percent: 100 }, verdict, { isLess: true }),
  ).toBe(may)
})

test.each([1, 10, 11])('a limit of 0 asks for %i of a million rows', (rows) => {
  const none = { deletions_max_percent: 0 }
  const less = { isLess: false }
  expect(deletionPermission(rows, 1_000_000, none, null, less)).toBe('ask')
  expect(deletionPermission(rows, 1_000_000, none, { approved: true, rows }, less)).toBe('granted')
})

test('a limit that is not 0 lets ten rows go, one of 100 all of them', () => {
  expect(
    deletionPermission(10, 1_000_000, { deletions_max_percent: 0.001 }, null, { isLess: false }),
  ).toBe('granted')
  expect(
    deletionPermission(1_000, 1_000, { deletions_max_percent: 100 }, null, { isLess: false }),
  ).toBe('granted')
})

test.each([
  [990, 1_000, true],
  [989, 1_000, false],
  [0, 10, true],
  [0, 11, false],
  [9_900, 10_000, true],
  [9_899, 10_000, false],
  [5_000, 10, true],
])('%i rows left of %i that the service counts: %s', (left, counted, plausible) => {
  expect(isPlausible(left, counted)).toBe(plausible)
})

test.each([
  [0, 'nothing was deleted'],
  [1, 'none of them was deleted; 1 other row was, earlier in the run'],
  [30, 'none of them was deleted; 30 other rows were, earlier in the run'],
])('rows that stay, after a run that deleted %i others', (deleted, text) => {
  expect(staysText(deleted)).toBe(text)
})
