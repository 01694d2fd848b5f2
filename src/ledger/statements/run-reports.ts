// What people ask about a run, as every engine reads it.

import { REJECT_STATES } from '../../core/domain/outcomes.ts'
import { IN_DOUBT } from '../../core/domain/in-doubt.ts'
import type { RunReports } from '../roles/run-reports.ts'
import {
  isReadBackDifferent,
  LEFT_COLUMNS,
  leftOfRow,
  rejectGroupOfRow,
  REPORTED_COLUMNS,
  reportedOfRow,
} from '../rows/items.ts'
import type { SqlDialect, StatementRunner } from './engine.ts'
import { readTimeline } from './timeline.ts'

export function runReportStatements(db: StatementRunner, dialect: SqlDialect): RunReports {
  const { withPayload, leftOf, withRaw, list, isOneOf, eachOf } = dialect
  return {
    async report(run, { states, after, limit, isLeft = false, readBack = false }) {
      const wanted = `items.ordinal > $2
        AND (${isOneOf('items.state', '$3')} ${readBack ? `OR ${isReadBackDifferent('items')}` : ''})`
      const { rows } = await db.page(
        isLeft
          ? `SELECT ${LEFT_COLUMNS} FROM ${leftOf(null, wanted)} ${withRaw} ORDER BY own.ordinal LIMIT $4`
          : `SELECT ${REPORTED_COLUMNS} FROM items LEFT ${withPayload}
             WHERE run = $1 AND ${wanted} ORDER BY ordinal LIMIT $4`,
        [run, after, list(states), limit],
        'raw',
      )
      return rows.map((row) => (isLeft ? leftOfRow(run, row) : reportedOfRow(row)))
    },

    async rejectGroups(run, { isLeft = false } = {}) {
      const columns = [
        'state',
        'verified',
        'code',
        'reason',
        '"column"',
        'field',
        'more',
        'in_doubt',
      ]
      const items = isLeft
        ? `SELECT own.ordinal, ${columns.map((name) => `now.${name}`).join(', ')} FROM ${leftOf('payloads')}`
        : `SELECT ordinal, ${columns.join(', ')} FROM items WHERE run = $1`
      const rows = await db.all(
        `WITH reported AS (${items})
         SELECT state, code, reason, "column", field, is_more, count(*) AS items, min(ordinal) AS example FROM (
           SELECT ordinal, state, verified, code,
             CASE WHEN in_doubt = 1 AND code IS NULL THEN coalesce(reason, '${IN_DOUBT}') ELSE reason END AS reason,
             "column", field, 0 AS is_more FROM reported
           UNION ALL
           SELECT ordinal, state, verified, code, each.value ->> 'reason', each.value ->> 'column', each.value ->> 'field', 1
           FROM reported, ${eachOf('reported.more')} WHERE more IS NOT NULL) AS errors
         WHERE (${isOneOf('state', '$2')} OR ${isReadBackDifferent('errors')})
         GROUP BY is_more, state, code, reason, "column", field ORDER BY items DESC, example LIMIT 1000`,
        [run, list(REJECT_STATES)],
      )
      return rows.map(rejectGroupOfRow)
    },

    async requestTimes(run) {
      const first = await db.one(
        'SELECT sent_at FROM requests WHERE run = $1 ORDER BY run, batch, attempt LIMIT 1',
        [run],
      )
      if (!first) return null
      const last = await db.one(
        'SELECT settled_at FROM requests WHERE run = $1 ORDER BY run DESC, batch DESC, attempt DESC LIMIT 1',
        [run],
      )
      const at = last?.['settled_at'] ?? null
      return { first: dialect.time(first['sent_at']), last: at === null ? null : dialect.time(at) }
    },

    timeline: (run, points) => readTimeline(db, dialect, run, points),
  }
}
