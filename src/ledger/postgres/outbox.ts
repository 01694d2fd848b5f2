// Sending: every batch is written down before it is sent and settled after; both in one short transaction, under the
// segment's fence.

import { FenceLost } from '../../core/errors.ts'
import { LEDGER_CHARS_MAX, LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type { ItemPlace, Outbox, SentBatch } from '../roles/outbox.ts'
import { payloadChars, PLANNED_COLUMNS, plannedOfRow, sentOfRow } from '../rows/items.ts'
import { inGroups } from './groups.ts'
import { isWanted, itemsAt, wanted, withPayload } from './items.ts'
import { settleRequests, storeWrites, type ClaimedRange, type OutboxWrite } from './outbox-group.ts'
import type { PostgresDatabase } from './session.ts'

type Store = (write: OutboxWrite, size: number) => Promise<SentBatch<ItemPlace>>

/** The last attempts of the segment's batches that have no answer 2xx. */
const UNSETTLED_SQL = `SELECT batch, attempt, digest, first, last
  FROM (SELECT DISTINCT ON (batch) batch, attempt, digest, first, last, status FROM requests
        WHERE run = $1 AND first BETWEEN $2 AND $3 AND batch > $4 ORDER BY batch, attempt DESC) AS request
  WHERE status IS NULL OR status NOT BETWEEN 200 AND 299 ORDER BY batch`

const MEMBERS_SQL = `SELECT ${PLANNED_COLUMNS} FROM items ${withPayload}
  WHERE run = $1 AND ordinal BETWEEN $2 AND $3 AND items.batch = $4 AND state = 'in_flight' ORDER BY ordinal`

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export function outboxMethods(db: PostgresDatabase, now: () => string) {
  /** By claim of a segment; while it has something to store. */
  const groups = new Map<string, { store: Store; writes: number }>()

  /** Stores what is written about batches of one segment at the same time in one transaction. */
  const store = async <Item extends ItemPlace>(
    claim: ClaimedRange,
    items: readonly Item[],
    write: OutboxWrite,
  ): Promise<SentBatch<Item>> => {
    const name = `${claim.run}/${claim.segment.first}/${claim.fence}`
    const group = groups.get(name) ?? {
      store: inGroups<OutboxWrite, SentBatch<ItemPlace>>(LEDGER_ROWS_MAX, (writes) =>
        storeWrites(db, claim, writes, now()),
      ),
      writes: 0,
    }
    groups.set(name, group)
    group.writes++
    try {
      return { ...(await group.store(write, items.length)), items }
    } finally {
      if (--group.writes === 0) groups.delete(name)
    }
  }

  return {
    async unsettledBatches(run, segment, after = 0) {
      const { first: from, last: to } = segment
      const batches: SentBatch[] = []
      let chars = 0
      for (const row of await db.all(UNSETTLED_SQL, [run, from, to, after])) {
        const { batch, first, last, ...sent } = sentOfRow(row)
        const items = (await db.all(MEMBERS_SQL, [run, first, last, batch])).map(plannedOfRow)
        if (items.length > 0) batches.push({ batch, ...sent, items })
        chars += payloadChars(items)
        if (chars >= LEDGER_CHARS_MAX) break
      }
      return batches
    },

    async settleKeys(run, items) {
      const decided = items.toSorted((a, b) => a.ordinal - b.ordinal)
      await db.transaction(async (session) => {
        await session.run(
          `UPDATE payloads SET payload = decided.payload
           FROM unnest($1::integer[], $2::integer[], $3::text[]) AS decided (run, ordinal, payload)
             JOIN items ON items.run = decided.run AND items.ordinal = decided.ordinal AND items.state = 'pending'
           WHERE payloads.run = decided.run AND payloads.ordinal = decided.ordinal AND decided.payload IS NOT NULL`,
          [...itemsAt(run, decided), decided.map(({ payload }) => payload)],
        )
        await session.run(
          `UPDATE items SET raw_key = NULL ${wanted} WHERE ${isWanted} AND items.state = 'pending'`,
          itemsAt(run, decided),
        )
      })
    },

    recordSend: (run, segment, fence, batch) =>
      store({ run, segment, fence }, batch.items, { kind: 'send', ...batch }),

    recordResend: (run, segment, fence, batch, options) =>
      store({ run, segment, fence }, batch.items, {
        kind: 'resend',
        ...options,
        batch,
        items: batch.items,
      }),

    async recordNoAnswer(run, batch, outcome) {
      const { text, values } = settleRequests(run, [{ batch, outcome }], now())
      await db.run(text, values)
    },

    async settle(run, segment, fence, batch, outcome, items) {
      await store({ run, segment, fence }, items, { kind: 'settle', batch, outcome, items })
    },

    async settleUnanswered(run, segment, fence, items) {
      await store({ run, segment, fence }, items, { kind: 'decide', items })
    },

    async release(run, segment, fence, batch, outcome) {
      const { items } = batch
      await store({ run, segment, fence }, items, { kind: 'release', batch, outcome, items })
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
