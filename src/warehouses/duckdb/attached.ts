// A DuckDB file, attached to a database in memory for one transaction at a time. Promises kept here: between two transactions the
// file is closed, so that others can open it; nothing else in this process has it open at the same time (file-gate.ts); every
// wait is bounded.

import { existsSync } from 'node:fs'
import { chmod, link, rename, rm } from 'node:fs/promises'
import type { DuckDBConnection } from '@duckdb/node-api'
import { SyncError } from '../../core/errors.ts'
import { systemClock } from '../../core/ports.ts'
import type { WarehouseOptions } from '../warehouse.ts'
import {
  fileBeingRead,
  isUntidy,
  fileLocked,
  lockHolder,
  processText,
  writeError,
} from './failures.ts'
import { enterFile } from './file-gate.ts'
import { FILE, quoteLiteral } from './sql.ts'

const WAIT_MS = 10_000
const ASK_AGAIN_MS = 100
const INTERRUPT_MS = 50

/**
 * Rows of a group, by which DuckDB stores a table: a third of its own number. A merge that does not fill the last group is written
 * again with the next one, which takes memory, and the longer the larger a group may be.
 */
const GROUP_ROWS = 40_960

/** The answer of a statement: its rows, with values as JavaScript has them. */
export type Ask = (sql: string) => Promise<unknown[][]>

const attach = (file: string): string =>
  `ATTACH ${quoteLiteral(file)} AS ${FILE} (TYPE duckdb, ROW_GROUP_SIZE ${GROUP_ROWS})`

export class AttachedFile {
  /** For messages. */
  readonly place: string
  readonly #file: string
  readonly #waitMs: number
  readonly #closing = new AbortController()
  readonly #signal: AbortSignal
  readonly #working = new Set<Promise<unknown>>()

  /** @param file from `realFile` */
  constructor(place: string, file: string, { waitMs = WAIT_MS, signal }: WarehouseOptions) {
    this.place = place
    this.#file = file
    this.#waitMs = waitMs
    this.#signal = AbortSignal.any([this.#closing.signal, ...(signal ? [signal] : [])])
  }

  exists(): boolean {
    return existsSync(this.#file)
  }

  /**
   * Runs `work` in one transaction on the file; any error undoes all of it.
   * @param create whether to create a file that does not exist
   * @throws Blocked if others hold it, or it is full or denied; SyncError `warehouse_…`
   */
  transaction<Result>(
    connection: DuckDBConnection,
    work: (ask: Ask) => Promise<Result>,
    create = false,
  ): Promise<Result> {
    return this.guard(async () => {
      const leave = await enterFile(this.#file, 'write', this.#waitMs, this.#signal)
      if (typeof leave === 'string') throw fileBeingRead(this.place, this.#waitMs)
      // The wait for other processes starts here: the wait inside this process says nothing of them.
      const until = Date.now() + this.#waitMs
      try {
        if (create && !this.exists()) await this.#create(connection)
        await this.#attach(connection, until)
        try {
          return await this.#transaction(connection, work)
        } finally {
          await connection.run(`DETACH ${FILE}`).catch((error: unknown) => {
            if (!isUntidy(error)) throw error
          })
        }
      } finally {
        leave()
      }
    })
  }

  /** Runs a statement on the database in memory. @throws Blocked if there is no room for it */
  prepare(connection: DuckDBConnection, sql: string): Promise<void> {
    return this.guard(async () => {
      await this.#interruptible(connection, () => connection.run(sql))
    })
  }

  /** Converts a driver's error to our words. */
  explain(error: unknown): unknown {
    return writeError(error, this.place)
  }

  /** Does work that `close` waits for; converts its errors to our words. */
  async guard<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#signal.throwIfAborted()
    const working = work()
    this.#working.add(working)
    try {
      return await working
    } catch (error) {
      this.#signal.throwIfAborted()
      throw this.explain(error)
    } finally {
      this.#working.delete(working)
    }
  }

  /** Creates it under another name first: if the process is killed, the file is whole or absent. */
  async #create(connection: DuckDBConnection): Promise<void> {
    const made = `${this.#file}.${process.pid}.new`
    try {
      await connection.run(attach(made))
      await connection.run(`DETACH ${FILE}`)
      await chmod(made, 0o600)
      await link(made, this.#file).catch((error: NodeJS.ErrnoException) => {
        // Another process may have been faster; and not every file system supports links.
        if (error.code !== 'EEXIST') return rename(made, this.#file)
      })
    } finally {
      await rm(made, { force: true })
    }
  }

  async #attach(connection: DuckDBConnection, until: number): Promise<void> {
    for (;;) {
      this.#signal.throwIfAborted()
      if (!this.exists())
        throw new SyncError(
          'warehouse_missing',
          `The warehouse ${this.place} is gone: its file was removed or moved; run again, and everything is mirrored again`,
        )
      try {
        await connection.run(attach(this.#file))
        return
      } catch (error) {
        const lock = lockHolder(error)
        if (!lock) throw error
        if (Date.now() >= until) throw fileLocked(this.place, processText(lock.pid), this.#waitMs)
      }
      await systemClock.sleep(ASK_AGAIN_MS, this.#signal)
    }
  }

  async #transaction<Result>(
    connection: DuckDBConnection,
    work: (ask: Ask) => Promise<Result>,
  ): Promise<Result> {
    await connection.run('BEGIN')
    try {
      const result = await this.#interruptible(connection, () =>
        work(async (sql) => (await connection.runAndReadAll(sql)).getRowsJS()),
      )
      await connection.run('COMMIT')
      return result
    } catch (error) {
      // After a failed COMMIT there is no transaction.
      await connection.run('ROLLBACK').catch(() => {})
      throw error
    }
  }

  /** An interruption ends the running statement; one that has not begun yet must be interrupted again. */
  async #interruptible<Part>(
    connection: DuckDBConnection,
    part: () => Promise<Part>,
  ): Promise<Part> {
    let pulse: NodeJS.Timeout | undefined
    const interrupt = () => {
      connection.interrupt()
      pulse = setInterval(() => connection.interrupt(), INTERRUPT_MS)
    }
    this.#signal.throwIfAborted()
    this.#signal.addEventListener('abort', interrupt, { once: true })
    try {
      return await part()
    } finally {
      this.#signal.removeEventListener('abort', interrupt)
      clearInterval(pulse)
    }
  }

  /** Ends running work. */
  async close(): Promise<void> {
    this.#closing.abort(new SyncError('warehouse_closed', `The warehouse ${this.place} was closed`))
    await Promise.allSettled(this.#working)
  }
}
