// What people ask a ledger: the items of a run by state, and its rejects by kind.

import { REJECT_STATES } from '../../core/states.ts'
import type { Ledger } from '../ledger.ts'
import { isOtherwise, rejectGroupOfRow, reportedOfRow } from '../rows.ts'
import type { Database } from './database.ts'
import { withPayload } from './items.ts'
import { isStillLeft } from './retry.ts'

type ReportMethods = Pick<Ledger, 'report' | 'rejectGroups'>

export function reportMethods(db: Database): ReportMethods {
  return {
    async report(run, { states, after, limit, isLeft = false, readBack = false }) {
      const rows = await db.all(
        `SELECT ordinal, line, of_ordinal, key, state, raw, http_status, record_id, code, reason, "column", field, value, detail,
           more, request_id, in_doubt
         FROM items LEFT ${withPayload}
         WHERE run = $1 AND ordinal > $2 AND (state = ANY ($3::text[]) ${readBack ? `OR ${isOtherwise}` : ''})
           ${isLeft ? `AND ${isStillLeft('items')}` : ''}
         ORDER BY ordinal LIMIT $4`,
        [run, after, states, limit],
      )
      return rows.map(reportedOfRow)
    },
    async rejectGroups(run) {
      const rows = await db.all(
        `SELECT state, code, reason, "column", field, is_more, count(*) AS items, min(ordinal) AS example FROM (
           SELECT ordinal, state, verified, code, reason, "column", field, 0 AS is_more FROM items WHERE run = $1
           UNION ALL
           SELECT ordinal, state, verified, code, one ->> 'reason', one ->> 'column', one ->> 'field', 1
           FROM items, json_array_elements(items.more::json) AS one
           WHERE run = $1 AND more IS NOT NULL) AS told
         WHERE (state = ANY ($2::text[]) OR ${isOtherwise})
         GROUP BY is_more, state, code, reason, "column", field ORDER BY items DESC, example LIMIT 1000`,
        [run, REJECT_STATES],
      )
      return rows.map(rejectGroupOfRow)
    },
  }
}
