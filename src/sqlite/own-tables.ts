// Whether a file is one of ours, such as a backup of a ledger, whatever its name: the tables in it decide.

import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { DatabaseSync } from '@photostructure/sqlite'

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
