// The rows of a batch: bytes that wait outside the heap, until one transaction copies them into a temporary table and merges them.
// No connection is held while rows come.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { SyncError } from '../../core/errors.ts'
import { sqlStateOf } from '../../postgres/failures.ts'
import type { ServerSettings } from '../../postgres/transaction.ts'
import {
  mergeCounts,
  type MergeCounts,
  type MirrorBatch,
  type MirrorRow,
  type MirrorStream,
} from '../mirror-tables.ts'
import { batchName, bestOf, createBatch, differs, MISFITS_DIFFER, numbered } from './batch-table.ts'
import { storePosition } from '../mirror/catalogue.ts'
import { checkInstant } from '../mirror/row-check.ts'
import { quoteIdentifier, type SchemaPlace } from '../mirror/session.ts'
import type { PostgresConnections, Lease } from './connections.ts'
import { copyInto, linesWriter } from './copy.ts'
import type { RequiredGrants } from './failures.ts'
import { PostgresSession } from './session.ts'
import { tableIn } from './sql.ts'
import { checkMergeStored } from './check-stored.ts'

/** Cells that are converted to text before other work gets a turn. */
const TURN_CELLS = 20_000
/** A batch of so many bytes is merged before more is read. */
const BYTES_FULL = 16 * 1024 * 1024
/** The planner has no statistics of a temporary table: rows are found by the index of the ids, never by reading a whole table. */
const MERGE_SETTINGS: ServerSettings = {
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  work_mem: '64MB',
}

/**
 * One statement, so that what it compares is what it writes. It compares the best row of each id (unchanged rows are only
 * touched: long values are not stored again), and returns the counts, the number of rows written, and the ids of rows that were
 * left alone, or that the table has later information about.
 */
function mergeText(batch: string, home: SchemaPlace, stream: MirrorStream): string {
  const columns = numbered(stream)
  const table = tableIn(home.schema, stream.table)
  const content = [MISFITS_DIFFER, ...columns.map(differs)]
  const names = columns.map(({ name }) => quoteIdentifier(name))
  return `WITH judged AS MATERIALIZED (
    SELECT k.*, CASE
      WHEN t."_id" IS NULL THEN 'inserted'
      WHEN k.last_seen <= t."_last_seen_at" AND coalesce(k.version <= t."_version", true) THEN 'older'
      WHEN k.version < t."_version" THEN 'reverted'
      WHEN t."_deleted_at" < k.last_seen OR (SELECT ${content.join(' OR ')} FROM pg_temp.${batch} AS b WHERE b.ctid = k.place) THEN 'changed'
      ELSE 'unchanged' END AS verdict
      , t."_last_seen_at" > k.last_seen OR t."_deleted_at" >= k.last_seen AS later
    FROM ${bestOf(batch)} AS k
    LEFT JOIN ${table} AS t ON t."_id" = k.id
  ), inserted AS (
    INSERT INTO ${table} ("_id", "_version", "_first_seen_at", "_last_seen_at", "_run", "_misfits"${names.map((name) => `, ${name}`).join('')})
    SELECT b.id, b.version, k.last_seen, k.last_seen, $1::bigint, b.misfits${columns.map(({ as }) => `, b.${as}`).join('')}
    FROM judged AS k JOIN pg_temp.${batch} AS b ON b.ctid = k.place WHERE k.verdict = 'inserted'
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
    FROM judged AS k JOIN pg_temp.${batch} AS b ON b.ctid = k.place
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

type Into = Parameters<MirrorBatch['merge']>[0]

/** Whatever a merge fails with, the batch can be merged again. */
export class PostgresBatch implements MirrorBatch {
  rows = 0
  readonly #connections: PostgresConnections
  readonly #home: SchemaPlace
  readonly #stream: MirrorStream
  readonly #needs: RequiredGrants
  readonly #lines: (rows: readonly MirrorRow[], seenAt: string) => string
  #parts: Buffer[] = []
  #bytes = 0
  #merging: Promise<unknown> = Promise.resolve()
  #isOver = false

  constructor(
    connections: PostgresConnections,
    home: SchemaPlace,
    stream: MirrorStream,
    needs: RequiredGrants,
  ) {
    this.#connections = connections
    this.#needs = needs
    this.#home = home
    this.#stream = stream
    this.#lines = linesWriter(stream.columns.filter(({ live }) => live))
  }

  get isFull(): boolean {
    return this.#bytes >= BYTES_FULL
  }

  async add(rows: readonly MirrorRow[], seenAt: string): Promise<void> {
    checkInstant('_last_seen_at', seenAt)
    const count = rows.length
    // Not mentioned after this: what waits for the server is bytes, outside the heap, and no rows.
    const parts = await this.#bytesOf(rows, seenAt)
    // A merge takes the rows that exist when it begins.
    await this.#merging
    this.#check()
    this.#parts.push(...parts)
    for (const { length } of parts) this.#bytes += length
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
    this.#check()
    const batch = batchName()
    const counts = await this.#connections.transaction(
      this.#needs.write,
      async (lease) => {
        await this.#copy(batch, lease)
        const session = new PostgresSession(lease, this.#home)
        await storePosition(session, this.#stream.name, fence, position)
        const { rows } = await lease.ask(mergeText(batch, this.#home, this.#stream), [run])
        const [row] = rows
        const merged = mergeCounts(row!)
        const [written, older, later] = row!.slice(5) as [string, string, string]
        await checkMergeStored(lease, this.#home, this.#stream, {
          batch,
          run,
          judged: merged.inserted + merged.changed + merged.unchanged,
          written: Number(written),
          older,
          later,
        })
        return merged
      },
      { settings: MERGE_SETTINGS },
    )
    this.#end()
    return counts
  }

  async #copy(batch: string, lease: Lease): Promise<void> {
    try {
      await lease.ask(createBatch(batch, this.#stream))
    } catch (error) {
      throw this.#connections.explain(error, this.#needs.stage)
    }
    try {
      await copyInto(lease.client, `COPY pg_temp.${batch} FROM STDIN`, this.#parts)
    } catch (error) {
      throw this.#unfit(error) ?? error
    }
  }

  #check(): void {
    if (this.#isOver) throw new SyncError('batch_over', 'The batch was merged or dropped before')
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

  #end(): void {
    this.#isOver = true
    this.#parts = []
  }

  async drop(): Promise<void> {
    this.#end()
  }
}
