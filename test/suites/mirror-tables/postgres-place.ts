// A PostgreSQL database for one test of the tables of a mirror, and a person at it.

import pg from 'pg'
import { openPostgresMirror } from '../../../src/warehouses/postgres/mirror.ts'
import type { WarehouseOptions } from '../../../src/warehouses/warehouse.ts'
import type { Postgres } from '../../postgres.ts'

const types = {
  text: 'text',
  decimal: 'numeric',
  boolean: 'boolean',
  date: 'date',
  instant: 'timestamp with time zone',
  json: 'jsonb',
}

export async function postgresPlace(postgres: Postgres) {
  const url = await postgres.newDatabase()
  const ask = async (sql: string) => {
    const person = new pg.Client({ connectionString: url })
    await person.connect()
    try {
      return await person.query<unknown[]>({ text: sql, rowMode: 'array' } as pg.QueryArrayConfig)
    } finally {
      await person.end()
    }
  }
  return {
    url,
    open: async (schema = 'crm', options: WarehouseOptions = {}) =>
      await openPostgresMirror('dwh', { url }, schema, options),
    query: async (sql: string) => (await ask(sql)).rows,
    alter: async (sql: string) => void (await ask(sql)),
    types,
    cleanup: async () => {},
  }
}
