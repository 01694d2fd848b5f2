// One SQLite file: opened safely, migrated, and used in short transactions. Several processes of one machine may
// have it open at once. Promises kept here: a message of the driver never leaves this folder; nothing is read from or written
// to a file that its path no longer leads to.

import { existsSync } from 'node:fs'
import {
  DatabaseSync,
  type DatabaseSyncInstance,
  type StatementSyncInstance,
} from '@photostructure/sqlite'
import { decodeStoredText, encodeStoredText } from '../core/stored-text.ts'
import { ChangeCounter } from './change-counter.ts'
import { busyMaxMs, isBusy, toFileError, type FileSubject } from './failures.ts'
import { countHardLinks, isMountedAlone } from './file-identity.ts'
import { FileWatch } from './file-watch.ts'
import { LockPatience } from './lock-patience.ts'
import { LogLimit, type LogLimitOptions } from './log-limit.ts'
import { checkEngine, migrate, sizeOf, type SetUp } from './migrate.ts'
import { makePrivate } from './private-file.ts'

export type { FileSubject } from './failures.ts'

export type Value = string | number | bigint | null | Uint8Array
export type SqliteRow = Record<string, unknown>

/** A prepared statement whose calls translate the driver's errors. */
export interface Statement {
  run(...values: Value[]): { changes: number }
  get(...values: Value[]): SqliteRow | undefined
  all(...values: Value[]): SqliteRow[]
  /** The first rows, until they have `charsMax` characters of text, and how many they have. */
  upTo(charsMax: number, ...values: Value[]): { rows: SqliteRow[]; chars: number }
}

/** An open file. Statements are prepared once and kept. */
export interface SqliteDatabase {
  readonly path: string
  sql(text: string): Statement
  /** Runs `work` in one immediate transaction; any error undoes all of it. */
  transaction<Result>(work: () => Result): Result
  /**
   * Runs all of `works` in one immediate transaction with all transactions in them. Returns false, with nothing stored, if any
   * of them or any of their statements failed; those behind it are not run. None may wait for anything.
   */
  group(works: readonly (() => void)[]): boolean
  close(): void
}

const bound = (value: Value): Value => (typeof value === 'string' ? encodeStoredText(value) : value)

/** Rows come from the driver as lists: it takes twice as long to make an object as we do. */
type DriverRow = readonly unknown[]

const rowsOf = (statement: StatementSyncInstance, values: readonly Value[]) =>
  statement.all(...values) as unknown as readonly DriverRow[]

/** A row with the texts as they were stored. */
function rowOf(names: readonly string[], values: DriverRow): SqliteRow {
  const row: SqliteRow = {}
  for (let index = 0; index < names.length; index++) {
    const value = values[index]
    row[names[index]!] = typeof value === 'string' ? decodeStoredText(value) : value
  }
  return row
}

/** Reads rows until they have `charsMax` characters of text. */
function rowsUpTo(statement: StatementSyncInstance, charsMax: number, values: readonly Value[]) {
  const rows: DriverRow[] = []
  let chars = 0
  for (const row of statement.iterate(...values) as Iterable<unknown> as Iterable<DriverRow>) {
    rows.push(row)
    for (const value of row) if (typeof value === 'string') chars += value.length
    if (chars >= charsMax) break
  }
  return { rows, chars }
}

/** SQLite's own words: when a write waits for the disk. A killed process loses nothing of what was stored by any of them. */
export const SYNCHRONOUS = ['off', 'normal', 'full'] as const
export type Synchronous = (typeof SYNCHRONOUS)[number]

export interface FileOptions {
  readonly readOnly?: boolean
  /** Default: an older file is upgraded, and a new one made. One that is only read stays as it is. */
  readonly setUp?: SetUp
  /**
   * What a power cut does: `full` loses nothing that was stored, `normal`, the default, may lose the last writes, `off` may also
   * damage the file.
   */
  readonly synchronous?: Synchronous
  /** Where the mounts are read; default: Linux's list for this process. */
  readonly mountInfo?: string
  /** How long its log gets. */
  readonly log?: LogLimitOptions
}

