// How a sync stands: what metrics ask for every few seconds.

import type { Ledger, Run, SyncHealth } from '../ledger.ts'
import {
  completeStates,
  knowsOfDifferences,
  mayLeaveDifferences,
  regularPurposes,
  STREAM_RUNS_MAX,
} from '../rows.ts'
import type { PostgresDatabase } from './session.ts'

const time = (value: unknown): string => (value as Date).toISOString()

export function syncHealthMethods(db: PostgresDatabase): Pick<Ledger, 'syncHealth'> {
  return {
    async syncHealth(sync) {
      const newest = await db.one(
        `SELECT id, kind, state, reason, purpose, counts, opened_at FROM runs WHERE mode = 'run' AND sync = $1
         ORDER BY id DESC LIMIT 1`,
        [sync],
      )
      if (!newest) return null
      const success = await db.one(
        `SELECT id, closed_at FROM runs WHERE mode = 'run' AND sync = $1 AND state IN (${completeStates})
           AND purpose IN (${regularPurposes})
         ORDER BY id DESC LIMIT 1`,
        [sync],
      )
      // While rows are staged there are no segments yet.
      const waits = await db.one(
        `SELECT 1 FROM runs WHERE id = $1 AND closed_at IS NULL AND ((rows_read IS NULL AND rows_staged > 0)
           OR EXISTS (SELECT 1 FROM segments WHERE run = $1 AND state = 'open'))`,
        [Number(newest['id'])],
      )
      const ended = newest as unknown as Pick<Run, 'id' | 'state' | 'purpose' | 'counts'>
      const left = mayLeaveDifferences(ended)
        ? await db.one('SELECT 1 FROM differences WHERE run = $1 AND repaired = 0 LIMIT 1', [
            ended.id,
          ])
        : undefined
      const streams = await db.all(
        `SELECT stream, max(opened_at) AS since FROM streams JOIN runs ON runs.id = streams.run
         WHERE streams.state = 'complete' AND streams.run IN
           (SELECT $2::integer UNION (SELECT id FROM runs WHERE mode = 'run' AND sync = $1 AND id > $2
            AND purpose IN (${regularPurposes}) ORDER BY id DESC LIMIT ${STREAM_RUNS_MAX}))
         GROUP BY stream`,
        [sync, Number(success?.['id'] ?? 0)],
      )
      return {
        kind: newest['kind'] as SyncHealth['kind'],
        state: newest['state'] as SyncHealth['state'],
        reason: newest['reason'] as SyncHealth['reason'],
        differs: knowsOfDifferences(ended) || left !== undefined,
        succeededAt: success ? time(success['closed_at']) : null,
        waitingSince: waits ? time(newest['opened_at']) : null,
        streams: new Map(streams.map((each) => [String(each['stream']), time(each['since'])])),
      }
    },
  }
}
