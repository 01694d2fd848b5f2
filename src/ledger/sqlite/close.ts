// Verifying and closing: what was read back, what is left over, the books, and what is kept afterwards.

import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { emptyStates, NOT_READ_BACK, type Books, type ItemState } from '../../core/states.ts'
import type { Ledger } from '../ledger.ts'
import {
  NO_HEALTH,
  addReadBack,
  KNOWN_COLUMNS,
  completeStates,
  isLeft,
  keepsLast,
  liveStates,
  marksOnceVerified,
  plannedOfRow,
  readBackColumnSql,
  writtenOfRow,
  openStates,
  writtenStates,
} from '../rows.ts'
import { sealRun } from './account.ts'
import type { SqliteDatabase } from './database.ts'
import { SQLITE_BOOK_ANSWERED, takenOver } from './push.ts'
import { runOfRow } from './runs.ts'
import { deleteWork } from './stage.ts'

type CloseMethods = Pick<
  Ledger,
  | 'written'
  | 'recordVerified'
  | 'collisions'
  | 'recordCollision'
  | 'settleLeftovers'
  | 'books'
  | 'closeRun'
  | 'discard'
  | 'prune'
>

export function closeMethods(
  db: SqliteDatabase,
  now: () => string,
  signingKey: string | null,
): CloseMethods {
  const lastOrdinal = (run: number): number =>
    Number(db.sql('SELECT max(ordinal) AS last FROM items WHERE run = ?').get(run)?.['last'] ?? 0)

  /** Calls `work` for every slice of 1,000 ordinals, each in a transaction of its own. */
  const inSlices = async (run: number, work: (first: number, last: number) => void) => {
    const end = lastOrdinal(run)
    for (let first = 1; first <= end; first += LEDGER_ROWS_MAX) {
      db.transaction(() => work(first, first + LEDGER_ROWS_MAX - 1))
      await yieldToOthers()
    }
  }

  return {
    async written(run, { after, every, limit }) {
      return db
        .sql(
          `SELECT items.ordinal, items.key, payload, items.hash, state, items.record_id, in_doubt,
             CASE WHEN verified = 'answered' THEN reason END AS answered, answered_key,
             CASE WHEN accepted.read_back_run < ?1 THEN accepted.read_back END AS last_read, ${KNOWN_COLUMNS}
           FROM items CROSS JOIN payloads ON payloads.run = items.run AND payloads.ordinal = items.ordinal
             LEFT JOIN accepted ON accepted.destination = (SELECT destination FROM runs WHERE id = ?1)
               AND accepted.key = items.key
           WHERE items.run = ?1 AND items.ordinal > ?2 AND (verified = 'answered' AND ?3 IS NOT NULL OR verified IS NULL
             AND ((state IN (${writtenStates}) AND items.ordinal % ?3 = 0) OR in_doubt = 1 OR state = 'sent'))
           ORDER BY items.ordinal LIMIT ?4`,
        )
        .all(run, after, every, limit)
        .map(writtenOfRow)
    },

    async recordVerified(run, items) {
      const told = (column: string, value: string) =>
        readBackColumnSql(column, { verdict: '?1', reason: '?7', value })
      const book = db.sql(
        `UPDATE items SET verified = ?1, normalised = ?6, ${told('field', '?2')}, ${told('reason', '?7')},
           ${told('detail', '?8')}, ${told('"column"', '?9')}, ${told('value', '?10')},
           state = CASE WHEN state = 'sent' THEN (CASE WHEN ?1 = 'equal' THEN 'updated' ELSE 'failed' END) ELSE state END,
           in_doubt = CASE WHEN state = 'sent' AND ?1 <> 'equal' THEN 1 ELSE 0 END,
           record_id = coalesce(record_id, ?3)
         WHERE run = ?4 AND ordinal = ?5`,
      )
      const accept = db.sql(
        `INSERT INTO accepted (destination, key, record_id, hash, marks, run)
           SELECT runs.destination, items.key, items.record_id, items.hash, ?, runs.id
           FROM items JOIN runs ON runs.id = items.run WHERE items.run = ? AND items.ordinal = ?
         ON CONFLICT (destination, key) DO UPDATE SET record_id = excluded.record_id, hash = excluded.hash,
           marks = ${marksOnceVerified}, normalised = 0, ${keepsLast}, run = excluded.run`,
      )
      // What the service holds is not what was sent: but for a form of its own, the next run must send it again.
      const noteRead = db.sql(
        `UPDATE accepted SET hash = CASE WHEN ?5 THEN hash END, read_back = ?3, seen = ?4, read_back_run = ?1, normalised = ?5
         WHERE destination = (SELECT destination FROM runs WHERE id = ?1)
           AND key = (SELECT key FROM items WHERE run = ?1 AND ordinal = ?2)`,
      )
      const live = db.sql(`SELECT 1 FROM runs WHERE id = ? AND state IN (${liveStates})`)
      db.transaction(() => {
        // A closed run stays as it was sealed.
        if (!live.get(run)) return
        for (const item of items) {
          const isNormalised = item.verdict === 'normalised'
          const { reason, detail, column, value } = item.told ?? NO_HEALTH
          book.run(
            isNormalised ? 'equal' : item.verdict,
            item.field,
            item.recordId,
            run,
            item.ordinal,
            isNormalised ? 1 : 0,
            reason,
            detail,
            column,
            value,
          )
          if (isNormalised || item.verdict === 'equal')
            accept.run(item.marks ?? null, run, item.ordinal)
          if (item.verdict !== 'equal')
            noteRead.run(
              run,
              item.ordinal,
              item.readBack ?? null,
              item.seen ?? null,
              isNormalised ? 1 : 0,
            )
        }
      })
    },

    async recordCollision(run, ordinal, { reason, detail, answered = null }) {
      db.transaction(() => {
        if (!db.sql(`SELECT 1 FROM runs WHERE id = ? AND state IN (${liveStates})`).get(run)) return
        db.sql(
          `UPDATE accepted SET hash = CASE WHEN ?3 THEN NULL ELSE (SELECT hash FROM items WHERE run = ?1 AND ordinal = ?2) END
           WHERE destination = (SELECT destination FROM runs WHERE id = ?1)
             AND key = (SELECT key FROM items WHERE run = ?1 AND ordinal = ?2)`,
        ).run(run, ordinal, answered === null ? 0 : 1)
        // The last sending's answer counts.
        const { field, ...told } = answered ?? NO_HEALTH
        db.sql(SQLITE_BOOK_ANSWERED).run(
          run,
          ordinal,
          answered && 'answered',
          told.reason,
          field,
          told.detail,
          told.column,
          told.value,
          answered?.key ?? null,
        )
        db.sql(takenOver).run(run, ordinal)
        db.sql(
          `UPDATE items INDEXED BY items_record SET verified = 'overwritten', reason = ?3, detail = ?4, field = NULL,
             "column" = NULL, value = NULL
           WHERE run = ?1 AND record_id = (SELECT record_id FROM items WHERE run = ?1 AND ordinal = ?2)
             AND ordinal <> ?2 AND state IN (${writtenStates})`,
        ).run(run, ordinal, reason, detail)
      })
    },

    async collisions(run, { after, limit }) {
      return db
        .sql(
          `SELECT ordinal, key, payload, hash, attempts FROM items INDEXED BY items_twin JOIN payloads USING (run, ordinal)
           WHERE run = ?1 AND ordinal > ?2 AND twin IS NOT NULL AND state IN (${writtenStates})
             AND ordinal = (SELECT max(same.ordinal) FROM items AS same INDEXED BY items_record
               WHERE same.run = ?1 AND same.record_id = items.record_id AND same.state <> 'unchanged')
           ORDER BY ordinal LIMIT ?3`,
        )
        .all(run, after, limit)
        .map(plannedOfRow)
    },

    async settleLeftovers(run) {
      db.transaction(() => {
        // Whoever still works on this run loses its fences first, so that nothing moves under the counting.
        db.sql('UPDATE segments SET fence = fence + 1 WHERE run = ?').run(run)
        db.sql('UPDATE runs SET stage_fence = stage_fence + 1 WHERE id = ?').run(run)
      })
      const settle = db.sql(
        `UPDATE items SET in_doubt = CASE WHEN state = 'sent' THEN 1 ELSE in_doubt END,
           state = CASE state WHEN 'sent' THEN 'failed' ELSE 'unsent' END
         WHERE run = ? AND ordinal BETWEEN ? AND ? AND state IN (${openStates})`,
      )
      await inSlices(run, (first, last) => settle.run(run, first, last))
    },

    async books(run): Promise<Books> {
      const states = emptyStates()
      const readBack = { ...NOT_READ_BACK }
      let replayed = 0
      let inDoubt = 0
      const slice = db.sql(
        `SELECT state, verified, normalised, count(*) AS items, sum(replayed) AS replayed, sum(in_doubt) AS in_doubt
         FROM items WHERE run = ? AND ordinal BETWEEN ? AND ? GROUP BY state, verified, normalised`,
      )
      const end = lastOrdinal(run)
      const rows = 10 * LEDGER_ROWS_MAX
      for (let first = 1; first <= end; first += rows) {
        for (const row of slice.all(run, first, first + rows - 1)) {
          const state = row['state'] as ItemState
          const items = Number(row['items'])
          states[state] += items
          const normalised = Number(row['normalised']) === 1
          addReadBack(readBack, { state, verified: row['verified'], normalised, items })
          replayed += Number(row['replayed'])
          inDoubt += Number(row['in_doubt'])
        }
        await yieldToOthers()
      }
      const row = db.sql('SELECT rows_read, rows_staged FROM runs WHERE id = ?').get(run)
      return {
        read: Number(row?.['rows_read'] ?? row?.['rows_staged'] ?? 0),
        states,
        replayed,
        inDoubt,
        readBack,
        ...(row?.['rows_read'] === null && { readToEnd: false as const }),
      }
    },

    async closeRun(run, { state, reason = null, message = null, books, verifiedThrough = null }) {
      const drop = db.sql(
        `DELETE FROM payloads WHERE run = ?1 AND ordinal BETWEEN ?2 AND ?3 AND EXISTS
           (SELECT 1 FROM items WHERE items.run = ?1 AND items.ordinal = payloads.ordinal
             AND items.state IN (${writtenStates}) AND NOT coalesce(${isLeft('items')}, 0))`,
      )
      await inSlices(run, (first, last) => drop.run(run, first, last))
      db.transaction(() => {
        const row = db
          .sql(
            `UPDATE runs SET state = ?, reason = ?, message = ?, counts = ?, verified_through = ?, closed_at = ?
             WHERE id = ? AND state IN (${liveStates}) RETURNING *`,
          )
          .get(state, reason, message, books && JSON.stringify(books), verifiedThrough, now(), run)
        if (row && row['mode'] === 'run') sealRun(db, runOfRow(row), signingKey)
      })
    },

    async discard(run) {
      const plan = db.sql("SELECT id FROM runs WHERE id = ? AND mode = 'plan'").get(run)
      if (!plan) return
      await deleteWork(db, run)
      db.transaction(() => {
        db.sql('DELETE FROM segments WHERE run = ?').run(run)
        db.sql('DELETE FROM streams WHERE run = ?').run(run)
        db.sql('DELETE FROM runs WHERE id = ?').run(run)
      })
    },

    async prune(before) {
      const old = db
        .sql(
          `SELECT id FROM runs WHERE (closed_at < ?1 OR (mode = 'plan' AND opened_at < ?1))
             AND (EXISTS (SELECT 1 FROM items WHERE run = runs.id)
               OR EXISTS (SELECT 1 FROM differences WHERE run = runs.id))
             AND (watermark IS NULL OR state NOT IN (${completeStates}) OR EXISTS
               (SELECT 1 FROM runs AS next WHERE next.destination = runs.destination AND next.id > runs.id
                  AND next.watermark IS NOT NULL AND next.state IN (${completeStates})))
           LIMIT 100`,
        )
        .all(before)
      let removed = 0
      for (const row of old) removed += await deleteWork(db, Number(row['id']))
      return removed
    },
  }
}
