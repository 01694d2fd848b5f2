// The PostgreSQL driver keeps the contract of every warehouse, on a real server; and what only a server can do.

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Blocked } from '../../src/core/errors.ts'
import { openWarehouse } from '../../src/warehouses/index.ts'
import type { WarehouseOptions } from '../../src/warehouses/warehouse.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { errorOf, warehouseSuite } from './warehouse.suite.ts'

let postgres: Postgres
let url: string
let outside: pg.Client
const at = (postgresUrl: string) => ({ postgres: postgresUrl, folder: '/' })
const open = (options?: WarehouseOptions) => openWarehouse('dwh', at(url), options)

beforeAll(async () => {
  postgres = await startPostgres()
  url = await postgres.newDatabase()
  outside = new pg.Client({ connectionString: url })
  // The last test ends the server's connections.
  outside.on('error', () => {})
  await outside.connect()
  await outside.query(
    `CREATE TABLE kept AS SELECT 1 AS v;
     CREATE TYPE colour AS ENUM ('red', 'blue');
     CREATE DOMAIN price AS numeric(10, 2);
     CREATE FUNCTION stray() RETURNS int LANGUAGE sql AS 'INSERT INTO kept VALUES (3) RETURNING v';`,
  )
  // Values must not depend on what a database says of itself.
  const name = new URL(url).pathname.slice(1)
  await outside.query(
    `ALTER DATABASE ${name} SET timezone = 'Asia/Tokyo';
     ALTER DATABASE ${name} SET datestyle = 'German';
     ALTER DATABASE ${name} SET extra_float_digits = 0;
     ALTER DATABASE ${name} SET default_transaction_read_only = off;`,
  )
})
afterAll(async () => {
  await outside.end().catch(() => {})
  await postgres.stop()
})

warehouseSuite('PostgreSQL', () => ({
  open,
  rows: (count) => `SELECT i FROM generate_series(1, ${count}) AS t(i)`,
  values: [
    ["'red'::colour", 'red'],
    ['1.5::price', '1.50'],
    ["ARRAY['red'::colour, NULL]", ['red', null]],
    ['ARRAY[1.5::price]', ['1.50']],
    ["'1e300'::numeric", `1${'0'.repeat(300)}`],
    ["'3.4e38'::real", `34${'0'.repeat(37)}`],
    ["'{}'::text[]", []],
    ["'[0:1]={a,b}'::text[]", ['a', 'b']],
    ['ARRAY[ARRAY[1, 2], ARRAY[3, NULL]]', ['["1","2"]', '["3",null]']],
    ['ARRAY[true, false]', [true, false]],
    [`'{"b": 1.00, "a": null}'::jsonb`, '{"a": null, "b": 1.00}'],
    ["interval '1 day 2 hours'", 'P1DT2H'],
    ["'192.168.0.1'::inet", '192.168.0.1'],
    ["'(1,2)'::point", '(1,2)'],
    ["'1 2'::int2vector", '1 2'],
    ["'a  '::char(3)", 'a  '],
  ],
  noValues: [
    ["'NaN'::float8", '(NaN or infinite)'],
    ["'-Infinity'::real", '(NaN or infinite)'],
    ["'NaN'::numeric", '(NaN or infinite)'],
    ["ARRAY['Infinity'::float8]", '(NaN or infinite)'],
    ["DATE 'infinity'", '(an infinite time)'],
    ["TIMESTAMP '-infinity'", '(an infinite time)'],
    ["TIMESTAMPTZ 'infinity'", '(an infinite time)'],
  ],
  noColumns: ["'x'::bytea", "ARRAY['x'::bytea]"],
  codes: { syntax: 'SQLSTATE 42601', table: 'SQLSTATE 42P01', value: 'SQLSTATE 22P02' },
  endless: 'SELECT pg_sleep(600)',
  writes: [
    'DELETE FROM kept',
    'SELECT stray()',
    'INSERT INTO kept VALUES (2)',
    'WITH gone AS (DELETE FROM kept RETURNING v) SELECT * FROM gone',
    'SELECT 1 FROM kept; ROLLBACK; DELETE FROM kept',
    'SELECT $1',
    'EXPLAIN SELECT 1',
  ],
}))

describe('a PostgreSQL', () => {
  it('makes rows as they are asked for: a slow consumer holds the reader back', async () => {
    const warehouse = await open()
    onTestFinished(() => warehouse.close())
    const { chunks } = await warehouse.read(
      'SELECT i, 1 / (500001 - i) AS v FROM generate_series(1, 1000000) AS t(i)',
    )
    let rows = 0
    const error = await errorOf(
      (async () => {
        for await (const chunk of chunks(1_000)) rows += chunk.length
      })(),
    )
    expect(error.message).toBe('the warehouse refused the query (SQLSTATE 22012)')
    expect(rows).toBe(500_000)
  })

  it('that cannot be reached is waited for: nothing of its URL is told but the place', async () => {
    const gone = new URL(url)
    gone.port = '1'
    const error = await errorOf(openWarehouse('dwh', at(gone.href)))
    expect(error).toBeInstanceOf(Blocked)
    expect(error.message).toBe(
      `blocked: warehouse: The warehouse dwh (postgres://127.0.0.1:1${gone.pathname}) cannot be reached: connection refused by that server; start what listens there, or correct the address; it is asked again`,
    )
  })

  it('that refuses the user is waited for, and a URL that is none is not', async () => {
    const stranger = new URL(url)
    stranger.username = 'secret_user'
    const refused = await errorOf(openWarehouse('dwh', at(stranger.href)))
    expect(refused).toBeInstanceOf(Blocked)
    expect(refused.message).toContain('refused the user or the password of its URL; renew them')
    const wrong = await errorOf(openWarehouse('dwh', at('mysql://u:secret@h/db')))
    expect(wrong.code).toBe('warehouse_url')
    expect(wrong.message).toContain('The warehouse dwh has a URL that cannot be read')
    for (const { message } of [refused, wrong]) expect(message).not.toContain('secret')
  })

  it('whose connection is lost in the middle blocks, and never ends quietly', async () => {
    const warehouse = await open()
    onTestFinished(() => warehouse.close())
    const { chunks } = await warehouse.read('SELECT i FROM generate_series(1, 100000) AS t(i)')
    const error = await errorOf(
      (async () => {
        for await (const _ of chunks(1_000))
          await outside.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'records-sync'",
          )
      })(),
    )
    expect(error).toBeInstanceOf(Blocked)
    expect(error.message).toContain('cannot be reached; it is asked again')
  })
})
