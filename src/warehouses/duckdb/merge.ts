// Stages rows for a table: one JSON text each, in a temporary table of a database in memory; parsed and merged in SQL.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { DuckDBAppender, DuckDBConnection } from '@duckdb/node-api'
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
import { cast, instantExpression, tableIn } from './sql.ts'
import { cellsWriter } from './staged-cells.ts'
import type { Staging } from './staging.ts'

/** Cells that are converted to text, or passed to the driver, before other work gets a turn. */
const TURN_CELLS = 20_000
const FLUSH_ROWS = 1_000
const FLUSH_CHARACTERS = 1_000_000

/**
 * One row for each id, with its cells as a list of texts. Created outside the file, so that the file need not be open meanwhile.
 */
const LATEST = `CREATE OR REPLACE TEMP TABLE latest AS
  SELECT id, version, max(seen) OVER (PARTITION BY id) AS last_seen, misfits, from_json(cells, '["VARCHAR"]') AS cells
  FROM (
    SELECT id, ${instantExpression('version')} AS version, ${instantExpression('seen')} AS seen, misfits, cells, rowid AS added
    FROM temp.staged
  )
  QUALIFY row_number() OVER (PARTITION BY id ORDER BY version DESC NULLS LAST, seen DESC, added DESC) = 1`

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
    await connection.run(
      'CREATE TEMP TABLE staged (id VARCHAR, version VARCHAR, seen VARCHAR, misfits VARCHAR, cells VARCHAR)',
    )
    const appender = await connection.createAppender('staged', null, 'temp')
    return new DuckdbBatch(file, connection, appender, home, stream, onOver)
  } catch (error) {
    connection.closeSync()
    throw error
  }
}

type Into = Parameters<MirrorBatch['merge']>[0]

class DuckdbBatch implements MirrorBatch {
  rows = 0
  readonly #file: AttachedFile
  readonly #connection: DuckDBConnection
  readonly #appender: DuckDBAppender
  readonly #home: SchemaPlace
  readonly #stream: MirrorStream
  readonly #onOver: (batch: MirrorBatch) => void
  readonly #cells: (row: MirrorRow) => string
  #waiting = { rows: 0, characters: 0 }
  #merging: Promise<unknown> = Promise.resolve()
  /** Why the batch can no longer be used. */
  #over: { readonly reason: unknown } | undefined

  constructor(
    file: AttachedFile,
    connection: DuckDBConnection,
    appender: DuckDBAppender,
    home: SchemaPlace,
    stream: MirrorStream,
    onOver: (batch: MirrorBatch) => void,
  ) {
    this.#onOver = onOver
    this.#file = file
    this.#connection = connection
    this.#appender = appender
    this.#home = home
    this.#stream = stream
    this.#cells = cellsWriter(stream.columns.filter(({ live }) => live))
  }

