// A lock on a file name, held by one process at a time. It ends with its process, however the process ends: the operating system
// releases it.

import { DatabaseSync } from '@photostructure/sqlite'
import { makePrivate } from './private-file.ts'

/** Takes the lock, and returns the function that releases it; null if another process, or this one, holds it. */
export function acquireFileLock(path: string): (() => void) | null {
  makePrivate(path)
  const db = new DatabaseSync(path, { timeout: 0 })
  try {
    db.exec('BEGIN EXCLUSIVE')
  } catch {
    db.close()
    return null
  }
  return () => {
    if (!db.isOpen) return
    db.exec('ROLLBACK')
    db.close()
  }
}
