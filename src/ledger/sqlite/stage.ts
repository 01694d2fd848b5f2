// Staging: one item per source row, then decisions by SQL, slice by slice.

import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { FenceLost } from '../../core/errors.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type { Ledger } from '../ledger.ts'
import type { SqliteDatabase } from './database.ts'
import { sampleStart, sampleBound, sampleOrderSql } from '../ranges.ts'
import { liveStates, plannedOfRow } from '../rows.ts'
import { gaveWayToNewer, newestRunElsewhere } from './origins.ts'

type StageMethods = Pick<
  Ledger,
  'beginStage' | 'stageItems' | 'finishStage' | 'keepSample' | 'knownKeys' | 'keysWithoutRecord'
>

// Items go last: while a run has any, what is left of the others is still found.
const workTables = ['payloads', 'requests', 'corrections', 'differences', 'items'] as const

/** By what their rows are deleted in order, beside the run. */
const workKeys: Readonly<Record<(typeof workTables)[number], string>> = {
  payloads: 'ordinal',
  requests: 'batch',
  corrections: 'ordinal',
  differences: 'number',
  items: 'ordinal',
}

/**
 * Deletes a run's items and all that goes with them, in slices of at most 1,000; returns the number of rows removed.
 * `onSlice` is part of each slice's transaction, and undoes it by throwing.
 */
export async function deleteWork(
  db: SqliteDatabase,
  run: number,
  onSlice: (table: (typeof workTables)[number], rows: number) => void = () => {},
): Promise<number> {
  let removed = 0
  for (const table of workTables) {
    const key = workKeys[table]
    // Bounded by the table's rows: every pass removes at least one or ends.
    for (;;) {
      const remove = db.sql(
        `DELETE FROM ${table} WHERE run = ?1 AND ${key} <=
           (SELECT max(${key}) FROM (SELECT ${key} FROM ${table} WHERE run = ?1 ORDER BY ${key} LIMIT ?2))`,
      )
      const rows = db.transaction(() => {
        const { changes } = remove.run(run, LEDGER_ROWS_MAX)
        onSlice(table, changes)
        return changes
      })
      if (rows === 0) break
      removed += rows
      await yieldToOthers()
    }
  }
  return removed
}

