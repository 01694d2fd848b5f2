// Which run a command is about: a number, a sync's name, or nothing.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findRun } from '../../../src/cli/shared/find-run.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { openRun } from '../../suites/ledger/scene.ts'

let dir: string
let ledger: Ledger
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'records-sync-run-named-'))
  ledger = openSqliteLedger(join(dir, 'ledger.db'))
})
afterEach(async () => {
  await ledger.close()
  rmSync(dir, { recursive: true })
})

const opened = async (sync: string) => {
  const { id } = await openRun(ledger, 'run', sync)
  await ledger.setRunState(id, 'failed')
  return id
}

test('a number, the name of a sync, or nothing for the latest', async () => {
  const first = await opened('contacts')
  const second = await opened('contacts')
  const third = await opened('companies')
  expect((await findRun(ledger, String(first))).id).toBe(first)
  expect((await findRun(ledger, 'contacts')).id).toBe(second)
  expect((await findRun(ledger, undefined)).id).toBe(third)
  await expect(findRun(ledger, 'contacs')).rejects.toThrow(
    `RUN: there is no run "contacs", and no sync of that name has run; the latest is run ${third} of companies`,
  )
  await expect(findRun(ledger, '99')).rejects.toThrow(`the latest is run ${third} of companies`)
})

test('before the first run', async () => {
  await expect(findRun(ledger, undefined)).rejects.toThrow('RUN: no sync has run yet')
})
