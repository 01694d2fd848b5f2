// Which run a command is about: a number, a sync's name, or nothing.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findRun, findRunWithRows } from '../../../src/cli/shared/find-run.ts'
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

test('for commands about rows, a run of links and one of another kind are passed over, and named', async () => {
  const rows = await opened('contacts')
  const retry = (await openRun(ledger, 'run', 'contacts', 'import', { purpose: 'retry', of: rows }))
    .id
  await ledger.setRunState(retry, 'failed')
  const links = (await openRun(ledger, 'run', 'contacts', 'import', { purpose: 'links' })).id
  const said: string[] = []
  const terminal = { err: (line: string) => said.push(line) }
  // It is at work.
  expect((await findRunWithRows(ledger, 'contacts', { terminal })).id).toBe(links)
  await ledger.setRunState(links, 'failed')
  const mirror = (await openRun(ledger, 'run', 'copy', 'mirror')).id
  await ledger.setRunState(mirror, 'failed')
  expect(said).toEqual([])
  expect((await findRunWithRows(ledger, 'contacts', { terminal })).id).toBe(retry)
  const of = { terminal, kind: 'import' } as const
  expect((await findRunWithRows(ledger, undefined, of)).id).toBe(retry)
  expect(said.splice(0)).toEqual([
    `This is run ${retry} of contacts (retry); run ${links} of contacts (links) is newer`,
    `This is run ${retry} of contacts (retry); run ${mirror} of copy (mirror) is newer`,
  ])
  // A number is meant, and a mirror has no other run.
  expect((await findRunWithRows(ledger, String(links), of)).id).toBe(links)
  expect((await findRunWithRows(ledger, 'copy', of)).id).toBe(mirror)
  expect((await findRunWithRows(ledger, undefined, { terminal })).id).toBe(mirror)
  expect(said).toEqual([])
})

test('before the first run', async () => {
  await expect(findRun(ledger, undefined)).rejects.toThrow('RUN: no sync has run yet')
})
