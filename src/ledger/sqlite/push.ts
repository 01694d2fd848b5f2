// Pushing: every batch is written down before it is sent and settled after; both in one short transaction, under the
// segment's fence.

import { FenceLost } from '../../core/errors.ts'
import { isWritten } from '../../core/item-states.ts'
import type { Ledger, PlannedItem, SentBatch, RunSegment } from '../ledger.ts'
import { keepsLast, plannedOfRow } from '../rows.ts'
import type { SqliteDatabase } from './database.ts'

/** The record of an item holds its values now, and no longer those that were accepted for other keys of the record. */
export const takenOver = `UPDATE accepted INDEXED BY accepted_record SET hash = NULL
  WHERE destination = (SELECT destination FROM runs WHERE id = ?1)
    AND record_id = (SELECT record_id FROM items WHERE run = ?1 AND ordinal = ?2)
    AND key <> (SELECT key FROM items WHERE run = ?1 AND ordinal = ?2)`

/** Notes what the answer of an item showed otherwise; or, without a verdict, that it showed nothing. */
export const SQLITE_BOOK_ANSWERED = `UPDATE items SET verified = ?3, reason = ?4, field = ?5, detail = ?6, "column" = ?7, value = ?8,
    answered_key = ?9
  WHERE run = ?1 AND ordinal = ?2 AND coalesce(verified, 'answered') = 'answered'`

type PushMethods = Pick<
  Ledger,
  | 'openSegments'
  | 'claimSegment'
  | 'unsettledBatches'
  | 'lastSentAt'
  | 'nextPlanned'
  | 'recordSend'
  | 'recordResend'
  | 'recordNoAnswer'
  | 'settle'
  | 'release'
  | 'finishSegment'
>

