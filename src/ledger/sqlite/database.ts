// The ledger's SQLite file: its tables, and the words of its errors.

import { LedgerError } from '../../core/errors.ts'
import {
  openSqliteFile as open,
  type SqliteDatabase,
  type FileOptions,
  type FileSubject,
} from '../../sqlite/database.ts'
import { PathWatch } from '../../sqlite/file-watch.ts'
import { checkUsable, UNUSABLE } from '../move/note.ts'
import { FIRST_SCHEMA, unreadableHint } from '../statements/schema.ts'
import { MIGRATIONS } from './migrations.ts'

export type { SqliteDatabase, SqliteRow, Statement, Value } from '../../sqlite/database.ts'

const RESTORE =
  '. Stop every process that has it open, remove its -wal and -shm files, and put a backup in its place'

const subject: FileSubject = {
  noun: 'ledger',
  code: 'ledger',
  hints: {
    missing: 'it is made by the first run',
    older: '`records-sync ledger upgrade` brings it to this one, with a backup',
    unreadable: unreadableHint('records-sync ledger backup FILE'),
  },
  firstTable: 'runs',
  migrations: MIGRATIONS,
  firstVersion: FIRST_SCHEMA,
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
 * Opens the file at `path`, and makes it unless `readOnly`; `setUp: 'upgrade'` migrates an older one. What it has stored, it has after a power cut too: what a
 * request was about, and that a run exists, is known to Temporal and to the service by then. @throws LedgerError
 */
export function openLedgerDatabase(
  path: string,
  {
    isMoved = false,
    ...options
  }: FileOptions & { /** For the move of a ledger itself. */ readonly isMoved?: boolean } = {},
): SqliteDatabase {
  const db = open(path, subject, { synchronous: 'full', setUp: 'new', ...options })
  try {
    if (!isMoved) checkUsable(path, db.sql(UNUSABLE).get())
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** @throws LedgerError by its `check`, once another file is at `path` */
export const watchLedgerFile = (path: string): PathWatch => new PathWatch(path, subject)
