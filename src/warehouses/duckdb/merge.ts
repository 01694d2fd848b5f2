// Stages rows for a table as texts, in a temporary table of a database in memory; parsed and merged in SQL.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { LIST, VARCHAR, type DuckDBAppender, type DuckDBConnection } from '@duckdb/node-api'
import { SyncError } from '../../core/errors.ts'
import {
  mergeCounts,
  OWN_COLUMNS,
  type MergeCounts,
  type MirrorBatch,
  type MirrorRow,
  type MirrorStream,
} from '../mirror-tables.ts'
import { storePosition } from '../mirror/catalogue.ts'
import { checkInstant } from '../mirror/row-check.ts'
import { quoteIdentifier, type SchemaPlace } from '../mirror/session.ts'
import type { AttachedFile } from './attached.ts'
import { DuckdbSession } from './session.ts'
import { tableIn } from './sql.ts'
import { CREATE_STAGED, latestRows, PREPARE, textsWriter } from './staged-rows.ts'
import type { Staging } from './staging.ts'

/** Cells that are converted to text before other work gets a turn. */
const TURN_CELLS = 20_000
/** Characters that wait to be handed to DuckDB: each time takes a millisecond, whatever their number. */
const FLUSH_CHARACTERS = 4_000_000
const TEXTS = LIST(VARCHAR)

/** @throws Blocked if there is no room left for it */
export async function openBatch(
  file: AttachedFile,
  staging: Staging,
  home: SchemaPlace,
  stream: MirrorStream,
  onOver: (batch: MirrorBatch) => void,
): Promise<MirrorBatch> {
  const connection = await staging.connect()
  try {
    await staging.widen(connection, stream.columns.length)
    await connection.run(CREATE_STAGED)
    const appender = await connection.createAppender('staged', null, 'temp')
    return new DuckdbBatch(file, staging, connection, appender, home, stream, onOver)
  } catch (error) {
    connection.closeSync()
    throw error
  }
}

type Into = Parameters<MirrorBatch['merge']>[0]

class DuckdbBatch implements MirrorBatch {
  rows = 0
  /** DuckDB puts on disk what it has no memory for. */
  readonly isFull = false
  readonly #file: AttachedFile
  readonly #staging: Staging
  readonly #connection: DuckDBConnection
  readonly #appender: DuckDBAppender
  readonly #home: SchemaPlace
  readonly #stream: MirrorStream
  readonly #onOver: (batch: MirrorBatch) => void
  readonly #texts: (rows: readonly MirrorRow[]) => string[]
  /** Characters that are not flushed yet. */
  #waiting = 0
  #merging: Promise<unknown> = Promise.resolve()
  /** Why the batch can no longer be used. */
  #over: { readonly reason: unknown } | undefined

  constructor(
    file: AttachedFile,
    staging: Staging,
    connection: DuckDBConnection,
    appender: DuckDBAppender,
    home: SchemaPlace,
    stream: MirrorStream,
    onOver: (batch: MirrorBatch) => void,
  ) {
    this.#onOver = onOver
    this.#file = file
    this.#staging = staging
    this.#connection = connection
    this.#appender = appender
    this.#home = home
    this.#stream = stream
    this.#texts = textsWriter(stream.columns.filter(({ live }) => live))
  }

