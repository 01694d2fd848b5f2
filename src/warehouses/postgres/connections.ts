// The connections of a mirror to its PostgreSQL: opened when needed, closed when idle, replaced when lost. Promises kept here:
// every wait is bounded; statements on the server end with `close` and with the signal.

import pg, { type PoolClient } from 'pg'
import { SyncError } from '../../core/errors.ts'
import { isLost } from '../../postgres/failures.ts'
import { resolveUrl } from '../../postgres/url.ts'
import type { WarehouseOptions } from '../warehouse.ts'
import { cancelStatements } from './cancel.ts'
import { LOCK_MAX_MS, urlError, STATEMENT_MAX_MS, writeError } from './failures.ts'

const WAIT_MS = 30_000
const CONNECTIONS_MAX = 16
const IDLE_MS = 30_000

const SETTINGS = {
  default_transaction_isolation: 'read committed',
  timezone: 'UTC',
  datestyle: 'ISO',
  jit: 'off',
  temp_buffers: '32MB',
}

/** The values of a row, as the server writes them. */
export type RowValues = readonly (string | null)[]

/** A connection, for as long as it is needed. Its errors are the driver's own. */
export interface Lease {
  readonly client: PoolClient
  ask(text: string, values?: readonly unknown[]): Promise<{ rows: RowValues[]; count: number }>
  /** Runs `work` in one transaction; any error undoes all of it. `settings`: statements that apply to it alone. */
  transaction<Result>(work: () => Promise<Result>, settings?: string): Promise<Result>
  /** Gives the connection back, or closes it. Safe twice. */
  release(how: 'back' | 'closed'): void
}

export class PostgresConnections {
  readonly place: string
  readonly #pool: pg.Pool
  readonly #config: pg.ClientConfig
  readonly #signal: AbortSignal | undefined
  readonly #leases = new Set<Lease>()
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
      ...resolved.config,
      application_name: 'records-sync',
      connectionTimeoutMillis: waitMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      lock_timeout: LOCK_MAX_MS,
      statement_timeout: STATEMENT_MAX_MS,
      idle_in_transaction_session_timeout: 30_000,
      options: Object.entries(SETTINGS)
        .map(([setting, value]) => `-c ${setting}=${value.replaceAll(' ', '\\ ')}`)
        .join(' '),
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

  /** Does `work` on a connection. `needs`: what a person must grant if the user lacks the right. */
  async use<Result>(needs: string, work: (lease: Lease) => Promise<Result>): Promise<Result> {
    const lease = await this.lease()
    try {
      const result = await work(lease)
      lease.release('back')
      return result
    } catch (error) {
      lease.release(isLost(error) ? 'closed' : 'back')
      throw this.explain(error, needs)
    }
  }

  /** @throws Blocked if no connection can be opened; SyncError `warehouse_closed` */
  async lease(): Promise<Lease> {
    this.#check()
    let client: PoolClient
    try {
      client = await this.#pool.connect()
    } catch (error) {
      throw this.explain(error, '')
    }
    const lease = leaseOf(client, () => this.#leases.delete(lease))
    this.#leases.add(lease)
    if (this.#closing) lease.release('closed')
    this.#check()
    return lease
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
    const leases = [...this.#leases]
    if (leases.length > 0) {
      await cancelStatements(
        this.#config,
        leases.map(({ client }) => client),
      ).catch(() => {})
      for (const lease of leases) lease.release('closed')
    }
    await this.#pool.end()
  }
}

function leaseOf(client: PoolClient, onRelease: () => void): Lease {
  let held = true
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
    client,
    ask,
    async transaction(work, settings = '') {
      await ask(`BEGIN; ${settings}`)
      try {
        const result = await work()
        await ask('COMMIT')
        return result
      } catch (error) {
        if (!isLost(error)) await ask('ROLLBACK')
        throw error
      }
    },
    release(how) {
      if (!held) return
      held = false
      onRelease()
      client.release(how === 'closed')
    },
  }
}
