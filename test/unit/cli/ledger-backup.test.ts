// A backup is the whole ledger, with what is still in its WAL, while others have it open; it is private, and replaces nothing.

import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { ledgerBackup } from '../../../src/cli/commands/ledger-backup.ts'
import { createContext } from '../../../src/cli/shared/context.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'

function project(ledger: string) {
  const home = mkdtempSync(join(tmpdir(), 'records-sync-backup-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  const config = join(home, 'records-sync.yaml')
  writeFileSync(config, `ledger: ${ledger}\nconnections: {}\nsyncs: {}\n`)
  const lines: string[] = []
  const context = createContext(
    { config, json: true },
    {
      out: (line = '') => void lines.push(line),
      err: (line = '') => void lines.push(line),
      live: () => {},
      endLive: () => {},
      style: (_, text) => text,
    },
  )
  return { home, context, lines }
}

test('has what an open ledger holds, also what is in the WAL alone', async () => {
  const { home, context, lines } = project('./ledger.db')
  const path = join(home, 'ledger.db')
  const ledger = openSqliteLedger(path)
  const writer = new DatabaseSync(path)
  writer.exec('CREATE TABLE canary (n INTEGER)')
  writer.exec('INSERT INTO canary VALUES (9007199254740991)')
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(0)
  const to = join(home, 'backup.db')
  expect(await ledgerBackup(context, to)).toBe(0)
  expect(JSON.parse(lines[0]!)).toEqual({ file: to, bytes: statSync(to).size })
  expect(statSync(to).mode & 0o777).toBe(0o600)
  const copy = new DatabaseSync(to, { readOnly: true })
  expect(copy.prepare('SELECT n FROM canary').get()).toEqual({ n: 9007199254740991 })
  copy.close()
  writer.close()
  await ledger.close()
  // It is a ledger.
  await openSqliteLedger(to, { readOnly: true }).close()
  await expect(ledgerBackup(context, to)).rejects.toThrow('there is such a file already')
})

test('says what to do where it cannot be made', async () => {
  const { home, context } = project('./ledger.db')
  await expect(ledgerBackup(context, join(home, 'b.db'))).rejects.toThrow('There is no ledger at')
  writeFileSync(join(home, 'ledger.db'), 'x'.repeat(10_000))
  await expect(ledgerBackup(context, join(home, 'b.db'))).rejects.toThrow('cannot be written')
  expect(existsSync(join(home, 'b.db'))).toBe(false)
  const { context: other } = project('{ postgres: "${URL}", schema: x }')
  await expect(ledgerBackup(other, 'b.db')).rejects.toThrow('pg_dump')
})
