// The DuckDB driver keeps the contract of every mirror's tables.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { openMirrorTables } from '../../src/warehouses/index.ts'
import { mirrorTablesSuite } from './mirror-tables.suite.ts'

/** A script on a file that nobody has open, by DuckDB itself. Returns the rows of its last statement. */
async function run(file: string, script: string): Promise<unknown[][]> {
  const instance = await DuckDBInstance.create(file)
  const connection = await instance.connect()
  try {
    return (await connection.runAndReadAll(script)).getRowsJS()
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

mirrorTablesSuite('DuckDB', async () => {
  const folder = mkdtempSync(join(tmpdir(), "records-sync-mirror's-"))
  const file = join(folder, 'dwh.duckdb')
  return {
    open: (schema = 'crm') => openMirrorTables('dwh', { duckdb: file, folder }, schema),
    async query(sql) {
      // As JSON: the driver takes U+FEFF away where a text begins with it.
      const rows = await run(file, `SELECT to_json(COLUMNS(*)) FROM (${sql})`)
      return rows.map((row) => row.map((json) => JSON.parse(String(json)) as unknown))
    },
    async alter(sql) {
      await run(file, sql)
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
      rmSync(folder, { recursive: true })
    },
  }
})
