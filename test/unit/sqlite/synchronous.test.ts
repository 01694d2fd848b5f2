// What a file is asked for of the disk is what SQLite is told.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { SyncError } from '../../../src/core/errors.ts'
import { openLedgerDatabase } from '../../../src/ledger/sqlite/database.ts'
import { openSqliteFile } from '../../../src/sqlite/database.ts'

const subject = {
  noun: 'file',
  code: 'file',
  hints: { missing: 'make it', older: 'open it' },
  migrations: ['CREATE TABLE rows (id INTEGER PRIMARY KEY) STRICT'],
  fail: (code: string, message: string) => new SyncError(code, message),
}

it.each([
  ['off', 0],
  ['normal', 1],
  ['full', 2],
  [undefined, 1],
] as const)('synchronous %s is SQLite’s %d', (synchronous, number) => {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-synchronous-'))
  try {
    const options = synchronous === undefined ? {} : { synchronous }
    const db = openSqliteFile(join(dir, 'file.db'), subject, options)
    expect(db.sql('PRAGMA synchronous').get()).toEqual({ synchronous: number })
    db.close()
  } finally {
    rmSync(dir, { recursive: true })
  }
})

it('the ledger waits for the disk', () => {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-synchronous-'))
  try {
    const db = openLedgerDatabase(join(dir, 'ledger.db'))
    expect(db.sql('PRAGMA synchronous').get()).toEqual({ synchronous: 2 })
    db.close()
  } finally {
    rmSync(dir, { recursive: true })
  }
})
