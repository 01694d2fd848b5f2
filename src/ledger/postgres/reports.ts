// What people ask a ledger: the items of a run by state, and its rejects by kind.

import { REJECT_STATES } from '../../core/states.ts'
import type { Ledger } from '../ledger.ts'
import { isOtherwise, leftOfRow, rejectGroupOfRow, reportedOfRow } from '../rows.ts'
import type { PostgresDatabase } from './session.ts'
import { withPayload } from './items.ts'
import { leftOf, reported, withRaw } from './left.ts'

type ReportMethods = Pick<Ledger, 'report' | 'leftByRun' | 'rejectGroups'>

export function reportMethods(db: PostgresDatabase): ReportMethods {
  return {
    async report(run, { states, after, limit, isLeft = false, readBack = false }) {
      const wanted = (item: string) =>
        `${item}.ordinal > $2 AND (${item}.state = ANY ($3::text[]) ${readBack ? `OR ${isOtherwise(item)}` : ''})`
      const rows = await db.all(
        isLeft
          ? `SELECT ${reported} FROM ${leftOf(null, wanted('item'))} ${withRaw} ORDER BY own.ordinal LIMIT $4`
          : `SELECT ordinal, line, of_ordinal, key, state, raw, http_status, record_id, code, reason, "column", field, value,
               detail, more, request_id, in_doubt
             FROM items LEFT ${withPayload} WHERE run = $1 AND ${wanted('items')} ORDER BY ordinal LIMIT $4`,
        [run, after, states, limit],
      )
      return rows.map((row) => (isLeft ? leftOfRow(run, row) : reportedOfRow(row)))
    },
    async leftByRun(run) {
      const rows = await db.all(
        `SELECT now.run, count(*) AS rows FROM ${leftOf('payloads')} GROUP BY now.run ORDER BY now.run`,
        [run],
      )
      return rows.map((row) => ({ run: Number(row['run']), rows: Number(row['rows']) }))
    },
    async rejectGroups(run, { isLeft = false } = {}) {
      const columns = ['state', 'verified', 'code', 'reason', '"column"', 'field', 'more']
      const items = isLeft
        ? `SELECT own.ordinal, ${columns.map((name) => `now.${name}`).join(', ')} FROM ${leftOf('payloads')}`
        : `SELECT ordinal, ${columns.join(', ')} FROM items WHERE run = $1`
      const rows = await db.all(
        `WITH told AS (${items})
         SELECT state, code, reason, "column", field, is_more, count(*) AS items, min(ordinal) AS example FROM (
           SELECT ordinal, state, verified, code, reason, "column", field, 0 AS is_more FROM told
           UNION ALL
           SELECT ordinal, state, verified, code, one ->> 'reason', one ->> 'column', one ->> 'field', 1
           FROM told, json_array_elements(told.more::json) AS one WHERE more IS NOT NULL) AS each_told
         WHERE (state = ANY ($2::text[]) OR ${isOtherwise('each_told')})
         GROUP BY is_more, state, code, reason, "column", field ORDER BY items DESC, example LIMIT 1000`,
        [run, REJECT_STATES],
      )
      return rows.map(rejectGroupOfRow)
    },
  }
}
