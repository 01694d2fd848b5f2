// The warehouse of the world: a DuckDB file, which the product's own driver opens. Its calls are carried out one after the other while time
// stands still, so that no history depends on the machine's threads; the way to the driver's thread and back takes virtual time, in which a
// process may be stopped or killed: before a call, nothing is done; after it, all of it is, and the process does not know.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api'
import { openMirrorTables, openWarehouse } from '../../../src/warehouses/index.ts'
import type { MirrorBatch, MirrorTables } from '../../../src/warehouses/mirror-tables.ts'
import type { Reading, Warehouse as QueriedWarehouse } from '../../../src/warehouses/warehouse.ts'
import type { Loop } from './loop.ts'
import { asWorld, type Process } from './process.ts'

export const MIRROR = 'copy'
/** The schema that a mirror of this name fills. */
const SCHEMA = MIRROR

export type Cells = readonly (string | null)[]

/** Is told what a query is answered. */
export interface AnswerWatch {
  /** The warehouse has just looked at the tables. */
  looked(): void
  rows(chunk: readonly (readonly unknown[])[]): void
  end(): void
}

/** What every call of a process passes through. */
interface Way {
  readonly process: Process
  /** Of one way to the driver's thread, or back, ms. */
  wayMs(): number
}

/** What a table holds, as texts in the order of ids; null where it is not there. */
export type TableReader = (
  name: string,
  columns: readonly string[],
) => Promise<readonly Cells[] | null>

export class Warehouse {
  readonly #loop: Loop
  readonly #place: { readonly duckdb: string; readonly folder: string }
  #last: Promise<unknown> = Promise.resolve()
  readonly #open = new Map<Process, Set<{ close(): Promise<void> }>>()
  /** Keeps the driver's database in memory, which all share, from one call to the next. */
  #kept: MirrorTables | null = null
  /** Of the judge. */
  #reader: DuckDBConnection | null = null

  constructor(loop: Loop, folder: string) {
    this.#loop = loop
    this.#place = { duckdb: join(folder, 'dwh.duckdb'), folder }
  }

  /** Before a mirror is filled. */
  async begin(): Promise<void> {
    this.#kept = await openMirrorTables('dwh', this.#place, SCHEMA)
  }

  /** Opens the tables for a process. */
  async open(given: Parameters<typeof openMirrorTables>, way: Way): Promise<MirrorTables> {
    const tables = await this.#inTurn(() => openMirrorTables(...given))
    return this.#called(tables, way, {
      batch: async (...given) => {
        const batch = await this.#inTurn(() => tables.batch(...given))
        return this.#called<MirrorBatch>(batch, way, {})
      },
      close: this.#closing(tables, way),
    })
  }

  /** Opens what queries ask for a process. */
  async openQueried(
    given: Parameters<typeof openWarehouse>,
    way: Way,
    watch: (query: string, columns: readonly string[]) => AnswerWatch,
  ): Promise<QueriedWarehouse> {
    const warehouse = await this.#inTurn(() => openWarehouse(...given))
    return this.#called(warehouse, way, {
      read: async (query, options) => {
        const reading = await this.#inTurn(() => warehouse.read(query, options))
        const chunks = (rowsMax: number) =>
          this.#chunks(reading.chunks(rowsMax), way, watch(query, reading.columns))
        return { ...reading, chunks }
      },
      close: this.#closing(warehouse, way),
    })
  }

  /** The first step looks at the tables, and the others fetch what it has found. */
  async *#chunks(
    of: ReturnType<Reading['chunks']>,
    way: Way,
    watch: AnswerWatch,
  ): ReturnType<Reading['chunks']> {
    const chunks = of[Symbol.asyncIterator]()
    let next = async () => {
      const found = await this.#inTurn(() => chunks.next())
      watch.looked()
      return found
    }
    for (;;) {
      await this.#passes(way)
      const { done, value } = await next()
      next = () => this.#inTurn(() => chunks.next())
      await this.#passes(way)
      if (done === true) return watch.end()
      watch.rows(value)
      yield value
    }
  }

  /** Ends what a process has open, when it closes it, or with the process. */
  #closing(opened: { close(): Promise<void> }, { process }: Way): () => Promise<void> {
    const its = this.#open.get(process) ?? new Set()
    if (!this.#open.has(process)) {
      this.#open.set(process, its)
      process.onDeath.push(() => this.#closeAll(process))
    }
    its.add(opened)
    return async () => {
      its.delete(opened)
      await this.#inTurn(() => opened.close())
    }
  }

  readonly table: TableReader = async (name, columns) =>
    await this.#inTurn(async () => {
      if (!existsSync(this.#place.duckdb)) return null
      this.#reader ??= await (await DuckDBInstance.create(':memory:')).connect()
      const ask = async (sql: string) =>
        (await this.#reader!.runAndReadAll(sql)).getRows() as readonly Cells[]
      await ask(`ATTACH '${this.#place.duckdb}' AS dwh (READ_ONLY)`)
      try {
        const table = `dwh.${MIRROR}."${name}"`
        const found = await ask(
          `SELECT 1 FROM duckdb_tables() WHERE database_name = 'dwh' AND table_name = '${name}'`,
        )
        if (found.length === 0) return null
        const there = (
          await ask(`SELECT column_name FROM (DESCRIBE ${table}) ORDER BY column_name`)
        ).map(([column]) => column)
        // A property that was never there has no column.
        const texts = columns
          .map((column) => (there.includes(column) ? `CAST("${column}" AS VARCHAR)` : 'NULL'))
          .join()
        return await ask(`SELECT ${texts} FROM ${table} ORDER BY 1`)
      } finally {
        await ask('DETACH dwh')
      }
    })

  async end(): Promise<void> {
    this.#reader?.closeSync()
    for (const process of this.#open.keys()) this.#closeAll(process)
    await this.#inTurn(async () => await this.#kept?.close())
  }

  #closeAll(process: Process): void {
    for (const tables of this.#open.get(process) ?? [])
      void this.#inTurn(() => tables.close()).catch(() => {})
    this.#open.delete(process)
  }

  /** One call at a time; time stands still. */
  async #inTurn<Result>(call: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(() => asWorld(call))
    this.#last = turn.catch(() => {})
    return await this.#loop.outside(turn)
  }

  #passes({ process, wayMs }: Way): Promise<void> {
    return new Promise((resolve) => {
      this.#loop.after(wayMs(), 'warehouse', () => process.run(resolve), process)
    })
  }

  #called<Of extends object>(of: Of, way: Way, own: Partial<Of>): Of {
    const passes = () => this.#passes(way)
    return new Proxy(of, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target)
        // What tells something at once has no way to go.
        if (typeof value !== 'function' || name === 'holdsId') return value
        const call = (own[name as keyof Of] as typeof value | undefined) ?? value
        const isOwn = Object.hasOwn(own, name)
        return async (...given: unknown[]): Promise<unknown> => {
          await passes()
          try {
            const carriedOut = async () => (await Reflect.apply(call, target, given)) as unknown
            return await (isOwn ? carriedOut() : this.#inTurn(carriedOut))
          } finally {
            await passes()
          }
        }
      },
    })
  }
}
