// Pushing: every batch is written down before it is sent and settled after; both in one short transaction, under the
// segment's fence. Locks are taken in one order everywhere: segment, run, items by ordinal, accepted keys by their hash.

import { FenceLost } from '../../core/errors.ts'
import { isWritten } from '../../core/item-states.ts'
import type { Ledger, PlannedItem, RequestOutcome, SentBatch, RunSegment } from '../ledger.ts'
import { plannedOfRow } from '../rows.ts'
import type { PostgresDatabase, Session } from './session.ts'
import {
  acceptItems,
  BOOK_ANSWERED_SQL,
  forgetItems,
  isWanted,
  itemsAt,
  wanted,
  withPayload,
  TAKE_OVER_SQL,
} from './items.ts'

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

/** What these answer is what the record now is. */
const isAccepted = (status: number | null): boolean =>
  status === 200 || status === 201 || status === 204

export function pushMethods(db: PostgresDatabase, now: () => string): PushMethods {
  /** Holds the segment until the transaction ends. */
  const checkFence = async (session: Session, run: number, segment: RunSegment, fence: number) => {
    const row = await session.one(
      'SELECT fence FROM segments WHERE run = $1 AND first = $2 FOR UPDATE',
      [run, segment.first],
    )
    if (Number(row?.['fence']) !== fence) throw new FenceLost(run, segment.first)
  }
  const recordRequest = async (
    session: Session,
    run: number,
    segment: RunSegment,
    batch: SentBatch,
    operation: string,
  ) => {
    await session.run(
      `INSERT INTO requests (run, batch, attempt, operation, first, last, items, digest, sent_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::timestamptz)`,
      [
        run,
        batch.batch,
        batch.attempt,
        operation,
        batch.items[0]!.ordinal,
        batch.items.at(-1)!.ordinal,
        batch.items.length,
        batch.digest,
        now(),
      ],
    )
    await session.run('UPDATE segments SET requests = requests + 1 WHERE run = $1 AND first = $2', [
      run,
      segment.first,
    ])
  }
  const settleRequest = async (
    session: Session,
    run: number,
    batch: SentBatch,
    outcome: RequestOutcome,
  ) =>
    await session.run(
      `UPDATE requests SET settled_at = $1::timestamptz, status = $2, request_id = $3, duration_ms = $4
       WHERE run = $5 AND batch = $6 AND attempt = $7`,
      [
        now(),
        outcome.status,
        outcome.requestId,
        outcome.durationMs,
        run,
        batch.batch,
        batch.attempt,
      ],
    )

  return {
    async openSegments(run) {
      const rows = await db.all(
        "SELECT first, last FROM segments WHERE run = $1 AND state = 'open' ORDER BY first",
        [run],
      )
      return rows.map((row) => ({ first: Number(row['first']), last: Number(row['last']) }))
    },

    async claimSegment(run, segment) {
      // This waits for whoever settles a batch at this moment: what the new holder reads next has it.
      const row = await db.one(
        'UPDATE segments SET fence = fence + 1 WHERE run = $1 AND first = $2 RETURNING fence',
        [run, segment.first],
      )
      if (!row) throw new FenceLost(run, segment.first)
      return Number(row['fence'])
    },

    async lastSentAt(run) {
      const [row] = await db.all(
        'SELECT max(sent_at) AS last FROM requests WHERE run = $1 AND settled_at IS NULL',
        [run],
      )
      return row?.['last'] == null ? null : (row['last'] as Date).toISOString()
    },

    async unsettledBatches(run, segment) {
      const rows = await db.all(
        `SELECT request.batch, request.attempt, request.digest, sent.*
         FROM (SELECT DISTINCT ON (batch) batch, attempt, digest, first, last, status FROM requests
               WHERE run = $1 AND first BETWEEN $2 AND $3 ORDER BY batch, attempt DESC) AS request
           JOIN LATERAL (SELECT ordinal, key, payload, hash, attempts FROM items ${withPayload}
             WHERE run = $1 AND ordinal BETWEEN request.first AND request.last
               AND items.batch = request.batch AND state = 'sent' OFFSET 0) AS sent ON true
         WHERE request.status IS NULL OR request.status NOT BETWEEN 200 AND 299
         ORDER BY request.batch, sent.ordinal`,
        [run, segment.first, segment.last],
      )
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
    },

    async nextPlanned(run, segment, { after, attemptsBelow, limit }) {
      const rows = await db.all(
        `SELECT ordinal, key, payload, hash, attempts FROM items ${withPayload}
         WHERE run = $1 AND ordinal > $2 AND ordinal <= $3 AND state = 'planned' AND attempts < $4
         ORDER BY ordinal LIMIT $5`,
        [run, Math.max(after, segment.first - 1), segment.last, attemptsBelow, limit],
      )
      return rows.map(plannedOfRow)
    },

    async recordSend(run, segment, fence, { operation, digest, items }) {
      return await db.transaction(async (session) => {
        await checkFence(session, run, segment, fence)
        const row = await session.one(
          'UPDATE runs SET batches = batches + 1 WHERE id = $1 RETURNING batches',
          [run],
        )
        const sent: SentBatch = { batch: Number(row?.['batches']), attempt: 1, digest, items }
        await session.run(
          `UPDATE items SET state = 'sent', batch = $3 ${wanted} WHERE ${isWanted}`,
          [...itemsAt(run, items), sent.batch],
        )
        // What is in flight is not known: until it is settled, nothing counts as accepted for its keys.
        await session.run(forgetItems, itemsAt(run, items))
        await recordRequest(session, run, segment, sent, operation)
        return sent
      })
    },

    async recordResend(run, segment, fence, batch, { operation, replayed }) {
      return await db.transaction(async (session) => {
        await checkFence(session, run, segment, fence)
        const again: SentBatch = { ...batch, attempt: batch.attempt + 1 }
        if (replayed)
          await session.run(
            `UPDATE items SET replayed = 1 ${wanted} WHERE ${isWanted}`,
            itemsAt(run, batch.items),
          )
        await recordRequest(session, run, segment, again, operation)
        return again
      })
    },

    async recordNoAnswer(run, batch, outcome) {
      await settleRequest(db, run, batch, outcome)
    },

    async settle(run, segment, fence, batch, outcome, items) {
      const booked = items.toSorted((a, b) => a.ordinal - b.ordinal)
      const refused = <Fact>(fact: (item: (typeof items)[number]) => Fact) =>
        booked.map((item) => (isAccepted(item.httpStatus) ? null : fact(item)))
      const countOf = (state: string) => items.filter((item) => item.state === state).length
      await db.transaction(async (session) => {
        await checkFence(session, run, segment, fence)
        // One batch of a run is settled at a time: of two records written twice at once, the later must see the earlier.
        await session.one('SELECT id FROM runs WHERE id = $1 FOR NO KEY UPDATE', [run])
        await session.run(
          `UPDATE items SET state = told.state, attempts = attempts + 1, http_status = told.http_status,
             record_id = told.record_id, request_id = $3, code = told.code, reason = told.reason,
             field = told.field, detail = told.detail, in_doubt = coalesce(told.in_doubt, items.in_doubt),
             batch = CASE WHEN told.state = 'planned' THEN NULL ELSE batch END,
             replayed = CASE WHEN told.state = 'planned' AND told.http_status = 500 THEN 1 ELSE replayed END
           FROM unnest($1::integer[], $2::integer[], $4::text[], $5::integer[], $6::text[], $7::text[], $8::text[],
             $9::text[], $10::text[], $11::smallint[])
             AS told (run, ordinal, state, http_status, record_id, code, reason, field, detail, in_doubt)
           WHERE items.run = told.run AND items.ordinal = told.ordinal`,
          [
            ...itemsAt(run, booked),
            outcome.requestId,
            booked.map((item) => item.state),
            booked.map((item) => item.httpStatus),
            booked.map((item) => item.recordId),
            refused((item) => item.code),
            refused((item) => item.reason),
            refused((item) => item.field),
            refused((item) => item.detail),
            refused((item) => (item.inDoubt ? 1 : 0)),
          ],
        )
        const written = booked.filter(({ state }) => isWritten(state))
        await session.run(acceptItems('excluded.marks'), [
          ...itemsAt(run, written),
          written.map(({ marks }) => marks),
        ])
        await session.run(TAKE_OVER_SQL, itemsAt(run, written))
        const otherwise = written.flatMap(({ ordinal, answered }) =>
          answered ? [{ ordinal, ...answered }] : [],
        )
        if (otherwise.length > 0) {
          await session.run(BOOK_ANSWERED_SQL, [
            ...itemsAt(run, otherwise),
            'answered',
            otherwise.map(({ reason }) => reason),
            otherwise.map(({ field }) => field),
            otherwise.map(({ detail }) => detail),
            otherwise.map(({ column }) => column),
            otherwise.map(({ value }) => value),
            otherwise.map(({ key = null }) => key),
          ])
          // Until they are read back, nobody knows that the service holds what was sent.
          await session.run(forgetItems, itemsAt(run, otherwise))
        }
        const twins = await session.all(
          `SELECT items.ordinal, others.last AS twin ${wanted} JOIN items ON ${isWanted} JOIN LATERAL
             (SELECT other.ordinal AS last FROM items AS other
              WHERE hashtextextended(other.record_id, other.run) = hashtextextended(items.record_id, items.run)
                AND other.record_id = items.record_id AND other.run + 0 = items.run
                AND other.ordinal <> items.ordinal
              ORDER BY other.ordinal::bigint DESC LIMIT 1) AS others ON true
           ORDER BY items.ordinal`,
          itemsAt(run, written),
        )
        for (const { ordinal, twin } of twins) {
          const flag = 'UPDATE items SET twin = $1 WHERE run = $2 AND ordinal = $3'
          await session.run(flag, [Number(twin), run, Number(ordinal)])
          await session.run(flag, [Number(ordinal), run, Number(twin)])
        }
        await settleRequest(session, run, batch, outcome)
        await session.run(
          `UPDATE segments SET created = created + $1, updated = updated + $2, rejected = rejected + $3,
             failed = failed + $4 WHERE run = $5 AND first = $6`,
          [
            countOf('created'),
            countOf('updated'),
            countOf('rejected'),
            countOf('sent'),
            run,
            segment.first,
          ],
        )
      })
    },

    async release(run, segment, fence, batch, outcome) {
      await db.transaction(async (session) => {
        await checkFence(session, run, segment, fence)
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
  }
}
