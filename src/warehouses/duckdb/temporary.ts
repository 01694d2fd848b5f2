// Where DuckDB puts what does not fit into its memory.

import { createHash } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder of this process alone, for what it does with one file. */
export function temporaryFolder(purpose: string, path: string): string {
  const hash = createHash('sha256').update(path).digest('hex').slice(0, 16)
  return join(tmpdir(), `records-sync-${purpose}-${process.pid}-${hash}`)
}
