// What is known of links whose records are gone by the hand of this program.

import { LEDGER_ROWS_MAX } from '../../../core/limits.ts'
import type { KnownLinks } from '../../roles/links.ts'
import { DESTINATION, type LinkSql } from '../link-sql.ts'
import { read, writeGiven, type Transaction, type TransactionRunner } from '../transaction.ts'

const EDGES = { destination: 'integer', key: 'text', target: 'text', association: 'text' } as const

/** Linked links with the record `$2` at an end, in any destination of the org; `own`: whether the row is one of the run `$1`'s. */
const foundSql = (sql: LinkSql, end: 'source' | 'target'): string => {
  const { table, on } = sql.knownOfRecord('known', end)
  const type = end === 'source' ? 'theirs.object_type' : 'known.target_type'
  return `SELECT known.destination, known.key, known.target, known.association,
      CASE WHEN theirs.id = mine.id THEN 1 ELSE 0 END AS own
    FROM ${table} ${sql.join} destinations AS theirs ON theirs.id = known.destination
      ${sql.join} destinations AS mine ON mine.id = ${DESTINATION}
    WHERE ${on} AND theirs.origin = mine.origin AND theirs.org_id = mine.org_id AND ${type} = mine.object_type
    LIMIT ${LEDGER_ROWS_MAX}`
}

export function goneRecordMethods(
  db: TransactionRunner,
  sql: LinkSql,
): Pick<KnownLinks, 'parkLinksOf'> {
  const found = { source: foundSql(sql, 'source'), target: foundSql(sql, 'target') }
  const forget = sql.deleteKnown(
    'SELECT destination, key, target, association FROM given',
    "known.state = 'linked'",
  )
  const edge = sql.knownOfEdge('known', 'given.destination', 'given')
  const park = `UPDATE ${edge.table} SET state = 'parked' FROM given WHERE ${edge.on}`

  /** One slice. Returns whether there may be more. */
  function* slice(run: number, id: string, end: 'source' | 'target'): Transaction<boolean> {
    const rows = yield* read(found[end], [run, id])
    const given = (isForgotten: boolean) => ({
      columns: EDGES,
      rows: rows
        .filter((row) => (end === 'source' && Number(row['own']) === 1) === isForgotten)
        .map((row) => [
          Number(row['destination']),
          String(row['key']),
          String(row['target']),
          String(row['association']),
        ]),
    })
    yield* writeGiven(given(true), forget)
    yield* writeGiven(given(false), park)
    return rows.length === LEDGER_ROWS_MAX
  }

  return {
    async parkLinksOf(run, recordIds) {
      // Bounded by the links of the records: every slice leaves fewer that are linked.
      for (const id of recordIds)
        for (const end of ['source', 'target'] as const)
          for (let isMore = true; isMore;) isMore = await db.transact(() => slice(run, id, end))
    },
  }
}
