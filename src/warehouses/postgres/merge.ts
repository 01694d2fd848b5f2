// Stages rows for a table: copies them into a temporary table on a connection of its own, then merges them in one transaction.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { SyncError } from '../../core/errors.ts'
import { sqlStateOf } from '../../postgres/failures.ts'
import {
  mergeCounts,
  type MergeCounts,
  type MirrorBatch,
  type MirrorRow,
  type MirrorStream,
} from '../mirror-tables.ts'
import { BATCH, BEST, differs, MISFITS_DIFFER, numbered } from './batch-table.ts'
import { storePosition } from '../mirror/catalogue.ts'
import { checkInstant } from '../mirror/row-check.ts'
import { quoteIdentifier, type SchemaPlace } from '../mirror/session.ts'
import type { PostgresConnections, Lease } from './connections.ts'
import { Copy, linesWriter } from './copy.ts'
import { STATEMENT_MAX_MS, type RequiredGrants } from './failures.ts'
import { PostgresSession } from './session.ts'
import { columnType, tableIn } from './sql.ts'
import { checkMergeStored } from './check-stored.ts'

/** Cells that are converted to text before other work gets a turn. */
const TURN_CELLS = 20_000
/** The planner has no statistics of a temporary table: rows are found by the index of the ids, never by reading a whole table. */
const MERGE_SETTINGS = `SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off;
  SET LOCAL work_mem = '64MB'; SET LOCAL statement_timeout = ${STATEMENT_MAX_MS}`

/**
 * One statement, so that what it compares is what it writes. It compares the best row of each id (unchanged rows are only
 * touched: long values are not stored again), and returns the counts, the number of rows written, and the ids of rows that were
 * left alone, or that the table has later information about.
 */
function mergeText(home: SchemaPlace, stream: MirrorStream): string {
  const columns = numbered(stream)
  const table = tableIn(home.schema, stream.table)
  const content = [MISFITS_DIFFER, ...columns.map(differs)]
  const names = columns.map(({ name }) => quoteIdentifier(name))
  return `WITH judged AS MATERIALIZED (
    SELECT k.*, CASE
      WHEN t."_id" IS NULL THEN 'inserted'
      WHEN k.last_seen <= t."_last_seen_at" AND coalesce(k.version <= t."_version", true) THEN 'older'
      WHEN k.version < t."_version" THEN 'reverted'
      WHEN t."_deleted_at" < k.last_seen OR (SELECT ${content.join(' OR ')} FROM ${BATCH} AS b WHERE b.ctid = k.place) THEN 'changed'
      ELSE 'unchanged' END AS verdict
      , t."_last_seen_at" > k.last_seen OR t."_deleted_at" >= k.last_seen AS later
    FROM ${BEST} AS k
    LEFT JOIN ${table} AS t ON t."_id" = k.id
  ), inserted AS (
    INSERT INTO ${table} ("_id", "_version", "_first_seen_at", "_last_seen_at", "_run", "_misfits"${names.map((name) => `, ${name}`).join('')})
    SELECT b.id, b.version, k.last_seen, k.last_seen, $1::bigint, b.misfits${columns.map(({ as }) => `, b.${as}`).join('')}
    FROM judged AS k JOIN ${BATCH} AS b ON b.ctid = k.place WHERE k.verdict = 'inserted'
    RETURNING 1
  ), touched AS (
    UPDATE ${table} AS t SET "_version" = k.version,
      "_last_seen_at" = greatest(t."_last_seen_at", k.last_seen), "_run" = $1::bigint
    FROM judged AS k WHERE t."_id" = k.id AND k.verdict = 'unchanged'
    RETURNING 1
  ), changed AS (
    UPDATE ${table} AS t SET "_version" = k.version,
      "_last_seen_at" = greatest(t."_last_seen_at", k.last_seen), "_run" = $1::bigint, "_misfits" = b.misfits,
      "_deleted_at" = CASE WHEN t."_deleted_at" < k.last_seen THEN NULL ELSE t."_deleted_at" END
      ${columns.map(({ name, as }) => `, ${quoteIdentifier(name)} = b.${as}`).join('')}
    FROM judged AS k JOIN ${BATCH} AS b ON b.ctid = k.place
    WHERE t."_id" = k.id AND k.verdict IN ('changed', 'reverted')
    RETURNING 1
  )
  SELECT count(*) FILTER (WHERE verdict = 'inserted'), count(*) FILTER (WHERE verdict IN ('changed', 'reverted')),
    count(*) FILTER (WHERE verdict = 'unchanged'), count(*) FILTER (WHERE verdict = 'older'),
    count(*) FILTER (WHERE verdict = 'reverted'),
    (SELECT count(*) FROM inserted) + (SELECT count(*) FROM touched) + (SELECT count(*) FROM changed),
    coalesce(array_agg(id) FILTER (WHERE verdict = 'older'), '{}'),
    coalesce(array_agg(id) FILTER (WHERE verdict <> 'older' AND later), '{}') FROM judged`
}

