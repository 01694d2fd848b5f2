// `records-sync ledger export`: the files hold what the ledger holds, of both drivers. And of both: an honest ledger passes
// its audit, and every query of docs/ledger.md runs and finds something.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api'
import { DatabaseSync } from '@photostructure/sqlite'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runAudit } from '../../../src/audit/index.ts'
import { exportColumns, ledgerExport } from '../../../src/cli/commands/ledger-export.ts'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { EXPORTS, type ExportName, type Ledger } from '../../../src/ledger/ledger.ts'
import { openLedger } from '../../../src/ledger/open.ts'
import { openPostgresLedger } from '../../../src/ledger/postgres/index.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { writeParquet } from '../../../src/warehouses/duckdb/parquet.ts'
import { startPostgres, type Postgres } from '../../postgres.ts'
import { said } from '../cli/said.ts'
import { fill, NOW, RUNS, STRANGE } from './scene.ts'

let folder: string
let postgres: Postgres
let url: string
let duckdb: DuckDBConnection
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'records-sync-export-'))
  postgres = await startPostgres()
  url = await postgres.newDatabase()
  await fill((clock) => openSqliteLedger(join(folder, 'ledger.db'), { clock }))
  await fill((clock) => openPostgresLedger({ url, schema: 'records_sync' }, { clock }))
  writeFileSync(join(folder, 'url'), url, { mode: 0o600 })
  duckdb = await (await DuckDBInstance.create(':memory:')).connect()
  await duckdb.run("SET TimeZone = 'UTC'")
})
afterAll(async () => {
  duckdb.closeSync()
  await postgres.stop()
  rmSync(folder, { recursive: true })
})

const DRIVERS = ['sqlite', 'postgres'] as const
type Driver = (typeof DRIVERS)[number]

function configOf(ledger: string): string {
  const path = join(folder, `${ledger.replaceAll(/\W+/g, '-')}.yaml`)
  writeFileSync(
    path,
    `ledger: ${ledger}
connections: { crm: { service: "http://127.0.0.1:1", key: { file: ./key } } }
syncs: {}
`,
  )
  return path
}
const configs: Readonly<Record<Driver, () => string>> = {
  sqlite: () => configOf('./ledger.db'),
  postgres: () => configOf('{ postgres: { file: ./url } }'),
}

const opened = async (driver: Driver): Promise<Ledger> =>
  await openLedger(
    driver === 'sqlite' ? { sqlite: join(folder, 'ledger.db') } : { url, schema: 'records_sync' },
    { readOnly: true },
  )

const exported = (config: string, target: string, run?: string) =>
  said(config, (context) => ledgerExport(context, target, { run }))

/** The rows of a Parquet file, in its order. As JSON: the driver takes U+FEFF away where a text begins with it. */
async function rowsOf(target: string, name: ExportName): Promise<JsonObject[]> {
  const file = `'${join(target, `${name}.parquet`)}'`
  const instants = exportColumns(name).filter(({ type }) => type === 'instant')
  const replaced = instants.map(
    (column) => `strftime(${column.name}, '%Y-%m-%dT%H:%M:%S.%gZ') AS ${column.name}`,
  )
  const inside = replaced.length === 0 ? '*' : `* REPLACE (${replaced.join(', ')})`
  const reader = await duckdb.runAndReadAll(
    `SELECT to_json(t)::VARCHAR FROM (SELECT ${inside} FROM ${file}) AS t`,
  )
  return reader.getRows().map(([text]) => JSON.parse(String(text)) as JsonObject)
}

/** The rows of the ledger, in small pages. */
async function heldRows(ledger: Ledger, name: ExportName): Promise<Record<string, Json>[]> {
  const held: Record<string, Json>[] = []
  for (let after: string | null = null; ;) {
    const page: Awaited<ReturnType<Ledger['exportRows']>> = await ledger.exportRows(name, {
      after,
      limit: 7,
    })
    held.push(...page.rows)
    if (page.next === null) return held
    after = page.next
  }
}

test('what a killed export left behind is removed; files of a living process stay', async () => {
  const out = join(folder, 'leftovers')
  await said(configs.sqlite(), (context) => ledgerExport(context, out, {}))
  // No process has the number of one that has ended and was waited for.
  const gone = spawnSync('true').pid
  writeFileSync(join(out, `.results.parquet.${gone}.tmp`), '')
  writeFileSync(join(out, `.results.parquet.${gone}.tmp.lines`), '')
  writeFileSync(join(out, `.results.parquet.${process.ppid}.tmp`), '')
  await said(configs.sqlite(), (context) => ledgerExport(context, out, {}))
  expect(readdirSync(out).filter((name) => name.startsWith('.'))).toEqual([
    `.results.parquet.${process.ppid}.tmp`,
  ])
})

