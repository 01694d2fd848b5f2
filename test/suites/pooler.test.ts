// What stands between us and PostgreSQL: a real PgBouncer in every mode, in front of roles and databases with settings of their
// own. Each store works as over a connection of its own and leaves nothing in the sessions that others use, or it is refused in
// words that say what to do.

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openPostgresLedger } from '../../src/ledger/postgres/index.ts'
import { openPostgresQuota } from '../../src/ledger/postgres/quota.ts'
import { BoundClient, newClient, UNBOUND } from '../../src/postgres/bound-client.ts'
import { openWarehouse } from '../../src/warehouses/index.ts'
import type { MirrorRow, MirrorStream } from '../../src/warehouses/mirror-tables.ts'
import { openPostgresMirror } from '../../src/warehouses/postgres/mirror.ts'
import { startPgbouncer } from '../pgbouncer.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { accept, accepted, booked, rows as itemRows } from './ledger/scene.ts'
import { at, column, making, NOTHING, OWNER, PROJECT } from './mirror-tables/scene.ts'
import { errorOf } from './warehouse.suite.ts'

let postgres: Postgres
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.stop())

const IGNORED =
  'options,lock_timeout,statement_timeout,idle_in_transaction_session_timeout,extra_float_digits'
const ODD = [
  `timezone = 'America/New_York'`,
  `datestyle = 'German, DMY'`,
  'intervalstyle = sql_standard',
  'extra_float_digits = -5',
  'standard_conforming_strings = off',
  'bytea_output = escape',
  'array_nulls = off',
  'quote_all_identifiers = on',
  `default_transaction_isolation = 'serializable'`,
]

interface Variant {
  readonly name: string
  readonly mode: 'transaction' | 'session' | 'statement'
  readonly pooler?: Readonly<Record<string, string>>
  /** What ALTER ROLE and ALTER DATABASE set. */
  readonly role?: readonly string[]
  readonly database?: readonly string[]
}

const VARIANTS: readonly Variant[] = [
  { name: 'its default settings', mode: 'session' },
  { name: 'its default settings', mode: 'transaction' },
  {
    name: 'startup parameters that it ignores',
    mode: 'session',
    pooler: { ignore_startup_parameters: IGNORED },
  },
  {
    name: 'startup parameters that it ignores',
    mode: 'transaction',
    pooler: { ignore_startup_parameters: IGNORED },
  },
  { name: 'a role with settings of its own', mode: 'session', role: ODD },
  { name: 'a role with settings of its own', mode: 'transaction', role: ODD },
  { name: 'a database with settings of its own', mode: 'session', database: ODD },
  { name: 'a database with settings of its own', mode: 'transaction', database: ODD },
  {
    name: 'sessions that are never reset',
    mode: 'session',
    role: ODD,
    pooler: { server_reset_query: '', ignore_startup_parameters: IGNORED },
  },
  {
    name: 'sessions that are always reset',
    mode: 'transaction',
    role: ODD,
    pooler: { server_reset_query_always: '1' },
  },
  { name: 'two sessions for all', mode: 'transaction', pooler: { default_pool_size: '2' } },
  {
    name: 'two sessions for all, and a role with settings of its own',
    mode: 'transaction',
    role: ODD,
    database: [`timezone = 'Asia/Kolkata'`],
    pooler: { default_pool_size: '2' },
  },
  {
    name: 'a role with a search path and short waits',
    mode: 'transaction',
    role: ['search_path = nowhere', 'lock_timeout = 700', 'statement_timeout = 3000'],
  },
]

let made = 0

