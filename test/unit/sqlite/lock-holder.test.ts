// Who holds the lock of a SQLite file: a real process, with and without a log.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { toFileError } from '../../../src/sqlite/failures.ts'
import { holderText, writeLockHolder } from '../../../src/sqlite/lock-holder.ts'
import { SyncError } from '../../../src/core/errors.ts'

const driver = createRequire(import.meta.url).resolve('@photostructure/sqlite')

/** Another program with a transaction, until it is ended. */
async function heldBy(path: string, begin: string) {
  const program = `const { DatabaseSync } = require(${JSON.stringify(driver)})
    const db = new DatabaseSync(${JSON.stringify(path)})
    db.exec(${JSON.stringify(begin)})
    console.log('held')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return {
    pid: child.pid!,
    async end() {
      child.kill('SIGKILL')
      await once(child, 'close')
    },
  }
}

test.each([
  ['WAL', 'BEGIN EXCLUSIVE'],
  ['WAL', 'BEGIN IMMEDIATE'],
  ['DELETE', 'BEGIN IMMEDIATE'],
  ['DELETE', 'BEGIN EXCLUSIVE'],
])('of a file in mode %s is named after %s', async (mode, begin) => {
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-holder-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'a.db')
  const db = new DatabaseSync(path)
  onTestFinished(() => db.close())
  db.exec(`PRAGMA journal_mode = ${mode}; CREATE TABLE t (a)`)
  expect(writeLockHolder(path)).toBeNull()
  const other = await heldBy(path, begin)
  const holder = writeLockHolder(path)
  expect(holder).toMatchObject({ pid: other.pid })
  expect(holderText(holder!)).toMatch(new RegExp(`^\\S.* \\(process ${other.pid}\\)$`))

  const busy = Object.assign(new Error('database is locked'), { errcode: 5 })
  const subject = {
    noun: 'ledger',
    code: 'ledger',
    hints: { missing: '', older: '' },
    migrations: [],
    fail: (code: string, message: string) => new SyncError(code, message),
  }
  expect(toFileError(busy, path, subject).message).toContain(
    `stayed locked by ${holderText(holder!)} for 10 s`,
  )
  await other.end()
  expect(writeLockHolder(path)).toBeNull()
  expect(toFileError(busy, path, subject).message).toContain('stayed locked by another process')
})

test('a file that is not there has none', () => {
  expect(writeLockHolder('/no/such/file')).toBeNull()
})
