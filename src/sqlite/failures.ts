// What SQLite and the operating system refuse, in our own words.

import { SyncError } from '../core/errors.ts'
import { holderText, writeLockHolder } from './lock-holder.ts'

/** What the file is to its users: the words and the class of its errors. */
export interface FileSubject {
  /** `ledger`: "The ledger PATH is full". */
  readonly noun: string
  /** Codes begin with it: `ledger` gives `ledger_full`. */
  readonly code: string
  /** What to do if there is no file yet, or one that an older release made; each ends a sentence. */
  readonly hints: {
    readonly missing: string
    readonly older: string
    readonly unreadable?: string
  }
  /** A table that the file has since its first version: one with other tables alone is of another program. */
  readonly firstTable?: string
  /** Applied in order; `user_version` holds the version that the last one made: `firstVersion` the first one, each other one the next. */
  readonly migrations: readonly string[]
  /** Default 1. A file with a smaller version cannot be read, and is left as it is; `unreadable` says how it is kept. */
  readonly firstVersion?: number
  /** A statement that is run once in a backup that takes the file's place (`backup.ts`), when it is opened for writing. */
  readonly whenRestored?: string
  /** How long to wait for a lock of another process; this process is blocked meanwhile. Default 10,000 ms. */
  readonly busyMaxMs?: number
  /** `reason` says what a person has to repair: the disk, or the file. */
  fail(code: string, message: string, reason: 'file' | 'disk'): SyncError
}

const BUSY_MAX_MS = 10_000

/** How long a statement waits for another process. */
export const busyMaxMs = (subject: FileSubject): number => subject.busyMaxMs ?? BUSY_MAX_MS

/** Whether another process holds the lock of the file. */
export function isBusy(error: unknown): boolean {
  const number = resultOf(error) & 0xff
  return number === 5 || number === 6 || /SQLITE_BUSY|database is locked/i.test(textOf(error))
}

/** SQLite's extended results: the file is shorter than its header says, or the file system calls it damaged. */
const DAMAGED = new Set([522, 8_458])
/** The log's index found no room: it is in the same folder. */
const NO_ROOM_FOR_INDEX = 4_874

/** SQLite's extended result code; 0 if the error has none. */
export const resultOf = (error: unknown): number =>
  error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0

/** Whether a write found no room on the disk. */
export const isFull = (error: unknown): boolean =>
  (resultOf(error) & 0xff) === 13 ||
  resultOf(error) === NO_ROOM_FOR_INDEX ||
  /SQLITE_FULL|disk is full|^ENOSPC /i.test(textOf(error))

const textOf = (error: unknown): string =>
  error instanceof Error ? `${'code' in error ? String(error.code) : ''} ${error.message}` : ''

/** What our own trigger says that refuses a write. */
const FENCED = /records-sync: (.+)/

/** The error in our words; a message of the driver goes no further than this. */
export function toFileError(error: unknown, path: string, subject: FileSubject): SyncError {
  const fail = (what: string, sentence: string, reason: 'file' | 'disk' = 'file') =>
    subject.fail(`${subject.code}_${what}`, `The ${subject.noun} ${path} ${sentence}`, reason)
  if (error instanceof SyncError) return error
  const text = textOf(error)
  const [, fenced] = FENCED.exec(text) ?? []
  if (fenced !== undefined) return subject.fail(`${subject.code}_moved`, fenced, 'file')
  const number = resultOf(error) & 0xff
  if (isFull(error)) return fail('full', 'has no room left on its disk; free some space', 'disk')
  if (number === 8 || /readonly|read-only/i.test(text))
    return fail('read_only', 'cannot be written; check its permissions')
  if (isBusy(error)) {
    const holder = writeLockHolder(path)
    const by = holder === null ? 'another process' : holderText(holder)
    return fail('busy', `stayed locked by ${by} for ${busyMaxMs(subject) / 1_000} s`)
  }
  if (number === 14 || /unable to open|^(ENOTDIR|EEXIST|EACCES|EPERM|EROFS|ENOENT) /i.test(text))
    return fail('unopened', 'cannot be opened; check the folder and its permissions')
  if (DAMAGED.has(resultOf(error)))
    return fail('corrupt', 'is shorter than it was, or damaged: it was truncated or overwritten')
  if (number === 11 || number === 26 || /malformed|not a database/i.test(text))
    return fail('corrupt', 'is not a SQLite file, or it is damaged')
  if (number === 10 || /disk I\/O/i.test(text))
    return fail('io', 'could not be read or written: its disk failed', 'disk')
  return fail('failed', `refused a statement (SQLite result ${number})`)
}
