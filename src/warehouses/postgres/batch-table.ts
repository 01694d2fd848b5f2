// The temporary table that holds the rows of a batch, and how its rows compare with the rows of the target table.

import type { MirrorColumn, MirrorStream } from '../mirror-tables.ts'
import { quoteIdentifier } from '../mirror/session.ts'

export const BATCH = 'pg_temp.records_sync_batch'

/**
 * For each id where its row that counts lies, that row's version, and when the id was last seen; of equal rows the last one, so that the result is always the same.
 * Only these few columns are sorted and kept, because the rows themselves are wide.
 */
export const BEST = `(SELECT DISTINCT ON (id) id, version, max(seen_at) OVER (PARTITION BY id) AS last_seen, ctid AS place
      FROM ${BATCH} ORDER BY id, version DESC NULLS LAST, seen_at DESC, ctid DESC)`

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
