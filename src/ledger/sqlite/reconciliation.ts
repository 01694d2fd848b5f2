// Reconciling: what is to be compared, and what comparing showed.

import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { LEDGER_CHARS_MAX } from '../../core/limits.ts'
import type { ItemComparison, Reconciliation } from '../roles/reconciliation.ts'
import { ACCEPTED_COLUMNS, keepsLast, uncomparedOfRow } from '../rows/accepted.ts'
import { comparisonParts, stateOnceCompared } from '../rules/comparison.ts'
import type { SqliteDatabase } from './database.ts'
import { differenceInserter } from '../statements/differences.ts'
import { sqliteLinkSql } from './link-sql.ts'
import { runSteps } from './transactions.ts'

const insertDifferences = differenceInserter(sqliteLinkSql)

const IS_PLANNED = "run = ? AND ordinal = ? AND state = 'pending'"

const ACCEPT_SQL = `INSERT INTO accepted (destination, key, record_id, hash, marks, run, normalised, watermark)
    SELECT runs.destination, items.key, items.record_id, items.hash, ?, runs.id, items.normalised, items.watermark
    FROM items JOIN runs ON runs.id = items.run WHERE items.run = ? AND items.ordinal = ?
  ON CONFLICT (destination, key) DO UPDATE SET record_id = excluded.record_id, hash = excluded.hash,
    marks = excluded.marks, ${keepsLast}, run = excluded.run, normalised = excluded.normalised,
    watermark = excluded.watermark`

/** Of a record that the sync has written before: what it kept now is not looked up again while the row stays as it is. */
const KEEP_SQL = `UPDATE accepted SET hash = items.hash, marks = ?1, watermark = items.watermark,
    normalised = CASE WHEN accepted.hash = items.hash THEN accepted.normalised ELSE 0 END,
    last_marks = CASE WHEN accepted.run < ?2 THEN accepted.marks ELSE accepted.last_marks END,
    last_run = CASE WHEN accepted.run < ?2 THEN accepted.run ELSE accepted.last_run END, run = ?2
  FROM items
  WHERE items.run = ?2 AND items.ordinal = ?3 AND accepted.key = items.key AND accepted.record_id = items.record_id
    AND accepted.destination = (SELECT destination FROM runs WHERE id = ?2)`

/** Writes the state that the item gets; returns whether it was still planned. */
function setState(db: SqliteDatabase, run: number, item: ItemComparison): boolean {
  const { ordinal, recordId, normalised, marks, held } = item
  switch (stateOnceCompared(item)) {
    case 'unchanged': {
      const { changes } = db
        .sql(
          `UPDATE items SET state = 'unchanged', verified = 'equal', record_id = ?, normalised = ? WHERE ${IS_PLANNED}`,
        )
        .run(recordId, normalised ? 1 : 0, run, ordinal)
      if (changes === 0) return false
      db.sql(ACCEPT_SQL).run(marks, run, ordinal)
      db.sql('DELETE FROM payloads WHERE run = ? AND ordinal = ?').run(run, ordinal)
      return true
    }
    case 'exists':
    case 'not_found':
    case 'protected': {
      const { changes } = db
        .sql(`UPDATE items SET state = ?, record_id = ? WHERE ${IS_PLANNED}`)
        .run(item.spared!, recordId, run, ordinal)
      if (changes === 0) return false
      if (item.spared === 'protected') db.sql(KEEP_SQL).run(marks, run, ordinal)
      db.sql('DELETE FROM payloads WHERE run = ? AND ordinal = ?').run(run, ordinal)
      return true
    }
    case 'not_sent': {
      const { changes } = db
        .sql(`UPDATE items SET state = 'not_sent', reason = ?, detail = ? WHERE ${IS_PLANNED}`)
        .run(held!.reason, held!.detail, run, ordinal)
      return changes > 0
    }
    case 'pending':
      return db.sql(`SELECT 1 FROM items WHERE ${IS_PLANNED}`).get(run, ordinal) !== undefined
  }
}

/** Within a transaction. */
function record(db: SqliteDatabase, run: number, item: ItemComparison): void {
  const { ordinal } = item
  if (!setState(db, run, item)) return
  db.sql(
    'DELETE FROM differences INDEXED BY differences_ordinal WHERE run = ? AND ordinal = ?',
  ).run(run, ordinal)
  const differences = item.differences.map((difference) => ({ ...difference, ordinal }))
  runSteps(db, insertDifferences(run, differences, false))
  if (stateOnceCompared(item) !== 'pending')
    db.sql(
      `UPDATE segments SET planned = planned - 1 WHERE run = ?1
         AND first = (SELECT max(first) FROM segments WHERE run = ?1 AND first <= ?2)`,
    ).run(run, ordinal)
}

export const reconciliationMethods = (db: SqliteDatabase): Reconciliation => ({
  async uncompared(run, { after, limit }) {
    return db
      .sql(
        `SELECT items.ordinal, items.key, payloads.payload, items.hash, items.attempts, items.raw_key, items.watermark, ${ACCEPTED_COLUMNS}
         FROM items CROSS JOIN payloads ON payloads.run = items.run AND payloads.ordinal = items.ordinal
           LEFT JOIN accepted ON accepted.destination = (SELECT destination FROM runs WHERE id = ?1)
             AND accepted.key = items.key
         WHERE items.run = ?1 AND items.ordinal > ?2 AND items.state = 'pending'
           AND NOT EXISTS (SELECT 1 FROM differences INDEXED BY differences_ordinal
             WHERE differences.run = ?1 AND differences.ordinal = items.ordinal)
         ORDER BY items.ordinal LIMIT ?3`,
      )
      .upTo(LEDGER_CHARS_MAX, run, after, limit)
      .rows.map(uncomparedOfRow)
  },

  async recordCompared(run, items) {
    for (const part of comparisonParts(items)) {
      db.transaction(() => {
        for (const item of part) record(db, run, item)
      })
      await yieldToOthers()
    }
  },
})