/** A database, its pooler, and a user of it who leaves settings in the sessions where the pooler lets them. */
async function place({ mode, pooler = {}, role = [], database = [] }: Variant) {
  const url = new URL(await postgres.newDatabase())
  const name = url.pathname.slice(1)
  const user = `pooled_${process.pid}_${++made}`
  const ask = async (text: string, of = url.href) => {
    const client = new pg.Client({ connectionString: of })
    await client.connect()
    try {
      return (await client.query({ text, rowMode: 'array' })).rows as unknown[][]
    } finally {
      await client.end()
    }
  }
  await ask(
    `CREATE ROLE ${user} LOGIN PASSWORD 'secret'; GRANT ALL ON DATABASE ${name} TO ${user};
     GRANT pg_read_all_stats TO ${user}; CREATE SCHEMA theirs AUTHORIZATION ${user};
     ${role.map((one) => `ALTER ROLE ${user} SET ${one};`).join('')}
     ${database.map((one) => `ALTER DATABASE ${name} SET ${one};`).join('')}`,
  )
  const direct = new URL(url)
  direct.username = user
  direct.password = 'secret'
  const bouncer = await startPgbouncer(direct.href, { pool_mode: mode, ...pooler })
  const strangers: pg.Client[] = []
  onTestFinished(async () => {
    for (const client of strangers) await client.end().catch(() => {})
    await bouncer.stop()
    await ask(`DROP OWNED BY ${user} CASCADE; DROP ROLE ${user}`)
  })
  const stranger = async () => {
    const client = new pg.Client({ connectionString: bouncer.url(name) })
    client.on('error', () => {})
    strangers.push(client)
    await client.connect()
    return client
  }
  return { url: bouncer.url(name), direct: direct.href, ask, stranger }
}

/** What a session keeps, as others find it. */
const KEPT = `SELECT current_setting('TimeZone'), current_setting('DateStyle'), current_setting('IntervalStyle'),
  current_setting('search_path'), current_setting('statement_timeout'), current_setting('lock_timeout'),
  current_setting('idle_in_transaction_session_timeout'), current_setting('enable_seqscan'), current_setting('jit'),
  current_setting('work_mem'), current_setting('quote_all_identifiers'), current_setting('default_transaction_read_only'),
  current_user,
  (SELECT count(*) FROM pg_prepared_statements WHERE name <> ''), (SELECT count(*) FROM pg_cursors WHERE name = 'answer'),
  (SELECT count(*) FROM pg_class WHERE relpersistence = 't' AND relname LIKE 'records%')`

/** Settings that another user of the pooler leaves behind, before ours comes. */
const LEFT_BEHIND = `SET timezone = 'Pacific/Apia'; SET datestyle = 'SQL, DMY'; SET search_path = pg_temp;
  SET intervalstyle = postgres_verbose; SET quote_all_identifiers = on; SET statement_timeout = 5000; SET enable_seqscan = on;
  CREATE TEMPORARY TABLE IF NOT EXISTS records_sync_batch (a integer)`

const QUERY = `SELECT i, t, t::date AS d, t - timestamptz '2024-01-01 00:00:00+00' AS since, 0.1::float8 + 0.2::float8 AS f,
    ARRAY[t, NULL] AS list, 'a\\b' AS text
  FROM (SELECT i, timestamptz '2024-02-03 01:05:06.000001+00' + i * interval '1 hour' AS t FROM generate_series(1, 300) AS g (i)) AS s
  ORDER BY i`

async function read(url: string, query: string) {
  const warehouse = await openWarehouse('dwh', { postgres: url, folder: '/' })
  try {
    const { chunks } = await warehouse.read(query)
    const found = []
    for await (const chunk of chunks(100)) found.push(...chunk)
    return found
  } finally {
    await warehouse.close()
  }
}

const TYPES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
const streamOf = (type: string): MirrorStream => ({
  name: `kind_${type}`,
  table: `kind_${type}`,
  columns: [column('code', 'text'), column('born', 'instant'), column('score', 'decimal')],
})
const rowsOf = (type: string, from: number): MirrorRow[] =>
  Array.from({ length: 100 }, (_, index) => ({
    id: `${from + index}`,
    version: at(from + index),
    cells: [`${type}-${from + index} \\ "'`, '1980-03-01T01:00:00.5Z', '-12.50'.slice(0, -1)],
    misfits: null,
  }))

