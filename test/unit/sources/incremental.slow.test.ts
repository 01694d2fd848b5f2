// Incremental readings of a query, from a configuration to the records in a real service, on both warehouses: a run reads what
// changed since the last complete one, and loses no row that was not accepted.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { findSync, loadConfig, type ImportSync } from '../../../config/index.ts'
import { RecordsClient } from '../../../src/client/index.ts'
import { SourceError } from '../../../src/core/errors.ts'
import { WHOLE_SCOPE, type ReconcileScope } from '../../../src/core/domain/purpose.ts'
import { bindParameters } from '../../../src/core/domain/query-parameters.ts'
import { ITEM_STATES } from '../../../src/core/domain/outcomes.ts'
import type { Watermark, Window } from '../../../src/core/domain/watermark.ts'
import { closeImport } from '../../../src/import/steps/close.ts'
import { push } from '../../../src/import/outbox/push.ts'
import { stage } from '../../../src/import/steps/stage.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { createSourceOpeners } from '../../../src/resources/openers.ts'
import { startService, type RunningService } from '../../../src/service/index.ts'
import { openSource } from '../../../src/sources/index.ts'
import type { Extent } from '../../../src/sources/source.ts'
import type { RunOutcome } from '../../../src/runs/outcome.ts'
import { startPostgres, type Postgres } from '../../postgres.ts'
import { everyShape, TYPE } from './every-shape.ts'
import { openImportRun } from './import-run.ts'
import { sampled } from '../../runs.ts'

const COLUMNS = 'code, name, phone, born, changed'
const SINCE = `SELECT ${COLUMNS} FROM people WHERE changed >= :watermark ORDER BY changed, code`
const AFTER = SINCE.replace('>=', '>')
const WINDOWED = `SELECT ${COLUMNS} FROM people
  WHERE changed >= :watermark AND (:from IS NULL OR changed >= :from) AND (:to IS NULL OR changed < :to)
  ORDER BY changed, code`
const WATERMARK = { column: 'changed', initial: '1970-01-01T00:00:00Z' }
const PROPERTIES = { code: 'code', one_text: 'name', one_phone: 'phone', one_date: 'born' }

let folder: string
let postgres: Postgres
let database: pg.Client
let env: Record<string, string>
let service: RunningService
let client: RecordsClient

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'records-sync-incremental-'))
  postgres = await startPostgres()
  env = { DWH_URL: await postgres.newDatabase() }
  database = new pg.Client({ connectionString: env['DWH_URL'] })
  await database.connect()
  await database.query("SET timezone = 'UTC'")
})
afterAll(async () => {
  await database.end()
  await postgres.stop()
  rmSync(folder, { recursive: true })
})

/** What the warehouse's own people do to it. */
async function change(warehouse: string, ...statements: readonly string[]) {
  if (warehouse === 'pg') {
    for (const statement of statements) await database.query(statement)
    return
  }
  const instance = await DuckDBInstance.create(join(folder, 'dwh.duckdb'))
  const connection = await instance.connect()
  await connection.run("SET TimeZone = 'UTC'")
  for (const statement of statements) await connection.run(statement)
  connection.closeSync()
  instance.closeSync()
}

/** Writes a configuration with one sync, and loads it. */
async function project(
  warehouse: string,
  from: { query: string; watermark?: object },
  properties: object = PROPERTIES,
) {
  const configFile = join(folder, 'records-sync.yaml')
  writeFileSync(
    configFile,
    JSON.stringify({
      connections: { crm: { service: 'https://api.example.com', key: { file: './key' } } },
      warehouses: { duck: { duckdb: './dwh.duckdb' }, pg: { postgres: '${DWH_URL}' } },
      syncs: {
        people: {
          import: {
            from: { ...from, warehouse },
            to: 'crm',
            object_type: TYPE,
            matching_property: 'code',
            properties,
          },
        },
      },
    }),
  )
  const sync = findSync(await loadConfig(configFile, env), 'people') as ImportSync
  const openers = createSourceOpeners({ configFile, env }, () =>
    Promise.reject(new Error('not asked')),
  )
  return { sync, openers, open: (extent: Extent) => openSource(sync, openers, undefined, extent) }
}

/** What a reading finds, and where the next one would go on. */
async function read(
  warehouse: string,
  from: { query: string; watermark?: object },
  extent: Partial<Extent> = {},
) {
  const { open } = await project(warehouse, from)
  const source = await open({ watermark: null, window: null, ...extent })
  const rows: unknown[] = []
  try {
    for await (const chunk of source.chunks(2)) rows.push(...chunk.map(({ cells }) => cells[0]))
    return { rows, watermark: source.summary().watermark }
  } finally {
    await source.close()
  }
}

