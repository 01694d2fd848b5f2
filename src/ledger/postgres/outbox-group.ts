// Writes of the batches of one segment, stored together: one transaction, in the order of locks that fences.ts has.

import { FenceLost } from '../../core/errors.ts'
import type {
  ItemPlace,
  RequestOutcome,
  RunSegment,
  SentBatch,
  ItemOutcome,
} from '../roles/outbox.ts'
import { LOCK_RUN_SQL } from './fences.ts'
import { isWanted, itemsAt, listsOf, wanted } from './items.ts'
import type { PostgresDatabase, SentStatement } from './session.ts'
import { settlingStatements } from './settling.ts'

type Batch = SentBatch<ItemPlace>

/** What is written about one batch. */
export type OutboxWrite =
  | {
      readonly kind: 'send'
      readonly operation: string
      readonly digest: string
      readonly items: readonly ItemPlace[]
    }
  | {
      readonly kind: 'resend'
      readonly operation: string
      readonly batch: Batch
      readonly replayed: boolean
      readonly items: readonly ItemPlace[]
    }
  | {
      readonly kind: 'settle'
      readonly batch: Batch
      readonly outcome: RequestOutcome
      readonly items: readonly ItemOutcome[]
    }
  | {
      readonly kind: 'release'
      readonly batch: Batch
      readonly outcome: RequestOutcome
      readonly items: readonly ItemPlace[]
    }

type Of<Kind extends OutboxWrite['kind']> = Extract<OutboxWrite, { kind: Kind }>

/** A segment as it was claimed. */
export interface ClaimedRange {
  readonly run: number
  readonly segment: RunSegment
  readonly fence: number
}

/** Locks the segment, and counts; divides by zero if another worker claimed it. */
const HOLD_SQL = `WITH held AS (UPDATE segments SET requests = requests + $4, created = created + $5, updated = updated + $6,
      rejected = rejected + $7, failed = failed + $8 WHERE run = $1 AND first = $2 AND fence = $3 RETURNING 1)
  SELECT 1 / count(*) FROM held`

const RELEASE_SQL = `UPDATE items SET state = 'planned', batch = NULL ${wanted} WHERE ${isWanted}`
const REPLAYED_SQL = `UPDATE items SET replayed = 1 ${wanted} WHERE ${isWanted}`

/** Numbers the new batches, `$2` of them; other transactions that lock the run wait. Those behind it know the last number. */
const NUMBER_SQL = 'UPDATE runs SET batches = batches + $2 WHERE id = $1 RETURNING batches'

/**
 * What is in flight is not known: until it is settled, nothing counts as accepted for its keys. `$3`: how far before the last
 * number. The destination comes out of the rows that are joined: of one as a value, all keys would be read.
 */
const SEND_SQL = `WITH sent AS (
    UPDATE items SET state = 'sent', batch = (SELECT batches FROM runs WHERE id = $4) - wanted.before
    FROM unnest($1::integer[], $2::integer[], $3::integer[]) AS wanted (run, ordinal, before)
    WHERE ${isWanted} RETURNING items.key)
  UPDATE accepted SET hash = NULL
  FROM (SELECT key, hashtextextended(key, 0) AS hashed, (SELECT destination FROM runs WHERE id = $4) AS destination
    FROM sent ORDER BY 2 OFFSET 0) AS item
  WHERE accepted.destination = item.destination AND accepted.key = item.key
    AND hashtextextended(accepted.key, 0) = item.hashed`

/** `batch` is the number, or nothing where `before` says how far before the last number it is. */
const REQUEST_SQL = `INSERT INTO requests (run, batch, attempt, operation, first, last, items, digest, sent_at)
  SELECT $1, coalesce(batch, (SELECT batches FROM runs WHERE id = $1) - before), attempt, operation, first, last, items, digest,
    $2::timestamptz
  FROM unnest($3::integer[], $4::integer[], $5::integer[], $6::text[], $7::integer[], $8::integer[], $9::integer[], $10::text[])
    AS request (batch, before, attempt, operation, first, last, items, digest)`

const SETTLE_REQUEST_SQL = `UPDATE requests SET settled_at = $1::timestamptz, status = ended.status, request_id = ended.request_id,
    duration_ms = ended.duration_ms
  FROM unnest($2::integer[], $3::integer[], $4::integer[], $5::integer[], $6::text[], $7::double precision[])
    AS ended (run, batch, attempt, status, request_id, duration_ms)
  WHERE requests.run = ended.run AND requests.batch = ended.batch AND requests.attempt = ended.attempt`

