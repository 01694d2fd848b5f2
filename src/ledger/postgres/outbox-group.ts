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

/** What is written about one batch, or about items that no batch has. */
export type OutboxWrite =
  | {
      readonly kind: 'send'
      readonly operation: string
      readonly digest: string
      readonly replayed?: boolean
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
  | { readonly kind: 'decide'; readonly items: readonly ItemOutcome[] }
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
      skipped = skipped + $7, rejected = rejected + $8 WHERE run = $1 AND first = $2 AND fence = $3 RETURNING 1)
  SELECT 1 / count(*) FROM held`

const RELEASE_SQL = `UPDATE items SET state = 'pending', batch = NULL ${wanted} WHERE ${isWanted}`
const REPLAYED_SQL = `UPDATE items SET replayed = 1 ${wanted} WHERE ${isWanted}`

/**
 * Numbers new batches, `$2` of them, in a transaction of its own: others that lock the run need not wait for the batches. It is
 * stored at the latest with what uses the numbers.
 */
const NUMBER_SQL = `UPDATE runs SET batches = batches + $2
  WHERE id = $1 AND set_config('synchronous_commit', 'off', true) = 'off' RETURNING batches`

/**
 * What is in flight is not known: until it is settled, nothing counts as accepted for its keys. `$3`: the numbers. The
 * destination comes out of the rows that are joined: of one as a value, all keys would be read.
 */
const SEND_SQL = `WITH sent AS (
    UPDATE items SET state = 'in_flight', batch = wanted.batch
    FROM unnest($1::integer[], $2::integer[], $3::integer[]) AS wanted (run, ordinal, batch)
    WHERE ${isWanted} RETURNING items.key)
  UPDATE accepted SET hash = NULL
  FROM (SELECT key, hashtextextended(key, 0) AS hashed, (SELECT destination FROM runs WHERE id = $4) AS destination
    FROM sent ORDER BY 2 OFFSET 0) AS item
  WHERE accepted.destination = item.destination AND accepted.key = item.key
    AND hashtextextended(accepted.key, 0) = item.hashed`

/** `$3`: the records that updates are sent to. */
const AIM_SQL = `UPDATE items SET record_id = wanted.record_id
  FROM unnest($1::integer[], $2::integer[], $3::text[]) AS wanted (run, ordinal, record_id) WHERE ${isWanted}`

const REQUEST_SQL = `INSERT INTO requests (run, sent_at, batch, attempt, operation, first, last, items, digest)
  SELECT $1, $2::timestamptz, *
  FROM unnest($3::integer[], $4::integer[], $5::text[], $6::integer[], $7::integer[], $8::integer[], $9::text[])`

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

/** Of items that are settled without a batch. */
const NO_BATCH = { batch: 0, attempt: 0, digest: '' } as const

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

function sendStatement(run: number, sent: readonly Batch[]): SentStatement {
  const numbers = new Map(
    sent.flatMap(({ batch, items }) => items.map(({ ordinal }) => [ordinal, batch] as const)),
  )
  const items = inOrder(sent.flatMap((batch) => batch.items))
  return {
    text: SEND_SQL,
    values: [...itemsAt(run, items), items.map(({ ordinal }) => numbers.get(ordinal)!), run],
  }
}

/** Notes the records that items are sent to, if they are updates. */
function aimStatements(run: number, sent: readonly Batch[]): readonly SentStatement[] {
  const items = inOrder(sent.flatMap((batch) => batch.items))
  return items.some(({ recordId }) => recordId !== undefined)
    ? [{ text: AIM_SQL, values: [...itemsAt(run, items), ...listsOf(items, 'recordId')] }]
    : []
}

const requestStatement = (
  run: number,
  requests: readonly (Batch & { readonly operation: string })[],
  now: string,
): SentStatement => ({
  text: REQUEST_SQL,
  values: [
    run,
    now,
    ...listsOf(requests, 'batch', 'attempt', 'operation'),
    requests.map(({ items }) => items[0]!.ordinal),
    requests.map(({ items }) => items.at(-1)!.ordinal),
    requests.map(({ items }) => items.length),
    ...listsOf(requests, 'digest'),
  ],
})

/** The number of the first of so many new batches. */
async function firstNumber(db: PostgresDatabase, run: number, count: number): Promise<number> {
  if (count === 0) return 0
  const row = await db.one(NUMBER_SQL, [run, count])
  return Number(row?.['batches']) - count + 1
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
  const [sends, resends] = [of('send'), of('resend')]
  const [settles, releases] = [of('settle'), of('release')]
  const decided = of('decide').map(({ items }) => ({ requestId: null, items }))
  const first = await firstNumber(db, run, sends.length)
  const batches = new Map<OutboxWrite, Batch>()
  sends.forEach((write, index) => {
    const { digest, items } = write
    batches.set(write, { batch: first + index, attempt: 1, digest, items })
  })
  for (const write of resends)
    batches.set(write, { ...write.batch, attempt: write.batch.attempt + 1 })
  for (const write of [...settles, ...releases]) batches.set(write, write.batch)
  for (const write of of('decide')) batches.set(write, { ...NO_BATCH, items: write.items })
  const batchOf = (write: OutboxWrite) => batches.get(write)!
  const { counts, own, locked } = settlingStatements(run, [
    ...settles.map(({ outcome: { requestId }, items }) => ({ requestId, items })),
    ...decided,
  ])
  const { created, updated, skipped, rejected } = counts
  const requests = [...sends, ...resends].map((write) => ({
    ...batchOf(write),
    operation: write.operation,
  }))
  const claim = [run, segment.first, fence]
  const held = [...claim, requests.length, created, updated, skipped, rejected]
  const ended = [...settles, ...releases]
  const replayed = [...sends, ...resends].filter((write) => write.replayed)
  await db.together([
    { text: HOLD_SQL, values: held, orElse: new FenceLost(run, segment.first) },
    ...(ended.length > 0 ? [settleRequests(run, ended, now)] : []),
    ...(requests.length > 0 ? [requestStatement(run, requests, now)] : []),
    ...ofItems(RELEASE_SQL, run, releases),
    ...ofItems(REPLAYED_SQL, run, replayed),
    ...(sends.length > 0 ? [sendStatement(run, sends.map(batchOf))] : []),
    ...aimStatements(run, sends.map(batchOf)),
    ...own,
    ...(locked.length > 0 ? [{ text: LOCK_RUN_SQL, values: [run] }] : []),
    ...locked,
  ])
  return writes.map(batchOf)
}
