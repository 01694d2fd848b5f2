// How a sync stands: what metrics ask for every few seconds.

import type { Ledger } from '../ledger.ts'
import {
  completeStates,
  knowsOfDifferences,
  mayLeaveDifferences,
  regularPurposes,
  STREAM_RUNS_MAX,
} from '../rows.ts'
import type { SqliteDatabase } from './database.ts'
import { runOfRow } from './runs.ts'

export function syncHealthMethods(db: SqliteDatabase): Pick<Ledger, 'syncHealth'> {
  return {
    async syncHealth(sync) {
      const row = db
        .sql("SELECT * FROM runs WHERE mode = 'run' AND sync = ? ORDER BY id DESC LIMIT 1")
        .get(sync)
      if (!row) return null
      const newest = runOfRow(row)
      const success = db
        .sql(
          `SELECT id, closed_at FROM runs WHERE mode = 'run' AND sync = ? AND state IN (${completeStates})
             AND purpose IN (${regularPurposes})
           ORDER BY id DESC LIMIT 1`,
        )
        .get(sync)
      // While rows are staged there are no segments yet.
      const waits = db
        .sql(
          `SELECT 1 FROM runs WHERE id = ?1 AND closed_at IS NULL AND ((rows_read IS NULL AND rows_staged > 0)
             OR EXISTS (SELECT 1 FROM segments WHERE run = ?1 AND state = 'open'))`,
        )
        .get(newest.id)
      const left = db.sql(
        'SELECT 1 FROM differences INDEXED BY differences_subject WHERE run = ? AND repaired = 0 LIMIT 1',
      )
      const streams = db
        .sql(
          `SELECT stream, max(opened_at) AS since FROM streams JOIN runs ON runs.id = streams.run
           WHERE streams.state = 'complete' AND streams.run IN
             (SELECT ?2 UNION SELECT id FROM (SELECT id FROM runs WHERE mode = 'run' AND sync = ?1 AND id > ?2
                AND purpose IN (${regularPurposes}) ORDER BY id DESC LIMIT ${STREAM_RUNS_MAX}))
           GROUP BY stream`,
        )
        .all(sync, success === undefined ? 0 : Number(success['id']))
      return {
        kind: newest.kind,
        state: newest.state,
        reason: newest.reason,
        differs:
          knowsOfDifferences(newest) ||
          (mayLeaveDifferences(newest) && left.get(newest.id) !== undefined),
        succeededAt: success === undefined ? null : String(success['closed_at']),
        waitingSince: waits === undefined ? null : newest.openedAt,
        streams: new Map(streams.map((each) => [String(each['stream']), String(each['since'])])),
      }
    },
  }
}