/** Refuses a file that SQLite cannot share or keep safely. */
function checkPlace(
  path: string,
  subject: FileSubject,
  { readOnly, setUp, mountInfo }: FileOptions,
): void {
  if ((readOnly || setUp === 'never') && !existsSync(path))
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
  if (!readOnly && isMountedAlone(path, mountInfo))
    throw subject.fail(
      `${subject.code}_mounted`,
      `The ${subject.noun} ${path} is mounted by itself, without its folder: SQLite would keep its log in this container only, so other processes that have the file would not see the last writes, and they would be lost with the container. Mount the folder that it is in`,
      'file',
    )
  // A new file has content before it has a log. SQLite would delete the log.
  if (sizeOf(path) === 0 && sizeOf(`${path}-wal`) > 0)
    throw subject.fail(
      `${subject.code}_corrupt`,
      `The ${subject.noun} ${path} is empty, but its log ${path}-wal is not: it was emptied or overwritten`,
      'file',
    )
}

function connect(
  path: string,
  subject: FileSubject,
  { readOnly = false, setUp = 'upgrade', synchronous = 'normal', log: logOptions }: FileOptions,
): { db: DatabaseSyncInstance; counter: ChangeCounter | null; log: LogLimit | null } {
  let db: DatabaseSyncInstance | null = null
  try {
    if (!readOnly) makePrivate(path)
    db = new DatabaseSync(path, { readOnly, timeout: busyMaxMs(subject) })
    checkEngine(db, subject)
    if (!readOnly) {
      useLog(db, path, subject)
      db.exec(`PRAGMA synchronous = ${synchronous}`)
    }
    const log = readOnly ? null : new LogLimit(path, db, logOptions)
    db.exec('PRAGMA cache_size = -32768')
    migrate(db, path, readOnly ? 'never' : setUp, subject)
    const counter = readOnly ? null : new ChangeCounter(path, db, subject.whenRestored)
    return { db, counter, log }
  } catch (error) {
    db?.close()
    throw toFileError(error, path, subject)
  }
}

/** A file in use has a log; one that has none, and that others hold, is not the file that they opened. */
function useLog(db: DatabaseSyncInstance, path: string, subject: FileSubject): void {
  try {
    db.exec('PRAGMA journal_mode = WAL')
  } catch (error) {
    if (!isBusy(error)) throw error
    throw subject.fail(
      `${subject.code}_corrupt`,
      `The ${subject.noun} ${path} was emptied or overwritten while another process has it open`,
      'file',
    )
  }
}

/** The error in the words of the file's subject. */
type ToError = (error: unknown) => Error

type FirstRow = (...values: Value[]) => DriverRow | undefined

/** Statements are prepared once and kept. */
function statementCache(
  db: DatabaseSyncInstance,
  checkPeriodically: () => void,
  failure: ToError,
  onFailure: (error: unknown) => void,
) {
  const prepared = new Map<string, Statement>()
  const tried = <Result>(work: () => Result): Result => {
    try {
      return work()
    } catch (error) {
      onFailure(error)
      throw failure(error)
    }
  }
  const guarded = (statement: StatementSyncInstance, first: FirstRow): Statement => {
    statement.setReturnArrays(true)
    let names: readonly string[] | null = null
    // Asked for with the first row: until then another process may change the tables.
    const restored = (values: DriverRow): SqliteRow =>
      rowOf((names ??= tried(() => statement.columns()).map(({ name }) => name)), values)
    return {
      run: (...values) => {
        checkPeriodically()
        return tried(() => ({ changes: Number(statement.run(...values.map(bound)).changes) }))
      },
      get: (...values) => {
        checkPeriodically()
        const row = tried(() => first(...values.map(bound)))
        return row && restored(row)
      },
      all: (...values) => {
        checkPeriodically()
        return tried(() => rowsOf(statement, values.map(bound))).map(restored)
      },
      upTo: (charsMax, ...values) => {
        checkPeriodically()
        const found = tried(() => rowsUpTo(statement, charsMax, values.map(bound)))
        return { rows: found.rows.map(restored), chars: found.chars }
      },
    }
  }
  return (text: string): Statement => {
    const known = prepared.get(text)
    if (known) return known
    const plain = tried(() => db.prepare(text))
    // `get` of the driver stops at the first row, and a write outside of a transaction is stored behind it: its failure is lost.
    const first: FirstRow = / RETURNING /.test(text)
      ? (...values) => rowsOf(plain, values)[0]
      : (...values) => plain.get(...values) as DriverRow | undefined
    const statement = guarded(plain, first)
    prepared.set(text, statement)
    return statement
  }
}

