// A ledger that another program keeps locked is named once it is locked for longer than work of ours takes.

import { expect, test } from 'vitest'
import { lockWatch } from '../../../src/cli/shared/ledger-lock.ts'

const config = { ledger: { sqlite: '/crm/ledger.db' } }

test('is told with its file and its holder, after a while, and forgotten when it ends', () => {
  let now = 0
  let pid: number | null = 7
  const holder = () => (pid === null ? null : { pid, program: 'sqlite3' })
  const watch = lockWatch(config, holder, { now: () => now })
  expect(watch.look()).toBeNull()
  expect(watch.isHeld()).toBe(true)
  now = 1_400
  expect(watch.look()).toBeNull()
  now = 1_500
  expect(watch.look()).toEqual({
    text: 'the ledger /crm/ledger.db is locked by sqlite3 (process 7)',
    holder: 'sqlite3 (process 7)',
  })
  // Another one has it now.
  pid = 8
  expect(watch.look()).toBeNull()
  now = 3_000
  expect(watch.look()).toMatchObject({ holder: 'sqlite3 (process 8)' })
  pid = null
  expect(watch.look()).toBeNull()
  expect(watch.isHeld()).toBe(false)
})

test('is not known of a database', () => {
  const postgres = { ledger: { postgres: { env: 'URL' }, schema: 's' } } as never
  const watch = lockWatch(postgres, () => ({ pid: 7, program: 'psql' }), { now: () => 9_999_999 })
  expect(watch.look()).toBeNull()
})
