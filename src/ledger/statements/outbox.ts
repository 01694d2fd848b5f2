// What is to be sent, as every engine reads it.

import { FenceLost } from '../../core/errors.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type { Outbox } from '../roles/outbox.ts'
import { PLANNED_COLUMNS, plannedOfRow } from '../rows/items.ts'
import { columnBound, type SqlDialect, type StatementRunner } from './engine.ts'

export const outboxStatements = (
  db: StatementRunner,
  { time, withPayload, indexedBy }: SqlDialect,
) =>
  ({
    async openSegments(run, fence) {
      const rows = await db.all(
        `SELECT stage_fence, first, last FROM runs LEFT JOIN segments ON segments.run = runs.id AND segments.state = 'open'
         WHERE runs.id = $1 ORDER BY first`,
        [run],
      )
      if (fence !== undefined && Number(rows[0]?.['stage_fence']) !== fence)
        throw new FenceLost(run, 0)
      return rows
        .filter((row) => row['first'] !== null)
        .map((row) => ({ first: Number(row['first']), last: Number(row['last']) }))
    },

    async claimSegment(run, segment) {
      // This waits for a worker that settles a batch at this moment: the new holder reads the settled items.
      const row = await db.one(
        'UPDATE segments SET fence = fence + 1 WHERE run = $1 AND first = $2 RETURNING fence',
        [run, segment.first],
      )
      if (!row) throw new FenceLost(run, segment.first)
      return Number(row['fence'])
    },

    async lastSentAt(run) {
      const row = await db.one(
        `SELECT max(sent_at) AS last FROM (
           SELECT sent_at FROM requests WHERE run = $1 AND settled_at IS NULL
           UNION ALL
           SELECT sent_at FROM link_steps WHERE run = $1 AND EXISTS (SELECT 1 FROM links ${indexedBy('links_sent')}
             WHERE links.run = link_steps.run AND links.state = 'in_flight')) AS unsettled`,
        [run],
      )
      return row?.['last'] == null ? null : time(row['last'])
    },

    async nextPlanned(run, segment, { after, attemptsBelow, limit }) {
      const { rows } = await db.page(
        `SELECT ${PLANNED_COLUMNS} FROM items ${withPayload}
         WHERE run = $1 AND ordinal > $2 AND ordinal <= $3 AND state = 'pending' AND attempts < $4
         ORDER BY ordinal LIMIT $5`,
        [
          run,
          Math.max(after, segment.first - 1),
          columnBound(segment.last),
          columnBound(attemptsBelow),
          limit,
        ],
        'payload',
      )
      return rows.map(plannedOfRow)
    },

    async looseKeys(run, segment, { limit }) {
      const { rows } = await db.page(
        `SELECT ${PLANNED_COLUMNS}, raw_key FROM items ${indexedBy('items_raw_key')} ${withPayload}
         WHERE run = $1 AND ordinal BETWEEN $2 AND $3 AND state = 'pending' AND raw_key IS NOT NULL
         ORDER BY ordinal LIMIT $4`,
        [run, segment.first, columnBound(segment.last), Math.min(limit, LEDGER_ROWS_MAX)],
        'payload',
      )
      return rows.map(plannedOfRow)
    },
  }) satisfies Partial<Outbox>
