// A lock on a file name, held by one process at a time. It ends with its process, however that ends: the operating system
// lets go of it.

import { DatabaseSync } from '@photostructure/sqlite'
import { makePrivate } from './private-file.ts'

/** Takes the lock, and gives the function that lets it go; null where another process, or this one, holds it. */
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
