// A query as the source of an import, from the configuration file to the records in a real service, on both warehouses; and
// what the source itself promises: positions, digests, and errors that name the sync.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findSync, loadConfig } from '../../../config/index.ts'
import { RecordsClient } from '../../../src/client/index.ts'
import { SourceError } from '../../../src/core/errors.ts'
import { closeImport } from '../../../src/import/steps/close.ts'
import { push } from '../../../src/import/outbox/push.ts'
import { stage } from '../../../src/import/steps/stage.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { createSourceOpeners } from '../../../src/resources/openers.ts'
import { startService, type RunningService } from '../../../src/service/index.ts'
import { openSource } from '../../../src/sources/index.ts'
import type { Source, SourceRow } from '../../../src/sources/source.ts'
import { startPostgres, type Postgres } from '../../postgres.ts'
import { everyShape, NAMES, TYPE } from './every-shape.ts'
import { openImportRun } from './import-run.ts'

/** One row with a typed value in every column, one with a NULL in every column but the key, one that is wrong. */
const EVERY_SHAPE = `
  SELECT * FROM (
    SELECT 1 AS place, 'full' AS code,
      'Zoë  ' AS one_text, ARRAY['a', 'b;c'] AS many_text,
      'long' AS one_long_text, ARRAY['l'] AS many_long_text,
      'ada@example.com' AS one_email, ARRAY['ada@example.com', 'bea@example.com'] AS many_email,
      '+49 30 1' AS one_phone, ARRAY['0123'] AS many_phone,
      'https://example.com/' AS one_url, ARRAY['https://example.com/'] AS many_url,
      CAST(0.1 AS DOUBLE PRECISION) AS one_number, ARRAY[1, -2] AS many_number,
      CAST('12345678901234567890.01' AS DECIMAL(38, 2)) AS one_currency, ARRAY[CAST(1.5 AS DECIMAL(4, 2))] AS many_currency,
      TRUE AS one_boolean, ARRAY[TRUE, FALSE] AS many_boolean,
      DATE '2024-02-29' AS one_date, ARRAY[DATE '2024-02-29', DATE '0001-01-01'] AS many_date,
      TIMESTAMPTZ '2026-01-31 08:15:00.5+02' AS one_datetime, ARRAY[TIMESTAMP '2026-01-31 08:15:00'] AS many_datetime,
      'usr_ada' AS one_user, ARRAY['usr_ada', 'usr_ben'] AS many_user,
      'blau' AS one_select, ARRAY['red', '緑'] AS many_select
    UNION ALL SELECT 2, 'empty', ${Array.from({ length: 24 }, () => 'NULL').join(', ')}
    UNION ALL SELECT 3, 'wrong', ${Array.from({ length: 6 }, () => 'NULL').join(', ')}, 'no phone at all', ${Array.from({ length: 17 }, () => 'NULL').join(', ')}
  ) AS rows ORDER BY place`

/** The values of the first row as the service holds them. */
const FULL = {
  code: 'full',
  one_text: 'Zoë  ',
  many_text: ['a', 'b;c'],
  one_long_text: 'long',
  many_long_text: ['l'],
  one_email: 'ada@example.com',
  many_email: ['ada@example.com', 'bea@example.com'],
  one_phone: '+49 30 1',
  many_phone: ['0123'],
  one_url: 'https://example.com/',
  many_url: ['https://example.com/'],
  one_number: 0.1,
  many_number: [1, -2],
  one_currency: { amount: '12345678901234567890.01', unit: 'EUR' },
  many_currency: [{ amount: '1.5', unit: 'EUR' }],
  one_boolean: true,
  many_boolean: [true, false],
  one_date: '2024-02-29',
  many_date: ['2024-02-29', '0001-01-01'],
  one_datetime: '2026-01-31T06:15:00.500Z',
  many_datetime: ['2026-01-31T08:15:00.000Z'],
  one_user: 'usr_ada',
  many_user: ['usr_ada', 'usr_ben'],
  one_select: 'blau',
  many_select: ['red', '緑'],
}

let folder: string
let postgres: Postgres
let env: Record<string, string>
let service: RunningService
let client: RecordsClient

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'records-sync-query-'))
  postgres = await startPostgres()
  service = await startService({
    schema: everyShape(),
    users: [
      { id: 'usr_ada', display_name: 'Ada' },
      { id: 'usr_ben', display_name: 'Ben' },
    ] as never,
  })
  client = new RecordsClient({ baseUrl: service.url, key: service.key })
  env = { DWH_URL: await postgres.newDatabase() }
  const instance = await DuckDBInstance.create(join(folder, 'dwh.duckdb'))
  instance.closeSync()
  writeFileSync(join(folder, 'key'), service.key, { mode: 0o600 })
})
afterAll(async () => {
  await client.close()
  await service.close()
  await postgres.stop()
  rmSync(folder, { recursive: true })
})