/** @throws Blocked if the warehouse is unavailable or denies it */
export async function openBatch(
  connections: PostgresConnections,
  home: SchemaPlace,
  stream: MirrorStream,
  needs: RequiredGrants,
): Promise<MirrorBatch> {
  const lease = await connections.lease()
  try {
    const columns = numbered(stream).map(({ as, type }) => `, ${as} ${columnType(type)}`)
    // It may stay open for as long as rows come. The temporary table need not survive a crash.
    await lease.ask(
      `SET statement_timeout = 0; BEGIN; SET LOCAL synchronous_commit = off; DROP TABLE IF EXISTS ${BATCH};
       CREATE TEMPORARY TABLE records_sync_batch (id text COLLATE "C" NOT NULL, version timestamptz,
         seen_at timestamptz NOT NULL, misfits json${columns.join('')}); COMMIT`,
    )
    return new PostgresBatch(connections, lease, home, stream, needs)
  } catch (error) {
    lease.release('closed')
    throw connections.explain(error, needs.stage)
  }
}

type Into = Parameters<MirrorBatch['merge']>[0]

/** If the connection is lost, or a COPY failed, the rows are lost too: then every call of `merge` throws the cause. */
class PostgresBatch implements MirrorBatch {
  rows = 0
  readonly #connections: PostgresConnections
  readonly #lease: Lease
  readonly #home: SchemaPlace
  readonly #stream: MirrorStream
  readonly #needs: RequiredGrants
  readonly #lines: (rows: readonly MirrorRow[], seenAt: string) => string
  #copy: Copy | undefined
  #merging: Promise<unknown> = Promise.resolve()
  /** Why the batch can no longer be used. */
  #over: { readonly reason: unknown } | undefined

  constructor(
    connections: PostgresConnections,
    lease: Lease,
    home: SchemaPlace,
    stream: MirrorStream,
    needs: RequiredGrants,
  ) {
    this.#connections = connections
    this.#needs = needs
    this.#lease = lease
    this.#home = home
    this.#stream = stream
    this.#lines = linesWriter(stream.columns.filter(({ live }) => live))
  }

  async add(rows: readonly MirrorRow[], seenAt: string): Promise<void> {
    checkInstant('_last_seen_at', seenAt)
    const count = rows.length
    // Not mentioned after this: what waits for the server is bytes, outside the heap, and no rows.
    const parts = await this.#bytesOf(rows, seenAt)
    // A merge takes the rows that exist when it begins.
    await this.#merging
    await this.#work(async () => {
      this.#copy ??= new Copy(this.#lease.client, `COPY ${BATCH} FROM STDIN`)
      for (const part of parts) await this.#copy.write(part)
    })
    this.rows += count
  }

  async #bytesOf(rows: readonly MirrorRow[], seenAt: string): Promise<Buffer[]> {
    const parts: Buffer[] = []
    const turn = Math.max(1, Math.floor(TURN_CELLS / (this.#stream.columns.length + 4)))
    for (let first = 0; first < rows.length; first += turn) {
      if (first > 0) await nextTurn()
      parts.push(Buffer.from(this.#lines(rows.slice(first, first + turn), seenAt)))
    }
    return parts
  }

  merge(into: Into): Promise<MergeCounts> {
    const merging = this.#merging.then(() => this.#merge(into))
    this.#merging = merging.catch(() => {})
    return merging
  }

  async #merge({ run, fence, position }: Into): Promise<MergeCounts> {
    const lease = this.#lease
    const counts = await this.#work(async () => {
      // A COPY that failed fails again.
      await this.#copy?.end()
      this.#copy = undefined
      return await lease.transaction(async () => {
        const session = new PostgresSession(lease, this.#home)
        await storePosition(session, this.#stream.name, fence, position)
        const { rows } = await lease.ask(mergeText(this.#home, this.#stream), [run])
        const [row] = rows
        const merged = mergeCounts(row!)
        const [written, older, later] = row!.slice(5) as [string, string, string]
        await checkMergeStored(lease, this.#home, this.#stream, {
          run,
          judged: merged.inserted + merged.changed + merged.unchanged,
          written: Number(written),
          older,
          later,
        })
        await lease.ask(`DROP TABLE ${BATCH}; RESET statement_timeout`)
        return merged
      }, MERGE_SETTINGS)
    })
    this.#end('back')
    return counts
  }

  async #work<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#check()
    try {
      return await work()
    } catch (error) {
      this.#check()
      throw this.#unfit(error) ?? this.#connections.explain(error, this.#needs.write)
    }
  }

  #check(): void {
    if (this.#over) throw this.#over.reason
  }

  /** The server's error about a value in the lines. */
  #unfit(error: unknown): SyncError | undefined {
    if (!sqlStateOf(error).startsWith('22')) return undefined
    const { where } = error as { where?: string }
    // The column precedes the value.
    const found = /\b(id|version|seen_at|misfits|c(\d+))\b/.exec(where ?? '')
    const column = numbered(this.#stream)[Number(found?.[2])]?.name ?? found?.[1] ?? 'unknown'
    return new SyncError(
      'row_unfit',
      `A value does not fit the column ${column} of ${this.#home.schema}.${this.#stream.table} (SQLSTATE ${sqlStateOf(error)})`,
    )
  }

  #end(how: 'back' | 'closed'): void {
    this.#over ??= { reason: new SyncError('batch_over', 'The batch was merged or dropped before') }
    this.#lease.release(how)
  }

  /** The temporary table is dropped with its connection. */
  async drop(): Promise<void> {
    this.#end('closed')
  }
}
