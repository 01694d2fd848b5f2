// How many requests a plan expects of each mode.

import { expect, test } from 'vitest'
import { requestsOf } from '../../../src/import/index.ts'

const client = { itemsPerRequest: async () => 50 }

test.each([
  ['upsert', 20],
  ['create', 30],
  // The keys are looked up whether a run has written them before or not.
  ['update', 30],
] as const)('%s: batches, and look-ups of 100 keys', async (mode, expected) => {
  const sync = { mode, verify: 'none', missing_rows: 'ignore' } as const
  expect(await requestsOf(client, sync, { rows: 1_000, known: 900 })).toBe(expected)
})

test.each([
  ['none', 40, 0],
  ['sample', 40, 40],
  ['sample', 250, 125],
  ['sample', 100_000, 100],
  ['all', 100_000, 100_000],
] as const)('%s: of %d links, %d requests read some back', async (verify, links, readBack) => {
  const sync = { mode: 'upsert', verify, missing_rows: 'ignore' } as const
  expect(await requestsOf(client, sync, { rows: 0, known: 0, links })).toBe(links + readBack)
})
