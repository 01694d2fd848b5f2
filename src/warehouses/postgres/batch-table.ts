// The temporary table that holds the rows of a batch while they are merged, and how its rows compare with the rows of the target table.

import type { MirrorColumn, MirrorStream } from '../mirror-tables.ts'
import { quoteIdentifier } from '../mirror/session.ts'
import { columnType } from './sql.ts'

let made = 0

/** A session of the server may have temporary tables of other transactions, those of another user of a pooler among them. */
export const batchName = (): string => `records_sync_batch_${++made}`

/** It is gone when its transaction ends. */
export function createBatch(batch: string, stream: MirrorStream): string {
  const columns = numbered(stream).map(({ as, type }) => `, ${as} ${columnType(type)}`)
  return `CREATE TEMPORARY TABLE ${batch} (id text COLLATE "C" NOT NULL, version timestamptz,
    seen_at timestamptz NOT NULL, misfits json${columns.join('')}) ON COMMIT DROP`
}

/**
 * For each id where its row that counts lies, that row's version, and when the id was last seen; of equal rows the last one, so that the result is always the same.
 * Only these few columns are sorted and kept, because the rows themselves are wide.
 */
export const bestOf = (
  batch: string,
): string => `(SELECT DISTINCT ON (id) id, version, max(seen_at) OVER (PARTITION BY id) AS last_seen, ctid AS place
      FROM pg_temp.${batch} ORDER BY id, version DESC NULLS LAST, seen_at DESC, ctid DESC)`

/** The columns of the temporary table are numbered, so that no property's name clashes with ours. */
export const numbered = (stream: MirrorStream) =>
  stream.columns.filter(({ live }) => live).map((column, index) => ({ ...column, as: `c${index}` }))

export const MISFITS_DIFFER = 't."_misfits"::text IS DISTINCT FROM b.misfits::text'

/**
 * Whether a row of the table (`t`) holds another value than a row of the batch (`b`). Compares bytes: a person may have given the
 * column a collation that treats some texts as equal.
 */
export const differs = ({ name, as, type }: MirrorColumn & { readonly as: string }): string =>
  `t.${quoteIdentifier(name)}${type.holds === 'text' ? ' COLLATE "C"' : ''} IS DISTINCT FROM b.${as}`
