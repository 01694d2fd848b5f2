// Workers of one project that have different copies of its ledger open, as the server lists them.

import { expect, test } from 'vitest'
import { copies } from '../../../src/temporal/copies.ts'
import { workerIdentity, type Sign } from '../../../src/temporal/projects.ts'

const OURS = 'aaaaaaaa'
const sign = (seenMs: number, more: Partial<Sign> = {}): Sign => ({
  identity: '7@host-b 3f9ac2b1 copied/records-sync.yaml code#cccccccc ledger#bbbbbbbb',
  pid: 7,
  code: 'cccccccc',
  host: 'host-b',
  project: '3f9ac2b1',
  label: 'copied/records-sync.yaml',
  copy: 'bbbbbbbb',
  seenMs,
  ...more,
})

/** Looks, each at what is listed then; gives what was found. */
function watch() {
  let nowMs = 1_000_000
  let listed: readonly Sign[] | null = []
  const look = copies({
    project: '3f9ac2b1',
    copy: OURS,
    clock: { now: () => nowMs, sleep: async () => {} },
    signs: async () => {
      if (listed === null) throw new Error('the server is away')
      return listed
    },
  })
  return async (signs: readonly Sign[] | null, afterMs = 30_000): Promise<string | null> => {
    nowMs += afterMs
    listed = signs
    return await look().then(
      () => null,
      (error: Error) => error.message,
    )
  }
}

test('a worker that comes with another copy is told at once; it is well when that one has gone', async () => {
  const look = watch()
  expect(await look([])).toBeNull()
  const found = await look([sign(5)])
  expect(found).toMatch(/^Another copy of this ledger .* by copied\/records-sync\.yaml on host-b:/)
  expect(found).toContain('project 3f9ac2b1')
  // What the server does not tell changes nothing.
  expect(await look(null)).toBe(found)
  expect(await look([sign(5)], 100_000)).toBe(found)
  // The server lists it for minutes after it has gone.
  expect(await look([sign(5)], 100_000)).toBeNull()
  expect(await look([sign(6)])).toBe(found)
  expect(await look([])).toBeNull()
})

test('one that was there before counts once it has asked again', async () => {
  const look = watch()
  expect(await look([sign(5)])).toBeNull()
  expect(await look([sign(5)])).toBeNull()
  expect(await look([sign(65)])).toContain('Another copy')
})

test('workers with the same ledger, and those of other projects are none', async () => {
  const look = watch()
  const others = (seenMs: number) => [
    sign(seenMs, { copy: OURS }),
    sign(seenMs, { project: '00000002' }),
  ]
  expect(await look([])).toBeNull()
  expect(await look(others(5))).toBeNull()
  expect(await look(others(65))).toBeNull()
  expect(workerIdentity('3f9ac2b1', '/srv/crm/records-sync.yaml', OURS)).toMatch(
    /^\d+@\S+ 3f9ac2b1 crm\/records-sync\.yaml code#[\da-f]{8} ledger#aaaaaaaa$/,
  )
})
