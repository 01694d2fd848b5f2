// A count that is none is not taken for 0.

import { expect, test } from 'vitest'
import { Reader, type ReaderDeps } from '../../../src/mirror/reader.ts'
import { quick } from './scene.ts'

const readerOf = (value: unknown): Reader =>
  new Reader({
    client: {
      aggregateRecords: () =>
        Promise.resolve({ results: [{ group_by: {}, value }], has_more: false, total_groups: 1 }),
    } as unknown as ReaderDeps['client'],
    clock: { now: () => 0, sleep: () => new Promise(() => {}) },
    signal: new AbortController().signal,
    priority: 'mirror',
    tuning: quick,
    beat: () => {},
  })

test('a count is a whole number', async () => {
  expect(await readerOf(7).count('thing')).toBe(7)
  expect(await readerOf(0).count('thing')).toBe(0)
  expect(await readerOf(3).groups('thing', [], null, 1)).toEqual([{ values: [], records: 3 }])
})

test.each([
  [null, 'null'],
  [undefined, 'undefined'],
  ['7', 'string'],
  [1.5, 'number'],
  [-1, 'number'],
])('%j is none, and its type alone fails', async (value, found) => {
  const failure = {
    kind: 'distrusted',
    disposition: 'halt',
    block: 'contract',
    objectType: 'thing',
    message: `thing: the service was asked for a count and answered ${found}, not a whole number`,
  }
  await expect(readerOf(value).count('thing')).rejects.toMatchObject(failure)
  await expect(readerOf(value).groups('thing', [], null, 1)).rejects.toMatchObject(failure)
})