/** Notes how requests ended. */
export const settleRequests = (
  run: number,
  ended: readonly { readonly batch: Batch; readonly outcome: RequestOutcome }[],
  now: string,
): SentStatement => ({
  text: SETTLE_REQUEST_SQL,
  values: [
    now,
    ended.map(() => run),
    ended.map(({ batch }) => batch.batch),
    ended.map(({ batch }) => batch.attempt),
    ...listsOf(
      ended.map(({ outcome }) => outcome),
      'status',
      'requestId',
      'durationMs',
    ),
  ],
})

const inOrder = (items: readonly ItemPlace[]) => items.toSorted((a, b) => a.ordinal - b.ordinal)

/** The items of all these, in order; none: no statement. */
const ofItems = (
  text: string,
  run: number,
  writes: readonly { readonly items: readonly ItemPlace[] }[],
): readonly SentStatement[] => {
  const items = inOrder(writes.flatMap((write) => write.items))
  return items.length === 0 ? [] : [{ text, values: itemsAt(run, items) }]
}

function sendStatement(run: number, sends: readonly Of<'send'>[]): SentStatement {
  const before = new Map(
    sends.flatMap(({ items }, index) =>
      items.map(({ ordinal }) => [ordinal, sends.length - 1 - index] as const),
    ),
  )
  const items = inOrder(sends.flatMap((send) => send.items))
  return {
    text: SEND_SQL,
    values: [...itemsAt(run, items), items.map(({ ordinal }) => before.get(ordinal)!), run],
  }
}

function requestStatement(
  run: number,
  sends: readonly Of<'send'>[],
  resends: readonly Of<'resend'>[],
  now: string,
): SentStatement {
  const all = [
    ...sends.map(({ operation, digest, items }, index) => {
      const number = { batch: null, before: sends.length - 1 - index, attempt: 1 }
      return { ...number, operation, digest, items }
    }),
    ...resends.map(({ operation, batch: { batch, attempt, digest, items } }) => {
      const number = { batch, before: null, attempt: attempt + 1 }
      return { ...number, operation, digest, items }
    }),
  ]
  return {
    text: REQUEST_SQL,
    values: [
      run,
      now,
      ...listsOf(all, 'batch', 'before', 'attempt', 'operation'),
      all.map(({ items }) => items[0]!.ordinal),
      all.map(({ items }) => items.at(-1)!.ordinal),
      all.map(({ items }) => items.length),
      ...listsOf(all, 'digest'),
    ],
  }
}

/** Stores these writes, and returns of each the batch as it is now. @throws FenceLost if another worker claimed the segment */
export async function storeWrites(
  db: PostgresDatabase,
  { run, segment, fence }: ClaimedRange,
  writes: readonly OutboxWrite[],
  now: string,
): Promise<readonly Batch[]> {
  const of = <Kind extends OutboxWrite['kind']>(kind: Kind) =>
    writes.filter((write): write is Of<Kind> => write.kind === kind)
  const [sends, resends, settles, releases] = [
    of('send'),
    of('resend'),
    of('settle'),
    of('release'),
  ]
  const { counts, book, accept } = settlingStatements(
    run,
    settles.map(({ outcome: { requestId }, items }) => ({ requestId, items })),
  )
  const requests = sends.length + resends.length
  const { created, updated, rejected, failed } = counts
  const held = [run, segment.first, fence, requests, created, updated, rejected, failed]
  const ended = [...settles, ...releases]
  const before: SentStatement[] = [
    { text: HOLD_SQL, values: held, orElse: new FenceLost(run, segment.first) },
    ...(ended.length > 0 ? [settleRequests(run, ended, now)] : []),
    ...book,
    ...ofItems(RELEASE_SQL, run, releases),
    ...ofItems(
      REPLAYED_SQL,
      run,
      resends.filter(({ replayed }) => replayed),
    ),
  ]
  const results = await db.together([
    ...before,
    ...(sends.length > 0 ? [{ text: NUMBER_SQL, values: [run, sends.length] }] : []),
    ...(sends.length === 0 && accept.length > 0 ? [{ text: LOCK_RUN_SQL, values: [run] }] : []),
    ...(requests > 0 ? [requestStatement(run, sends, resends, now)] : []),
    ...(sends.length > 0 ? [sendStatement(run, sends)] : []),
    ...accept,
  ])
  const last = Number(results[before.length]?.rows[0]?.['batches'])
  let number = last - sends.length
  return writes.map((write) => {
    if (write.kind === 'send')
      return { batch: ++number, attempt: 1, digest: write.digest, items: write.items }
    if (write.kind === 'resend') return { ...write.batch, attempt: write.batch.attempt + 1 }
    return write.batch
  })
}