  async add(rows: readonly MirrorRow[], seenAt: string): Promise<void> {
    checkInstant('_last_seen_at', seenAt)
    const turn = Math.max(1, Math.floor(TURN_CELLS / (this.#stream.columns.length + 5)))
    const parts: { readonly rows: number; readonly texts: string[] }[] = []
    for (let first = 0; first < rows.length; first += turn) {
      if (first > 0) await nextTurn()
      const some = rows.slice(first, first + turn)
      parts.push({ rows: some.length, texts: this.#texts(some) })
    }
    // A merge takes the rows that exist when it begins.
    await this.#merging
    for (const part of parts) this.#append(part, seenAt)
  }

  #append({ rows, texts }: { readonly rows: number; readonly texts: string[] }, seenAt: string) {
    if (this.#over) throw this.#over.reason
    const appender = this.#appender
    appender.appendBigInt(BigInt(this.rows))
    appender.appendBigInt(BigInt(rows))
    appender.appendVarchar(seenAt)
    appender.appendList(texts, TEXTS)
    appender.endRow()
    this.rows += rows
    for (const text of texts) this.#waiting += text.length
    if (this.#waiting >= FLUSH_CHARACTERS) this.#flush()
  }

  /** If rows cannot be staged they are lost, and so is the batch. */
  #flush(): void {
    this.#waiting = 0
    try {
      this.#appender.flushSync()
    } catch (error) {
      const reason = this.#file.explain(error)
      this.#over = { reason }
      throw reason
    }
  }

  merge(into: Into): Promise<MergeCounts> {
    const merging = this.#merging.then(() => this.#merge(into))
    this.#merging = merging.catch(() => {})
    return merging
  }

  async #merge({ run, fence, position }: Into): Promise<MergeCounts> {
    if (this.#over) throw this.#over.reason
    this.#flush()
    for (const sql of PREPARE) await this.#file.prepare(this.#connection, sql)
    const counts = await this.#file.transaction(this.#connection, async (ask) => {
      const session = new DuckdbSession(ask, this.#home)
      await storePosition(session, this.#stream.name, fence, position)
      return await mergeLatest(session, this.#stream, run)
    })
    await this.#staging.trim(this.#connection)
    this.#end()
    return counts
  }

  /** The temporary tables go with their connection. */
  #end(): void {
    if (this.#over?.reason === OVER) return
    this.#over = { reason: OVER }
    this.#appender.clear()
    this.#appender.closeSync()
    this.#connection.closeSync()
    this.#onOver(this)
  }

  async drop(): Promise<void> {
    await this.#merging
    this.#end()
  }
}

const OVER = new SyncError('batch_over', 'The batch was merged or dropped before')

/** Merges the staged rows. In a transaction. */
async function mergeLatest(
  session: DuckdbSession,
  stream: MirrorStream,
  run: number,
): Promise<MergeCounts> {
  const { ask, place, schema } = session
  const table = tableIn(schema, stream.table)
  const live = stream.columns.filter((column) => column.live)
  const latest = latestRows(live)
  const differences = live.map(
    ({ name }, index) => `t.${quoteIdentifier(name)} IS DISTINCT FROM l.c${index}`,
  )
  const ours = new Set([...OWN_COLUMNS, ...live.map(({ name }) => name)].map(lower))
  // Columns that are no longer written, or that people added, keep their values.
  const kept = (await session.columnNames(stream.table)).filter((name) => !ours.has(lower(name)))
  // Reads only the ids first: if none of them exists, no other column has to be read.
  const [present] = await ask(
    `SELECT count(*) FROM ${table} t WHERE t."_id" IN (SELECT id FROM temp.keys)`,
  )
  await ask(
    `CREATE OR REPLACE TEMP TABLE judged AS
     SELECT l.id, t."_first_seen_at" AS first_seen, t."_last_seen_at" AS last_seen, t."_deleted_at" AS deleted, CASE
         WHEN l.last_seen <= t."_last_seen_at" AND coalesce(l.version <= t."_version", true) THEN 'older'
         WHEN l.version < t."_version" THEN 'reverted'
         WHEN t."_deleted_at" < l.last_seen OR t."_misfits" IS DISTINCT FROM l.misfits
           ${differences.map((one) => ` OR ${one}`).join('')} THEN 'changed'
         ELSE 'unchanged' END AS verdict
       ${kept.map((name, index) => `, t.${quoteIdentifier(name)} AS kept${index}`).join('')}
     FROM ${latest} l JOIN ${table} t ON t."_id" = l.id
     ${Number(present![0]) === 0 ? 'WHERE false' : ''}`,
  )
  await ask(
    `DELETE FROM ${table} WHERE "_id" IN (SELECT id FROM temp.judged WHERE verdict <> 'older')`,
  )
  const columns = [...OWN_COLUMNS, ...live.map(({ name }) => name), ...kept]
  const [written] = await ask(
    `INSERT INTO ${table} (${columns.map(quoteIdentifier).join()})
     SELECT l.id, l.version, coalesce(j.first_seen, l.last_seen), greatest(j.last_seen, l.last_seen),
       CASE WHEN j.deleted < l.last_seen THEN NULL ELSE j.deleted END, ${run}, l.misfits
       ${live.map((_, index) => `, l.c${index}`).join('')} ${kept.map((_, index) => `, j.kept${index}`).join('')}
     FROM ${latest} l LEFT JOIN temp.judged j ON j.id = l.id
     WHERE j.verdict IS DISTINCT FROM 'older'`,
  )
  const [counts] = await ask(
    `SELECT (SELECT count(DISTINCT id) FROM temp.keys) - count(*), count(*) FILTER (WHERE verdict IN ('changed', 'reverted')),
       count(*) FILTER (WHERE verdict = 'unchanged'), count(*) FILTER (WHERE verdict = 'older'),
       count(*) FILTER (WHERE verdict = 'reverted') FROM temp.judged`,
  )
  const merged = mergeCounts(counts!)
  const { inserted, changed, unchanged } = merged
  // No key of the table prevents duplicate ids.
  if (Number(written![0]) !== inserted + changed + unchanged || inserted < 0)
    throw new SyncError(
      'warehouse_altered',
      `The warehouse ${place} was altered: ${schema}.${stream.table} has a row more than once; expected each _id once: remove the others, which this lists: SELECT _id FROM ${quoteIdentifier(schema)}.${quoteIdentifier(stream.table)} GROUP BY _id HAVING count(*) > 1`,
    )
  return merged
}

const lower = (name: string): string => name.toLowerCase()
