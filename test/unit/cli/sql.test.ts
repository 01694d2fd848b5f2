// `records-sync sql` and `records-sync check` on a real DuckDB file: what they print, and how they end.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { check } from '../../../src/cli/commands/check.ts'
import type { CommandContext } from '../../../src/cli/shared/context.ts'
import { sql } from '../../../src/cli/commands/sql.ts'
import { startService, type RunningService } from '../../../src/service/index.ts'
import { said as saidOf } from './said.ts'

let dir: string
let service: RunningService
const configFile = () => join(dir, 'records-sync.yaml')

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'records-sync-sql-'))
  service = await startService()
  const instance = await DuckDBInstance.create(join(dir, 'lake.duckdb'))
  const connection = await instance.connect()
  await connection.run(
    "CREATE TABLE people AS SELECT i AS id, 'Name ' || i AS name FROM range(1, 1501) t(i)",
  )
  connection.closeSync()
  instance.closeSync()
  writeFileSync(join(dir, 'key'), service.key, { mode: 0o600 })
  const sync = (query: string) => `
    import:
      from: { query: "${query}", warehouse: lake }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      properties: { svc_external_id: id, svc_first_name: name }`
  writeFileSync(
    configFile(),
    `connections: { crm: { service: "${service.url}", key: { file: ./key } } }
warehouses: { lake: { duckdb: ./lake.duckdb } }
syncs:
  good: ${sync('SELECT id, name FROM people ORDER BY id')}
  bad: ${sync('SELECT id, name FROM peple')}
  lacking: ${sync('SELECT id FROM people')}
`,
  )
})
afterAll(async () => {
  await service.close()
  rmSync(dir, { recursive: true })
})

const said = (command: (context: CommandContext) => Promise<number>, json = false) =>
  saidOf(configFile(), command, json)

test('sql prints a table of typed values', async () => {
  const query = `SELECT id, CASE WHEN id > 1 THEN name || chr(27) END AS name, [id, NULL] AS both, id > 1 AS more
    FROM people ORDER BY id LIMIT 2`
  expect(await said((context) => sql(context, 'lake', query, { limit: 1_000 }))).toEqual({
    code: 0,
    out: [
      'id  name     both        more',
      '──  ───────  ──────────  ─────',
      '1   NULL     ["1",null]  false',
      '2   Name 2   ["2",null]  true',
    ],
    err: ['2 rows'],
  })
})

test('sql shows so many rows, says that there are more, and writes JSON lines', async () => {
  const all = await said((context) => sql(context, 'lake', 'FROM people', { limit: 1_000 }))
  expect([all.out.length, all.err]).toEqual([
    1_002,
    ['the first 1,000 rows; there are more: --limit shows them'],
  ])
  const query = 'SELECT id, name FROM people ORDER BY id DESC'
  const json = await said((context) => sql(context, 'lake', query, { limit: 2 }), true)
  expect(json.out).toEqual(['{"id":"1500","name":"Name 1500"}', '{"id":"1499","name":"Name 1499"}'])
  const whole = await said((context) => sql(context, 'lake', query, { limit: 1_500 }), true)
  expect([whole.out.length, whole.err]).toEqual([1_500, ['1,500 rows']])
})

test('sql says what it cannot do', async () => {
  const ask = (name: string, query: string, json = false) =>
    said((context) => sql(context, name, query, { limit: 10 }), json)
  expect(await ask('lke', 'SELECT 1')).toMatchObject({
    code: 2,
    err: [`${configFile()}: no warehouse \`lke\`; valid: \`lake\`; did you mean \`lake\`?`],
  })
  expect(await ask('lake', 'DROP TABLE people')).toMatchObject({
    code: 3,
    err: ['Warehouse lake: expected one SELECT; the query is of the kind DROP'],
  })
  expect(await ask('lake', 'SELECT 1 AS a, 2 AS a', true)).toMatchObject({
    code: 3,
    out: [
      '{"error":{"code":"query_header","message":"Warehouse lake: two columns have the same name; expected each name once"}}',
    ],
  })
})

test('check asks the query, and says what is wrong with it', async () => {
  const { code, out } = await said((context) => check(context, { operations: false }), true)
  const { findings } = JSON.parse(out[0]!) as {
    findings: { subject: string; ok: boolean; message: string }[]
  }
  const of = (name: string) => findings.find(({ subject }) => subject === `sync ${name}`)
  expect(code).toBe(2)
  expect(of('good')).toMatchObject({
    ok: true,
    message: '2 properties of svc_contact from 2 columns, matched by svc_external_id',
  })
  expect(of('bad')).toMatchObject({
    ok: false,
    message:
      'Sync "bad", query of warehouse lake: the warehouse refused the query (Catalog Error), at line 1, column 22 of it',
  })
  expect(of('lacking')!.ok).toBe(false)
  expect(of('lacking')!.message).toContain('name')
})

test('SHOW TABLES lists the tables of every schema, and none of ours', async () => {
  const instance = await DuckDBInstance.create(join(dir, 'mirror.duckdb'))
  const connection = await instance.connect()
  await connection.run('CREATE TABLE orders AS SELECT 1 AS id; CREATE SCHEMA crm_copy')
  await connection.run(
    'CREATE TABLE crm_copy.svc_contact AS SELECT 1 AS id; CREATE VIEW crm_copy.recent AS FROM crm_copy.svc_contact',
  )
  await connection.run('CREATE TABLE crm_copy._records_sync_mirror AS SELECT 1 AS version')
  connection.closeSync()
  instance.closeSync()
  const config = join(dir, 'mirror.yaml')
  writeFileSync(
    config,
    'connections: {}\nwarehouses: { lake: { duckdb: ./mirror.duckdb } }\nsyncs: {}\n',
  )
  for (const query of ['SHOW TABLES', ' show all tables; ']) {
    const { code, out } = await saidOf(
      config,
      (context) => sql(context, 'lake', query, { limit: 10 }),
      true,
    )
    expect(code).toBe(0)
    expect(out.map((line) => Object.values(JSON.parse(line) as object).join(' '))).toEqual([
      'crm_copy recent view',
      'crm_copy svc_contact table',
      'main orders table',
    ])
  }
})
