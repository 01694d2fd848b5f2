// A whole copy of a SQLite file, made while others read and write it.

import { closeSync, constants, openSync, rmSync, statSync } from 'node:fs'
import { DatabaseSync } from '@photostructure/sqlite'
import { markAsBackup } from './change-counter.ts'

const BUSY_MAX_MS = 10_000

/**
 * Copies one state of the file, including what is in its WAL, into a new file that only its owner may read, and marks it as a
 * backup. Returns its bytes.
 * @throws of the file system (`EEXIST` if the file exists) and of SQLite; then there is no copy
 */
export function backupFile(path: string, to: string): number {
  closeSync(openSync(to, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600))
  try {
    const source = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MAX_MS })
    try {
      source.prepare('VACUUM INTO ?').run(to)
    } finally {
      source.close()
    }
    const copy = new DatabaseSync(to)
    try {
      markAsBackup(copy)
      const rows = copy.prepare('PRAGMA quick_check').all() as { quick_check: string }[]
      if (rows[0]?.quick_check !== 'ok') throw new Error('The copy is damaged')
    } finally {
      copy.close()
    }
    return statSync(to).size
  } catch (error) {
    rmSync(to, { force: true })
    throw error
  }
}