  async add(rows: readonly MirrorRow[], seenAt: string): Promise<void> {
    checkInstant('_last_seen_at', seenAt)
    const turn = Math.max(1, Math.floor(TURN_CELLS / (this.#stream.columns.length + 5)))
    const cells: string[] = []
    for (const [index, row] of rows.entries()) {
      if (index > 0 && index % turn === 0) await nextTurn()
      cells.push(this.#cells(row))
    }
    // A merge takes the rows that exist when it begins.
    await this.#merging
    for (const [index, row] of rows.entries()) {
      if (index > 0 && index % FLUSH_ROWS === 0) await nextTurn()
      this.#append(row, seenAt, cells[index]!)
    }
  }

  #append({ id, version, misfits }: MirrorRow, seenAt: string, cells: string): void {
    if (this.#over) throw this.#over.reason
    const appender = this.#appender
    appender.appendVarchar(id)
    if (version === null) appender.appendNull()
    else appender.appendVarchar(version)
    appender.appendVarchar(seenAt)
    if (misfits === null) appender.appendNull()
    else appender.appendVarchar(misfits)
    appender.appendVarchar(cells)
    appender.endRow()
    this.rows++
    const waiting = this.#waiting
    waiting.rows++
    waiting.characters += cells.length
    if (waiting.rows >= FLUSH_ROWS || waiting.characters >= FLUSH_CHARACTERS) this.#flush()
  }

  /** If rows cannot be staged they are lost, and so is the batch. */
  #flush(): void {
    this.#waiting = { rows: 0, characters: 0 }
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
    await this.#file.prepare(this.#connection, LATEST)
    const counts = await this.#file.transaction(this.#connection, async (ask) => {
      const session = new DuckdbSession(ask, this.#home)
      await storePosition(session, this.#stream.name, fence, position)
      return await mergeLatest(session, this.#stream, run)
    })
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

/** Merges the rows of `latest`. In a transaction. */
async function mergeLatest(
  session: DuckdbSession,
  stream: MirrorStream,
  run: number,
): Promise<MergeCounts> {
  const { ask, place, schema } = session
  const table = tableIn(schema, stream.table)
  const live = stream.columns.filter((column) => column.live)
  const values = live.map(({ type }, index) => cast(`l.cells[${index + 1}]`, type))
  const differences = live.map(
    ({ name }, index) => `t.${quoteIdentifier(name)} IS DISTINCT FROM ${values[index]}`,
  )
  const ours = new Set([...OWN_COLUMNS, ...live.map(({ name }) => name)].map(lower))
  // Columns that are no longer written, or that people added, keep their values.
  const kept = (await session.columnNames(stream.table)).filter((name) => !ours.has(lower(name)))
  // Reads only the ids first: if none of them exists, no other column has to be read.
  const [present] = await ask(
    `SELECT count(*) FROM ${table} t WHERE t."_id" IN (SELECT id FROM temp.latest)`,
  )
  await ask(
    `CREATE OR REPLACE TEMP TABLE judged AS
     SELECT l.id, t."_first_seen_at" AS first_seen, t."_last_seen_at" AS last_seen, t."_deleted_at" AS deleted, CASE
         WHEN l.last_seen <= t."_last_seen_at" AND coalesce(l.version <= t."_version", true) THEN 'older'
         WHEN l.version < t."_version" THEN 'reverted'
         WHEN t."_deleted_at" < l.last_seen OR t."_misfits" IS DISTINCT FROM l.misfits::JSON
           ${differences.map((one) => ` OR ${one}`).join('')} THEN 'changed'
         ELSE 'unchanged' END AS verdict
       ${kept.map((name, index) => `, t.${quoteIdentifier(name)} AS kept${index}`).join('')}
     FROM temp.latest l JOIN ${table} t ON t."_id" = l.id
     ${Number(present![0]) === 0 ? 'WHERE false' : ''}`,
  )
  await ask(
    `DELETE FROM ${table} WHERE "_id" IN (SELECT id FROM temp.judged WHERE verdict <> 'older')`,
  )
  const columns = [...OWN_COLUMNS, ...live.map(({ name }) => name), ...kept]
  const [written] = await ask(
    `INSERT INTO ${table} (${columns.map(quoteIdentifier).join()})
     SELECT l.id, l.version, coalesce(j.first_seen, l.last_seen), greatest(j.last_seen, l.last_seen),
       CASE WHEN j.deleted < l.last_seen THEN NULL ELSE j.deleted END, ${run}, l.misfits::JSON
       ${values.map((value) => `, ${value}`).join('')} ${kept.map((_, index) => `, j.kept${index}`).join('')}
     FROM temp.latest l LEFT JOIN temp.judged j ON j.id = l.id
     WHERE j.verdict IS DISTINCT FROM 'older'`,
  )
  const [counts] = await ask(
    `SELECT (SELECT count(*) FROM temp.latest) - count(*), count(*) FILTER (WHERE verdict IN ('changed', 'reverted')),
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
