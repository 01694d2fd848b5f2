// The write-ahead log on disks with little room, and with none.

import { statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { openLedgerDatabase, type SqliteDatabase } from '../../../src/ledger/sqlite/database.ts'

const MB = 2 ** 20
let folder: string
let db: SqliteDatabase
let room: number
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'log-limit-'))
})
afterEach(async () => {
  vi.restoreAllMocks()
  db.close()
  await rm(folder, { recursive: true })
})

const path = () => join(folder, 'ledger.db')
const logBytes = () => statSync(`${path()}-wal`).size

function open(bytes: number): void {
  room = bytes
  db = openLedgerDatabase(path(), { log: { room: () => room } })
  db.sql('CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT)').run()
}

/** Writes 12 MB into the log, all over the same 1 MB of the file. */
function rewrite(): void {
  const write = db.sql('INSERT OR REPLACE INTO texts VALUES (1, ?)')
  for (let count = 0; count < 12; count++)
    db.transaction(() => write.run(String(count).padEnd(MB, 'x')))
}

it('is long where there is room', () => {
  open(60 * 1024 * MB)
  rewrite()
  expect(logBytes()).toBeGreaterThan(10 * MB)
})

it('stays short on a small disk', () => {
  open(60 * MB)
  rewrite()
  expect(logBytes()).toBeLessThan(7 * MB)
})

it('becomes short on a disk that fills up while the file is open', () => {
  open(60 * 1024 * MB)
  rewrite()
  room = 60 * MB
  const now = performance.now()
  vi.spyOn(performance, 'now').mockReturnValue(now + 1_000)
  rewrite()
  expect(logBytes()).toBeLessThan(7 * MB)
})

const refusals: [string, (write: () => void) => void][] = [
  ['a statement', (write) => write()],
  ['a transaction', (write) => db.transaction(write)],
]
it.each(refusals)(
  'is emptied once %s finds no room, so that the next may find some',
  (_, write) => {
    open(60 * 1024 * MB)
    rewrite()
    const { page_count: pages } = db.sql('PRAGMA page_count').get()!
    db.sql(`PRAGMA max_page_count = ${String(pages)}`).run()
    expect(() =>
      write(() => db.sql('INSERT INTO texts VALUES (2, ?)').run('x'.repeat(4 * MB))),
    ).toThrow(expect.objectContaining({ code: 'ledger_full' }))
    expect(logBytes()).toBe(0)
    // It waits for locks as long as before.
    expect(db.sql('PRAGMA busy_timeout').get()).toEqual({ timeout: 10_000 })
    db.sql("INSERT OR REPLACE INTO texts VALUES (1, 'small')").run()
  },
)
