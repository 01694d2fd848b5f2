// The ledger's SQLite file: its tables, and the words of its errors.

import { LedgerError } from '../../core/errors.ts'
import {
  openSqliteFile as open,
  type SqliteDatabase,
  type FileOptions,
  type FileSubject,
} from '../../sqlite/database.ts'
import { PathWatch } from '../../sqlite/file-watch.ts'
import { MIGRATIONS } from './migrations.ts'

export type { SqliteDatabase, SqliteRow, Statement, Value } from '../../sqlite/database.ts'

const RESTORE =
  '. Stop every process that has it open, remove its -wal and -shm files, and put a backup in its place'

const subject: FileSubject = {
  noun: 'ledger',
  code: 'ledger',
  hints: { missing: 'it is made by the first run', older: 'run a sync first' },
  migrations: MIGRATIONS,
  whenRestored:
    'UPDATE project SET restored_after = (SELECT max(0, coalesce(max(id), 0)) FROM runs)',
  fail: (code, message, reason) =>
    new LedgerError(
      code,
      code === 'ledger_corrupt' ? `${message}${RESTORE}` : message,
      reason === 'disk' ? 'disk' : 'ledger',
    ),
}

/**
 * Opens (and, unless `readOnly`, creates and migrates) the file at `path`. What it has stored, it has after a power cut too: what a
 * request was about, and that a run exists, is known to Temporal and to the service by then. @throws LedgerError
 */
export function openLedgerDatabase(path: string, options: FileOptions = {}): SqliteDatabase {
  return open(path, subject, { synchronous: 'full', ...options })
}

/** @throws LedgerError by its `check`, once another file is at `path` */
export const watchLedgerFile = (path: string): PathWatch => new PathWatch(path, subject)
