// The DuckDB driver keeps the contract of every warehouse; and its file: who holds it, whose turn it is, what it is.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Blocked } from '../../src/core/errors.ts'
import { openWarehouse } from '../../src/warehouses/index.ts'
import type { WarehouseOptions } from '../../src/warehouses/warehouse.ts'
import { answer, errorOf, warehouseSuite } from './warehouse.suite.ts'

let folder: string
const at = (name: string) => join(folder, name)
const open = (options?: WarehouseOptions, file = 'dwh.duckdb') =>
  openWarehouse('dwh', { duckdb: at(file), folder }, options)

/** A file of its own, written by `script`. */
async function write(file: string, script: string): Promise<void> {
  const instance = await DuckDBInstance.create(at(file))
  const connection = await instance.connect()
  await connection.run(script)
  connection.closeSync()
  instance.closeSync()
}

/** Another process that holds the file until its input ends. */
async function holder(file: string): Promise<{ pid: number; leave(): Promise<void> }> {
  const child = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { DuckDBInstance } from '@duckdb/node-api'
       const instance = await DuckDBInstance.create(${JSON.stringify(at(file))})
       const connection = await instance.connect()
       process.stdout.write('held')
       process.stdin.resume().on('end', () => process.exit())`,
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  expect(String((await once(child.stdout, 'data'))[0])).toBe('held')
  return {
    pid: child.pid!,
    async leave() {
      child.stdin.end()
      await once(child, 'exit')
    },
  }
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "records-sync-duckdb's-"))
  await write('dwh.duckdb', 'CREATE TABLE kept AS SELECT 1 AS v')
})
afterAll(() => rmSync(folder, { recursive: true }))

warehouseSuite('DuckDB', () => ({
  open,
  rows: (count) => `SELECT i FROM range(1, ${count + 1}) AS t(i)`,
  values: [
    ['170141183460469231731687303715884105727::HUGEINT', '170141183460469231731687303715884105727'],
    ['255::UTINYINT', '255'],
    ['123456789012345678901234567890::BIGNUM', '123456789012345678901234567890'],
    ["TIMESTAMP_NS '2026-01-31 08:15:00.123456789'", '2026-01-31T08:15:00.123456789Z'],
    ["TIMESTAMP_S '2026-01-31 08:15:00'", '2026-01-31T08:15:00Z'],
    ["'red'::ENUM('red', 'blue')", 'red'],
    ['INTERVAL 1 DAY', '1 day'],
    ["'1010'::BIT", '1010'],
    ['union_value(k := 2)', '2'],
    ['[1.50, 2]::DECIMAL(4, 2)[2]', ['1.50', '2.00']],
    ['[]::INTEGER[]', []],
    [
      `{'a': 1.50, 'b': [1, NULL], 'c': DATE '2026-01-31', 'd"': 'x', 'e': '{"z": 1.00}'::JSON, 'f': true}`,
      `{"a":1.50,"b":[1,null],"c":"2026-01-31","d\\"":"x","e":{"z": 1.00},"f":true}`,
    ],
    ["MAP {1: 'a', 2: NULL}", '{"1":"a","2":null}'],
    ["[{'a': 1}, NULL]", ['{"a":1}', null]],
    ['[[1, 2], [3]]', ['[1,2]', '[3]']],
  ],
  noValues: [
    ["'NaN'::DOUBLE", '(NaN or infinite)'],
    ["'-inf'::REAL", '(NaN or infinite)'],
    ["[1, 'inf'::DOUBLE]", '(NaN or infinite)'],
    ["DATE 'infinity'", '(an infinite time)'],
    ["TIMESTAMP '-infinity'", '(an infinite time)'],
    ["TIMESTAMPTZ 'infinity'", '(an infinite time)'],
  ],
  noColumns: ["'x'::BLOB", "['x'::BLOB]", "{'a': MAP {1: 'x'::BLOB}}"],
  codes: { syntax: 'Parser Error', table: 'Catalog Error', value: 'Conversion Error' },
  endless: 'SELECT sum(hash(a.i + b.i)) AS v FROM range(10000000) a(i), range(10000000) b(i)',
  writes: [
    'DELETE FROM kept',
    'INSERT INTO kept VALUES (2)',
    `COPY kept TO '${at('stolen.csv').replaceAll("'", "''")}'`,
    `ATTACH '${at('new.duckdb').replaceAll("'", "''")}'`,
    'SET threads = 1',
    'SELECT $1',
    'EXPLAIN SELECT 1',
  ],
}))

