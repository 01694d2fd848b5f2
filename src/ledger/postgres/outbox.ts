// Sending: every batch is written down before it is sent and settled after; both in one short transaction, under the
// segment's fence.

import { FenceLost } from '../../core/errors.ts'
import type {
  ItemPlace,
  Outbox,
  PlannedItem,
  RequestOutcome,
  RunSegment,
  SentBatch,
} from '../roles/outbox.ts'
import { PLANNED_COLUMNS, plannedOfRow } from '../rows/items.ts'
import type { Row } from '../rows/values.ts'
import { FORGET_SQL, isWanted, itemsAt, wanted, withPayload } from './items.ts'
import { checkSegmentFence } from './fences.ts'
import type { PostgresDatabase, Session } from './session.ts'
import { settleBatch } from './settling.ts'

/** The items of the segment's batches whose last attempts have no answer 2xx. */
const UNSETTLED_SQL = `SELECT request.batch, request.attempt, request.digest, sent.*
  FROM (SELECT DISTINCT ON (batch) batch, attempt, digest, first, last, status FROM requests
        WHERE run = $1 AND first BETWEEN $2 AND $3 ORDER BY batch, attempt DESC) AS request
    JOIN LATERAL (SELECT ${PLANNED_COLUMNS} FROM items ${withPayload}
      WHERE run = $1 AND ordinal BETWEEN request.first AND request.last
        AND items.batch = request.batch AND state = 'sent' OFFSET 0) AS sent ON true
  WHERE request.status IS NULL OR request.status NOT BETWEEN 200 AND 299
  ORDER BY request.batch, sent.ordinal`

function batchesOf(rows: readonly Row[]): readonly SentBatch[] {
  const batches = new Map<number, SentBatch & { items: PlannedItem[] }>()
  for (const row of rows) {
    const batch = Number(row['batch'])
    const known = batches.get(batch)
    if (known) known.items.push(plannedOfRow(row))
    else
      batches.set(batch, {
        batch,
        attempt: Number(row['attempt']),
        digest: String(row['digest']),
        items: [plannedOfRow(row)],
      })
  }
  return [...batches.values()]
}

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export function outboxMethods(db: PostgresDatabase, now: () => string) {
  const recordRequest = async (
    session: Session,
    run: number,
    { first }: RunSegment,
    operation: string,
    { batch, attempt, digest, items }: SentBatch<ItemPlace>,
  ) => {
    const range = [items[0]!.ordinal, items.at(-1)!.ordinal]
    await session.run(
      `INSERT INTO requests (run, batch, attempt, operation, first, last, items, digest, sent_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::timestamptz)`,
      [run, batch, attempt, operation, ...range, items.length, digest, now()],
    )
    await session.run('UPDATE segments SET requests = requests + 1 WHERE run = $1 AND first = $2', [
      run,
      first,
    ])
  }
  const settleRequest = async (
    session: Session,
    run: number,
    { batch, attempt }: SentBatch<ItemPlace>,
    outcome: RequestOutcome,
  ) =>
    await session.run(
      `UPDATE requests SET settled_at = $1::timestamptz, status = $2, request_id = $3, duration_ms = $4
       WHERE run = $5 AND batch = $6 AND attempt = $7`,
      [now(), outcome.status, outcome.requestId, outcome.durationMs, run, batch, attempt],
    )

  return {
    async unsettledBatches(run, segment) {
      return batchesOf(await db.all(UNSETTLED_SQL, [run, segment.first, segment.last]))
    },

    async settleKeys(run, items) {
      const decided = items.toSorted((a, b) => a.ordinal - b.ordinal)
      await db.transaction(async (session) => {
        await session.run(
          `UPDATE payloads SET payload = decided.payload
           FROM unnest($1::integer[], $2::integer[], $3::text[]) AS decided (run, ordinal, payload)
             JOIN items ON items.run = decided.run AND items.ordinal = decided.ordinal AND items.state = 'planned'
           WHERE payloads.run = decided.run AND payloads.ordinal = decided.ordinal AND decided.payload IS NOT NULL`,
          [...itemsAt(run, decided), decided.map(({ payload }) => payload)],
        )
        await session.run(
          `UPDATE items SET raw_key = NULL ${wanted} WHERE ${isWanted} AND items.state = 'planned'`,
          itemsAt(run, decided),
        )
      })
    },

    async recordSend(run, segment, fence, { operation, digest, items }) {
      return await db.transaction(async (session) => {
        await checkSegmentFence(session, run, segment, fence)
        const row = await session.one(
          'UPDATE runs SET batches = batches + 1 WHERE id = $1 RETURNING batches',
          [run],
        )
        const sent = { batch: Number(row?.['batches']), attempt: 1, digest, items }
        await session.run(
          `UPDATE items SET state = 'sent', batch = $3 ${wanted} WHERE ${isWanted}`,
          [...itemsAt(run, items), sent.batch],
        )
        // What is in flight is not known: until it is settled, nothing counts as accepted for its keys.
        await session.run(FORGET_SQL, itemsAt(run, items))
        await recordRequest(session, run, segment, operation, sent)
        return sent
      })
    },

    async recordResend(run, segment, fence, batch, { operation, replayed }) {
      return await db.transaction(async (session) => {
        await checkSegmentFence(session, run, segment, fence)
        const again = { ...batch, attempt: batch.attempt + 1 }
        if (replayed)
          await session.run(
            `UPDATE items SET replayed = 1 ${wanted} WHERE ${isWanted}`,
            itemsAt(run, batch.items),
          )
        await recordRequest(session, run, segment, operation, again)
        return again
      })
    },

    async recordNoAnswer(run, batch, outcome) {
      await settleRequest(db, run, batch, outcome)
    },

    async settle(run, segment, fence, batch, outcome, items) {
      await db.transaction(async (session) => {
        await checkSegmentFence(session, run, segment, fence)
        await settleBatch(session, run, segment, { requestId: outcome.requestId, items })
        await settleRequest(session, run, batch, outcome)
      })
    },

    async release(run, segment, fence, batch, outcome) {
      await db.transaction(async (session) => {
        await checkSegmentFence(session, run, segment, fence)
        await session.run(
          `UPDATE items SET state = 'planned', batch = NULL ${wanted} WHERE ${isWanted}`,
          itemsAt(run, batch.items),
        )
        await settleRequest(session, run, batch, outcome)
      })
    },

    async finishSegment(run, segment, fence) {
      const finished = await db.run(
        "UPDATE segments SET state = 'done' WHERE run = $1 AND first = $2 AND fence = $3",
        [run, segment.first, fence],
      )
      if (finished === 0) throw new FenceLost(run, segment.first)
    },
  } satisfies Partial<Outbox>
}