describe.each(
  VARIANTS.map((variant) => [`${variant.mode} mode, ${variant.name}`, variant] as const),
)('behind PgBouncer: %s', (_, variant) => {
  test('a query and its watermark give what they give without it', async () => {
    const { url, direct } = await place(variant)
    expect(await read(url, QUERY)).toEqual(await read(direct, QUERY))
    expect((await read(url, `SELECT '2024-02-03 01:05:06+00'::timestamptz::date`))[0]).toEqual([
      '2024-02-03',
    ])
    const refused = await errorOf(read(url, 'CREATE TABLE theirs.t (a integer)'))
    expect(refused.code).toBe('query_refused')
  })

  test('a mirror of eight types at once has the rows of each in its own table', async () => {
    const { url, ask, stranger } = await place(variant)
    const others = await Promise.all([stranger(), stranger()])
    await Promise.all(others.map((one) => one.query(LEFT_BEHIND)))
    // A session of its own is held, and a pool of two would have none left.
    if (variant.mode === 'session') await Promise.all(others.map((one) => one.end()))
    const tables = await openPostgresMirror('dwh', { url }, 'crm')
    onTestFinished(() => tables.close())
    await tables.own(OWNER, PROJECT)
    await tables.change(TYPES.map((type) => making(streamOf(type))))
    const mirrored = await Promise.all(
      TYPES.map(async (type) => {
        const stream = streamOf(type)
        const { fence } = await tables.claim(stream.name)
        for (const run of [1, 2, 3]) {
          const batch = await tables.batch(stream)
          for (const from of [0, 100, 200]) await batch.add(rowsOf(type, from), at(run))
          const counts = await batch.merge({ run, fence, position: `${run}` })
          const expected = run === 1 ? { inserted: 300 } : { unchanged: 300 }
          expect(counts).toEqual({ ...NOTHING, ...expected })
        }
        const deletion = { before: at(9), ids: ['0', '1'], how: 'soft', at: at(9) } as const
        expect(await tables.delete(stream, fence, '4', deletion)).toBe(2)
        return await tables.rows(
          stream,
          rowsOf(type, 100).map(({ id }) => id),
        )
      }),
    )
    const byId = (a: MirrorRow, b: MirrorRow) => Number(a.id) - Number(b.id)
    TYPES.forEach((type, index) =>
      expect(mirrored[index]!.toSorted(byId)).toEqual(
        rowsOf(type, 100).map((row) => ({ ...row, isDeleted: false })),
      ),
    )
    for (const type of TYPES)
      expect(
        await ask(
          `SELECT count(*)::int, count(*) FILTER (WHERE code LIKE '${type}-%')::int FROM crm.kind_${type}`,
        ),
      ).toEqual([[300, 300]])
    expect(await tables.streams()).toHaveLength(TYPES.length)
  })

  test('a ledger keeps its books, and quotas are taken one at a time', async () => {
    const { url } = await place(variant)
    const place1 = { url, schema: 'records_sync' }
    const ledger = await openPostgresLedger(place1)
    onTestFinished(() => ledger.close())
    const first = await accept(ledger, itemRows(300))
    expect(await booked(ledger, first)).toEqual({ created: 300 })
    expect(await accepted(ledger, itemRows(300))).toHaveLength(300)
    const run = await ledger.run(first)
    expect(run).toMatchObject({ state: 'complete' })
    const again = await openPostgresLedger(place1, { readOnly: true })
    onTestFinished(() => again.close())
    expect(await again.run(first)).toEqual(run)
    const stores = await Promise.all([openPostgresQuota(place1), openPostgresQuota(place1)])
    onTestFinished(async () => void (await Promise.all(stores.map((store) => store.close()))))
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        stores[index % 2]!.update('org', (state) => ({
          state: String(Number(state ?? 0) + 1),
          result: null,
        })),
      ),
    )
    expect((await stores[0]!.all()).orgs).toEqual([{ org: 'org', state: '20' }])
  })

  test('nothing stays in the sessions that others use', async () => {
    const { url, stranger } = await place({
      ...variant,
      // Not the pooler cleans up here, and each session is seen.
      pooler: { ...variant.pooler, server_reset_query: '', default_pool_size: '1' },
    })
    const before = await stranger()
    const found = (await before.query({ text: KEPT, rowMode: 'array' })).rows
    await before.end()
    await read(url, QUERY)
    const tables = await openPostgresMirror('dwh', { url }, 'crm')
    await tables.own(OWNER, PROJECT)
    await tables.change([making(streamOf('a'))])
    const { fence } = await tables.claim('kind_a')
    const batch = await tables.batch(streamOf('a'))
    await batch.add(rowsOf('a', 0), at(1))
    await batch.merge({ run: 1, fence, position: '1' })
    await tables.close()
    const ledger = await openPostgresLedger({ url, schema: 'records_sync' })
    // In session mode a second connection of its pool would wait for the first one.
    await ledger.openSegments(1)
    await ledger.close()
    const after = await stranger()
    expect((await after.query({ text: KEPT, rowMode: 'array' })).rows).toEqual(found)
  })
})