describe.each(DRIVERS)('of a ledger in %s', (driver) => {
  test('the files hold every row, every column and every character', async () => {
    const target = join(folder, driver, 'made', 'for it')
    const { code, out, err } = await exported(configs[driver](), target)
    expect([code, err]).toEqual([0, [`${EXPORTS.length} files are in ${target}`]])
    expect(readdirSync(target).toSorted()).toEqual(
      EXPORTS.map((name) => `${name}.parquet`).toSorted(),
    )
    const ledger = await opened(driver)
    for (const name of EXPORTS) {
      const held = await heldRows(ledger, name)
      expect(held.length).toBeGreaterThan(0)
      expect(Object.keys(held[0]!), name).toEqual(exportColumns(name).map((column) => column.name))
      expect(await rowsOf(target, name), name).toEqual(held)
      expect(out.join('\n')).toMatch(new RegExp(`^${name}\\.parquet +${held.length}$`, 'm'))
    }
    await ledger.close()
    const fields = (await rowsOf(target, 'results')).filter(({ run }) => run === RUNS.young)
    expect(fields.map(({ detail }) => detail)).toEqual(STRANGE)
    expect(fields.map(({ key }) => key)).toEqual(STRANGE.map((text) => `key ${text}`))
  })

  test('an honest ledger passes its audit', async () => {
    const ledger = await opened(driver)
    const findings: unknown[] = []
    const report = (finding: unknown) => void findings.push(finding)
    const [contacts, crm] = await runAudit(ledger, { key: null, nowMs: NOW, report })
    await ledger.close()
    expect(findings).toEqual([])
    expect(contacts).toMatchObject({ sync: 'contacts', runs: 9, sealed: 8, booked: 7, pruned: 1 })
    expect(crm).toMatchObject({ sync: 'crm', runs: 3, sealed: 3, booked: 3 })
  })

  test('every query of docs/ledger.md runs, and finds something', async () => {
    const page = readFileSync(new URL('../../../docs/ledger.md', import.meta.url), 'utf8')
    const blocks = [...page.matchAll(/```sql\n([\s\S]*?)```/g)].map((block) => block[1]!)
    const target = join(folder, driver, 'documented')
    expect((await exported(configs[driver](), target)).code).toBe(0)
    await duckdb.run(`SET file_search_path = '${target}'`)
    const pool = new pg.Pool({ connectionString: url, options: '-c search_path=records_sync' })
    const db = new DatabaseSync(join(folder, 'ledger.db'))
    const asked = { duckdb: 0, ledger: 0 }
    for (const block of blocks)
      for (const query of block.split(/;\s*\n/).filter((text) => text.trim() !== '')) {
        const text = query.replaceAll(/\brun = 1\b/g, `run = ${RUNS.mixed}`)
        const isOfDuckdb = block.startsWith('-- DuckDB')
        asked[isOfDuckdb ? 'duckdb' : 'ledger']++
        const rows = isOfDuckdb
          ? (await duckdb.runAndReadAll(text)).getRows()
          : driver === 'sqlite'
            ? db.prepare(text).all()
            : (await pool.query(text)).rows
        expect(rows.length, text).toBeGreaterThan(0)
      }
    expect(asked).toEqual({ duckdb: 3, ledger: 17 })
    db.close()
    await pool.end()
  })
})

test('columns have types, in an empty ledger too', async () => {
  const path = join(folder, 'empty.db')
  await openSqliteLedger(path).close()
  const target = join(folder, 'empty')
  expect((await exported(configOf('./empty.db'), target)).code).toBe(0)
  const types = async (name: ExportName) =>
    (await duckdb.runAndReadAll(`DESCRIBE FROM '${join(target, `${name}.parquet`)}'`))
      .getRows()
      .map(([column, type]) => `${String(column)} ${String(type)}`)
  expect(await types('requests')).toEqual([
    'run BIGINT',
    'batch BIGINT',
    'attempt BIGINT',
    'operation VARCHAR',
    'first BIGINT',
    'last BIGINT',
    'items BIGINT',
    'digest VARCHAR',
    'sent_at TIMESTAMP WITH TIME ZONE',
    'settled_at TIMESTAMP WITH TIME ZONE',
    'status BIGINT',
    'request_id VARCHAR',
    'duration_ms DOUBLE',
  ])
  // What the ledger's own tables call a whole number is one here; and no column has a text's type by accident.
  const db = new DatabaseSync(path)
  for (const name of EXPORTS) {
    const declared = db.prepare(`SELECT name, type FROM pragma_table_info('${name}')`).all()
    const whole = (declared as { name: string; type: string }[])
      .filter(({ type }) => type === 'INTEGER')
      .map((column) => `${column.name} BIGINT`)
    expect(await types(name)).toEqual(expect.arrayContaining(whole))
    expect(await rowsOf(target, name)).toEqual([])
  }
  db.close()
})

