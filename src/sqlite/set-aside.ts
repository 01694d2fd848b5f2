// A damaged SQLite file that holds nothing that matters is set aside under another name. Promises kept here: one process at a time;
// a file that is whole stays, so that a second process does not set the first one's new file aside.

import { renameSync, rmSync } from 'node:fs'
import { DatabaseSync } from '@photostructure/sqlite'
import { busyMaxMs, resultOf, toFileError, type FileSubject } from './failures.ts'
import { acquireFileLock } from './file-lock.ts'
import { sizeOf } from './migrate.ts'
import { readValue } from './read-value.ts'

/**
 * Sets the file aside, in the place of one that was set aside before, if it is damaged; then does `andThen`, which makes a new
 * one, before anyone else may look. This process must not have it open.
 * @returns where the damaged file is; null if it is whole; `busy` if another process is at it
 */
export function setAsideIfDamaged(
  path: string,
  subject: FileSubject,
  andThen: () => void,
): string | null {
  const to = `${path}.damaged`
  try {
    const release = acquireFileLock(`${path}.lock`)
    if (release === null) return 'busy'
    try {
      if (!isDamaged(path, subject)) return null
      // The log first: it must not be found next to a new file.
      for (const ending of ['-wal', '-shm', '']) {
        rmSync(`${to}${ending}`, { force: true })
        if (sizeOf(`${path}${ending}`) >= 0) renameSync(`${path}${ending}`, `${to}${ending}`)
      }
      andThen()
      return to
    } finally {
      release()
    }
  } catch (error) {
    throw toFileError(error, path, subject)
  }
}

/** Whether SQLite finds damage in it, or the file is not one that is in use: that has a log. */
export function isDamaged(path: string, subject: FileSubject): boolean {
  if (sizeOf(path) <= 0) return sizeOf(path) === 0
  try {
    const db = new DatabaseSync(path, { timeout: busyMaxMs(subject) })
    try {
      const mode = readValue(db, 'journal_mode FROM pragma_journal_mode')
      return mode !== 'wal' || readValue(db, 'quick_check FROM pragma_quick_check') !== 'ok'
    } finally {
      db.close()
    }
  } catch (error) {
    const number = resultOf(error)
    return [11, 26].includes(number & 0xff) || number === 522
  }
}
