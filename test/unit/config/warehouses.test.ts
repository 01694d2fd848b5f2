// Warehouses, and queries of them as the source of an import: what loads, and what is complained about, with its place.

import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig, readWarehousePlace } from '../../../config/index.ts'
import { configFile, importOf, issuesOf } from './project.ts'

const good = `connections:
  crm: { service: https://api.example.com, key: "\${RECORDS_API_KEY}" }
warehouses:
  lake: { duckdb: ./lake.duckdb }
  dwh: { postgres: "\${DWH_URL}" }
syncs:
  people:
    import:
      from: { query: "SELECT id FROM people ORDER BY id", warehouse: lake }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      properties: { svc_external_id: id }
`
const from = '{ query: "SELECT id FROM people ORDER BY id", warehouse: lake }'

function but(piece: string, replacement: string): string {
  expect(good).toContain(piece)
  return good.replace(piece, () => replacement)
}

test('a query and its warehouse load; no URL is in the configuration', async () => {
  const file = await configFile(good)
  const env = { DWH_URL: 'postgres://u:sk_secret@h/db' }
  const config = await loadConfig(file, env)
  expect(config.warehouses).toEqual({
    lake: { duckdb: join(dirname(file), 'lake.duckdb') },
    dwh: { postgres: { env: 'DWH_URL' } },
  })
  expect(importOf(config, 'people').from).toEqual({
    query: 'SELECT id FROM people ORDER BY id',
    warehouse: 'lake',
  })
  expect(JSON.stringify(config)).not.toContain('sk_secret')
})

test('the place of a warehouse is read when it is needed', async () => {
  const file = await configFile(but('"${DWH_URL}"', '{ file: ./url }'))
  const config = await loadConfig(file, {})
  expect(config.warehouses['dwh']).toEqual({ postgres: { file: join(dirname(file), 'url') } })
  expect(await readWarehousePlace(config, 'lake', {})).toMatchObject({
    duckdb: join(dirname(file), 'lake.duckdb'),
    folder: dirname(file),
  })
  const url = 'postgres://u:sk_secret@h/db'
  const other = await loadConfig(await configFile(good), {})
  expect(await readWarehousePlace(other, 'dwh', { DWH_URL: url })).toEqual({
    postgres: url,
    folder: dirname(other.file),
    secrets: expect.any(Array),
  })
  await expect(readWarehousePlace(other, 'dwh', {})).rejects.toThrow(
    'The URL of the warehouse dwh: The environment variable `DWH_URL` is not set',
  )
  await expect(readWarehousePlace(other, 'constructor', {})).rejects.toThrow(
    'no warehouse `constructor`; valid: `lake`, `dwh`',
  )
})

test.each([
  ['"1970-01-01T00:00:00Z"', '1970-01-01T00:00:00Z'],
  ['1970-01-01', '1970-01-01'],
  ['0', '0'],
])('a watermark that begins with %s loads', async (written, initial) => {
  const query = 'SELECT id FROM people WHERE id >= :watermark'
  const file = await configFile(
    but(
      from,
      `{ query: "${query}", warehouse: lake, watermark: { column: id, initial: ${written} } }`,
    ),
  )
  expect((await loadConfig(file, {})).syncs['people']).toMatchObject({
    import: { from: { query, warehouse: 'lake', watermark: { column: 'id', initial } } },
  })
})

test.each([
  [
    'a query whose watermark is not told',
    'SELECT id FROM people ORDER BY id',
    'SELECT id FROM people WHERE id >= :watermark',
    [
      '9:22: the query uses `:watermark`; say what it is, such as `watermark: { column: updated_at, initial: "1970-01-01T00:00:00Z" }` with a column of the answer',
    ],
  ],
  [
    'a watermark that the query does not use',
    'warehouse: lake }',
    'warehouse: lake, watermark: { column: id, initial: 0 } }',
    [
      '9:76: the query does not use `:watermark`; write `WHERE updated_at >= :watermark` in it, or remove `watermark`',
    ],
  ],
  [
    'a watermark without a beginning',
    'warehouse: lake }',
    'warehouse: lake, watermark: { column: id } }',
    [
      '9:76: missing key `initial` in `syncs.people.import.from.watermark`',
      '9:76: the query does not use `:watermark`; write `WHERE updated_at >= :watermark` in it, or remove `watermark`',
    ],
  ],
  [
    'a watermark beside a CSV file',
    from,
    '{ csv: a.csv, watermark: { column: id, initial: 0 } }',
    ['9:27: `watermark` belongs to `query`; remove it'],
  ],
  [
    'a query without its warehouse',
    from,
    '{ query: "SELECT 1" }',
    [
      '9:13: missing key `warehouse` in `syncs.people.import.from`: the name of one under `warehouses`',
    ],
  ],
  [
    'a warehouse that is not there',
    'warehouse: lake',
    'warehouse: lke',
    ['9:70: no warehouse `lke`; valid: `lake`, `dwh`; did you mean `lake`?'],
  ],
  [
    'two kinds of source',
    from,
    '{ csv: a.csv, query: "SELECT 1", warehouse: lake }',
    ['9:13: expected exactly one of `csv`, `query` and `records`'],
  ],
  [
    'no kind of source',
    from,
    '{ warehouse: lake }',
    ['9:13: expected exactly one of `csv`, `query` and `records`'],
  ],
  [
    'a setting of a CSV file beside a query',
    'warehouse: lake',
    'warehouse: lake, delimiter: ";"',
    ['9:76: `delimiter` belongs to `csv`; remove it'],
  ],
  [
    'an empty query',
    '"SELECT id FROM people ORDER BY id"',
    '""',
    ['9:22: `syncs.people.import.from.query` is ``; expected a text that is not empty'],
  ],
  [
    'a slip in a setting',
    'warehouse: lake',
    'warehose: lake',
    [
      '9:13: missing key `warehouse` in `syncs.people.import.from`: the name of one under `warehouses`',
      '9:59: unknown key `warehose`; did you mean `warehouse`?',
    ],
  ],
  [
    'a URL in the file',
    '"${DWH_URL}"',
    'postgres://u:sk_secret@h/db',
    [
      '5:20: `warehouses.dwh.postgres` is not valid; its URL does not belong into this file, because it may hold a password; write `postgres: "${DWH_URL}"`, `postgres: { file: ./dwh-url }` or `postgres: { command: "…" }`',
    ],
  ],
  [
    'a warehouse of two kinds',
    '{ duckdb: ./lake.duckdb }',
    '{ duckdb: ./lake.duckdb, postgres: "${DWH_URL}" }',
    ['4:9: expected exactly one of `duckdb` and `postgres`'],
  ],
  [
    'a DuckDB that is a URL',
    './lake.duckdb',
    'https://u:sk_secret@h/lake.duckdb',
    ['4:19: `warehouses.lake.duckdb` is not valid; expected the path of a file, not a URL'],
  ],
])('%s is refused', async (_, piece, replacement, expected) => {
  const issues = await issuesOf(but(piece, replacement))
  expect(issues).toEqual(expected)
  expect(issues.join()).not.toContain('sk_')
})
