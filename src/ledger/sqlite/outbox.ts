// Sending: every batch is written down before it is sent and settled after; both in one short transaction, under the
// segment's fence.

import { LEDGER_CHARS_MAX } from '../../core/limits.ts'
import type { ItemPlace, Outbox, RequestOutcome, RunSegment, SentBatch } from '../roles/outbox.ts'
import { payloadChars, PLANNED_COLUMNS, plannedOfRow, sentOfRow } from '../rows/items.ts'
import { stretches } from '../rules/ranges.ts'
import { columnBound } from '../statements/engine.ts'
import { textsValue } from '../../sqlite/bulk.ts'
import type { SqliteDatabase } from './database.ts'
import { checkSegmentFence } from './fences.ts'
import { plannedColumns } from './planned.ts'
import { settleBatch } from './settling.ts'

/** The last attempts of the segment's batches that have no answer 2xx. */
const UNSETTLED_SQL = `SELECT batch, attempt, digest, first, last FROM
    (SELECT batch, max(attempt) AS attempt, digest, first, last, status FROM requests
     WHERE run = ? AND first BETWEEN ? AND ? AND batch > ? GROUP BY batch)
  WHERE status IS NULL OR status NOT BETWEEN 200 AND 299 ORDER BY batch`

const SEND_SQL =
  "UPDATE items SET state = 'in_flight', batch = ?1 WHERE run = ?2 AND ordinal BETWEEN ?3 AND ?4"
/** The same of updates; the ids of their records are a list. */
const AIM_SQL = `UPDATE items SET state = 'in_flight', batch = ?1, record_id = ?5 ->> (ordinal - ?3)
  WHERE run = ?2 AND ordinal BETWEEN ?3 AND ?4`

/** Of fewer rows each comes by itself. */
const PAGE_MIN = 10

