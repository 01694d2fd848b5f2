// One SQLite file: opened safely, migrated, and used in short transactions. Several processes of one machine may
// have it open at once. Promises kept here: a foreign message never leaves this file; nothing is read from or written to a
// file that its path no longer leads to.

import { existsSync, statSync } from 'node:fs'
import {
  DatabaseSync,
  type DatabaseSyncInstance,
  type StatementSyncInstance,
} from '@photostructure/sqlite'
import { SyncError } from '../core/errors.ts'
import { makePrivate } from './private-file.ts'
import { decodeStoredText, encodeStoredText } from '../core/stored-text.ts'
import { ChangeCounter } from './change-counter.ts'
import { FileIdentity, isMountedAlone, countHardLinks } from './file-identity.ts'

/** Older engines can corrupt a file that several processes write (SQLite's WAL-reset bug). */
const engineMin = [3, 51, 3] as const
const BUSY_MAX_MS = 10_000
/** A statement outside a transaction checks the path at most this often; a transaction always does. */
const CHECK_EVERY_MS = 1_000

type Value = string | number | bigint | null | Uint8Array
export type SqliteRow = Record<string, unknown>

/** What the file is to its users: the words and the class of its errors. */
export interface FileSubject {
  /** `ledger`: "The ledger PATH is full". */
  readonly noun: string
  /** Codes begin with it: `ledger` gives `ledger_full`. */
  readonly code: string
  /** What to do if there is no file yet, or one that an older release made; both end a sentence. */
  readonly hints: { readonly missing: string; readonly older: string }
  /** Applied in order; `user_version` holds the number of those applied. */
  readonly migrations: readonly string[]
  /** A statement that is run once in a backup that takes the file's place (`backup.ts`), when it is opened for writing. */
  readonly whenRestored?: string
  /** How long to wait for a lock of another process; this process is blocked meanwhile. Default 10,000 ms. */
  readonly busyMaxMs?: number
  /** `reason` says what a person has to repair: the disk, or the file. */
  fail(code: string, message: string, reason: 'file' | 'disk'): SyncError
}

/** A prepared statement whose calls translate the driver's errors. */
export interface Statement {
  run(...values: Value[]): { changes: number }
  get(...values: Value[]): SqliteRow | undefined
  all(...values: Value[]): SqliteRow[]
}

/** An open file. Statements are prepared once and kept. */
export interface SqliteDatabase {
  readonly path: string
  sql(text: string): Statement
  /** Runs `work` in one immediate transaction; any error undoes all of it. */
  transaction<Result>(work: () => Result): Result
  close(): void
}

const bound = (value: Value): Value => (typeof value === 'string' ? encodeStoredText(value) : value)

/** The texts of a row as they were stored; it is the driver's own object, made for this call. */
function restored(row: SqliteRow): SqliteRow {
  for (const name in row) {
    const value = row[name]
    if (typeof value === 'string') row[name] = decodeStoredText(value)
  }
  return row
}

const busyMaxMs = (subject: FileSubject) => subject.busyMaxMs ?? BUSY_MAX_MS

function translate(error: unknown, path: string, subject: FileSubject): SyncError {
  const fail = (what: string, sentence: string, reason: 'file' | 'disk' = 'file') =>
    subject.fail(`${subject.code}_${what}`, `The ${subject.noun} ${path} ${sentence}`, reason)
  if (error instanceof SyncError) return error
  const text =
    error instanceof Error ? `${'code' in error ? String(error.code) : ''} ${error.message}` : ''
  const number = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
  if (number === 13 || /SQLITE_FULL|disk is full|^ENOSPC /i.test(text))
    return fail('full', 'has no room left on its disk; free some space', 'disk')
  if (number === 8 || /readonly|read-only/i.test(text))
    return fail('read_only', 'cannot be written; check its permissions')
  if (number === 5 || number === 6 || /SQLITE_BUSY|database is locked/i.test(text))
    return fail('busy', `stayed locked by another process for ${busyMaxMs(subject) / 1_000} s`)
  if (number === 14 || /unable to open|^(ENOTDIR|EEXIST|EACCES|EPERM|EROFS|ENOENT) /i.test(text))
    return fail('unopened', 'cannot be opened; check the folder and its permissions')
  if (number === 11 || number === 26 || /malformed|not a database/i.test(text))
    return fail('corrupt', 'is not a SQLite file, or it is damaged')
  if (number === 10 || /disk I\/O/i.test(text))
    return fail('io', 'could not be read or written: its disk failed', 'disk')
  return fail('failed', `refused a statement (SQLite result ${number})`)
}