test('a connection that asks for channel binding is refused where there is none, before its password is sent', async () => {
  const { url, direct } = await place({ name: '', mode: 'transaction' })
  // One asks for the password as it is, the other one for nothing.
  for (const connectionString of [direct, url]) {
    const client = newClient({ connectionString, Client: BoundClient as never })
    client.on('error', () => {})
    await expect(client.connect()).rejects.toMatchObject({ code: UNBOUND })
    await client.end().catch(() => {})
  }
})

test('a ledger may be made, and used, where all tables of a database are published', async () => {
  const url = await postgres.newDatabase()
  const publisher = new pg.Client({ connectionString: url })
  await publisher.connect()
  onTestFinished(() => publisher.end())
  await publisher.query('CREATE PUBLICATION everything FOR ALL TABLES')
  const ledger = await openPostgresLedger({ url, schema: 'records_sync' })
  onTestFinished(() => ledger.close())
  await accept(ledger, itemRows(60))
  const quota = await openPostgresQuota({ url, schema: 'records_sync' })
  onTestFinished(() => quota.close())
  await quota.noteOrgOfKey('key', 'org')
  await quota.update('org', () => ({ state: '1', result: null }))
})

describe('what a pooler refuses is told in its words, and what to do', () => {
  const stores = {
    query: (url: string) => read(url, 'SELECT 1'),
    mirror: async (url: string) => {
      const tables = await openPostgresMirror('dwh', { url }, 'crm')
      onTestFinished(() => tables.close())
      await tables.own(OWNER, PROJECT)
    },
    ledger: async (url: string) => {
      const ledger = await openPostgresLedger({ url, schema: 'records_sync' })
      onTestFinished(() => ledger.close())
    },
    quota: async (url: string) => {
      const store = await openPostgresQuota({ url, schema: 'records_sync' })
      onTestFinished(() => store.close())
    },
  }
  const kinds = Object.keys(stores) as (keyof typeof stores)[]

  test.each(kinds)('statement mode: %s', async (kind) => {
    const { url } = await place({ name: '', mode: 'statement' })
    const error = await errorOf(stores[kind](url))
    expect(error.message).toMatch(
      /is behind a pooler in statement mode \("transaction blocks not allowed .*"\); let it pool transactions or sessions, or name the server itself in its URL/,
    )
  })

  test.each(kinds)('a user whom the server refuses: %s', async (kind) => {
    const wrong = new URL(await postgres.newDatabase())
    wrong.password = 'hidden'
    wrong.username = 'nobody_of_all'
    const bouncer = await startPgbouncer(wrong.href, {}, { waits: false })
    onTestFinished(() => bouncer.stop())
    const error = await errorOf(stores[kind](bouncer.url(wrong.pathname.slice(1))))
    expect(error.message).toMatch(/is behind a pooler, which refused: ".*authentication failed/)
    expect(error.message).not.toMatch(/hidden|nobody_of_all|cannot be reached/)
  })

  test.each(kinds)('more connections than it takes: %s', async (kind) => {
    const { url, stranger } = await place({
      name: '',
      mode: 'transaction',
      pooler: { max_client_conn: '2' },
    })
    await stranger()
    await stranger()
    const error = await errorOf(stores[kind](url))
    expect(error.message).toContain('refused: "no more connections allowed (max_client_conn)"')
  })

  test.each(kinds)('a session that is waited for too long: %s', async (kind) => {
    const { url, stranger } = await place({
      name: '',
      mode: 'transaction',
      pooler: { default_pool_size: '1', query_wait_timeout: '1' },
    })
    await (await stranger()).query('BEGIN')
    const error = await errorOf(stores[kind](url))
    expect(error.message).toContain('refused: "query_wait_timeout"; it is asked again')
  })
})
