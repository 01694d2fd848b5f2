// The ledger's SQLite file: its tables, and the words of its errors.

import { LedgerError } from '../../core/errors.ts'
import {
  openDatabase as open,
  type Database,
  type OpenOptions,
  type Subject,
} from '../../sqlite/database.ts'
import { MIGRATIONS } from './migrations.ts'

export type { Database, Row, Statement } from '../../sqlite/database.ts'

const RESTORE =
  '. Stop every process that has it open, remove its -wal and -shm files, and put a backup in its place'

const subject: Subject = {
  noun: 'ledger',
  code: 'ledger',
  hints: { missing: 'it is made by the first run', older: 'run a sync first' },
  migrations: MIGRATIONS,
  fail: (code, message, reason) =>
    new LedgerError(
      code,
      code === 'ledger_corrupt' ? `${message}${RESTORE}` : message,
      reason === 'disk' ? 'disk' : 'ledger',
    ),
}

/** Opens (and, unless `readOnly`, creates and migrates) the file at `path`. @throws LedgerError */
export function openDatabase(path: string, options: OpenOptions = {}): Database {
  return open(path, subject, options)
}
