// The connections of a mirror to its PostgreSQL: opened when needed, closed when idle, replaced when lost. Promises kept here:
// every wait is bounded; statements on the server end with `close` and with the signal; what a session is set to ends with each
// transaction.

import pg, { type PoolClient } from 'pg'
import { SyncError } from '../../core/errors.ts'
import { isLost } from '../../postgres/failures.ts'
import {
  beginTransaction,
  processOf,
  serverTime,
  type ServerSettings,
} from '../../postgres/transaction.ts'
import { resolveUrl } from '../../postgres/url.ts'
import type { WarehouseOptions } from '../warehouse.ts'
import { cancelStatements } from './cancel.ts'
import { LOCK_MAX_MS, urlError, STATEMENT_MAX_MS, writeError } from './failures.ts'

const WAIT_MS = 30_000
const CONNECTIONS_MAX = 16
const IDLE_MS = 30_000

const SETTINGS: ServerSettings = {
  lock_timeout: serverTime(LOCK_MAX_MS),
  statement_timeout: serverTime(STATEMENT_MAX_MS),
  idle_in_transaction_session_timeout: serverTime(30_000),
  jit: 'off',
}

/** The values of a row, as the server writes them. */
export type RowValues = readonly (string | null)[]

/** A connection with an open transaction. Its errors are the driver's own. */
export interface Lease {
  readonly client: PoolClient
  ask(text: string, values?: readonly unknown[]): Promise<{ rows: RowValues[]; count: number }>
}

/** What a transaction is for, and what applies to it alone. */
export interface TransactionOptions {
  readonly isRead?: boolean
  readonly settings?: ServerSettings
}

interface Held {
  readonly lease: Lease
  /** The process of the server that works for it. */
  process: number
  /** Gives the connection back, or closes it. Safe twice. */
  release(how: 'back' | 'closed'): void
}

export class PostgresConnections {
  readonly place: string
  readonly #pool: pg.Pool
  readonly #config: pg.PoolConfig
  readonly #signal: AbortSignal | undefined
  readonly #held = new Set<Held>()
  #closing: Promise<void> | undefined

  /** @throws SyncError `warehouse_url` */
  constructor(
    name: string,
    { url, schema }: { url: string; schema: string },
    { waitMs = WAIT_MS, signal }: WarehouseOptions,
  ) {
    const resolved = resolveUrl(url)
    if ('problem' in resolved) throw urlError(name, resolved.problem)
    this.place = `${name} (${resolved.place}, schema ${schema})`
    this.#config = {
      application_name: 'records-sync',
      connectionTimeoutMillis: waitMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      ...resolved.config,
    }
    this.#pool = new pg.Pool({
      ...this.#config,
      max: CONNECTIONS_MAX,
      idleTimeoutMillis: IDLE_MS,
      allowExitOnIdle: true,
    })
    // The pool removes a connection that ends; its user learns of it from the statement that fails.
    this.#pool.on('error', () => {})
    this.#pool.on('connect', (client) => client.on('error', () => {}))
    this.#signal = signal
    signal?.addEventListener('abort', this.#onAbort, { once: true })
  }

  readonly #onAbort = () => void this.close()

  /**
   * Does `work` in one transaction; any error undoes all of it. `needs`: what a person must grant if the user lacks the right.
   * @throws Blocked if no connection can be opened; SyncError `warehouse_closed`
   */
  async transaction<Result>(
    needs: string,
    work: (lease: Lease) => Promise<Result>,
    { isRead = false, settings = {} }: TransactionOptions = {},
  ): Promise<Result> {
    const held = await this.#hold()
    const { lease } = held
    try {
      const mode = `ISOLATION LEVEL READ COMMITTED${isRead ? ' READ ONLY' : ''}`
      held.process = await beginTransaction(lease.client, mode, { ...SETTINGS, ...settings })
      const result = await work(lease)
      await lease.ask('COMMIT')
      held.release('back')
      return result
    } catch (error) {
      const isUsable =
        !isLost(error) &&
        (await lease.ask('ROLLBACK').then(
          () => true,
          () => false,
        ))
      held.release(isUsable ? 'back' : 'closed')
      throw this.explain(error, needs)
    }
  }

  async #hold(): Promise<Held> {
    this.#check()
    let client: PoolClient
    try {
      client = await this.#pool.connect()
    } catch (error) {
      throw this.explain(error, '')
    }
    const held = holdOf(client, () => this.#held.delete(held))
    this.#held.add(held)
    if (this.#closing) held.release('closed')
    this.#check()
    return held
  }

  /** Converts an error to our words. */
  explain(error: unknown, needs: string): unknown {
    if (error instanceof SyncError) return error
    if (this.#signal?.aborted) return this.#signal.reason
    return this.#closing ? this.#closed() : writeError(error, this.place, needs)
  }

  #check(): void {
    this.#signal?.throwIfAborted()
    if (this.#closing) throw this.#closed()
  }

  #closed(): SyncError {
    return new SyncError('warehouse_closed', `The warehouse ${this.place} was closed`)
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    this.#signal?.removeEventListener('abort', this.#onAbort)
    const held = [...this.#held]
    if (held.length > 0) {
      await cancelStatements(
        this.#config,
        held.map(({ process }) => process),
      ).catch(() => {})
      for (const one of held) one.release('closed')
    }
    await this.#pool.end()
  }
}

function holdOf(client: PoolClient, onRelease: () => void): Held {
  let isHeld = true
  const ask: Lease['ask'] = async (text, values) => {
    // Values as text. Several statements at once are allowed if there are no values.
    const answer = (await client.query<(string | null)[]>({
      text,
      ...(values && { values: [...values] }),
      rowMode: 'array',
      types: { getTypeParser: () => (value: string) => value },
      // The server's own limit comes first; this one is for a server that does not answer at all.
      query_timeout: STATEMENT_MAX_MS + 5_000,
    } as pg.QueryArrayConfig)) as pg.QueryArrayResult<(string | null)[]>
    return { rows: answer.rows, count: answer.rowCount ?? 0 }
  }
  return {
    lease: { client, ask },
    process: processOf(client),
    release(how) {
      if (!isHeld) return
      isHeld = false
      onRelease()
      client.release(how === 'closed')
    },
  }
}