/** Temporary folders of this process that DuckDB has made, by the beginning of their names. */
function temporaryNames(beginning: string): string[] {
  const home = new RegExp(`^records-sync-tmp-[0-9a-f]{8}-${process.pid}-`)
  const homes = readdirSync(tmpdir()).filter((name) => home.test(name))
  return homes
    .flatMap((name) => readdirSync(join(tmpdir(), name)))
    .filter((name) => name.startsWith(beginning))
}

describe('a DuckDB file', () => {
  it('that another process holds is waited for, within bounds, and its holder named', async () => {
    const held = await holder('dwh.duckdb')
    const error = await errorOf(open({ waitMs: 0 }))
    expect(error).toBeInstanceOf(Blocked)
    expect(error).toMatchObject({ reason: 'warehouse' })
    expect(error.message).toBe(
      `blocked: warehouse: The warehouse dwh (${at('dwh.duckdb')}) is held by another process (PID ${held.pid}), and was for 0 s; end it, or let it close the file`,
    )
    const stop = new AbortController()
    const stopped = open({ signal: stop.signal })
    stop.abort(new Error('enough'))
    await expect(stopped).rejects.toThrow('enough')
    const waiting = open()
    await held.leave()
    const warehouse = await waiting
    expect((await answer(warehouse, 'FROM kept')).rows).toEqual([['1']])
    await warehouse.close()
  })

  it('is free for others as soon as it is closed, be it in the middle; two readings here share it', async () => {
    const first = await open()
    const second = await open()
    const { chunks } = await first.read('SELECT i FROM range(1000000) t(i)')
    for await (const _ of chunks(10)) break
    await first.close()
    expect((await answer(second, 'FROM kept')).rows).toEqual([['1']])
    await second.close()
    await (await holder('dwh.duckdb')).leave()
  })

  it('keeps the answer out of memory, and leaves no temporary file', async () => {
    const ours = () => temporaryNames('duckdb-')
    const warehouse = await open()
    // More than DuckDB may keep in memory.
    const { chunks } = await warehouse.read(
      'SELECT i, repeat(md5(i::VARCHAR), 100) AS v FROM range(200000) t(i)',
    )
    // Nothing is computed before the first row is wanted.
    expect(ours()).toEqual([])
    for await (const chunk of chunks(1_000)) {
      expect(chunk).toHaveLength(1_000)
      break
    }
    expect(ours()).toHaveLength(1)
    await warehouse.close()
    expect(ours()).toEqual([])
  })

  it('has the paths in its queries count from the folder of the configuration', async () => {
    mkdirSync(at('export'))
    writeFileSync(at('export/a.csv'), 'id,name\n1,Ada\n')
    writeFileSync(at('export/b.csv'), 'id,name\n2,Bea\n')
    const warehouse = await open()
    onTestFinished(() => warehouse.close())
    const all = await answer(warehouse, "SELECT * FROM read_csv('export/*.csv') ORDER BY id")
    expect(all).toEqual({
      columns: ['id', 'name'],
      rows: [
        ['1', 'Ada'],
        ['2', 'Bea'],
      ],
    })
    const missing = await errorOf(warehouse.read("SELECT * FROM 'export/none.parquet'"))
    expect(missing.message).toBe('the warehouse refused the query (IO Error)')
  })

  it('needs no file where a query only reads others, and nobody holds it', async () => {
    writeFileSync(at('people.csv'), 'id,name\n1,Ada\n')
    const place = { duckdb: ':memory:', folder }
    const [one, two] = [await openWarehouse('lake', place), await openWarehouse('lake', place)]
    for (const warehouse of [one, two]) {
      expect(await answer(warehouse, "SELECT * FROM 'people.csv'")).toMatchObject({
        rows: [['1', 'Ada']],
      })
      await warehouse.close()
    }
  })

  it.each([
    [
      'none.duckdb',
      'warehouse_missing',
      'does not exist; expected a DuckDB file, or `:memory:` for queries that only read files',
    ],
    ['junk.duckdb', 'warehouse_not_duckdb', 'is no DuckDB file; expected one'],
    ['folder.duckdb', 'warehouse_not_duckdb', 'is no DuckDB file; expected one'],
  ])('%s is refused', async (file, code, sentence) => {
    if (file.startsWith('junk')) writeFileSync(at(file), 'id,name\n'.repeat(1_000))
    if (file.startsWith('folder')) mkdirSync(at(file))
    const error = await errorOf(open({}, file))
    expect(error.code).toBe(code)
    expect(error.message).toBe(`The warehouse dwh (${at(file)}) ${sentence}`)
  })
})
