// What people ask a ledger: the items of a run by state, and its rejects by kind.

import { REJECT_STATES } from '../../core/states.ts'
import type { Ledger } from '../ledger.ts'
import { isOtherwise, leftOfRow, rejectGroupOfRow, reportedOfRow } from '../rows.ts'
import type { SqliteDatabase } from './database.ts'
import { leftOf, reported, withRaw } from './left.ts'

type ReportMethods = Pick<Ledger, 'report' | 'leftByRun' | 'rejectGroups'>

export function reportMethods(db: SqliteDatabase): ReportMethods {
  return {
    async report(run, { states, after, limit, isLeft = false, readBack = false }) {
      const wanted = `(items.state IN (SELECT value FROM json_each(?3)) ${readBack ? `OR ${isOtherwise('items')}` : ''})`
      return db
        .sql(
          isLeft
            ? `SELECT ${reported} FROM ${leftOf(null, `items.ordinal > ?2 AND ${wanted}`)} ${withRaw}
               ORDER BY own.ordinal LIMIT ?4`
            : `SELECT * FROM items LEFT JOIN payloads USING (run, ordinal)
               WHERE run = ?1 AND ordinal > ?2 AND ${wanted} ORDER BY ordinal LIMIT ?4`,
        )
        .all(run, after, JSON.stringify(states), limit)
        .map((row) => (isLeft ? leftOfRow(run, row) : reportedOfRow(row)))
    },
    async leftByRun(run) {
      return db
        .sql(
          `SELECT now.run, count(*) AS rows FROM ${leftOf('payloads')} GROUP BY now.run ORDER BY now.run`,
        )
        .all(run)
        .map((row) => ({ run: Number(row['run']), rows: Number(row['rows']) }))
    },
    async rejectGroups(run, { isLeft = false } = {}) {
      const columns = ['state', 'verified', 'code', 'reason', '"column"', 'field', 'more']
      const items = isLeft
        ? `SELECT own.ordinal, ${columns.map((name) => `now.${name}`).join(', ')} FROM ${leftOf('payloads')}`
        : `SELECT ordinal, ${columns.join(', ')} FROM items WHERE run = ?1`
      return db
        .sql(
          `WITH told AS (${items})
           SELECT state, code, reason, "column", field, is_more, count(*) AS items, min(ordinal) AS example FROM (
             SELECT ordinal, state, verified, code, reason, "column", field, 0 AS is_more FROM told
             UNION ALL
             SELECT ordinal, state, verified, code, each.value ->> 'reason', each.value ->> 'column',
               each.value ->> 'field', 1 FROM told, json_each(told.more) AS each WHERE more IS NOT NULL) AS each_told
           WHERE (state IN (SELECT value FROM json_each(?2)) OR ${isOtherwise('each_told')})
           GROUP BY is_more, state, code, reason, "column", field ORDER BY items DESC, example LIMIT 1000`,
        )
        .all(run, JSON.stringify(REJECT_STATES))
        .map(rejectGroupOfRow)
    },
  }
}
