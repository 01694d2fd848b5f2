// A PostgreSQL database as a warehouse: one connection, one transaction that may only read and sees one state, and a cursor on
// the server, so that rows are made on request.

import type pg from 'pg'
import type { FieldDef } from 'pg'
import { SyncError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import { newClient } from '../../postgres/bound-client.ts'
import { beginTransaction } from '../../postgres/transaction.ts'
import { resolveUrl } from '../../postgres/url.ts'
import { noCellIn, rowCells, type CellOf } from '../cells.ts'
import type { WarehouseOptions, Reading, ReadOptions, Warehouse } from '../warehouse.ts'
import { cancelStatements } from './cancel.ts'
import { urlError, queryError } from './failures.ts'
import { cellOf, kindOf, orderOf, refusedIn, type PgType } from './values.ts'

const WAIT_MS = 30_000
const FETCH_ROWS_MAX = 1_000
const DECLARE = 'DECLARE answer NO SCROLL CURSOR FOR '

/** @throws SyncError warehouse_url; Blocked if it cannot be reached, or refuses the connection */
export async function openPostgres(
  name: string,
  { url }: { url: string },
  { waitMs = WAIT_MS, signal }: WarehouseOptions,
): Promise<Warehouse> {
  const resolved = resolveUrl(url)
  if ('problem' in resolved) throw urlError(name, resolved.problem)
  const place = `${name} (${resolved.place})`
  const config: pg.PoolConfig = {
    application_name: 'records-sync',
    connectionTimeoutMillis: waitMs,
    keepAlive: true,
    ...resolved.config,
  }
  signal?.throwIfAborted()
  const client = newClient(config)
  // If the connection ends, the statement that fails reports it, or the next one.
  client.on('error', () => {})
  try {
    await client.connect()
  } catch (error) {
    throw queryError(error, place, null)
  }
  return new PostgresWarehouse(place, client, config)
}

class PostgresWarehouse implements Warehouse {
  readonly place: string
  readonly #client: pg.Client
  readonly #config: pg.PoolConfig
  /** The process of the server that has the open transaction. */
  #process: number | undefined
  #working: Promise<unknown> | undefined
  #closing: Promise<void> | undefined

  constructor(place: string, client: pg.Client, config: pg.PoolConfig) {
    this.place = place
    this.#client = client
    this.#config = config
  }

  async read(query: string, { signal }: ReadOptions = {}): Promise<Reading> {
    const ask = (text: string) => this.#ask(text, { text: query, offset: DECLARE.length }, signal)
    await this.#begin(signal)
    await ask(DECLARE + query)
    const { fields } = await ask('FETCH 0 FROM answer')
    const types = await this.#types(fields, signal)
    const cells = types.map((type, index) => {
      const what = refusedIn(type)
      if (what !== undefined) throw noCellIn(fields[index]!.name, what)
      return cellOf(type)
    })
    const columns = fields.map((field) => field.name)
    return {
      columns,
      orders: types.map(orderOf),
      kinds: types.map(kindOf),
      chunks: (rowsMax) => this.#chunks(cells, rowsMax, ask),
    }
  }

  /** Ends the reading before, and begins one that sees one state, and changes nothing. */
  async #begin(signal: AbortSignal | undefined): Promise<void> {
    await this.#ask('ROLLBACK', null, signal)
    this.#process = undefined
    const begun = this.#cancellable(signal, null, () =>
      beginTransaction(this.#client, 'ISOLATION LEVEL REPEATABLE READ READ ONLY', {}),
    )
    this.#process = await begun
  }

  async *#chunks(
    cells: readonly CellOf<string>[],
    rowsMax: number,
    ask: (text: string) => Promise<{ rows: (string | null)[][] }>,
  ): AsyncGenerator<readonly (readonly Json[])[], void, undefined> {
    const size = Math.min(rowsMax, FETCH_ROWS_MAX)
    for (;;) {
      const { rows } = await ask(`FETCH FORWARD ${size} FROM answer`)
      const chunk = rows.map((values) => rowCells(values, cells))
      if (chunk.length > 0) yield chunk
      if (chunk.length < size) return
    }
  }

  /** The types of the columns: a domain already has its base type; the database's catalogue gives the elements of an array. */
  async #types(fields: readonly FieldDef[], signal: AbortSignal | undefined): Promise<PgType[]> {
    const oids = [...new Set(fields.map((field) => field.dataTypeID))]
    if (oids.length === 0) return []
    const { rows } = await this.#ask(
      `SELECT t.oid, coalesce(nullif(e.typbasetype, 0), e.oid) FROM pg_catalog.pg_type t
       JOIN pg_catalog.pg_type e ON e.oid = t.typelem
       WHERE t.oid IN (${oids.join()}) AND t.typinput = 'pg_catalog.array_in'::regproc`,
      null,
      signal,
    )
    const elements = new Map(rows.map(([oid, element]) => [Number(oid), Number(element)]))
    return fields.map(({ dataTypeID: oid }) => ({ oid, element: elements.get(oid) ?? 0 }))
  }

  /** Runs one statement, its values as text. */
  #ask(
    text: string,
    query: { text: string; offset: number } | null,
    signal: AbortSignal | undefined,
  ): Promise<{ fields: FieldDef[]; rows: (string | null)[][] }> {
    return this.#cancellable(
      signal,
      query,
      async () =>
        (await this.#client.query<(string | null)[]>({
          text,
          rowMode: 'array',
          // Allows one statement only, whatever the text contains.
          queryMode: 'extended',
          types: { getTypeParser: () => (value: string) => value },
        } as pg.QueryArrayConfig)) as unknown as { fields: FieldDef[]; rows: (string | null)[][] },
    )
  }

  /** The signal, or `close`, cancels the work on the server. */
  async #cancellable<Result>(
    signal: AbortSignal | undefined,
    query: { text: string; offset: number } | null,
    work: () => Promise<Result>,
  ): Promise<Result> {
    signal?.throwIfAborted()
    if (this.#closing)
      throw new SyncError('warehouse_closed', `The warehouse ${this.place} was closed`)
    const cancel = () => void this.#cancel()
    signal?.addEventListener('abort', cancel, { once: true })
    try {
      const working = work()
      this.#working = working.catch(() => {})
      return await working
    } catch (error) {
      signal?.throwIfAborted()
      throw queryError(error, this.place, query)
    } finally {
      this.#working = undefined
      signal?.removeEventListener('abort', cancel)
    }
  }

  /** Asks the server, over another connection, to cancel this one's statement; if that fails, the connection is closed. */
  async #cancel(): Promise<void> {
    try {
      if (this.#process === undefined) throw new Error('no transaction is open')
      await cancelStatements(this.#config, [this.#process])
    } catch {
      await this.#client.end().catch(() => {})
    }
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    const working = this.#working
    if (working) {
      await this.#cancel()
      await working
    }
    await this.#client.end().catch(() => {})
  }
}
