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
  const lookedUp = 2 * Math.ceil(links / 100)
  expect(await requestsOf(client, sync, { rows: 0, known: 0, links })).toBe(
    links + lookedUp + readBack,
  )
})

test.each([
  ['their keys', 'svc_domain', 1_020],
  ['their ids', undefined, 1_010],
] as const)('links to targets by %s: look-ups of 100 ends', async (_, by, expected) => {
  const link = { association: 'a', to: 'b', column: 'c', missing: 'park', by } as const
  const sync = { mode: 'upsert', verify: 'none', missing_rows: 'ignore', links: [link] } as const
  expect(await requestsOf(client, sync, { rows: 0, known: 0, links: 1_000 })).toBe(expected)
})

test.each([
  ['nothing', {}, 20, 30],
  ['keep_before', { keep_before: true }, 30, 30],
  ['on_conflict', { on_conflict: 'theirs' }, 30, 30],
  ['write: if_empty', { properties: { a: { column: 'a', write: 'if_empty' } } }, 30, 30],
  // Looked up for the plan, and again before each batch.
  ['approve: plan', { approve: 'plan' }, 40, 30],
  ['approve: plan, keep_before', { approve: 'plan', keep_before: true }, 40, 30],
  ['approve: plan, mode update', { approve: 'plan', mode: 'update' }, 40, 30],
  // Below the limit nothing is looked up again.
  ['updates_max', { approve: { updates_max: 5 } }, 30, 30],
  ['updates_max, keep_before', { approve: { updates_max: 5 }, keep_before: true }, 40, 30],
  // Keys that no run has written.
  ['creates_max_percent', { creates_max_percent: 10 }, 21, 30],
  ['creates_max_percent, planned', { creates_max_percent: 10, approve: 'plan' }, 40, 30],
] as const)(
  '%s: look-ups of a run of 1,000 rows, and of one that applies a plan',
  async (_, more, expected, applying) => {
    const sync = { mode: 'upsert', verify: 'none', missing_rows: 'ignore', ...more } as const
    const rows = { rows: 1_000, known: 900 }
    expect(await requestsOf(client, sync, rows)).toBe(expected)
    expect(await requestsOf(client, sync, { ...rows, appliesPlan: true })).toBe(applying)
  },
)

test('where few requests are let through, look-ups grow old and are repeated for each batch', async () => {
  const sync = {
    mode: 'upsert',
    verify: 'none',
    missing_rows: 'ignore',
    keep_before: true,
  } as const
  const requests = (perMinute: number | null) =>
    requestsOf(client, sync, { rows: 1_000, known: 0, perMinute })
  // 10 look-ups, and 20 batches.
  expect(await requests(null)).toBe(30)
  expect(await requests(600)).toBe(30)
  expect(await requests(24)).toBe(30 + 20)
  expect(await requests(5)).toBe(30 + 20 * 2)
  expect(
    await requestsOf(
      client,
      { ...sync, keep_before: false },
      { rows: 1_000, known: 0, perMinute: 5 },
    ),
  ).toBe(20)
})
