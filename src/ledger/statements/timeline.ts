// What a run did over its time, read slice by slice.

import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { TimedState } from '../../core/domain/outcomes.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type { TimelinePoint } from '../roles/run-reports.ts'
import { timedStates } from '../rows/items.ts'
import { number } from '../rows/values.ts'
import { ordinalSlices } from '../rules/ranges.ts'
import { timelineBetween } from '../rules/timeline.ts'
import type { SqlDialect, StatementRunner } from './engine.ts'

const TIMELINE_SLICE = 10 * LEDGER_ROWS_MAX

export async function readTimeline(
  db: StatementRunner,
  dialect: SqlDialect,
  run: number,
  points: number,
): Promise<readonly TimelinePoint[]> {
  const time = (value: unknown) => Date.parse(dialect.time(value))
  const bounds = await db.one(
    `SELECT min(sent_at) AS first, max(CASE WHEN settled_at > sent_at THEN settled_at ELSE sent_at END) AS last,
       max(batch) AS batches, (SELECT max(ordinal) FROM items WHERE run = $1) AS ordinals
     FROM requests WHERE run = $1`,
    [run],
  )
  if (!bounds || bounds['first'] === null) return []
  const line = timelineBetween(time(bounds['first']), time(bounds['last']), points)
  for (const { first, last } of ordinalSlices(Number(bounds['batches']), TIMELINE_SLICE)) {
    const requests = await db.all(
      `SELECT batch, sent_at, settled_at, status FROM requests
       WHERE run = $1 AND batch BETWEEN $2 AND $3 ORDER BY batch, attempt`,
      [run, first, last],
    )
    for (const row of requests)
      line.addRequest({
        batch: Number(row['batch']),
        sentAt: time(row['sent_at']),
        settledAt: row['settled_at'] === null ? null : time(row['settled_at']),
        status: number(row['status']),
      })
    await yieldToOthers()
  }
  for (const { first, last } of ordinalSlices(Number(bounds['ordinals']), TIMELINE_SLICE)) {
    const items = await db.all(
      `SELECT batch, state, count(*) AS items FROM items WHERE run = $1 AND ordinal BETWEEN $2 AND $3
         AND batch IS NOT NULL AND state IN (${timedStates}) GROUP BY batch, state`,
      [run, first, last],
    )
    for (const row of items)
      line.addItems(Number(row['batch']), row['state'] as TimedState, Number(row['items']))
    await yieldToOthers()
  }
  return line.points()
}
