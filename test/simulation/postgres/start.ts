// The real PostgreSQL server of the simulator: one for all histories of a process and of those that it starts. Each history has a database of
// its own, made from a template.

import { openPostgresLedger } from '../../../src/ledger/postgres/index.ts'
import { startOwnPostgres } from '../../postgres.ts'
import { LEDGER_SCHEMA, TEMPLATE } from './names.ts'
import { ServerThread, type RealServer } from './thread.ts'

/** Locks are waited for in virtual time: the server itself ends no wait. */
const SETTINGS = [
  'fsync=off',
  'full_page_writes=off',
  'synchronous_commit=off',
  'autovacuum=off',
  'max_connections=200',
  'shared_buffers=64MB',
  'deadlock_timeout=1d',
  'wal_level=minimal',
  'max_wal_senders=0',
  'checkpoint_timeout=1h',
]

/** What would bring the machine's time or chance into a history: code that asks for it is refused. */
const REFUSED = [
  'now',
  'transaction_timestamp',
  'statement_timestamp',
  'timeofday',
  'gen_random_uuid',
  'random',
]

/** The time of the world, which the simulator writes into a file. */
const CLOCK = `
  ALTER FUNCTION pg_catalog.clock_timestamp() RENAME TO machine_clock_timestamp;
  CREATE FUNCTION pg_catalog.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
    $$ SELECT to_timestamp(pg_read_file('clock_' || current_database())::double precision / 1000) $$;
  ${REFUSED.map((name) => `ALTER FUNCTION pg_catalog.${name}() RENAME TO machine_${name}`).join(';')}`

let started: Promise<RealServer> | null = null

/** It ends with this process. */
export const simulatedPostgres = (): Promise<RealServer> => (started ??= start())

async function start(): Promise<RealServer> {
  const { url, folder } = await startOwnPostgres(SETTINGS)
  const { hostname: host, port } = new URL(url('postgres'))
  const server = { host, port: Number(port), user: 'postgres', folder }
  const thread = new ServerThread(server)
  thread.ask('postgres', `CREATE DATABASE ${TEMPLATE} TEMPLATE template0 ENCODING 'UTF8'`)
  const ledger = await openPostgresLedger({ url: url(TEMPLATE), schema: LEDGER_SCHEMA })
  await ledger.close()
  // The same project in all histories, on any machine.
  thread.ask(TEMPLATE, `UPDATE ${LEDGER_SCHEMA}.project SET id = 'simulate'`)
  thread.ask(TEMPLATE, `SET allow_system_table_mods = on; ${CLOCK}`)
  thread.leave(TEMPLATE)
  thread.leave('postgres')
  return server
}
