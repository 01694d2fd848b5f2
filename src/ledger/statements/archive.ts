// The chain of manifests, and tables as rows.

import { sealManifest } from '../manifest.ts'
import type { Archive, ExportName, ExportPage, StoredManifest } from '../roles/archive.ts'
import type { Run } from '../roles/runs.ts'
import { streamOfRow } from '../rows/streams.ts'
import { text, type Row } from '../rows/values.ts'
import type { StatementRunner } from './engine.ts'

/** The columns that order the rows of an export; no two rows are equal in them. */
export const EXPORT_KEYS: Readonly<Record<ExportName, readonly string[]>> = {
  runs: ['id'],
  results: ['run', 'ordinal'],
  link_results: ['run', 'ordinal', 'number'],
  differences: ['run', 'number'],
  deletions: ['run', 'number'],
  before_images: ['run', 'ordinal'],
  last_accepted: ['destination', 'key'],
  requests: ['run', 'batch', 'attempt'],
  streams: ['run', 'stream'],
  schema_changes: ['run', 'stream', 'number'],
  manifests: ['run'],
  actions: ['number'],
}

/**
 * @param selectOf the statement that reads a page of an export in the order of its keys: `$1` is the limit, and the keys that
 *   the page begins behind follow
 */
export const archiveStatements = (
  db: StatementRunner,
  selectOf: (name: ExportName, keys: readonly string[]) => Promise<string>,
): Archive => ({
  async manifests(sync, { after, limit }) {
    const rows = await db.all(
      `SELECT run, sync, body, digest, signature FROM manifests
       WHERE sync = $1 AND run > $2 ORDER BY run LIMIT $3`,
      [sync, after, limit],
    )
    return rows.map((row) => ({
      run: Number(row['run']),
      sync: String(row['sync']),
      body: String(row['body']),
      digest: String(row['digest']),
      signature: text(row['signature']),
    }))
  },

  async exportRows(name, { after, limit }) {
    const keys = EXPORT_KEYS[name]
    // Plans have negative numbers: the first page begins behind them.
    const start =
      after === null
        ? keys.map((key) => (key === 'key' || key === 'stream' ? '' : 0))
        : (JSON.parse(after) as (string | number)[])
    const rows = await db.all(await selectOf(name, keys), [limit, ...start])
    const last = rows.length < limit ? undefined : rows.at(-1)
    return {
      rows: rows as ExportPage['rows'],
      next: last ? JSON.stringify(keys.map((key) => last[key])) : null,
    }
  },
})

/** The digest of the newest manifest of the sync `$1`. */
export const PREVIOUS_MANIFEST_SQL =
  'SELECT digest FROM manifests WHERE sync = $1 ORDER BY run DESC LIMIT 1'

export const ADD_MANIFEST_SQL =
  'INSERT INTO manifests (run, sync, body, digest, signature) VALUES ($1, $2, $3, $4, $5)'

/**
 * The manifest of a run that is closed in this transaction, and the values of `ADD_MANIFEST_SQL`.
 * @param streams rows of `STREAMS_SQL`
 * @param previous the row of `PREVIOUS_MANIFEST_SQL`
 */
export function manifestValues(
  run: Run,
  streams: readonly Row[],
  previous: Row | undefined,
  signingKey: string | null,
): [number, ...(string | null)[]] {
  const digest = previous ? String(previous['digest']) : null
  const sealed: StoredManifest = sealManifest(run, streams.map(streamOfRow), digest, signingKey)
  return [sealed.run, sealed.sync, sealed.body, sealed.digest, sealed.signature]
}