/** Writes a configuration with one sync, and loads it. */
async function project(warehouse: string, query: string) {
  const configFile = join(folder, 'records-sync.yaml')
  const properties = Object.fromEntries(
    NAMES.map((name) => [name, name.endsWith('currency') ? { column: name, unit: 'EUR' } : name]),
  )
  writeFileSync(
    configFile,
    JSON.stringify({
      connections: { crm: { service: service.url, key: { file: './key' } } },
      warehouses: { duck: { duckdb: './dwh.duckdb' }, pg: { postgres: '${DWH_URL}' } },
      syncs: {
        people: {
          import: {
            from: { query, warehouse },
            to: 'crm',
            object_type: TYPE,
            matching_property: 'code',
            properties,
          },
        },
      },
    }),
  )
  const sync = findSync(await loadConfig(configFile, env), 'people')
  if (sync.kind !== 'import') throw new Error('expected an import')
  const openers = createSourceOpeners({ configFile, env }, () =>
    Promise.reject(new Error('not asked')),
  )
  return { sync, open: () => openSource(sync, openers) }
}

async function readAll(source: Source) {
  const rows: SourceRow[] = []
  for await (const chunk of source.chunks(2)) rows.push(...chunk)
  await source.close()
  return { columns: source.columns, rows, summary: source.summary() }
}

async function faultOf(work: Promise<unknown>): Promise<SourceError> {
  const error: unknown = await work.then(
    () => new Error('it went well'),
    (caught: unknown) => caught,
  )
  expect(error).toBeInstanceOf(SourceError)
  return error as SourceError
}

describe.each(['duck', 'pg'])('an import from a query of %s', (warehouse) => {
  it('brings values of every type into properties of every type', async () => {
    const { sync, open } = await project(warehouse, EVERY_SHAPE)
    const ledger = openSqliteLedger(join(folder, `${warehouse}.db`))
    const { deps, run } = await openImportRun(ledger, client, sync)
    const staged = await stage(deps, { run, sync, keyFingerprint: 'a', stageFence: 0 }, open)
    expect(staged).toMatchObject({ rows: 3, planned: 3, invalid: 0, cleared: 0 })
    for (const segment of await ledger.openSegments(run))
      await push(deps, { run, config: sync.import, schema: null, segment })
    const { state, books } = await closeImport(ledger, run, { kind: 'finished' })
    expect(state).toBe('complete_with_rejects')
    expect(books.states).toMatchObject({ refused: 1 })
    await ledger.close()
    const held = service.records(TYPE).map(({ properties }) => properties)
    const [full, empty] = ['full', 'empty'].map((code) => held.find((one) => one['code'] === code)!)
    expect(Object.fromEntries(NAMES.map((name) => [name, full![name]]))).toEqual(FULL)
    expect(NAMES.filter((name) => empty![name] !== null)).toEqual(['code'])
  })

  it('numbers rows in the order of the query, and has one digest for one answer', async () => {
    const query = (last: string) =>
      `SELECT * FROM (VALUES (2, 'b'), (1, 'a'), (3, ${last})) AS t(i, v) ORDER BY i`
    const { open } = await project(warehouse, query("'c'"))
    const first = await readAll(await open())
    expect(first.columns).toEqual(['i', 'v'])
    expect(first.rows).toEqual(
      ['a', 'b', 'c'].map((v, index) => ({
        ordinal: index + 1,
        line: index + 1,
        cells: [String(index + 1), v],
      })),
    )
    expect(first.summary.rows).toBe(3)
    expect((await readAll(await open())).summary).toEqual(first.summary)
    const other = await readAll(await (await project(warehouse, query('NULL'))).open())
    expect(other.summary.digest).not.toBe(first.summary.digest)
  })

  it('can be read once, and summed up after the last row only', async () => {
    const source = await (await project(warehouse, 'SELECT 1 AS a')).open()
    expect(() => source.summary()).toThrow('the summary is known after the last row only')
    await readAll(source)
    const again = (async () => {
      for await (const _ of source.chunks(1));
    })()
    expect((await faultOf(again)).code).toBe('source_read_twice')
    await source.close()
  })

  it.each([
    [
      'SELECT 1 AS a, 2 AS b, 3 AS a',
      'query_header',
      'columns 1 and 3 have the same name "a"; expected each name once, such as `… AS other_name`',
    ],
    [
      'SELECT 1 AS a, 2 AS " "',
      'query_header',
      'column 2 has no name; expected one, such as `… AS name`',
    ],
  ])('refuses %s', async (query, code, message) => {
    const { open } = await project(warehouse, query)
    const error = await faultOf(open().then(readAll))
    expect(error.code).toBe(code)
    expect(error.message).toBe(`Sync "people", query of warehouse ${warehouse}: ${message}`)
  })

  it('says what is wrong with the query, and names the sync', async () => {
    const { open } = await project(warehouse, 'SELECT *\nFROM secret_table')
    const error = await faultOf(open())
    expect(error.code).toBe('query_refused')
    expect(error.message).toMatch(
      /^Sync "people", query of warehouse (duck|pg): the warehouse refused the query \((Catalog Error|SQLSTATE 42P01)\), at line 2, column 6 of it$/,
    )
  })
})
