// Verifying: what was read back, and which item of a record was sent last.

import { LEDGER_CHARS_MAX } from '../../core/limits.ts'
import type { Verification } from '../roles/verification.ts'
import { keepsLast, KNOWN_COLUMNS, marksOnceVerified } from '../rows/accepted.ts'
import {
  isToBeRead,
  isUnanswered,
  isUnread,
  PLANNED_COLUMNS,
  plannedOfRow,
  readFirst,
  writtenOfRow,
  writtenStates,
} from '../rows/items.ts'
import {
  isAcceptedOnceRead,
  isNotedOnceRead,
  NO_NOTE,
  readBackColumnSql,
  verifiedColumns,
} from '../rules/verification.ts'
import type { SqliteDatabase } from './database.ts'
import { isLive } from './fences.ts'
import { BOOK_ANSWERED_SQL, TAKE_OVER_SQL } from './settling.ts'

const DESTINATION = '(SELECT destination FROM runs WHERE id = ?1)'
const ITEM_KEY = '(SELECT key FROM items WHERE run = ?1 AND ordinal = ?2)'

const noted = (column: string, value: string) =>
  readBackColumnSql(column, { verdict: '?1', reason: '?7', value })

const BOOK_READ_SQL = `UPDATE items SET verified = ?1, normalised = ?6, ${noted('field', '?2')}, ${noted('reason', '?7')},
    ${noted('detail', '?8')}, ${noted('"column"', '?9')}, ${noted('value', '?10')},
    state = CASE WHEN ${isUnanswered} THEN (CASE WHEN ?1 = 'equal' THEN ?11 ELSE 'outcome_unknown' END) ELSE state END,
    in_doubt = CASE WHEN ${isUnanswered} AND ?1 <> 'equal' THEN 1 ELSE 0 END,
    record_id = coalesce(record_id, ?3)
  WHERE run = ?4 AND ordinal = ?5`

const ACCEPT_READ_SQL = `INSERT INTO accepted (destination, key, record_id, hash, marks, run, watermark)
    SELECT runs.destination, items.key, items.record_id, items.hash, ?, runs.id, items.watermark
    FROM items JOIN runs ON runs.id = items.run WHERE items.run = ? AND items.ordinal = ?
  ON CONFLICT (destination, key) DO UPDATE SET record_id = excluded.record_id, hash = excluded.hash,
    marks = ${marksOnceVerified}, normalised = 0, ${keepsLast}, run = excluded.run, watermark = excluded.watermark`

const NOTE_READ_SQL = `UPDATE accepted SET hash = CASE WHEN ?5 THEN hash END, read_back = ?3, seen = ?4, read_back_run = ?1, normalised = ?5
  WHERE destination = ${DESTINATION} AND key = ${ITEM_KEY}`

/** What the run that wrote the item keeps of it, to be read back. */
const LET_GO_SQL = `DELETE FROM payloads WHERE (run, ordinal) IN (SELECT earlier.run, earlier.ordinal
  FROM accepted CROSS JOIN items AS earlier INDEXED BY items_key ON earlier.run = accepted.run AND earlier.key = accepted.key
  WHERE accepted.destination = ${DESTINATION} AND accepted.key = ${ITEM_KEY} AND earlier.run < ?1 AND ${isUnread('earlier')})`

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export const verificationMethods = (db: SqliteDatabase): Verification => ({
  async written(run, { after, every, limit }) {
    return db
      .sql(
        `SELECT items.ordinal, items.line, items.key, payload, items.hash, state, items.record_id, in_doubt,
           CASE WHEN verified = 'answered' THEN reason END AS answered, answered_key,
           CASE WHEN accepted.read_back_run < ?1 THEN accepted.read_back END AS last_read, ${KNOWN_COLUMNS}
         FROM items CROSS JOIN payloads ON payloads.run = items.run AND payloads.ordinal = items.ordinal
           LEFT JOIN accepted ON accepted.destination = ${DESTINATION} AND accepted.key = items.key
         WHERE items.run = ?1 AND items.ordinal > ?2 AND (state <> 'unchanged' OR accepted.hash = items.hash) AND (verified = 'answered' AND ?3 IS NOT NULL OR verified IS NULL
           AND ((${isToBeRead} AND items.ordinal % ?3 = 0) OR in_doubt = 1 OR ${isUnanswered}))
         ORDER BY items.ordinal LIMIT ?4`,
      )
      .upTo(LEDGER_CHARS_MAX, run, after, every, limit)
      .rows.map(writtenOfRow)
  },

  async recordVerified(run, items) {
    db.transaction(() => {
      // A closed run stays as it was sealed.
      if (!isLive(db, run)) return
      for (const item of items) {
        const read = verifiedColumns(item)
        const { verified, field, recordId, ordinal, normalised } = read
        const note = [read.reason, read.detail, read.column, read.value, read.found]
        db.sql(BOOK_READ_SQL).run(verified, field, recordId, run, ordinal, normalised, ...note)
        if (isAcceptedOnceRead(item)) db.sql(ACCEPT_READ_SQL).run(item.marks ?? null, run, ordinal)
        if (item.isHeld) db.sql(LET_GO_SQL).run(run, ordinal)
        if (isNotedOnceRead(item)) {
          const { readBack = null, seen = null } = item
          db.sql(NOTE_READ_SQL).run(run, ordinal, readBack, seen, normalised)
        }
      }
    })
  },

  async collisions(run, { after, limit }) {
    return db
      .sql(
        `SELECT ${PLANNED_COLUMNS} FROM items INDEXED BY items_twin JOIN payloads USING (run, ordinal)
         WHERE run = ?1 AND ordinal > ?2 AND twin IS NOT NULL AND state IN (${writtenStates})
           AND ordinal = (SELECT same.ordinal FROM items AS same INDEXED BY items_record
             WHERE same.run = ?1 AND same.record_id = items.record_id AND same.state <> 'unchanged'
             ORDER BY ${readFirst('same')}, same.ordinal DESC LIMIT 1)
         ORDER BY ordinal LIMIT ?3`,
      )
      .upTo(LEDGER_CHARS_MAX, run, after, limit)
      .rows.map(plannedOfRow)
  },

  async recordCollision(run, ordinal, { reason, detail, answered = null }) {
    db.transaction(() => {
      if (!isLive(db, run)) return
      db.sql(
        `UPDATE accepted SET hash = CASE WHEN ?3 THEN NULL ELSE (SELECT hash FROM items WHERE run = ?1 AND ordinal = ?2) END
         WHERE destination = ${DESTINATION} AND key = ${ITEM_KEY}`,
      ).run(run, ordinal, answered === null ? 0 : 1)
      // The last sending's answer counts.
      const note = answered ?? NO_NOTE
      const noted = [note.reason, note.field, note.detail, note.column, note.value]
      const state = answered && 'answered'
      db.sql(BOOK_ANSWERED_SQL).run(run, ordinal, state, ...noted, answered?.key ?? null)
      db.sql(TAKE_OVER_SQL).run(run, ordinal)
      db.sql(
        `UPDATE items INDEXED BY items_record SET verified = 'overwritten', reason = ?3, detail = ?4, field = NULL,
           "column" = NULL, value = NULL
         WHERE run = ?1 AND record_id = (SELECT record_id FROM items WHERE run = ?1 AND ordinal = ?2)
           AND ordinal <> ?2 AND state IN (${writtenStates})`,
      ).run(run, ordinal, reason, detail)
    })
  },
})