export function stageMethods(db: SqliteDatabase): StageMethods {
  const checkFence = (run: number, fence: number) => {
    const row = db.sql('SELECT stage_fence FROM runs WHERE id = ?').get(run)
    if (Number(row?.['stage_fence']) !== fence) throw new FenceLost(run, 0)
  }
  return {
    async beginStage(run, columns) {
      const row = db
        .sql(
          `UPDATE runs SET stage_fence = stage_fence + 1, rows_read = NULL, source_columns = ?
           WHERE id = ? AND state IN (${liveStates}) RETURNING stage_fence`,
        )
        .get(JSON.stringify(columns), run)
      // Nobody begins a closed run anew.
      if (!row) throw new FenceLost(run, 0)
      const fence = Number(row['stage_fence'])
      const uncount = db.sql('UPDATE runs SET rows_staged = rows_staged - ? WHERE id = ?')
      // The count falls with the items, so that the books balance wherever this is interrupted; and whoever is overtaken
      // here must not delete what the next one stages.
      await deleteWork(db, run, (table, rows) => {
        checkFence(run, fence)
        if (table === 'items') uncount.run(rows, run)
      })
      db.transaction(() => {
        checkFence(run, fence)
        db.sql('DELETE FROM segments WHERE run = ?').run(run)
      })
      return fence
    },

    async stageItems(run, fence, items) {
      const valid = db.sql(
        "INSERT INTO items (run, ordinal, line, of_ordinal, state, key, hash, raw_key) VALUES (?, ?, ?, ?, 'planned', ?, ?, ?)",
      )
      const payload = db.sql(
        'INSERT INTO payloads (run, ordinal, raw, payload) VALUES (?, ?, ?, ?)',
      )
      const invalid = db.sql(
        `INSERT INTO items (run, ordinal, line, of_ordinal, state, key, code, reason, "column", field, value, detail, more)
         VALUES (?, ?, ?, ?, 'invalid', ?, 'row_invalid', ?, ?, ?, ?, ?, ?)`,
      )
      db.transaction(() => {
        checkFence(run, fence)
        for (const item of items) {
          const of = item.of ?? null
          if (item.valid)
            valid.run(run, item.ordinal, item.line, of, item.key, item.hash, item.rawKey ?? null)
          else
            invalid.run(
              run,
              item.ordinal,
              item.line,
              of,
              item.key,
              item.reason,
              item.column,
              item.field,
              item.value,
              item.detail,
              item.more ? JSON.stringify(item.more) : null,
            )
          payload.run(run, item.ordinal, item.raw, item.valid ? item.payload : null)
        }
        db.sql('UPDATE runs SET rows_staged = rows_staged + ? WHERE id = ?').run(items.length, run)
      })
    },

    async finishStage(run, fence, source, onSlice) {
      const supersede = db.sql(
        `UPDATE items SET state = 'superseded',
           twin = (SELECT max(later.ordinal) FROM items AS later INDEXED BY items_key
             WHERE later.run = ?1 AND later.key = items.key AND later.state <> 'invalid')
         WHERE run = ?1 AND ordinal BETWEEN ?2 AND ?3 AND state = 'planned' AND EXISTS
           (SELECT 1 FROM items AS later INDEXED BY items_key WHERE later.run = ?1 AND later.key = items.key
             AND later.ordinal > items.ordinal AND later.state <> 'invalid')`,
      )
      const giveWay = db.sql(
        `UPDATE items SET state = 'superseded'
         WHERE run = ?1 AND ordinal BETWEEN ?2 AND ?3 AND state = 'planned' AND of_ordinal IS NOT NULL AND ${gaveWayToNewer}`,
      )
      // Rows of one record are sent together: which of them it holds is known only then.
      const unchanged = db.sql(
        `UPDATE items SET state = 'unchanged', normalised = (SELECT accepted.normalised FROM accepted
           WHERE accepted.destination = (SELECT destination FROM runs WHERE id = ?1) AND accepted.key = items.key)
         WHERE run = ?1 AND ordinal BETWEEN ?2 AND ?3 AND state = 'planned' AND EXISTS
           (SELECT 1 FROM accepted WHERE accepted.destination = (SELECT destination FROM runs WHERE id = ?1)
             AND accepted.key = items.key AND accepted.hash = items.hash AND accepted.run > ?4)
           AND NOT EXISTS (SELECT 1 FROM accepted AS own CROSS JOIN accepted AS other INDEXED BY accepted_record
               CROSS JOIN items AS same INDEXED BY items_key
             WHERE own.destination = (SELECT destination FROM runs WHERE id = ?1) AND own.key = items.key
               AND other.destination = own.destination AND other.record_id = own.record_id AND other.key <> own.key
               AND same.run = ?1 AND same.key = other.key AND same.state <> 'invalid')`,
      )
      const elsewhere = Number(
        db
          .sql(`SELECT ${newestRunElsewhere('runs.destination')} AS run FROM runs WHERE id = ?`)
          .get(run)?.['run'],
      )
      const drop = db.sql(
        `DELETE FROM payloads WHERE run = ?1 AND ordinal BETWEEN ?2 AND ?3 AND EXISTS
           (SELECT 1 FROM items WHERE items.run = ?1 AND items.ordinal = payloads.ordinal
             AND items.state IN ('superseded', 'unchanged'))`,
      )
      const countPlanned = db.sql(
        `SELECT count(*) FILTER (WHERE state = 'planned') AS planned, count(*) FILTER (WHERE state = 'invalid') AS invalid
         FROM items WHERE run = ? AND ordinal BETWEEN ? AND ?`,
      )
      const countDistrusted = db.sql(
        `SELECT count(*) AS items FROM items WHERE run = ?1 AND ordinal BETWEEN ?2 AND ?3 AND state = 'planned' AND EXISTS
           (SELECT 1 FROM accepted WHERE accepted.destination = (SELECT destination FROM runs WHERE id = ?1)
             AND accepted.key = items.key AND accepted.hash = items.hash AND accepted.run <= ?4)`,
      )
      const restored = Number(
        db.sql('SELECT restored_after FROM project').get()?.['restored_after'],
      )
      const after = Math.max(restored, elsewhere)
      let distrusted = 0
      const counts = { planned: 0, superseded: 0, unchanged: 0, invalid: 0 }
      let newerRows = 0
      const segments: { first: number; last: number; planned: number }[] = []
      for (let first = 1; first <= source.rows; first += LEDGER_ROWS_MAX) {
        const last = Math.min(first + LEDGER_ROWS_MAX - 1, source.rows)
        const planned = db.transaction(() => {
          checkFence(run, fence)
          const newer = giveWay.run(run, first, last).changes
          const superseded = newer + supersede.run(run, first, last).changes
          const same =
            source.believes === false ? 0 : unchanged.run(run, first, last, after).changes
          if (superseded + same > 0) drop.run(run, first, last)
          counts.superseded += superseded
          newerRows += newer
          counts.unchanged += same
          if (restored > 0 && source.believes !== false)
            distrusted += Number(countDistrusted.get(run, first, last, restored)?.['items'])
          const row = countPlanned.get(run, first, last)
          counts.invalid += Number(row?.['invalid'])
          return Number(row?.['planned'])
        })
        counts.planned += planned
        if (planned > 0) {
          const open = segments.at(-1)
          if (open && open.planned + planned <= source.rowsPerSegment) {
            open.last = last
            open.planned += planned
          } else segments.push({ first, last, planned })
        }
        onSlice?.()
        await yieldToOthers()
      }
      db.transaction(() => {
        checkFence(run, fence)
        for (const segment of segments)
          db.sql('INSERT INTO segments (run, first, last, planned) VALUES (?, ?, ?, ?)').run(
            run,
            segment.first,
            segment.last,
            segment.planned,
          )
        db.sql('UPDATE runs SET rows_read = ?, source_digest = ?, watermark = ? WHERE id = ?').run(
          source.rows,
          source.digest,
          source.watermark ? JSON.stringify(source.watermark) : null,
          run,
        )
      })
      return {
        ...counts,
        ...(newerRows > 0 && { newer: newerRows }),
        ...(distrusted > 0 && { distrusted }),
      }
    },

    async keepSample(run, fence, rows) {
      const beginning = sampleStart(run)
      // Their counts stay until the sample is taken: whoever begins again takes the same one.
      const segments = db
        .sql('SELECT first, last, planned FROM segments WHERE run = ? ORDER BY first')
        .all(run)
      const before = segments.reduce((sum, segment) => sum + Number(segment['planned']), 0)
      const lowest = db
        .sql(
          `SELECT min(${sampleOrderSql('ordinal', '?2')}) AS lowest, max(ordinal) AS last FROM items
           WHERE run = ?1 AND state = 'planned'`,
        )
        .get(run, beginning)
      const end = Number(lowest?.['last'] ?? 0)
      const kept = Math.max(sampleBound(rows, before), Number(lowest?.['lowest'] ?? 0) + 1)
      const others = `run = ?1 AND ordinal BETWEEN ?2 AND ?3 AND ${sampleOrderSql('ordinal', '?4')} >= ?5`
      const dropPayloads = db.sql(
        `DELETE FROM payloads WHERE ${others} AND EXISTS (SELECT 1 FROM items
           WHERE items.run = payloads.run AND items.ordinal = payloads.ordinal AND items.state = 'planned')`,
      )
      const dropItems = db.sql(`DELETE FROM items WHERE ${others} AND state = 'planned'`)
      const uncount = db.sql(
        'UPDATE runs SET rows_read = rows_read - ?1, rows_staged = rows_staged - ?1 WHERE id = ?2',
      )
      for (let first = 1; first <= end; first += LEDGER_ROWS_MAX) {
        const slice = [run, first, first + LEDGER_ROWS_MAX - 1, beginning, kept] as const
        db.transaction(() => {
          checkFence(run, fence)
          dropPayloads.run(...slice)
          uncount.run(dropItems.run(...slice).changes, run)
        })
        await yieldToOthers()
      }
      return db.transaction(() => {
        checkFence(run, fence)
        db.sql(
          `UPDATE segments SET planned = (SELECT count(*) FROM items WHERE items.run = segments.run
             AND items.ordinal BETWEEN segments.first AND segments.last AND items.state = 'planned')
           WHERE run = ?`,
        ).run(run)
        const left = db
          .sql('SELECT coalesce(sum(planned), 0) AS planned FROM segments WHERE run = ?')
          .get(run)
        return Number(left?.['planned'])
      })
    },

    async knownKeys(run) {
      const row = db
        .sql(
          `SELECT count(*) AS keys FROM items WHERE run = ?1 AND state = 'planned' AND EXISTS
             (SELECT 1 FROM accepted WHERE accepted.destination = (SELECT destination FROM runs WHERE id = ?1)
               AND accepted.key = items.key)`,
        )
        .get(run)
      return Number(row?.['keys'] ?? 0)
    },

    async keysWithoutRecord(run, { after, limit }) {
      return db
        .sql(
          `SELECT ordinal, key, payload, hash, attempts, raw_key FROM items JOIN payloads USING (run, ordinal)
           WHERE run = ?1 AND ordinal > ?2 AND state = 'planned' AND NOT EXISTS
             (SELECT 1 FROM accepted WHERE accepted.destination = (SELECT destination FROM runs WHERE id = ?1)
               AND accepted.key = items.key)
           ORDER BY ordinal LIMIT ?3`,
        )
        .all(run, after, limit)
        .map(plannedOfRow)
    },
  }
}