/** Ends a group of which a part failed. */
class GroupFailed extends Error {}

interface FileParts {
  readonly watch: FileWatch
  readonly counter: ChangeCounter | null
  readonly failure: ToError
  readonly patience: LockPatience
  readonly log: LogLimit | null
}

/** What is done before each statement, after one that failed, and after its transaction. */
function aroundStatements(group: { failed: boolean }, { watch, patience, log }: FileParts) {
  const makeRoom = () => log?.makeRoom((work) => patience.briefly(work))
  return {
    makeRoom,
    beforeEach() {
      patience.restore()
      log?.adjust()
      watch.checkPeriodically()
    },
    onFailure(error: unknown) {
      group.failed = true
      patience.note(error)
      log?.note(error)
      makeRoom()
    },
  }
}

/** The transactions of an open file. */
function transactionsOf(db: DatabaseSyncInstance, parts: FileParts) {
  const { watch, counter, failure } = parts
  /** Whether a group is open, and whether anything in it failed. */
  const group = { isOpen: false, failed: false }
  const { beforeEach, onFailure, makeRoom } = aroundStatements(group, parts)
  const sql = statementCache(db, beforeEach, failure, onFailure)

  const stored = <Result>(work: () => Result): Result => {
    watch.check()
    sql('BEGIN IMMEDIATE').run()
    try {
      watch.checkAge()
      const result = work()
      watch.check()
      counter?.count()
      sql('COMMIT').run()
      counter?.counted()
      return result
    } catch (error) {
      // Whatever became of the file: what was begun is undone.
      if (db.isTransaction) db.exec('ROLLBACK')
      makeRoom()
      throw failure(error)
    }
  }

  return {
    sql,
    transaction<Result>(work: () => Result): Result {
      if (!group.isOpen) return stored(work)
      try {
        return work()
      } catch (error) {
        group.failed = true
        throw failure(error)
      }
    },
    group(works: readonly (() => void)[]): boolean {
      group.isOpen = true
      group.failed = false
      let isUndone = false
      try {
        stored(() => {
          for (const work of works) {
            work()
            isUndone = group.failed
            // A full disk ends the transaction: statements behind it would be stored one by one.
            if (isUndone) throw new GroupFailed()
          }
        })
      } catch (error) {
        if (!isUndone) throw error
      } finally {
        group.isOpen = false
      }
      return !isUndone
    },
  }
}

/** Opens (and, unless `readOnly`, creates and migrates) the file at `path`. */
export function openSqliteFile(
  path: string,
  subject: FileSubject,
  options: FileOptions = {},
): SqliteDatabase {
  const { readOnly = false } = options
  checkPlace(path, subject, options)
  const { db, counter, log } = connect(path, subject, options)
  const watch = new FileWatch(path, subject, counter)
  const failure: ToError = (error) => toFileError(error, path, subject)
  const patience = new LockPatience(db, busyMaxMs(subject))
  return {
    path,
    ...transactionsOf(db, { watch, counter, failure, patience, log }),
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
