// What commands find in a PostgreSQL: users that may do more than read (`check`), and its tables (`sql`).

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { sql } from '../../src/cli/commands/sql.ts'
import { roleWarnings } from '../../src/warehouses/postgres/role.ts'
import { openWarehouse } from '../../src/warehouses/index.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { said } from '../unit/cli/said.ts'

let postgres: Postgres
let url: string
const role = `reader_${process.pid}_${Date.now()}`
const ask = async (...statements: string[]) => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  for (const statement of statements) await client.query(statement)
  await client.end()
}
beforeAll(async () => {
  postgres = await startPostgres()
  url = await postgres.newDatabase()
})
afterAll(async () => {
  await ask(`DROP ROLE IF EXISTS ${role}`)
  await postgres.stop()
})

const warningsOf = async (as: string) => {
  const warehouse = await openWarehouse('dwh', { postgres: as, folder: '/' })
  try {
    return (await roleWarnings(warehouse)).join('\n')
  } finally {
    await warehouse.close()
  }
}

it('warns of a superuser and of roles with effects, and of no reader', async () => {
  expect(await warningsOf(url)).toContain('its user is a superuser: functions')
  await ask(`CREATE ROLE ${role} LOGIN PASSWORD 'reader'`)
  const reader = new URL(url)
  reader.username = role
  reader.password = 'reader'
  expect(await warningsOf(reader.href)).toBe('')
  await ask(
    `GRANT pg_write_all_data, pg_execute_server_program TO ${role}`,
    `ALTER ROLE ${role} REPLICATION`,
  )
  const warnings = await warningsOf(reader.href)
  for (const what of ['may replicate', 'pg_write_all_data', 'pg_execute_server_program'])
    expect(warnings).toContain(what)
})

it('has SHOW TABLES, which lists the tables of every schema, and none of ours', async () => {
  await ask(
    'CREATE TABLE orders (id int)',
    'CREATE SCHEMA crm_copy',
    'CREATE TABLE crm_copy.svc_contact (id int)',
    'CREATE TABLE crm_copy._records_sync_mirror (version int)',
    'CREATE VIEW crm_copy.recent AS SELECT * FROM crm_copy.svc_contact',
  )
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-sql-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'url'), url, { mode: 0o600 })
  const config = join(dir, 'records-sync.yaml')
  writeFileSync(
    config,
    'connections: {}\nwarehouses: { dwh: { postgres: { file: ./url } } }\nsyncs: {}\n',
  )
  const { code, out } = await said(
    config,
    (context) => sql(context, 'dwh', 'SHOW TABLES', { limit: 10 }),
    true,
  )
  expect(code).toBe(0)
  expect(out.map((line) => Object.values(JSON.parse(line) as object).join(' '))).toEqual([
    'crm_copy recent view',
    'crm_copy svc_contact table',
    'public orders table',
  ])
})
