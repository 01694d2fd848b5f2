// One PostgreSQL database: a bounded pool, prepared statements, short transactions that are tried again if they clash.
// Promises kept here: every wait has a bound; a lost connection is replaced and never ends the process; a message of the
// server or the driver never leaves this folder.

import { createHash } from 'node:crypto'
import pg from 'pg'
import type { Pool, PoolClient, PoolConfig } from 'pg'
import { systemClock } from '../../core/ports.ts'
import { decodeStoredText, encodeStoredText } from '../../core/stored-text.ts'
import { isConflict, isLost, sqlStateOf, toLedgerError } from '../../postgres/failures.ts'
import { resolveConnection, type Connection } from './connection.ts'
import type {
  ErrorSubject,
  PostgresDatabase,
  PostgresRow,
  Session,
  SentStatement,
  StatementResult,
} from './session.ts'
import { setUp } from './set-up.ts'
import type { StatementValue } from '../statements/engine.ts'

const TRIES_MAX = 8
const TRY_AGAIN_MS = 15

/** Statements find their rows by an index, a slice at a time and in its order, whatever the planner assumes of the tables. */
const SETTINGS = {
  // After a lock is granted, what its last holder wrote must be read: other levels read an older state.
  default_transaction_isolation: 'read committed',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_sort: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
  datestyle: 'ISO',
}

/** A pool whose connections use the schema alone, and that waits for nothing without a bound. */
function createPool(
  config: PoolConfig,
  schema: string,
  subject: ErrorSubject,
  readOnly: boolean,
): Pool {
  const settings = {
    ...SETTINGS,
    search_path: schema,
    ...(readOnly && { default_transaction_read_only: 'on' }),
  }
  const pool = new pg.Pool({
    ...config,
    application_name: 'records-sync',
    max: subject.connections,
    connectionTimeoutMillis: subject.connectMaxMs,
    idleTimeoutMillis: 30_000,
    allowExitOnIdle: true,
    keepAlive: true,
    // Statements that are not waited for are sent at once.
    pipeline: true,
    lock_timeout: subject.lockMaxMs,
    statement_timeout: subject.statementMaxMs,
    // A worker whose machine is gone keeps its locks no longer than this.
    idle_in_transaction_session_timeout: 30_000,
    // The server's own bound comes first; this one is for a server that does not answer at all.
    query_timeout: subject.statementMaxMs + 5_000,
    options: Object.entries(settings)
      .map(([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`)
      .join(' '),
  })
  // A connection that ends is taken out of the pool; the statement that was using it fails.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/** Opens (and, unless `readOnly`, creates and migrates) the schema of `connection`. */
export async function openPostgresDatabase(
  connection: Connection,
  subject: ErrorSubject,
  { readOnly = false }: { readOnly?: boolean } = {},
): Promise<PostgresDatabase> {
  const resolved = resolveConnection(connection)
  if ('problem' in resolved)
    throw subject.fail(`${subject.code}_url`, `The ${subject.noun} ${resolved.problem}`, 'ledger')
  const { place, schema, config } = resolved
  const pool = createPool(config, schema, subject, readOnly)

  const withClient = async <Result>(work: (client: PoolClient) => Promise<Result>) => {
    for (let count = 1; ; count++) {
      let client: PoolClient | undefined
      try {
        client = await pool.connect()
        const result = await work(client)
        client.release()
        return result
      } catch (error) {
        client?.release(isLost(error))
        if (!isConflict(error) || count === TRIES_MAX) throw toLedgerError(error, place, subject)
      }
      await systemClock.sleep(TRY_AGAIN_MS * count)
    }
  }
  const database: PostgresDatabase = {
    place,
    ...sessionOn((query) => withClient(query)),
    transaction: (work) =>
      withClient(async (client) => {
        await client.query('BEGIN')
        try {
          const result = await work(sessionOn((query) => query(client)))
          await client.query('COMMIT')
          return result
        } catch (error) {
          if (!isLost(error)) await client.query('ROLLBACK')
          throw error
        }
      }),
    together: (statements) => withClient((client) => sendTogether(client, statements)),
    async close() {
      if (!pool.ending) await pool.end()
    },
  }
  try {
    await setUp(database, schema, readOnly, subject)
  } catch (error) {
    await database.close()
    throw error
  }
  return database
}

const DIVISION_BY_ZERO = '22012'

/** One transaction in two round trips. Where a statement fails, the server undoes it, and refuses those behind, COMMIT too. */
async function sendTogether(
  client: PoolClient,
  statements: readonly SentStatement[],
): Promise<readonly StatementResult[]> {
  const queries = statements.map(({ text, values }) => prepared(text, values))
  // It is waited for: without it, the others would be stored one by one.
  await client.query('BEGIN')
  const sent = queries.map((query) => client.query<PostgresRow>(query))
  const ended = await Promise.allSettled([...sent, client.query('COMMIT')])
  const failed = ended.findIndex(({ status }) => status === 'rejected')
  const failure = ended[failed]
  if (failure?.status === 'rejected') {
    const orElse = statements[failed]?.orElse
    if (orElse && sqlStateOf(failure.reason) === DIVISION_BY_ZERO) throw orElse
    throw failure.reason
  }
  return (await Promise.all(sent)).map(({ rows }) => ({ rows: rows.map(restored) }))
}

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

const prepared = (text: string, values: readonly StatementValue[]) => ({
  name: nameOf(text),
  text,
  values: values.map(stored),
})

function restored(row: PostgresRow): PostgresRow {
  for (const [name, value] of Object.entries(row))
    if (typeof value === 'string') row[name] = decodeStoredText(value)
  return row
}

function sessionOn(
  run: <Result>(query: (client: PoolClient) => Promise<Result>) => Promise<Result>,
): Session {
  const ask = (text: string, values: readonly StatementValue[]) =>
    run((client) => client.query<PostgresRow>(prepared(text, values)))
  return {
    all: async (text, values = []) => (await ask(text, values)).rows.map(restored),
    one: async (text, values = []) => (await ask(text, values)).rows.map(restored)[0],
    run: async (text, values = []) => (await ask(text, values)).rowCount ?? 0,
    script: async (text) => void (await run((client) => client.query(text))),
  }
}
