// Checks that a table took what was written to it. Triggers are welcome as long as every row is stored as it was written, and
// every deletion is done: this is checked inside the transaction, which is rolled back otherwise.

import { Blocked, type SyncError } from '../../core/errors.ts'
import { formatNumber } from '../../core/format.ts'
import type { MirrorStream } from '../mirror-tables.ts'
import { bestOf, differs, MISFITS_DIFFER, numbered } from './batch-table.ts'
import { alteredError, checkTableHooks, someNames, type TableHook } from './table-hooks.ts'
import type { SchemaPlace } from '../mirror/session.ts'
import { tableIn } from './sql.ts'
import type { Lease } from './connections.ts'

const RETRY_MS = 10_000

/** What a merge was about to write, and what the server says it wrote. */
export interface Merged {
  /** The table of the batch. */
  readonly batch: string
  readonly run: number
  readonly judged: number
  readonly written: number
  /** Ids of rows that were left alone, as an array of the server. */
  readonly older: string
  /** Ids of rows that the table saw, or marked as deleted, later than this batch did. */
  readonly later: string
}

/**
 * Checks whether the table took the rows of the batch. Runs after the merge, in its transaction: triggers and rules on the table
 * now were there during the merge.
 * @throws SyncError `warehouse_altered`; Blocked if another session removed rows meanwhile
 */
export async function checkMergeStored(
  lease: Lease,
  home: SchemaPlace,
  stream: MirrorStream,
  { batch, run, judged, written, older, later }: Merged,
): Promise<void> {
  const hooks = await checkTableHooks(lease, home, [stream.table])
  if (hooks.length === 0) {
    if (written === judged) return
    throw new Blocked(
      'warehouse',
      `The warehouse ${home.place}: another session removed ${formatNumber(judged - written)} rows of ${home.schema}.${stream.table} while they were merged; they are merged again`,
      RETRY_MS,
    )
  }
  const columns = numbered(stream)
  const parts = [
    ['_version', 't."_version" IS DISTINCT FROM b.version'],
    ['_run', 't."_run" IS DISTINCT FROM $1::bigint'],
    ['_misfits', MISFITS_DIFFER],
    ['_last_seen_at', `t."_last_seen_at" IS DISTINCT FROM k.last_seen AND ${NOT_LATER}`],
    ['_deleted_at', `t."_deleted_at" IS NOT NULL AND ${NOT_LATER}`],
    ...columns.map((column) => [column.name, differs(column)] as const),
  ] as const
  // Deferred constraints and triggers run now.
  await lease.ask('SET CONSTRAINTS ALL IMMEDIATE')
  const { rows } = await lease.ask(
    `SELECT part, count(*) FROM (
       SELECT CASE WHEN t."_id" IS NULL THEN -1 ${parts.map(([, when], index) => `WHEN ${when} THEN ${index}`).join(' ')} END AS part
       FROM ${bestOf(batch)} AS k JOIN pg_temp.${batch} AS b ON b.ctid = k.place
       LEFT JOIN ${tableIn(home.schema, stream.table)} AS t ON t."_id" = b.id
       WHERE b.id <> ALL ($2::text[])
     ) AS compared WHERE part IS NOT NULL GROUP BY part ORDER BY 2 DESC, 1`,
    [run, older, later],
  )
  if (rows.length === 0) return
  const count = rows.reduce((sum, [, some]) => sum + Number(some), 0)
  const names = rows.map(([part]) => parts[Number(part)]?.[0] ?? 'the whole row')
  throw swallowed(
    home,
    stream,
    `${formatNumber(count)} of ${formatNumber(judged)} rows are not stored as they were written (${someNames(names)})`,
    hooks,
  )
}

const NOT_LATER = 'b.id <> ALL ($3::text[])'

/**
 * Checks whether a deletion left rows that it should have taken: those that `countLeft` still finds.
 * @throws SyncError `warehouse_altered`
 */
export async function checkRowsDeleted(
  lease: Lease,
  home: SchemaPlace,
  stream: MirrorStream,
  countLeft: () => Promise<number>,
): Promise<void> {
  const hooks = await checkTableHooks(lease, home, [stream.table])
  if (hooks.length === 0) return
  await lease.ask('SET CONSTRAINTS ALL IMMEDIATE')
  const left = await countLeft()
  if (left > 0)
    throw swallowed(home, stream, `${formatNumber(left)} rows stay that were to be deleted`, hooks)
}

function swallowed(
  home: SchemaPlace,
  stream: MirrorStream,
  what: string,
  hooks: readonly TableHook[],
): SyncError {
  const names = hooks.map(({ name }) => name)
  const triggers = names.length === 1 ? 'its trigger changes' : 'its triggers change'
  return alteredError(
    home,
    `in ${home.schema}.${stream.table} ${what}, so nothing of that is kept; ${triggers} or drops what is written: ${someNames(names)}. Drop it, or let it leave our columns and rows as they are`,
  )
}
