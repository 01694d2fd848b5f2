// The end of schema changes that this worker, or one before it, has begun: as the table shows them.

import type { NotedSchemaChange, SchemaHistory } from '../ledger/ledger.ts'
import type { MirrorStream } from '../warehouses/mirror-tables.ts'

/** Changes of a run that are looked at, the newest of them. */
const LOOKED_AT_MAX = 2_000

export async function endSchemaChanges(
  ledger: SchemaHistory,
  run: number,
  stream: MirrorStream,
): Promise<void> {
  const noted = await ledger.schemaChanges({ run, stream: stream.name, limit: LOOKED_AT_MAX })
  const live = new Set(stream.columns.flatMap((column) => (column.live ? [column.name] : [])))
  const done = noted.filter((change) => change.doneAt === null && isShown(change, live))
  if (done.length > 0)
    await ledger.endSchemaChanges(
      run,
      stream.name,
      done.map(({ number }) => number),
    )
}

/** Whether the columns that are written show the change. */
function isShown({ handling, columns }: NotedSchemaChange, live: ReadonlySet<string>): boolean {
  if (handling === 'column_kept') return columns.every((name) => !live.has(name))
  return columns.every((name) => live.has(name))
}
