// Whether a lock of `file-lock.ts` is held. Apart from it, because most commands ask and find no file: then nothing native is loaded.

import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import type * as Sqlite from '@photostructure/sqlite'

/** SQLite's number for a file that somebody else has locked. */
const BUSY = 5

/** Whether some process, this one included, holds the lock. Several may ask at once. False if it cannot be asked. */
export function isFileLocked(path: string): boolean {
  if (!existsSync(path)) return false
  const { DatabaseSync } = createRequire(import.meta.url)('@photostructure/sqlite') as typeof Sqlite
  let db: InstanceType<typeof DatabaseSync> | null = null
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout: 0 })
    db.prepare('SELECT count(*) FROM sqlite_schema').get()
    return false
  } catch (error) {
    return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === BUSY
  } finally {
    db?.close()
  }
}
