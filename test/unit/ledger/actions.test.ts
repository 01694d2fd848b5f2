// How long actions are kept.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'

test('actions are kept for two years, and go with the next one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ledger-'))
  let now = Date.parse('2026-01-01T00:00:00.000Z')
  const clock = { now: () => now, sleep: async () => {} }
  const ledger = openSqliteLedger(join(folder, 'ledger.db'), { clock })
  onTestFinished(async () => {
    await ledger.close()
    await rm(folder, { recursive: true })
  })
  const begin = (sync: string) =>
    ledger.beginAction({
      action: 'pause',
      who: 'anna@desk',
      via: 'command',
      sync,
      run: null,
      details: null,
      token: null,
    })
  const syncs = async () => (await ledger.actions({ limit: 10 })).map(({ sync }) => sync)
  await begin('a')
  now += 730 * 86_400_000
  await begin('b')
  expect(await syncs()).toEqual(['b', 'a'])
  now += 1
  await begin('c')
  expect(await syncs()).toEqual(['c', 'b'])
})