async function faultOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => new Error('it went well'),
    (caught: unknown) => caught,
  )
  expect(error).toBeInstanceOf(SourceError)
  return (error as SourceError).message.replace(/^Sync "people", query of warehouse \w+: /, '')
}

describe.each(sampled(['pg'], ['duck']))('an incremental import from %s', (warehouse) => {
  let ledger: Ledger
  beforeEach(async () => {
    service = await startService({ schema: everyShape() })
    client = new RecordsClient({ baseUrl: service.url, key: service.key })
    ledger = openSqliteLedger(':memory:')
    await change(
      warehouse,
      'DROP TABLE IF EXISTS people',
      'CREATE TABLE people (code TEXT, name TEXT, phone TEXT, born TEXT, changed TIMESTAMPTZ)',
    )
    return async () => {
      await ledger.close()
      await client.close()
      await service.close()
    }
  })

  /** Writes people as of a day of January: the code is the name. */
  const insert = (day: number, ...people: readonly (readonly (string | null)[])[]) =>
    change(
      warehouse,
      ...people.map((cells) => {
        const [code, phone = null, born = null] = cells
        const texts = [code, `Name ${code}`, phone, born].map((cell) =>
          cell === null ? 'NULL' : `'${cell}'`,
        )
        return `INSERT INTO people VALUES (${texts.join(', ')}, '2026-01-${String(day).padStart(2, '0')} 08:15:00.5+00')`
      }),
    )

  /** One run, to its end; what is not finished is not pushed. The items, as line, key and state. */
  async function run(
    from: { query: string; watermark?: object } = { query: SINCE, watermark: WATERMARK },
    options: {
      ending?: RunOutcome
      window?: Window
      properties?: object
      reconcile?: ReconcileScope
      isRetry?: boolean
    } = {},
  ) {
    const { ending = { kind: 'finished' }, window = null, properties, ...purpose } = options
    const { sync, open } = await project(warehouse, from, properties)
    const { deps, run: id } = await openImportRun(ledger, client, sync)
    const staged = await stage(
      deps,
      { run: id, sync, keyFingerprint: 'a', stageFence: 0, window, ...purpose },
      open,
    )
    if (ending.kind === 'finished')
      for (const segment of await ledger.openSegments(id))
        await push(deps, { run: id, config: sync.import, schema: null, segment })
    const { state, books } = await closeImport(ledger, id, ending)
    expect(books.read).toBe(staged.rows)
    const items = await ledger.report(id, { states: ITEM_STATES, after: 0, limit: 100 })
    expect(items.map(({ ordinal }) => ordinal)).toEqual(items.map((_, index) => index + 1))
    return {
      state,
      carried: staged.carried,
      items: items.map((item) => `${item.line} ${item.key} ${item.state}`),
    }
  }
  const names = () => service.records(TYPE).map(({ properties }) => properties['code'])

  it('reads what changed, and again what has the very time that was reached', async () => {
    await insert(1, ['a'], ['b'])
    await insert(2, ['c'])
    expect((await run()).items).toEqual(['1 a created', '2 b created', '3 c created'])
    expect((await run()).items).toEqual(['1 c unchanged'])
    await insert(2, ['d'])
    expect((await run()).items).toEqual(['1 c unchanged', '2 d created'])
    await change(
      warehouse,
      "UPDATE people SET changed = '2026-01-03', name = 'Zoë' WHERE code = 'a'",
    )
    expect((await run()).items).toEqual(['1 c unchanged', '2 d unchanged', '3 a updated'])
    // Rows that are older than what was reached are not found: nothing moves back.
    await change(warehouse, "DELETE FROM people WHERE code = 'a'")
    expect((await run()).items).toEqual([])
    await insert(2, ['late'])
    expect((await run()).items).toEqual([])
  })

  it('is read from the start by a reconciliation and a retry, which move nothing', async () => {
    await insert(1, ['a'])
    await insert(3, ['b'])
    await run()
    await insert(4, ['c'])
    const all = { items: ['1 a updated', '2 b updated', '3 c created'] }
    expect(await run(undefined, { reconcile: WHOLE_SCOPE })).toMatchObject(all)
    const again = { items: ['1 a updated', '2 b updated', '3 c updated'] }
    expect(await run(undefined, { isRetry: true })).toMatchObject(again)
    expect((await run()).items).toEqual(['1 b unchanged', '2 c unchanged'])
  })

  it('is complete where nothing changed and nothing is left over', async () => {
    const after = { query: AFTER, watermark: WATERMARK }
    expect(await run(after)).toEqual({ state: 'complete', carried: 0, items: [] })
    await insert(1, ['a'])
    expect((await run(after)).items).toEqual(['1 a created'])
    expect(await run(after)).toEqual({ state: 'complete', carried: 0, items: [] })
    await insert(2, ['b'])
    expect((await run(after)).items).toEqual(['1 b created'])
  })

  it('reads again what a run read that was cancelled, or that failed', async () => {
    await insert(1, ['a'])
    await run()
    await insert(2, ['b'])
    const cancelled = await run(undefined, { ending: { kind: 'cancelled' } })
    expect(cancelled).toMatchObject({
      state: 'cancelled',
      items: ['1 a unchanged', '2 b not_sent'],
    })
    await insert(3, ['c'])
    await run(undefined, { ending: { kind: 'failed', message: 'it broke' } })
    expect((await run()).items).toEqual(['1 a unchanged', '2 b created', '3 c created'])
    expect((await run()).items).toEqual(['1 c unchanged'])
  })

  it('brings rows that were not accepted again, until they are', async () => {
    await insert(1, ['refused', 'no phone at all'], ['wrong', null, 'never'])
    await insert(2, ['fine'])
    expect(await run()).toEqual({
      state: 'complete_with_rejects',
      carried: 0,
      items: ['1 refused refused', '2 wrong invalid', '3 fine created'],
    })
    for (let again = 0; again < 2; again++)
      expect(await run()).toEqual({
        state: 'complete_with_rejects',
        carried: 2,
        items: ['1 fine unchanged', '0 refused refused', '0 wrong invalid'],
      })
    // A run that fails between loses none.
    await run(undefined, { ending: { kind: 'failed', message: 'it broke' } })
    await change(
      warehouse,
      "UPDATE people SET changed = '2026-01-03', phone = '0123' WHERE code = 'refused'",
    )
    expect(await run()).toMatchObject({
      carried: 1,
      items: ['1 fine unchanged', '2 refused created', '0 wrong invalid'],
    })
    await change(
      warehouse,
      "UPDATE people SET changed = '2026-01-04', born = '2001-02-03' WHERE code = 'wrong'",
    )
    expect(await run()).toEqual({
      state: 'complete',
      carried: 0,
      items: ['1 refused unchanged', '2 wrong created'],
    })
    expect(await run()).toEqual({ state: 'complete', carried: 0, items: ['1 wrong unchanged'] })
    expect(names().toSorted()).toEqual(['fine', 'refused', 'wrong'])
  })

  it('brings a row again as it was read last, by whichever run', async () => {
    await insert(1, ['a', 'no phone at all'], ['b', 'none'])
    await insert(2, ['c'])
    expect((await run()).items).toEqual(['1 a refused', '2 b refused', '3 c created'])
    await change(
      warehouse,
      "UPDATE people SET changed = '2026-01-03', phone = '0123', name = 'Newer' WHERE code = 'a'",
    )
    // Its columns are elsewhere, and the next run goes on from the one before it.
    const other = SINCE.replace(COLUMNS, 'phone, changed, born, name, code')
    const cancelled = await run(
      { query: other, watermark: WATERMARK },
      { ending: { kind: 'cancelled' } },
    )
    expect(cancelled.items).toEqual(['1 c unchanged', '2 a not_sent', '0 b not_sent'])
    await change(warehouse, "DELETE FROM people WHERE code <> 'c'")
    expect(await run()).toMatchObject({
      carried: 2,
      items: ['1 c unchanged', '0 a created', '0 b refused'],
    })
    const held = service.records(TYPE).find(({ properties }) => properties['code'] === 'a')!
    expect(held.properties).toMatchObject({ one_phone: '0123', one_text: 'Newer' })
  })

  it('takes rows from the ledger by the names of their columns, once the mapping is mended', async () => {
    await insert(1, ['a', null, '31.01.2001'], ['b', '0123', '1.2.2003'])
    await insert(2, ['c'])
    expect((await run()).items).toEqual(['1 a invalid', '2 b invalid', '3 c created'])
    await change(warehouse, "DELETE FROM people WHERE code <> 'c'")
    const other = SINCE.replace(COLUMNS, 'changed, phone, born, 1 AS more, code, name')
    const properties = {
      ...PROPERTIES,
      one_date: { column: 'born', format: 'D.M.YYYY' },
      one_number: 'more',
    }
    const mended = await run({ query: other, watermark: WATERMARK }, { properties })
    expect(mended.items).toEqual(['1 c updated', '0 a created', '0 b created'])
    const held = service.records(TYPE).find((record) => record.properties['code'] === 'b')!
    expect(held.properties).toMatchObject({
      one_date: '2003-02-01',
      one_phone: '0123',
      one_text: 'Name b',
      one_number: null,
    })
    expect(await run()).toMatchObject({ state: 'complete', carried: 0 })
  })

  it('keeps to what a later run brought in, and leaves rows without a key alone', async () => {
    await insert(1, ['a', 'no phone at all'], [null])
    expect((await run()).items).toEqual(['1 a refused', '2 null invalid'])
    await change(warehouse, "UPDATE people SET phone = '0123' WHERE code = 'a'")
    const every = SINCE.replace('changed >= :watermark', 'code IS NOT NULL')
    expect((await run({ query: every })).items).toEqual(['1 a created'])
    await change(warehouse, 'DELETE FROM people')
    expect(await run()).toEqual({ state: 'complete', carried: 0, items: [] })
  })

  it('moves nothing in a window, which reads from the start and brings nothing again', async () => {
    const from = { query: WINDOWED, watermark: WATERMARK }
    for (const day of [1, 2, 3]) await insert(day, [`d${day}`])
    await insert(4, ['refused', 'no phone at all'])
    expect((await run(from)).items).toHaveLength(4)
    const window = { from: '2026-01-02', to: '2026-01-04' }
    expect(await run(from, { window })).toEqual({
      state: 'complete',
      carried: 0,
      items: ['1 d2 unchanged', '2 d3 unchanged'],
    })
    expect((await run(from, { window: { from: null, to: '2026-01-02' } })).items).toEqual([
      '1 d1 unchanged',
    ])
    expect((await run(from, { window: { from: '2026-01-09', to: null } })).items).toEqual([])
    // Not even beyond what was reached.
    await insert(5, ['d5'])
    expect((await run(from, { window: { from: '2026-01-05', to: null } })).items).toEqual([
      '1 d5 created',
    ])
    expect((await run(from)).items).toEqual(['1 refused refused', '2 d5 unchanged'])
  })

  it('begins anew in another place, or with another column', async () => {
    await insert(1, ['a'])
    await insert(2, ['b'])
    await run()
    const other = { ...WATERMARK, column: 'again' }
    const query = SINCE.replace(COLUMNS, `${COLUMNS}, changed AS again`)
    expect((await run({ query, watermark: other })).items).toHaveLength(2)
    expect((await run({ query, watermark: other })).items).toHaveLength(1)
    const elsewhere = await startService({ schema: everyShape() })
    await client.close()
    client = new RecordsClient({ baseUrl: elsewhere.url, key: elsewhere.key })
    expect((await run({ query, watermark: other })).items).toEqual(['1 a created', '2 b created'])
    await elsewhere.close()
  })
})

