// What outlives a run, for whoever checks it or takes it elsewhere: its timeline, the chain of manifests, and tables as rows.

import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { TimedState } from '../../core/item-states.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { sealManifest } from '../manifest.ts'
import type { Ledger, Run } from '../ledger.ts'
import {
  EXPORT_KEYS,
  exportPlace,
  isNoted,
  manifestOfRow,
  STREAM_COLUMNS,
  streamOfRow,
  timedStates,
} from '../rows.ts'
import { timelineBetween } from '../timeline.ts'
import type { SqliteDatabase } from './database.ts'

type AccountMethods = Pick<Ledger, 'timeline' | 'manifests' | 'syncs' | 'exportRows'>

/** Adds the manifest of a run that was closed in this transaction to the chain of its sync. */
export function sealRun(db: SqliteDatabase, run: Run, signingKey: string | null): void {
  const streams = db
    .sql(
      `SELECT ${STREAM_COLUMNS.join(', ')} FROM streams WHERE run = ? AND ${isNoted} ORDER BY stream`,
    )
    .all(run.id)
    .map(streamOfRow)
  const previous = db
    .sql('SELECT digest FROM manifests WHERE sync = ? ORDER BY run DESC LIMIT 1')
    .get(run.sync)
  const sealed = sealManifest(
    run,
    streams,
    previous ? String(previous['digest']) : null,
    signingKey,
  )
  db.sql('INSERT INTO manifests (run, sync, body, digest, signature) VALUES (?, ?, ?, ?, ?)').run(
    sealed.run,
    sealed.sync,
    sealed.body,
    sealed.digest,
    sealed.signature,
  )
}

export function accountMethods(db: SqliteDatabase): AccountMethods {
  const slice = 10 * LEDGER_ROWS_MAX
  return {
    async timeline(run, points) {
      const bounds = db
        .sql(
          `SELECT min(sent_at) AS first, max(max(sent_at, coalesce(settled_at, ''))) AS last, max(batch) AS batches,
             (SELECT max(ordinal) FROM items WHERE run = ?1) AS ordinals
           FROM requests WHERE run = ?1`,
        )
        .get(run)
      if (!bounds || bounds['first'] === null) return []
      const time = (value: unknown) => Date.parse(String(value))
      const line = timelineBetween(time(bounds['first']), time(bounds['last']), points)
      const requests = db.sql(
        `SELECT batch, sent_at, settled_at, status FROM requests
         WHERE run = ? AND batch BETWEEN ? AND ? ORDER BY batch, attempt`,
      )
      for (let first = 1; first <= Number(bounds['batches']); first += slice) {
        for (const row of requests.all(run, first, first + slice - 1))
          line.addRequest({
            batch: Number(row['batch']),
            sentAt: time(row['sent_at']),
            settledAt: row['settled_at'] === null ? null : time(row['settled_at']),
            status: row['status'] === null ? null : Number(row['status']),
          })
        await yieldToOthers()
      }
      const items = db.sql(
        `SELECT batch, state, count(*) AS items FROM items WHERE run = ? AND ordinal BETWEEN ? AND ?
           AND batch IS NOT NULL AND state IN (${timedStates}) GROUP BY batch, state`,
      )
      for (let first = 1; first <= Number(bounds['ordinals']); first += slice) {
        for (const row of items.all(run, first, first + slice - 1))
          line.addItems(Number(row['batch']), row['state'] as TimedState, Number(row['items']))
        await yieldToOthers()
      }
      return line.points()
    },

    async manifests(sync, { after, limit }) {
      return db
        .sql('SELECT * FROM manifests WHERE sync = ? AND run > ? ORDER BY run LIMIT ?')
        .all(sync, after, limit)
        .map(manifestOfRow)
    },

    async syncs() {
      return db
        .sql("SELECT DISTINCT sync FROM runs WHERE mode = 'run'")
        .all()
        .map((row) => String(row['sync']))
        .toSorted()
    },

    async exportRows(name, { after, limit }) {
      const keys = EXPORT_KEYS[name]
      const order = keys.join(', ')
      const rows = db
        .sql(
          `SELECT * FROM ${name} WHERE (${order}) > (${keys.map(() => '?').join(', ')}) ORDER BY ${order} LIMIT ?`,
        )
        .all(...exportPlace(name, after), limit)
      const last = rows.length < limit ? undefined : rows.at(-1)
      return {
        rows: rows as Record<string, string | number | null>[],
        next: last ? JSON.stringify(keys.map((key) => last[key])) : null,
      }
    },
  }
}
