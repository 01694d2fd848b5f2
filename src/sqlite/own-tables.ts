// Whether a file is one of ours, such as a backup of a ledger, whatever its name: the tables in it decide.

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite'

/** Tables that every ledger has had since its first version. */
const LEDGER = ['destinations', 'runs', 'segments', 'items', 'payloads', 'accepted']

/** Through SQLite, because closing a descriptor of our own would release the locks of a database that is open. */
export function isLedgerFile(path: string): boolean {
  const url = pathToFileURL(resolve(path))
  url.search = '?immutable=1'
  try {
    const file = new DatabaseSync(url.href, { readOnly: true })
    try {
      const found = file.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
      const names = new Set(found.map((row) => (row as { name: unknown }).name))
      return LEDGER.every((name) => names.has(name))
    } finally {
      file.close()
    }
  } catch {
    // Not a database, or one that does not open.
    return false
  }
}

/** The syncs that have runs in a ledger of any release; none where the file cannot be read as one. */
export function syncsWithRuns(path: string): readonly string[] {
  if (!existsSync(path)) return []
  let db: DatabaseSyncInstance | null = null
  try {
    db = new DatabaseSync(path, { readOnly: true })
    const rows = db.prepare("SELECT DISTINCT sync FROM runs WHERE mode = 'run' ORDER BY sync").all()
    return rows.map((row) => String((row as { sync: unknown }).sync))
  } catch {
    return []
  } finally {
    db?.close()
  }
}
