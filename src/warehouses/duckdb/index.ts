// A DuckDB file as a warehouse, opened for reading only, and closed as soon as it was read: one process may write it. The driver
// ends a failed stream like a complete one. So the answer first goes into a temporary table, whose creation reports every error,
// and then it is read and counted. Memory stays within MEMORY; the rest goes to temporary files.

import {
  DuckDBInstance,
  StatementType,
  type DuckDBConnection,
  type DuckDBResult,
} from '@duckdb/node-api'
import { SyncError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import { systemClock } from '../../core/ports.ts'
import { noCellIn, rowCells } from '../cells.ts'
import type { WarehouseOptions, Reading, ReadOptions, Warehouse } from '../warehouse.ts'
import {
  fileBeingRead,
  fileLocked,
  lockHolder,
  parseError,
  processText,
  queryError,
  openError,
} from './failures.ts'
import { enterFile, realFile } from './file-gate.ts'
import type { FilePlaces } from './file-rules.ts'
import { checkQuery, notOneSelect } from './query-check.ts'
import { quoteIdentifier } from '../mirror/session.ts'
import { quoteLiteral } from './sql.ts'
import { temporaryFolder } from './temporary.ts'
import { cellOf, kindOf, orderOf, refusedIn } from './values.ts'

const WAIT_MS = 30_000
const ASK_AGAIN_MS = 250
const INTERRUPT_MS = 50
export const MEMORY = '512MB'

/** Reads the answer from its table. The answer of a query about tables is kept in memory instead: it would find that table. */
const ANSWER = 'temp.answer'
const SORTED = 'temp.sorted'

/** A database of its own for each reading: for queries that read only files. */
const NO_FILE = ':memory:'

/** @throws SyncError warehouse_missing, warehouse_not_duckdb, warehouse_unreadable; Blocked if the file stays locked */
export async function openDuckdb(
  name: string,
  { duckdb: path, ...places }: { readonly duckdb: string } & FilePlaces,
  options: WarehouseOptions,
): Promise<Warehouse> {
  const place = `${name} (${path})`
  const leave = await takeTurn(path, place, options)
  try {
    const instance = await openFile(path, place, options)
    try {
      const connection = await instance.connect()
      return new DuckdbWarehouse(place, instance, connection, places, leave)
    } catch (error) {
      instance.closeSync()
      throw openError(error, place)
    }
  } catch (error) {
    leave()
    throw error
  }
}

/** Waits until nothing in this process writes the file. Call the returned function after closing the file again. */
async function takeTurn(
  path: string,
  place: string,
  { waitMs = WAIT_MS, signal }: WarehouseOptions,
): Promise<() => void> {
  if (path === NO_FILE) return () => {}
  // If even the folder is missing, opening the file reports it.
  const file = await realFile(path).catch(() => path)
  const entered = await enterFile(file, 'read', waitMs, signal)
  if (typeof entered === 'string') throw fileBeingRead(place, waitMs)
  return entered
}

/** From the cache: two openings in one process must share the lock, because the first to close would release it. */
async function openFile(
  path: string,
  place: string,
  { waitMs = WAIT_MS, signal }: WarehouseOptions,
): Promise<DuckDBInstance> {
  for (let waited = 0; ; waited += ASK_AGAIN_MS) {
    signal?.throwIfAborted()
    try {
      const settings = {
        autoinstall_known_extensions: 'false',
        autoload_known_extensions: 'false',
        memory_limit: MEMORY,
        temp_directory: temporaryFolder('duckdb', path),
      }
      // No file, nothing to lock and nothing to write to.
      if (path === NO_FILE) return await DuckDBInstance.create(path, settings)
      return await DuckDBInstance.fromCache(path, { access_mode: 'READ_ONLY', ...settings })
    } catch (error) {
      const lock = lockHolder(error)
      if (!lock) throw openError(error, place)
      if (waited >= waitMs) throw fileLocked(place, processText(lock.pid), waitMs)
    }
    await systemClock.sleep(ASK_AGAIN_MS, signal)
  }
}

/** A connection that answers queries. */
export class DuckdbWarehouse implements Warehouse {
  readonly place: string
  readonly #instance: DuckDBInstance
  readonly #connection: DuckDBConnection
  readonly #places: FilePlaces
  readonly #leave: () => void
  #stream: DuckDBResult | undefined
  #working: Promise<unknown> = Promise.resolve()
  #closing: Promise<void> | undefined

  constructor(
    place: string,
    instance: DuckDBInstance,
    connection: DuckDBConnection,
    places: FilePlaces,
    leave: () => void,
  ) {
    this.place = place
    this.#instance = instance
    this.#connection = connection
    this.#places = places
    this.#leave = leave
  }

  /** @param sortedBy a column of the answer: rows are in its order, where they were not made in it by all others too */
  async read(
    query: string,
    { signal, rowsMax, sortedBy }: ReadOptions & { readonly sortedBy?: string } = {},
  ): Promise<Reading> {
    const { columns, types, asksCatalogue } = await this.#work(signal, () => this.#describe(query))
    columns.forEach((column, index) => {
      const what = refusedIn(types[index]!)
      if (what !== undefined) throw noCellIn(column, what)
    })
    const limit = rowsMax === undefined ? '' : `LIMIT ${rowsMax}`
    const make = `CREATE TEMP TABLE answer AS FROM query(${quoteLiteral(query)}) ${limit}`
    return {
      columns,
      orders: types.map(orderOf),
      kinds: types.map(kindOf),
      chunks: (rows) =>
        this.#chunks(
          asksCatalogue && sortedBy === undefined ? { query } : { make, sortedBy },
          columns,
          rows,
          signal,
        ),
    }
  }

  /** Does work that ends with the signal, or with `close`. */
  async #work<Result>(
    signal: AbortSignal | undefined,
    work: () => Promise<Result>,
  ): Promise<Result> {
    signal?.throwIfAborted()
    if (this.#closing) throw this.#closed()
    const working = work()
    this.#working = working.catch(() => {})
    const interrupt = () => void this.#interruptUntil(working)
    signal?.addEventListener('abort', interrupt, { once: true })
    try {
      return await working
    } catch (error) {
      signal?.throwIfAborted()
      throw this.#closing ? this.#closed() : queryError(error, this.place)
    } finally {
      signal?.removeEventListener('abort', interrupt)
    }
  }

  /** The columns by the query's names; refuses a query that is anything but one SELECT. */
  async #describe(query: string) {
    this.#connection.interrupt()
    await this.#endStream()
    await this.#connection.run(
      `SET file_search_path = ${quoteLiteral(this.#places.folder)}; SET TimeZone = 'UTC'; DROP TABLE IF EXISTS ${ANSWER}; DROP TABLE IF EXISTS ${SORTED}`,
    )
    return await this.#understand(query).catch((error: unknown) => {
      throw parseError(error)
    })
  }

  async #understand(query: string) {
    const checked = await checkQuery(
      query,
      async (sql) => (await this.#connection.runAndReadAll(sql)).getRows(),
      this.#places,
    )
    const statements = await this.#connection.extractStatements(query)
    if (checked === null || statements.count !== 1)
      throw notOneSelect('one that cannot be looked through')
    const prepared = await statements.prepare(0)
    try {
      if (prepared.statementType !== StatementType.SELECT)
        throw notOneSelect(`of the kind ${StatementType[prepared.statementType]}`)
      if (prepared.parameterCount > 0) throw notOneSelect('one with parameters')
      const indexes = Array.from({ length: prepared.columnCount }, (_, index) => index)
      return {
        ...checked,
        columns: indexes.map((index) => prepared.columnName(index)),
        types: indexes.map((index) => prepared.columnType(index)),
      }
    } finally {
      prepared.destroySync()
    }
  }

  async *#chunks(
    answer:
      | { readonly query: string }
      | { readonly make: string; readonly sortedBy: string | undefined },
    columns: readonly string[],
    rowsMax: number,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<readonly (readonly Json[])[], void, undefined> {
    const { rows, stream } = await this.#work(signal, async () => {
      if ('query' in answer) {
        const made = await this.#connection.run(answer.query)
        return { rows: made.rowCount, stream: made }
      }
      const made = await this.#connection.run(answer.make)
      const { sortedBy } = answer
      const table = sortedBy === undefined ? ANSWER : await this.#sorted(sortedBy, columns)
      this.#stream = await this.#connection.stream(`FROM ${table}`)
      return { rows: Number((await made.getRows())[0]![0]), stream: this.#stream }
    })
    const cells = stream.columnTypes().map(cellOf)
    let row = 0
    let waiting: Json[][] = []
    while (row < rows) {
      const chunk = await this.#work(signal, () => stream.fetchChunk())
      if (chunk === null || chunk.rowCount === 0) {
        signal?.throwIfAborted()
        throw new SyncError(
          'query_torn',
          `the answer ended after ${row} of ${rows} rows; the temporary files of DuckDB may be damaged`,
        )
      }
      for (const values of chunk.getRows()) waiting.push(rowCells(values, cells))
      row += chunk.rowCount
      while (waiting.length >= rowsMax) {
        yield waiting.slice(0, rowsMax)
        waiting = waiting.slice(rowsMax)
      }
    }
    if (waiting.length > 0) yield waiting
  }

  /** The table with the answer in order. Mostly it is in order: to sort wide rows takes more memory than there is. */
  async #sorted(first: string, columns: readonly string[]): Promise<string> {
    const name = quoteIdentifier(first)
    const asked = await this.#connection.runAndReadAll(
      `SELECT coalesce(bool_and(${name} >= before), true) FROM (SELECT ${name}, lag(${name}, 1, ${name}) OVER () AS before FROM ${ANSWER})`,
    )
    if (asked.getRows()[0]![0] === true) return ANSWER
    const others = columns.filter((column) => column !== first).map(quoteIdentifier)
    await this.#connection.run(
      `CREATE TEMP TABLE sorted AS FROM ${ANSWER} ORDER BY ${[name, ...others].join()}`,
    )
    await this.#connection.run(`DROP TABLE ${ANSWER}`)
    return SORTED
  }

  /** An interruption ends the running statement; one that has not begun yet must be interrupted again. */
  async #interruptUntil(working: Promise<unknown>): Promise<void> {
    const pulse = setInterval(() => this.#connection.interrupt(), INTERRUPT_MS)
    this.#connection.interrupt()
    await working.catch(() => {})
    clearInterval(pulse)
  }

  #closed(): SyncError {
    return new SyncError('warehouse_closed', `The warehouse ${this.place} was closed`)
  }

  /** Reads a stream to its end: an abandoned one would keep the file, and its lock, until it is garbage collected. */
  async #endStream(): Promise<void> {
    const stream = this.#stream
    this.#stream = undefined
    if (!stream) return
    for (let rows = 1; rows > 0;) rows = (await stream.fetchChunk())?.rowCount ?? 0
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    await this.#interruptUntil(this.#working)
    await this.#endStream()
    this.#connection.closeSync()
    this.#instance.closeSync()
    this.#leave()
  }
}