describe.each(sampled(['duck'], ['pg']))('a reading from %s', (warehouse) => {
  // The file of DuckDB.
  beforeAll(async () => await change(warehouse))

  const DAY = "DATE '2026-01-31'"
  it.each([
    ['INTEGER', '9', '10', '10'],
    ['BIGINT', '-1', '9223372036854775807', '9223372036854775807'],
    ['DECIMAL(20, 3)', '9.5', '12345678901234567.890', '12345678901234567.890'],
    ['REAL', '0.1', '0.2', '0.2'],
    ['DOUBLE PRECISION', '0.1', '0.30000000000000004', '0.30000000000000004'],
    ['DATE', "'0001-01-01'", DAY, '2026-01-31'],
    ['TIMESTAMP', DAY, "'2026-01-31 08:15:00.123456'", '2026-01-31T08:15:00.123456Z'],
    ['TIMESTAMPTZ', DAY, "'2026-01-31 08:15:00.5+02'", '2026-01-31T06:15:00.5Z'],
    ['TEXT', "'9'", "E'it''s a \\\\ :from'", "it's a \\ :from"],
    ['VARCHAR(9)', "'Z'", "'a'", 'a'],
    [
      'UUID',
      "'123e4567-e89b-12d3-a456-426614174000'",
      "'f23e4567-e89b-12d3-a456-426614174000'",
      'f23e4567-e89b-12d3-a456-426614174000',
    ],
  ])('goes on from a value of type %s', async (type, low, high, value) => {
    const select = `SELECT mark FROM (SELECT CAST(${high} AS ${type}) AS mark UNION ALL SELECT CAST(${low} AS ${type})
      UNION ALL SELECT CAST(NULL AS ${type})) AS r`
    const all = {
      query: `${select} WHERE :watermark <> ''`,
      watermark: { column: 'mark', initial: 'x' },
    }
    const first = await read(warehouse, all)
    expect(first.rows.toSorted()).toHaveLength(3)
    const watermark = first.watermark as Watermark
    expect(watermark).toMatchObject({ column: 'mark', value })
    const setting = { column: 'mark', initial: '0' }
    const since = { query: `${select} WHERE mark >= :watermark`, watermark: setting }
    expect(await read(warehouse, since, { watermark })).toEqual({ rows: [value], watermark })
    const after = { query: `${select} WHERE mark > :watermark`, watermark: setting }
    expect(await read(warehouse, after, { watermark })).toEqual({ rows: [], watermark })
    // What is less moves nothing back.
    const before = { query: `${select} WHERE mark < :watermark`, watermark: setting }
    expect(await read(warehouse, before, { watermark })).toMatchObject({ watermark })
  })

  it('knows no watermark before there was a value', async () => {
    const from = {
      query: 'SELECT CAST(NULL AS DATE) AS day WHERE :watermark IS NOT NULL',
      watermark: { column: 'day', initial: '2026-01-31' },
    }
    expect(await read(warehouse, from)).toEqual({ rows: [null], watermark: undefined })
  })

  it('gives the warehouse every value as it is', async () => {
    const { openers } = await project(warehouse, { query: 'SELECT 1' })
    const dwh = await openers.openWarehouse(warehouse)
    const awkward = fc.array(fc.constantFrom("'", '\\', '"', ':to', '$$', '--', '/*', 'n', ';'))
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      awkward.map((parts) => parts.join('')),
    )
    const values = fc.sample(
      text.filter((value) => !value.includes('\0')),
      300,
    )
    const query = `SELECT ${values.map((watermark, index) => bindParameters(`CAST(:watermark AS TEXT) AS v${index}`, { watermark, from: null, to: null })).join(', ')}`
    const { chunks } = await dwh.read(query)
    for await (const [row] of chunks(1)) expect(row).toEqual(values)
    await dwh.close()
  })

  it.each([
    [
      'SELECT 1 AS other WHERE 0 <= :watermark',
      'the answer has no column "mark", which `watermark` names; add it to the SELECT',
    ],
    [
      'SELECT TRUE AS mark WHERE 0 <= :watermark',
      'column "mark" cannot be the watermark; expected numbers, dates, times or texts, cast it in the query',
    ],
    [
      "SELECT DATE '9999-12-31' + i AS mark FROM (SELECT 0 AS i UNION ALL SELECT 1) AS r WHERE 0 <= :watermark ORDER BY 1",
      'row 2, column "mark": the value cannot be the watermark; expected a time of the years 1 to 9999',
    ],
    [
      "SELECT CAST(repeat('x', 1001) AS TEXT) AS mark WHERE 0 <= :watermark",
      'row 1, column "mark": the value cannot be the watermark; expected a text of at most 1000 characters without U+0000',
    ],
  ])('refuses %s', async (query, message) => {
    const from = { query, watermark: { column: 'mark', initial: '0' } }
    expect(await faultOf(read(warehouse, from))).toBe(message)
  })

  it('refuses a window that cannot bound the query', async () => {
    const bound =
      'so a window cannot bound it; expected one, such as `WHERE (:from IS NULL OR day >= :from) AND (:to IS NULL OR day < :to)`'
    const window = { from: '2026-01-01', to: '2026-02-01' }
    const other = { query: 'SELECT 1 AS a WHERE :to IS NULL' }
    expect(await faultOf(read(warehouse, other, { window }))).toBe(`it has no \`:from\`, ${bound}`)
    for (const unbound of [window, { from: null, to: null }])
      expect(
        await faultOf(read(warehouse, { query: 'SELECT 1 AS a' }, { window: unbound })),
      ).toContain('cannot be read in a window: its query uses neither `:from` nor `:to`')
    const half = { query: 'SELECT 1 AS a WHERE :from IS NULL' }
    expect(await faultOf(read(warehouse, half, { window }))).toBe(`it has no \`:to\`, ${bound}`)
    expect((await read(warehouse, half)).rows).toEqual(['1'])
  })
})

it('of a CSV file is refused a window', async () => {
  const sync = { name: 'people', kind: 'import', import: { from: { csv: 'people.csv' } } }
  const window = { from: '2026-01-01', to: null }
  const opening = openSource(sync as never, {} as never, undefined, { watermark: null, window })
  expect(await faultOf(opening)).toBe(
    'Sync "people" cannot be read in a window: a CSV file has no time, so it is always read whole; leave out from and to',
  )
})
