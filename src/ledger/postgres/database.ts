// One PostgreSQL database: a bounded pool, prepared statements, short transactions that are tried again if they clash.
// Promises kept here: every wait has a bound; a lost connection is replaced and never ends the process; a message of the
// server or the driver never leaves this folder.

import type { PoolClient } from 'pg'
import { decodeStoredText } from '../../core/stored-text.ts'
import type { SetUp } from '../../sqlite/migrate.ts'
import { isLost, sqlStateOf } from '../../postgres/failures.ts'
import { Clients, LATEST } from './clients.ts'
import { resolveConnection, type Connection } from './connection.ts'
import type {
  ErrorSubject,
  PostgresDatabase,
  PostgresRow,
  Session,
  SentStatement,
  StatementResult,
  TransactionMode,
} from './session.ts'
import { setUp } from './set-up.ts'
import type { StatementValue } from '../statements/engine.ts'

/** Opens the schema of `connection`, and makes it unless `readOnly`; `setUp: 'upgrade'` migrates an older one. */
export async function openPostgresDatabase(
  connection: Connection,
  subject: ErrorSubject,
  { readOnly = false, setUp: mayBe = 'new' }: { readOnly?: boolean; setUp?: SetUp } = {},
): Promise<PostgresDatabase> {
  const resolved = resolveConnection(connection)
  if ('problem' in resolved)
    throw subject.fail(`${subject.code}_url`, `The ${subject.noun} ${resolved.problem}`, 'ledger')
  const { place, schema, config } = resolved
  const clients = new Clients(config, { place, schema, readOnly, subject })
  const inTransaction = async <Result>(
    client: PoolClient,
    work: () => Promise<Result>,
    mode: TransactionMode = LATEST,
  ) => {
    await clients.begin(client, mode)
    try {
      const result = await work()
      await client.query('COMMIT')
      return result
    } catch (error) {
      if (!isLost(error)) await client.query('ROLLBACK')
      throw error
    }
  }
  const database: PostgresDatabase = {
    place,
    ...sessionOn(clients, (query) =>
      clients.use((client) =>
        clients.isOwn(client) ? query(client) : inTransaction(client, () => query(client)),
      ),
    ),
    transaction: (work, mode) =>
      clients.use((client) =>
        inTransaction(client, () => work(sessionOn(clients, (query) => query(client))), mode),
      ),
    together: (statements) =>
      clients.use(async (client) => {
        // It is waited for: without it, the others would be stored one by one.
        await clients.begin(client, LATEST)
        return await sendTogether(client, clients, statements)
      }),
    close: () => clients.close(),
  }
  try {
    await setUp(database, schema, readOnly ? 'never' : mayBe, subject)
  } catch (error) {
    await database.close()
    throw error
  }
  return database
}

const DIVISION_BY_ZERO = '22012'

/** The rest of a transaction in one round trip. Where a statement fails, the server undoes it, and refuses those behind, COMMIT too. */
async function sendTogether(
  client: PoolClient,
  clients: Clients,
  statements: readonly SentStatement[],
): Promise<readonly StatementResult[]> {
  const sent = statements.map(({ text, values }) => clients.send(client, text, values))
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

function restored(row: PostgresRow): PostgresRow {
  for (const [name, value] of Object.entries(row))
    if (typeof value === 'string') row[name] = decodeStoredText(value)
  return row
}

function sessionOn(
  clients: Clients,
  run: <Result>(query: (client: PoolClient) => Promise<Result>) => Promise<Result>,
): Session {
  const ask = (text: string, values: readonly StatementValue[]) =>
    run((client) => clients.send(client, text, values))
  return {
    all: async (text, values = []) => (await ask(text, values)).rows.map(restored),
    one: async (text, values = []) => (await ask(text, values)).rows.map(restored)[0],
    run: async (text, values = []) => (await ask(text, values)).rowCount ?? 0,
    script: async (text) => void (await run((client) => client.query(text))),
  }
}
