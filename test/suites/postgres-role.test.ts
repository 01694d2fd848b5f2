// `check` tells which users of a PostgreSQL may do more than read.

import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { roleWarnings } from '../../src/warehouses/postgres/role.ts'
import { openWarehouse } from '../../src/warehouses/index.ts'
import { startPostgres, type Postgres } from '../postgres.ts'

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
