// The connections to one PostgreSQL database. One that has a session of the server for itself is set up once; behind a pooler
// each transaction is, and nothing of it outlives the transaction.

import { createHash } from 'node:crypto'
import pg from 'pg'
import type { Pool, PoolClient, PoolConfig, QueryResult } from 'pg'
import { systemClock } from '../../core/ports.ts'
import { encodeStoredText } from '../../core/stored-text.ts'
import { isConflict, isLost, toLedgerError } from '../../postgres/failures.ts'
import {
  beginTransaction,
  isOwnSession,
  serverTime,
  type ServerSettings,
} from '../../postgres/transaction.ts'
import type { ErrorSubject, PostgresRow, TransactionMode } from './session.ts'
import type { StatementValue } from '../statements/engine.ts'

const TRIES_MAX = 8
const TRY_AGAIN_MS = 15

/** Statements find their rows by an index, a slice at a time and in its order, whatever the planner assumes of the tables. */
const SETTINGS = {
  default_transaction_isolation: 'read committed',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_sort: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
  // A worker whose machine is gone keeps its locks no longer than this.
  idle_in_transaction_session_timeout: serverTime(30_000),
}

/** After a lock is granted, what its last holder wrote must be read: other levels read an older state. */
export const LATEST = 'ISOLATION LEVEL READ COMMITTED'

/** A pool that waits for nothing without a bound. */
function createPool(config: PoolConfig, subject: ErrorSubject): Pool {
  const pool = new pg.Pool({
    application_name: 'records-sync',
    max: subject.connections,
    connectionTimeoutMillis: subject.connectMaxMs,
    idleTimeoutMillis: 30_000,
    allowExitOnIdle: true,
    keepAlive: true,
    // Statements that are not waited for are sent at once.
    pipeline: true,
    // The server's own bound comes first; this one is for a server that does not answer at all.
    query_timeout: subject.statementMaxMs + 5_000,
    ...config,
  })
  // A connection that ends is taken out of the pool; the statement that was using it fails.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/** What the statements of a schema rely on: they use it alone. */
const settingsOf = (schema: string, subject: ErrorSubject, readOnly: boolean): ServerSettings => ({
  ...SETTINGS,
  search_path: schema,
  lock_timeout: serverTime(subject.lockMaxMs),
  statement_timeout: serverTime(subject.statementMaxMs),
  ...(readOnly ? { default_transaction_read_only: 'on' } : {}),
})

const names = new Map<string, string>()

/** The name under which a text is prepared. */
function nameOf(text: string): string {
  let name = names.get(text)
  if (name === undefined) {
    name = createHash('sha256').update(text).digest('hex').slice(0, 32)
    names.set(text, name)
  }
  return name
}

const stored = (value: StatementValue): unknown => {
  if (typeof value === 'string') return encodeStoredText(value)
  if (typeof value !== 'object' || value === null) return value
  return value.map((each) => (typeof each === 'string' ? encodeStoredText(each) : each))
}

export class Clients {
  readonly #pool: Pool
  readonly #settings: ServerSettings
  readonly #place: string
  readonly #readOnly: boolean
  readonly #subject: ErrorSubject
  /** Whether a connection has its session for itself; unknown before its first use. */
  readonly #own = new WeakMap<PoolClient, boolean>()

  constructor(
    config: PoolConfig,
    about: { place: string; schema: string; readOnly: boolean; subject: ErrorSubject },
  ) {
    const { place, schema, readOnly, subject } = about
    this.#pool = createPool(config, subject)
    this.#settings = settingsOf(schema, subject, readOnly)
    this.#place = place
    this.#readOnly = readOnly
    this.#subject = subject
  }

  /** Does `work` on a connection, and again if it clashed with another transaction. */
  async use<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
    for (let count = 1; ; count++) {
      let client: PoolClient | undefined
      try {
        client = await this.#pool.connect()
        if (!this.#own.has(client))
          this.#own.set(client, await isOwnSession(client, this.#settings))
        const result = await work(client)
        client.release()
        return result
      } catch (error) {
        client?.release(isLost(error))
        if (!isConflict(error) || count === TRIES_MAX)
          throw toLedgerError(error, this.#place, this.#subject)
      }
      await systemClock.sleep(TRY_AGAIN_MS * count)
    }
  }

  isOwn(client: PoolClient): boolean {
    return this.#own.get(client) === true
  }

  async begin(client: PoolClient, mode: TransactionMode): Promise<void> {
    if (this.isOwn(client)) await client.query(`BEGIN ${mode}`)
    else
      await beginTransaction(client, `${mode}${this.#readOnly ? ' READ ONLY' : ''}`, this.#settings)
  }

  /** Its statement is kept prepared where the session is the connection's own: a name outlives the transaction. */
  send(
    client: PoolClient,
    text: string,
    values: readonly StatementValue[],
  ): Promise<QueryResult<PostgresRow>> {
    return client.query<PostgresRow>({
      ...(this.isOwn(client) && { name: nameOf(text) }),
      text,
      values: values.map(stored),
    })
  }

  async close(): Promise<void> {
    if (!this.#pool.ending) await this.#pool.end()
  }
}