function checkEngine(db: DatabaseSyncInstance, subject: FileSubject): void {
  const { version } = db.prepare('SELECT sqlite_version() AS version').get() as { version: string }
  const parts = version.split('.').map(Number)
  for (let index = 0; index < engineMin.length; index++) {
    const difference = (parts[index] ?? 0) - engineMin[index]!
    if (difference > 0) return
    if (difference < 0)
      throw subject.fail(
        `${subject.code}_engine`,
        `SQLite ${version} is too old; ${engineMin.join('.')} or newer is needed`,
        'file',
      )
  }
}

function migrate(
  db: DatabaseSyncInstance,
  path: string,
  readOnly: boolean,
  { migrations, noun, code, hints, fail }: FileSubject,
): void {
  const version = () =>
    Number((db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version)
  if (version() > migrations.length)
    throw fail(
      `${code}_newer`,
      `The ${noun} ${path} has schema version ${version()}; this release knows up to ${migrations.length}. Upgrade records-sync`,
      'file',
    )
  if (version() === migrations.length) return
  if (readOnly)
    throw fail(
      `${code}_older`,
      sizeOf(path) === 0
        ? `The ${noun} ${path} is empty: nothing has set it up yet, or it was emptied. If it was in use, stop every process that has it open and put a backup in its place; otherwise ${hints.older}`
        : `The ${noun} ${path} has not been set up by this release yet; ${hints.older}`,
      'file',
    )
  db.exec('BEGIN IMMEDIATE')
  try {
    // Read again inside the transaction: another process may have migrated meanwhile.
    for (let next = version(); next < migrations.length; next++) db.exec(migrations[next]!)
    db.exec(`PRAGMA user_version = ${migrations.length}`)
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

/** Bytes of a file; -1 where it cannot be asked. */
function sizeOf(path: string): number {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? -1
  } catch {
    return -1
  }
}

export interface FileOptions {
  readonly readOnly?: boolean
  /** Where the mounts are read; default: Linux's list for this process. */
  readonly mountInfo?: string
}

/** Opens (and, unless `readOnly`, creates and migrates) the file at `path`. */
export function openSqliteFile(
  path: string,
  subject: FileSubject,
  options: FileOptions = {},
): SqliteDatabase {
  const readOnly = options.readOnly ?? false
  if (readOnly && !existsSync(path))
    throw subject.fail(
      `${subject.code}_missing`,
      `There is no ${subject.noun} at ${path} yet; ${subject.hints.missing}`,
      'file',
    )
  if (!readOnly && countHardLinks(path) > 0)
    throw subject.fail(
      `${subject.code}_linked`,
      `The ${subject.noun} ${path} has another name too (a hard link): SQLite would keep a log for each, and lose writes. Remove the other one, or copy the file`,
      'file',
    )
  if (!readOnly && isMountedAlone(path, options.mountInfo))
    throw subject.fail(
      `${subject.code}_mounted`,
      `The ${subject.noun} ${path} is mounted by itself, without its folder: SQLite would keep its log in this container only, so whoever else has the file would not see the last writes, and they would be lost with the container. Mount the folder that it is in`,
      'file',
    )
  // A new file has content before it has a log. SQLite would delete the log.
  if (sizeOf(path) === 0 && sizeOf(`${path}-wal`) > 0)
    throw subject.fail(
      `${subject.code}_corrupt`,
      `The ${subject.noun} ${path} is empty, but its log ${path}-wal is not: it was emptied or overwritten`,
      'file',
    )
  let db: DatabaseSyncInstance
  let age: ChangeCounter | null
  try {
    if (!readOnly) makePrivate(path)
    db = new DatabaseSync(path, { readOnly, timeout: busyMaxMs(subject) })
    checkEngine(db, subject)
    if (!readOnly) {
      db.exec('PRAGMA journal_mode = WAL')
      db.exec('PRAGMA synchronous = NORMAL')
      db.exec('PRAGMA wal_autocheckpoint = 20000')
      db.exec('PRAGMA journal_size_limit = 67108864')
    }
    db.exec('PRAGMA cache_size = -32768')
    migrate(db, path, readOnly, subject)
    age = readOnly ? null : new ChangeCounter(path, db, subject.whenRestored)
  } catch (error) {
    throw translate(error, path, subject)
  }

  const identity = readOnly ? null : new FileIdentity(path)
  let lookedAt = performance.now()
  const look = () => {
    lookedAt = performance.now()
    if (identity?.isReplaced())
      throw subject.fail(
        `${subject.code}_replaced`,
        `The ${subject.noun} ${path} was removed or replaced, or its -wal or -shm file was, while this process had it open; nothing more is written. Put it back, or start the process again to use what is there now`,
        'file',
      )
    let isOver: boolean | undefined
    try {
      isOver = age?.isBack()
    } catch (error) {
      throw translate(error, path, subject)
    }
    if (isOver) throw older()
  }
  const older = () =>
    subject.fail(
      `${subject.code}_replaced`,
      `The ${subject.noun} ${path} was overwritten with an older copy, or with another file, while this process had it open; nothing more is written. Stop every process that has it open, remove its -wal and -shm files, put a whole copy in its place, and start again`,
      'file',
    )
  const checkPeriodically = () => {
    if (performance.now() - lookedAt >= CHECK_EVERY_MS) look()
  }
  const prepared = new Map<string, Statement>()
  const guarded = (statement: StatementSyncInstance): Statement => ({
    run: (...values) => {
      checkPeriodically()
      try {
        return { changes: Number(statement.run(...values.map(bound)).changes) }
      } catch (error) {
        throw translate(error, path, subject)
      }
    },
    get: (...values) => {
      checkPeriodically()
      try {
        const row = statement.get(...values.map(bound)) as SqliteRow | undefined
        return row && restored(row)
      } catch (error) {
        throw translate(error, path, subject)
      }
    },
    all: (...values) => {
      checkPeriodically()
      try {
        return (statement.all(...values.map(bound)) as SqliteRow[]).map(restored)
      } catch (error) {
        throw translate(error, path, subject)
      }
    },
  })
  const sql = (text: string): Statement => {
    let statement = prepared.get(text)
    if (!statement) {
      try {
        statement = guarded(db.prepare(text))
      } catch (error) {
        throw translate(error, path, subject)
      }
      prepared.set(text, statement)
    }
    return statement
  }

  return {
    path,
    sql,
    transaction(work) {
      look()
      sql('BEGIN IMMEDIATE').run()
      try {
        if (age?.isBack()) throw older()
        const result = work()
        look()
        age?.count()
        sql('COMMIT').run()
        age?.counted()
        return result
      } catch (error) {
        if (db.isTransaction) sql('ROLLBACK').run()
        throw translate(error, path, subject)
      }
    },
    close() {
      if (!db.isOpen) return
      try {
        // The driver cannot finalise statements, so closing alone would leave the last writes in the WAL file.
        if (!readOnly) db.exec('PRAGMA wal_checkpoint(PASSIVE)')
      } catch {
        // Nothing is lost: they stay in the WAL file.
      }
      db.close()
    },
  }
}
