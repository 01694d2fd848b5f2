// Whether another process has a SQLite file open, also where it does nothing with it.

import { existsSync } from 'node:fs'
import { DatabaseSync } from '@photostructure/sqlite'
import { isBusy } from './failures.ts'

/** Asks for the lock that one process alone may have. */
export function isFileInUse(path: string): boolean {
  if (!existsSync(path)) return false
  const db = new DatabaseSync(path, { timeout: 0 })
  try {
    db.exec('PRAGMA locking_mode = EXCLUSIVE')
    db.exec('BEGIN EXCLUSIVE; ROLLBACK')
    return false
  } catch (error) {
    // Any other error is reported by the code that opens the file.
    return isBusy(error)
  } finally {
    db.close()
  }
}
