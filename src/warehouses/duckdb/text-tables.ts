// Tables of texts in a database of their own, for one query over the rows of files. Promise kept here: the query reads these tables and
// nothing else, memory is bounded, and the rows of the answer have one order.

import { rm } from 'node:fs/promises'
import { DuckDBInstance, type DuckDBAppender, type DuckDBConnection } from '@duckdb/node-api'
import { SyncError } from '../../core/errors.ts'
import { quoteIdentifier } from '../mirror/session.ts'
import type { Reading, TextColumn, TextTables } from '../warehouse.ts'
import { openError, queryError } from './failures.ts'
import { DuckdbWarehouse, MEMORY } from './index.ts'
import { topOf, type QueryTop } from './query-check.ts'
import { temporaryFolder } from './temporary.ts'

let made = 0

/**
 * @param place what is queried, for messages
 * @param instead what to write where a query names another file
 */
export async function openDuckdbTables(place: string, instead: string): Promise<TextTables> {
  const folder = temporaryFolder(`tables-${++made}`, place)
  const instance = await DuckDBInstance.create(':memory:', {
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    memory_limit: MEMORY,
    temp_directory: folder,
    // What the order of an aggregate leaves open is the same each time.
    threads: '1',
    // No file, no network, no extension. Last: behind it the folder could not be set any more.
    enable_external_access: 'false',
  }).catch((error: unknown) => {
    throw openError(error, place)
  })
  try {
    const connection = await instance.connect()
    return new Tables(place, instance, connection, { folder, instead })
  } catch (error) {
    instance.closeSync()
    throw openError(error, place)
  }
}

class Tables implements TextTables {
  readonly #place: string
  readonly #connection: DuckDBConnection
  readonly #warehouse: DuckdbWarehouse
  readonly #folder: string

  constructor(
    place: string,
    instance: DuckDBInstance,
    connection: DuckDBConnection,
    { folder, instead }: { readonly folder: string; readonly instead: string },
  ) {
    this.#folder = folder
    this.#place = place
    this.#connection = connection
    const places = { folder: '/', files: [], instead }
    this.#warehouse = new DuckdbWarehouse(place, instance, connection, places, () => {})
  }

  async create(table: string, columns: readonly TextColumn[]): Promise<void> {
    const declared = columns.map(
      ({ name, isWhole = false }) => `${quoteIdentifier(name)} ${isWhole ? 'BIGINT' : 'VARCHAR'}`,
    )
    await this.#connection.run(`CREATE TABLE ${quoteIdentifier(table)} (${declared.join()})`)
  }

  async fill(
    table: string,
    rows: AsyncIterable<readonly (readonly (string | bigint)[])[]>,
  ): Promise<void> {
    const appender = await this.#connection.createAppender(table)
    let isWhole = false
    try {
      for await (const chunk of rows) append(appender, chunk)
      // What is left in its buffer is written now, and may not fit.
      appender.flushSync()
      isWhole = true
    } catch (error) {
      throw isOfDuckdb(error) ? queryError(error, this.#place) : error
    } finally {
      if (!isWhole) appender.clear()
      appender.closeSync()
    }
  }

  async read(query: string, line: string, signal?: AbortSignal): Promise<Reading> {
    const top = await topOf(query, async (sql) =>
      (await this.#connection.runAndReadAll(sql)).getRows(),
    )
    const isOrdered = top?.orders !== null && top !== null
    const reading = await this.#warehouse.read(query, {
      signal,
      ...(!isOrdered && { sortedBy: line }),
    })
    if (!reading.columns.includes(line))
      throw new SyncError(
        'query_line',
        `the answer has no column ${line}, from which each row knows its line; add it: \`SELECT ${line}, …\`, and with GROUP BY the first line of each group: \`min(${line}) AS ${line}\``,
      )
    if (top !== null) checkOrder(top, line)
    return reading
  }

  async close(): Promise<void> {
    await this.#warehouse.close()
    await rm(this.#folder, { recursive: true, force: true })
  }
}

/** The order of rows decides which row of a key counts: it is the same each time. @throws SyncError `query_order` */
function checkOrder({ orders, isLimited }: QueryTop, line: string): void {
  if (orders === null && isLimited)
    throw new SyncError(
      'query_order',
      `the query has a LIMIT and no ORDER BY, so that any rows may be taken; add \`ORDER BY ${line}\` before it`,
    )
  if (orders !== null && orders !== 'all' && orders !== line)
    throw new SyncError(
      'query_order',
      `ORDER BY of the query must end with ${line}, so that rows which are equal in it come in one order: \`ORDER BY …, ${line}\``,
    )
}

function append(appender: DuckDBAppender, rows: readonly (readonly (string | bigint)[])[]): void {
  for (const row of rows) {
    for (const cell of row)
      if (typeof cell === 'string') appender.appendVarchar(cell)
      else appender.appendBigInt(cell)
    appender.endRow()
  }
}

/** The driver throws plain errors; ours have classes of their own. */
const isOfDuckdb = (error: unknown): boolean =>
  error instanceof Error && !(error instanceof SyncError) && error.name === 'Error'
