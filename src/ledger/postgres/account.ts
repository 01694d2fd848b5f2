// What outlives a run, for whoever checks it or takes it elsewhere: its timeline, the chain of manifests, and tables as rows.

import type { TimedState } from '../../core/item-states.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type { ExportName, Ledger, Run } from '../ledger.ts'
import { sealManifest } from '../manifest.ts'
import {
  EXPORT_KEYS,
  exportPlace,
  isNoted,
  manifestOfRow,
  STREAM_COLUMNS,
  streamOfRow,
  timedStates,
} from '../rows.ts'
import { timelineBetween } from '../timeline.ts'
import type { PostgresDatabase, Session } from './session.ts'

type AccountMethods = Pick<Ledger, 'timeline' | 'manifests' | 'syncs' | 'exportRows'>

/** Lets one run of a sync be sealed at a time, until the transaction ends: the next one sees the manifest of this one. */
export async function lockChain(session: Session, run: number): Promise<void> {
  await session.one(
    `SELECT pg_advisory_xact_lock(hashtextextended('records-sync manifests ' || current_schema() || ' ' || sync, 0))
     FROM runs WHERE id = $1`,
    [run],
  )
}

/** Adds the manifest of a run that was closed in this transaction to the chain of its sync. */
export async function sealRun(
  session: Session,
  run: Run,
  signingKey: string | null,
): Promise<void> {
  const streams = await session.all(
    `SELECT ${STREAM_COLUMNS.join(', ')} FROM streams WHERE run = $1 AND ${isNoted} ORDER BY stream`,
    [run.id],
  )
  const previous = await session.one(
    'SELECT digest FROM manifests WHERE sync = $1 ORDER BY run DESC LIMIT 1',
    [run.sync],
  )
  const sealed = sealManifest(
    run,
    streams.map(streamOfRow),
    previous ? String(previous['digest']) : null,
    signingKey,
  )
  await session.run(
    'INSERT INTO manifests (run, sync, body, digest, signature) VALUES ($1, $2, $3, $4, $5)',
    [sealed.run, sealed.sync, sealed.body, sealed.digest, sealed.signature],
  )
}

/** How a column of a type is exported: as text or number. */
const exported = (type: string, column: string): string => {
  switch (type) {
    case 'timestamp with time zone':
      return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
    case 'json':
      return `${column}::text`
    case 'bigint':
      return `${column}::double precision`
    default:
      return column
  }
}

export function accountMethods(db: PostgresDatabase): AccountMethods {
  const slice = 10 * LEDGER_ROWS_MAX
  const selects = new Map<ExportName, string>()
  /** The statement that reads a page of an export: all its columns, whatever the release that added them. */
  const selectOf = async (name: ExportName): Promise<string> => {
    const known = selects.get(name)
    if (known !== undefined) return known
    const columns = await db.all(
      `SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
       WHERE attrelid = (quote_ident(current_schema()) || '.' || $1)::regclass AND attnum > 0 AND NOT attisdropped
       ORDER BY attnum`,
      [name],
    )
    const list = columns.map((column) => {
      const quoted = `"${String(column['name'])}"`
      return `${exported(String(column['type']), `page.${quoted}`)} AS ${quoted}`
    })
    // In the order of an index: that of the keys is by their hash.
    const inOrder = (key: string, value: string) =>
      key === 'key' ? `hashtextextended(${value}, 0)` : value
    const keys = EXPORT_KEYS[name]
    const order = keys.map((key) => inOrder(key, `page.${key}`)).join(', ')
    const place = keys.map((key, at) => inOrder(key, `$${at + 2}`)).join(', ')
    const select = `SELECT ${list.join(', ')} FROM ${name} AS page
      WHERE (${order}) > (${place}) ORDER BY ${order} LIMIT $1`
    selects.set(name, select)
    return select
  }
  return {
    async timeline(run, points) {
      const bounds = await db.one(
        `SELECT min(sent_at) AS first, max(greatest(sent_at, settled_at)) AS last, max(batch) AS batches,
           (SELECT max(ordinal) FROM items WHERE run = $1) AS ordinals
         FROM requests WHERE run = $1`,
        [run],
      )
      if (!bounds || bounds['first'] === null) return []
      const time = (value: unknown) => (value as Date).getTime()
      const line = timelineBetween(time(bounds['first']), time(bounds['last']), points)
      for (let first = 1; first <= Number(bounds['batches']); first += slice) {
        const rows = await db.all(
          `SELECT batch, sent_at, settled_at, status FROM requests
           WHERE run = $1 AND batch BETWEEN $2 AND $3 ORDER BY batch, attempt`,
          [run, first, first + slice - 1],
        )
        for (const row of rows)
          line.addRequest({
            batch: Number(row['batch']),
            sentAt: time(row['sent_at']),
            settledAt: row['settled_at'] === null ? null : time(row['settled_at']),
            status: row['status'] === null ? null : Number(row['status']),
          })
      }
      for (let first = 1; first <= Number(bounds['ordinals']); first += slice) {
        const rows = await db.all(
          `SELECT batch, state, count(*) AS items FROM items WHERE run = $1 AND ordinal BETWEEN $2 AND $3
             AND batch IS NOT NULL AND state IN (${timedStates}) GROUP BY batch, state`,
          [run, first, first + slice - 1],
        )
        for (const row of rows)
          line.addItems(Number(row['batch']), row['state'] as TimedState, Number(row['items']))
      }
      return line.points()
    },

    async manifests(sync, { after, limit }) {
      const rows = await db.all(
        `SELECT run, sync, body, digest, signature FROM manifests
         WHERE sync = $1 AND run > $2 ORDER BY run LIMIT $3`,
        [sync, after, limit],
      )
      return rows.map(manifestOfRow)
    },

    async syncs() {
      const rows = await db.all("SELECT DISTINCT sync FROM runs WHERE mode = 'run'")
      return rows.map((row) => String(row['sync'])).toSorted()
    },

    async exportRows(name, { after, limit }) {
      const rows = await db.all(await selectOf(name), [limit, ...exportPlace(name, after)])
      const last = rows.length < limit ? undefined : rows.at(-1)
      return {
        rows: rows as Record<string, string | number | null>[],
        next: last ? JSON.stringify(EXPORT_KEYS[name].map((key) => last[key])) : null,
      }
    },
  }
}
