// The DuckDB driver keeps the contract of every mirror's tables.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { afterAll, beforeAll } from 'vitest'
import { openMirrorTables } from '../../src/warehouses/index.ts'
import type { MirrorTables } from '../../src/warehouses/mirror-tables.ts'
import { mirrorTablesSuite } from './mirror-tables.suite.ts'

let folder: string
let file: string
/** Holds no file open: it keeps the database in memory, where rows wait for their merge, from one test to the next. */
let kept: MirrorTables
/** DuckDB itself, for what a person asks and runs. */
let person: DuckDBInstance

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "records-sync-mirror's-"))
  file = join(folder, 'dwh.duckdb')
  kept = await openMirrorTables('dwh', { duckdb: file, folder }, 'kept')
  person = await DuckDBInstance.create(':memory:')
})

afterAll(async () => {
  await kept.close()
  person.closeSync()
  rmSync(folder, { recursive: true })
})

/** A script on the file, which nobody has open, by DuckDB itself. Returns the rows of its last statement. */
async function run(script: string): Promise<unknown[][]> {
  const connection = await person.connect()
  try {
    await connection.run(`ATTACH '${file.replaceAll("'", "''")}' AS opened`)
    try {
      await connection.run('USE opened')
      return (await connection.runAndReadAll(script)).getRowsJS()
    } finally {
      await connection.run('USE memory; DETACH opened')
    }
  } finally {
    connection.closeSync()
  }
}

mirrorTablesSuite('DuckDB', async () => ({
  open: (schema = 'crm') => openMirrorTables('dwh', { duckdb: file, folder }, schema),
  async query(sql) {
    // As JSON: the driver takes U+FEFF away where a text begins with it.
    const rows = await run(`SELECT to_json(COLUMNS(*)) FROM (${sql})`)
    return rows.map((row) => row.map((json) => JSON.parse(String(json)) as unknown))
  },
  async alter(sql) {
    await run(sql)
  },
  types: {
    text: 'VARCHAR',
    decimal: 'DECIMAL(38,9)',
    boolean: 'BOOLEAN',
    date: 'DATE',
    instant: 'TIMESTAMPTZ',
    json: 'JSON',
  },
  async cleanup() {
    for (const made of readdirSync(folder)) rmSync(join(folder, made), { recursive: true })
  },
}))