test('--run takes what is of one run', async () => {
  const target = join(folder, 'one')
  const { code, err } = await exported(configs.sqlite(), target, String(RUNS.mixed))
  expect([code, err]).toEqual([
    0,
    [`${EXPORTS.length} files are in ${target}, with what is of run ${RUNS.mixed}`],
  ])
  expect((await rowsOf(target, 'runs')).map(({ id }) => id)).toEqual([RUNS.mixed])
  const results = await rowsOf(target, 'results')
  expect(results.map(({ ordinal }) => ordinal)).toEqual([1, 2, 3, 4, 5, 6])
  expect((await rowsOf(target, 'manifests')).map(({ run }) => run)).toEqual([RUNS.mixed])
  expect((await exported(configs.sqlite(), target, '99')).code).toBe(2)
})

test('files that are there are replaced; a failed export changes none and leaves nothing half', async () => {
  const path = join(folder, 'spoilt.db')
  await fill((clock) => openSqliteLedger(path, { clock }))
  const target = join(folder, 'again')
  const config = configOf('./spoilt.db')
  await exported(config, target)
  const before = readdirSync(target)
  const db = new DatabaseSync(path)
  db.exec(`UPDATE runs SET message = 'changed'; UPDATE streams SET read = 1`)
  expect((await exported(config, target)).code).toBe(0)
  expect(new Set((await rowsOf(target, 'runs')).map(({ message }) => message))).toEqual(
    new Set(['changed']),
  )
  db.exec(
    `UPDATE runs SET message = 'once more'; UPDATE requests SET sent_at = 'yesterday' WHERE run = 3`,
  )
  db.close()
  const { code, err } = await exported(config, target)
  expect([code, err.join()]).toEqual([
    3,
    expect.stringMatching(/^Row \d+, column sent_at: expected a time, such as 2026/),
  ])
  expect(readdirSync(target)).toEqual(before)
  expect((await rowsOf(target, 'runs'))[0]!['message']).toBe('changed')
})

test('a place where no folder can be is refused', async () => {
  writeFileSync(join(folder, 'a file'), '')
  for (const target of ['a file', join('a file', 'below')])
    expect(await exported(configs.sqlite(), join(folder, target))).toMatchObject({
      code: 2,
      err: [`DIR: expected a folder: ${join(folder, target)}: a file is in its place`],
    })
})

test('many rows and long texts are written whole, and a place that cannot be written is told', async () => {
  const columns = [
    { name: 'n', type: 'integer' },
    { name: 'text', type: 'text' },
  ] as const
  const nul = '\u0000 and \u0000'
  async function* pages(count: number) {
    for (let page = 0; page < count; page++)
      yield Array.from({ length: 1_000 }, (_, index) => ({
        n: page * 1_000 + index,
        text: index === 0 ? nul : `${index} `.repeat(300),
      }))
  }
  const path = join(folder, 'many.parquet')
  expect(await writeParquet(path, columns, pages(60))).toBe(60_000)
  const [facts] = (
    await duckdb.runAndReadAll(
      `SELECT count(*), bool_and(n = file_row_number), count(DISTINCT text), max(n), first(to_json(text)::VARCHAR ORDER BY n) FROM read_parquet('${path}', file_row_number = true)`,
    )
  ).getRows()
  expect(facts).toEqual([60_000n, true, 1_000n, 59_999n, JSON.stringify(nul)])
  await expect(writeParquet(join(folder, 'none', 'x'), columns, pages(1))).rejects.toMatchObject({
    code: 'export_failed',
  })
  const unfit = (row: Record<string, string | number | null>) =>
    writeParquet(
      join(folder, 'unfit'),
      columns,
      (async function* () {
        yield [row]
      })(),
    )
  await expect(unfit({ n: 1.5, text: '' })).rejects.toThrow(
    'Row 1, column n: expected a whole number',
  )
  await expect(unfit({ n: 1, text: 1 })).rejects.toThrow('Row 1, column text: expected a text')
  await expect(unfit({ n: 1 })).rejects.toThrow('expected a value or null; there is none')
  expect(existsSync(join(folder, 'unfit'))).toBe(false)
})