function markSent(db: SqliteDatabase, run: number, { batch, items }: SentBatch<ItemPlace>): void {
  const isAimed = items.some(({ recordId }) => recordId !== undefined)
  for (const { first, last, items: some } of stretches(items)) {
    const at = [batch, run, first, last]
    if (isAimed) db.sql(AIM_SQL).run(...at, textsValue(some.map(({ recordId = null }) => recordId)))
    else db.sql(SEND_SQL).run(...at)
  }
}

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export function outboxMethods(
  db: SqliteDatabase,
  now: () => string,
  readPlanned: Outbox['nextPlanned'],
) {
  const insertRequest = (
    run: number,
    { first }: RunSegment,
    operation: string,
    { batch, attempt, digest, items }: SentBatch<ItemPlace>,
  ) => {
    db.sql(
      `INSERT INTO requests (run, batch, attempt, operation, first, last, items, digest, sent_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ).run(run, batch, attempt, operation, ...rangeOf(items), items.length, digest, now())
    db.sql('UPDATE segments SET requests = requests + 1 WHERE run = ? AND first = ?').run(
      run,
      first,
    )
  }
  const flagReplayed = (run: number, items: readonly ItemPlace[]) => {
    const flag = db.sql('UPDATE items SET replayed = 1 WHERE run = ? AND ordinal = ?')
    for (const { ordinal } of items) flag.run(run, ordinal)
  }
  const settleRequest = (
    run: number,
    { batch, attempt }: SentBatch<ItemPlace>,
    outcome: RequestOutcome,
  ) =>
    db
      .sql(
        `UPDATE requests SET settled_at = ?, status = ?, request_id = ?, duration_ms = ?
         WHERE run = ? AND batch = ? AND attempt = ?`,
      )
      .run(now(), outcome.status, outcome.requestId, outcome.durationMs, run, batch, attempt)

  return {
    async unsettledBatches(run, segment, after = 0) {
      const members = db.sql(
        `SELECT ${PLANNED_COLUMNS} FROM items JOIN payloads USING (run, ordinal)
         WHERE run = ? AND ordinal BETWEEN ? AND ? AND state = 'in_flight' AND batch = ? ORDER BY ordinal`,
      )
      const batches: SentBatch[] = []
      let chars = 0
      for (const row of db.sql(UNSETTLED_SQL).all(run, segment.first, segment.last, after)) {
        const { batch, first, last, ...sent } = sentOfRow(row)
        const items = members.all(run, first, last, batch).map(plannedOfRow)
        if (items.length > 0) batches.push({ batch, ...sent, items })
        chars += payloadChars(items)
        if (chars >= LEDGER_CHARS_MAX) break
      }
      return batches
    },

    async nextPlanned(run, segment, options) {
      const first = Math.max(options.after + 1, segment.first)
      const last = Math.min(segment.last, first + options.limit - 1)
      const attemptsBelow = columnBound(options.attemptsBelow)
      const isPage = last - first + 1 >= PAGE_MIN
      const found = isPage ? plannedColumns(db, run, { first, last }, attemptsBelow) : null
      return found ?? (await readPlanned(run, segment, options))
    },

    async settleKeys(run, items) {
      const isPlanned = "run = ?1 AND ordinal = ?2 AND state = 'pending'"
      const decide = db.sql(`UPDATE items SET raw_key = NULL WHERE ${isPlanned}`)
      const replace = db.sql(
        `UPDATE payloads SET payload = ?3 WHERE run = ?1 AND ordinal = ?2
           AND EXISTS (SELECT 1 FROM items WHERE ${isPlanned})`,
      )
      db.transaction(() => {
        for (const { ordinal, payload } of items) {
          if (payload !== null) replace.run(run, ordinal, payload)
          decide.run(run, ordinal)
        }
      })
    },

    async recordSend(run, segment, fence, { operation, digest, items, replayed = false }) {
      return db.transaction(() => {
        checkSegmentFence(db, run, segment, fence)
        const row = db
          .sql('UPDATE runs SET batches = batches + 1 WHERE id = ? RETURNING batches, destination')
          .get(run)
        const sent = { batch: Number(row?.['batches']), attempt: 1, digest, items }
        markSent(db, run, sent)
        // What is in flight is not known: until it is settled, nothing counts as accepted for its keys.
        db.sql(
          `UPDATE accepted SET hash = NULL WHERE destination = ? AND key IN
             (SELECT key FROM items WHERE run = ? AND ordinal BETWEEN ? AND ? AND batch = ?)`,
        ).run(Number(row?.['destination']), run, ...rangeOf(items), sent.batch)
        insertRequest(run, segment, operation, sent)
        if (replayed) flagReplayed(run, items)
        return sent
      })
    },

    async recordResend(run, segment, fence, batch, { operation, replayed }) {
      return db.transaction(() => {
        checkSegmentFence(db, run, segment, fence)
        const again = { ...batch, attempt: batch.attempt + 1 }
        insertRequest(run, segment, operation, again)
        if (replayed) flagReplayed(run, batch.items)
        return again
      })
    },

    async recordNoAnswer(run, batch, outcome) {
      settleRequest(run, batch, outcome)
    },

    async settle(run, segment, fence, batch, outcome, items) {
      db.transaction(() => {
        checkSegmentFence(db, run, segment, fence)
        settleBatch(db, run, segment, { batch, requestId: outcome.requestId, items })
        settleRequest(run, batch, outcome)
      })
    },

    async settleUnanswered(run, segment, fence, items) {
      db.transaction(() => {
        checkSegmentFence(db, run, segment, fence)
        settleBatch(db, run, segment, { batch: null, requestId: null, items })
      })
    },

    async release(run, segment, fence, batch, outcome) {
      db.transaction(() => {
        checkSegmentFence(db, run, segment, fence)
        const back = db.sql(
          "UPDATE items SET state = 'pending', batch = NULL WHERE run = ? AND ordinal = ?",
        )
        for (const item of batch.items) back.run(run, item.ordinal)
        settleRequest(run, batch, outcome)
      })
    },

    async finishSegment(run, segment, fence) {
      db.transaction(() => {
        checkSegmentFence(db, run, segment, fence)
        db.sql("UPDATE segments SET state = 'done' WHERE run = ? AND first = ?").run(
          run,
          segment.first,
        )
      })
    },
  } satisfies Partial<Outbox>
}

const rangeOf = (items: readonly ItemPlace[]): [first: number, last: number] => [
  items[0]!.ordinal,
  items.at(-1)!.ordinal,
]
