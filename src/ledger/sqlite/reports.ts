// What people ask a ledger: the items of a run by state, and its rejects by kind.

import { REJECT_STATES } from '../../core/states.ts'
import type { Ledger } from '../ledger.ts'
import { isOtherwise, rejectGroupOfRow, reportedOfRow } from '../rows.ts'
import type { Database } from './database.ts'
import { isStillLeft } from './retry.ts'

type ReportMethods = Pick<Ledger, 'report' | 'rejectGroups'>

export function reportMethods(db: Database): ReportMethods {
  return {
    async report(run, { states, after, limit, isLeft = false, readBack = false }) {
      return db
        .sql(
          `SELECT * FROM items LEFT JOIN payloads USING (run, ordinal)
           WHERE run = ?1 AND ordinal > ?2
             AND (state IN (SELECT value FROM json_each(?3)) ${readBack ? `OR ${isOtherwise}` : ''})
             ${isLeft ? `AND ${isStillLeft}` : ''}
           ORDER BY ordinal LIMIT ?4`,
        )
        .all(run, after, JSON.stringify(states), limit)
        .map(reportedOfRow)
    },
    async rejectGroups(run) {
      return db
        .sql(
          `SELECT state, code, reason, "column", field, is_more, count(*) AS items, min(ordinal) AS example FROM (
             SELECT run, ordinal, state, verified, code, reason, "column", field, 0 AS is_more FROM items WHERE run = ?1
             UNION ALL
             SELECT run, ordinal, state, verified, code, each.value ->> 'reason', each.value ->> 'column',
               each.value ->> 'field', 1 FROM items, json_each(items.more) AS each
             WHERE run = ?1 AND more IS NOT NULL)
           WHERE (state IN (SELECT value FROM json_each(?2)) OR ${isOtherwise})
           GROUP BY is_more, state, code, reason, "column", field ORDER BY items DESC, example LIMIT 1000`,
        )
        .all(run, JSON.stringify(REJECT_STATES))
        .map(rejectGroupOfRow)
    },
  }
}