export function pushMethods(db: SqliteDatabase, now: () => string): PushMethods {
  const checkFence = (run: number, segment: RunSegment, fence: number) => {
    const row = db
      .sql('SELECT fence FROM segments WHERE run = ? AND first = ?')
      .get(run, segment.first)
    if (Number(row?.['fence']) !== fence) throw new FenceLost(run, segment.first)
  }
  const destinationOf = (run: number): number =>
    Number(db.sql('SELECT destination FROM runs WHERE id = ?').get(run)?.['destination'])

  const insertRequest = (
    run: number,
    batch: Omit<SentBatch, 'items'>,
    operation: string,
    items: readonly PlannedItem[],
  ) =>
    db
      .sql(
        `INSERT INTO requests (run, batch, attempt, operation, first, last, items, digest, sent_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        run,
        batch.batch,
        batch.attempt,
        operation,
        items[0]!.ordinal,
        items.at(-1)!.ordinal,
        items.length,
        batch.digest,
        now(),
      )
  const settleRequest = (
    run: number,
    batch: SentBatch,
    outcome: { status: number | null; requestId: string | null; durationMs: number },
  ) =>
    db
      .sql(
        `UPDATE requests SET settled_at = ?, status = ?, request_id = ?, duration_ms = ?
         WHERE run = ? AND batch = ? AND attempt = ?`,
      )
      .run(
        now(),
        outcome.status,
        outcome.requestId,
        outcome.durationMs,
        run,
        batch.batch,
        batch.attempt,
      )

  return {
    async openSegments(run) {
      return db
        .sql("SELECT first, last FROM segments WHERE run = ? AND state = 'open' ORDER BY first")
        .all(run)
        .map((row) => ({ first: Number(row['first']), last: Number(row['last']) }))
    },

    async claimSegment(run, segment) {
      const row = db
        .sql('UPDATE segments SET fence = fence + 1 WHERE run = ? AND first = ? RETURNING fence')
        .get(run, segment.first)
      if (!row) throw new FenceLost(run, segment.first)
      return Number(row['fence'])
    },

    async lastSentAt(run) {
      const row = db
        .sql('SELECT max(sent_at) AS last FROM requests WHERE run = ? AND settled_at IS NULL')
        .get(run)
      return row?.['last'] == null ? null : String(row['last'])
    },

    async unsettledBatches(run, segment) {
      const batches = db
        .sql(
          `SELECT batch, attempt, digest, first, last FROM
             (SELECT batch, max(attempt) AS attempt, digest, first, last, status FROM requests
              WHERE run = ? AND first BETWEEN ? AND ? GROUP BY batch)
           WHERE status IS NULL OR status NOT BETWEEN 200 AND 299 ORDER BY batch`,
        )
        .all(run, segment.first, segment.last)
      const members = db.sql(
        `SELECT ordinal, key, payload, hash, attempts FROM items JOIN payloads USING (run, ordinal)
         WHERE run = ? AND ordinal BETWEEN ? AND ? AND state = 'sent' AND batch = ? ORDER BY ordinal`,
      )
      return batches
        .map((row) => ({
          batch: Number(row['batch']),
          attempt: Number(row['attempt']),
          digest: String(row['digest']),
          items: members
            .all(run, Number(row['first']), Number(row['last']), Number(row['batch']))
            .map(plannedOfRow),
        }))
        .filter((batch) => batch.items.length > 0)
    },

    async nextPlanned(run, segment, { after, attemptsBelow, limit }) {
      return db
        .sql(
          `SELECT ordinal, key, payload, hash, attempts FROM items JOIN payloads USING (run, ordinal)
           WHERE run = ? AND ordinal > ? AND ordinal <= ? AND state = 'planned' AND attempts < ?
           ORDER BY ordinal LIMIT ?`,
        )
        .all(run, Math.max(after, segment.first - 1), segment.last, attemptsBelow, limit)
        .map(plannedOfRow)
    },

    async recordSend(run, segment, fence, { operation, digest, items }) {
      return db.transaction(() => {
        checkFence(run, segment, fence)
        const destination = destinationOf(run)
        const row = db
          .sql('UPDATE runs SET batches = batches + 1 WHERE id = ? RETURNING batches')
          .get(run)
        const sent: SentBatch = { batch: Number(row?.['batches']), attempt: 1, digest, items }
        db.sql(
          `UPDATE items SET state = 'sent', batch = ?
           WHERE run = ? AND ordinal IN (SELECT value FROM json_each(?))`,
        ).run(sent.batch, run, JSON.stringify(items.map((item) => item.ordinal)))
        // What is in flight is not known: until it is settled, nothing counts as accepted for its keys.
        db.sql(
          `UPDATE accepted SET hash = NULL WHERE destination = ? AND key IN
             (SELECT key FROM items WHERE run = ? AND ordinal BETWEEN ? AND ? AND batch = ?)`,
        ).run(destination, run, items[0]!.ordinal, items.at(-1)!.ordinal, sent.batch)
        insertRequest(run, sent, operation, items)
        db.sql('UPDATE segments SET requests = requests + 1 WHERE run = ? AND first = ?').run(
          run,
          segment.first,
        )
        return sent
      })
    },

    async recordResend(run, segment, fence, batch, { operation, replayed }) {
      return db.transaction(() => {
        checkFence(run, segment, fence)
        const again: SentBatch = { ...batch, attempt: batch.attempt + 1 }
        insertRequest(run, again, operation, again.items)
        if (replayed) {
          const flag = db.sql('UPDATE items SET replayed = 1 WHERE run = ? AND ordinal = ?')
          for (const item of batch.items) flag.run(run, item.ordinal)
        }
        db.sql('UPDATE segments SET requests = requests + 1 WHERE run = ? AND first = ?').run(
          run,
          segment.first,
        )
        return again
      })
    },

    async recordNoAnswer(run, batch, outcome) {
      settleRequest(run, batch, outcome)
    },

    async settle(run, segment, fence, batch, outcome, items) {
      const book = db.sql(
        `UPDATE items SET state = ?, attempts = attempts + 1, http_status = ?, record_id = ?, code = ?, reason = ?,
           field = ?, detail = ?, in_doubt = ?, request_id = ?, batch = CASE WHEN ?1 = 'planned' THEN NULL ELSE batch END,
           replayed = CASE WHEN ?1 = 'planned' AND ?2 = 500 THEN 1 ELSE replayed END
         WHERE run = ? AND ordinal = ?`,
      )
      const bookAccepted = db.sql(
        `UPDATE items SET state = ?, attempts = attempts + 1, http_status = ?, record_id = ?, request_id = ?,
           code = NULL, reason = NULL, field = NULL, detail = NULL
         WHERE run = ? AND ordinal = ?`,
      )
      const accept = db.sql(
        `INSERT INTO accepted (destination, key, record_id, hash, marks, run)
           SELECT ?, key, record_id, hash, ?, run FROM items WHERE run = ? AND ordinal = ?
         ON CONFLICT (destination, key) DO UPDATE SET record_id = excluded.record_id, hash = excluded.hash,
           marks = excluded.marks, normalised = 0, ${keepsLast}, run = excluded.run`,
      )
      const takeOver = db.sql(takenOver)
      const noteAnswered = db.sql(SQLITE_BOOK_ANSWERED)
      // Until it is read back, nobody knows that the service holds what was sent.
      const doubt = db.sql(
        `UPDATE accepted SET hash = NULL WHERE destination = ?1
           AND key = (SELECT key FROM items WHERE run = ?2 AND ordinal = ?3)`,
      )
      const twins = db.sql(
        `SELECT items.ordinal, max(other.ordinal) AS twin
         FROM items JOIN items AS other INDEXED BY items_record
           ON other.run = items.run AND other.record_id = items.record_id AND other.ordinal <> items.ordinal
         WHERE items.run = ? AND items.ordinal BETWEEN ? AND ? AND items.batch = ?
         GROUP BY items.ordinal`,
      )
      const flagTwin = db.sql('UPDATE items SET twin = ? WHERE run = ? AND ordinal = ?')
      db.transaction(() => {
        checkFence(run, segment, fence)
        const destination = destinationOf(run)
        const tally = { created: 0, updated: 0, rejected: 0, planned: 0, sent: 0 }
        const range = [batch.items[0]!.ordinal, batch.items.at(-1)!.ordinal, batch.batch] as const
        for (const item of items) {
          if (item.httpStatus === 201 || item.httpStatus === 200 || item.httpStatus === 204)
            bookAccepted.run(
              item.state,
              item.httpStatus,
              item.recordId,
              outcome.requestId,
              run,
              item.ordinal,
            )
          else
            book.run(
              item.state,
              item.httpStatus,
              item.recordId,
              item.code,
              item.reason,
              item.field,
              item.detail,
              item.inDoubt ? 1 : 0,
              outcome.requestId,
              run,
              item.ordinal,
            )
          if (isWritten(item.state)) {
            accept.run(destination, item.marks, run, item.ordinal)
            takeOver.run(run, item.ordinal)
            if (item.answered) {
              const { reason, field, detail, column, value, key = null } = item.answered
              const place = [run, item.ordinal, 'answered'] as const
              noteAnswered.run(...place, reason, field, detail, column, value, key)
              doubt.run(destination, run, item.ordinal)
            }
          }
          tally[item.state]++
        }
        for (const row of twins.all(run, ...range)) {
          flagTwin.run(Number(row['twin']), run, Number(row['ordinal']))
          flagTwin.run(Number(row['ordinal']), run, Number(row['twin']))
        }
        settleRequest(run, batch, outcome)
        db.sql(
          `UPDATE segments SET created = created + ?, updated = updated + ?, rejected = rejected + ?, failed = failed + ?
           WHERE run = ? AND first = ?`,
        ).run(tally.created, tally.updated, tally.rejected, tally.sent, run, segment.first)
      })
    },

    async release(run, segment, fence, batch, outcome) {
      db.transaction(() => {
        checkFence(run, segment, fence)
        const back = db.sql(
          "UPDATE items SET state = 'planned', batch = NULL WHERE run = ? AND ordinal = ?",
        )
        for (const item of batch.items) back.run(run, item.ordinal)
        settleRequest(run, batch, outcome)
      })
    },

    async finishSegment(run, segment, fence) {
      db.transaction(() => {
        checkFence(run, segment, fence)
        db.sql("UPDATE segments SET state = 'done' WHERE run = ? AND first = ?").run(
          run,
          segment.first,
        )
      })
    },
  }
}
