// Writes that fail where SQLite reports it late, or ends the whole transaction.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { SyncError } from '../../../src/core/errors.ts'
import { openSqliteFile } from '../../../src/sqlite/database.ts'
import { openLedgerDatabase, type SqliteDatabase } from '../../../src/ledger/sqlite/database.ts'

let folder: string
let db: SqliteDatabase
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'failed-writes-'))
  db = openLedgerDatabase(join(folder, 'ledger.db'))
  db.sql('CREATE TABLE numbers (number INTEGER PRIMARY KEY, text TEXT)').run()
})
afterEach(async () => {
  db.close()
  await rm(folder, { recursive: true })
})

const insert = (number: number, text = '') =>
  db.sql('INSERT INTO numbers VALUES (?, ?)').run(number, text)
const numbers = () => db.sql('SELECT number FROM numbers ORDER BY 1').all()

it('a write that returns a row fails if it is not stored', () => {
  // Checked when the write is stored, as the room on a disk is.
  db.sql('PRAGMA foreign_keys = ON').run()
  db.sql(
    'CREATE TABLE members (number INTEGER REFERENCES numbers DEFERRABLE INITIALLY DEFERRED)',
  ).run()
  const join = db.sql('INSERT INTO members VALUES (?) RETURNING number')
  insert(1)
  expect(join.get(1)).toEqual({ number: 1 })
  expect(() => join.get(2)).toThrow()
  expect(db.sql('SELECT count(*) AS rows FROM members').get()).toEqual({ rows: 1 })
})

it('of a group in which the file has no room left, nothing is stored', () => {
  const { page_count: pages } = db.sql('PRAGMA page_count').get()!
  db.sql(`PRAGMA max_page_count = ${String(pages)}`).run()
  const ran: number[] = []
  const work = (number: number, text?: string) => () => {
    ran.push(number)
    try {
      insert(number, text)
    } catch {
      // The caller of each hears of it by its own promise.
    }
  }
  expect(db.group([work(1), work(2, 'x'.repeat(100_000)), work(3)])).toBe(false)
  expect(ran).toEqual([1, 2])
  expect(numbers()).toEqual([])
  db.sql('PRAGMA max_page_count = 100000').run()
  expect(db.group([work(4), work(5)])).toBe(true)
  expect(numbers()).toEqual([{ number: 4 }, { number: 5 }])
})

it('behind a statement that waited for a lock in vain, others wait for a short time only, until 5 s have passed', () => {
  const subject = {
    noun: 'file',
    code: 'file',
    hints: { missing: 'make it', older: 'open it' },
    migrations: ['CREATE TABLE rows (id INTEGER PRIMARY KEY) STRICT'],
    busyMaxMs: 200,
    fail: (code: string, message: string) => new SyncError(code, message),
  }
  const file = openSqliteFile(join(folder, 'file.db'), subject)
  const waits = () => file.sql('PRAGMA busy_timeout').get()
  const write = () => file.sql('INSERT INTO rows VALUES (NULL)').run()
  const holder = new DatabaseSync(join(folder, 'file.db'))
  holder.exec('BEGIN IMMEDIATE')
  expect(waits()).toEqual({ timeout: 200 })
  expect(write).toThrow(/stayed locked by another process/)
  expect(waits()).toEqual({ timeout: 100 })
  expect(write).toThrow(/stayed locked by another process/)
  holder.exec('ROLLBACK')
  write()
  const now = performance.now()
  vi.spyOn(performance, 'now').mockReturnValue(now + 5_000)
  expect(waits()).toEqual({ timeout: 200 })
  vi.restoreAllMocks()
  holder.close()
  file.close()
})
