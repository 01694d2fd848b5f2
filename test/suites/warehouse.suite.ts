// What every warehouse driver keeps, asked of the real database. A driver's test gives a scene: its dialect, and how to open.

import { describe, expect, it, onTestFinished } from 'vitest'
import { SyncError } from '../../src/core/errors.ts'
import type { Json } from '../../src/core/json.ts'
import type { WarehouseOptions, Warehouse } from '../../src/warehouses/warehouse.ts'

export interface WarehouseScene {
  open(options?: WarehouseOptions): Promise<Warehouse>
  /** A query of so many rows, `i` from 1 on, in order. */
  rows(count: number): string
  /** Expressions of this dialect, and the cells that they become. */
  readonly values: readonly (readonly [expression: string, cell: Json])[]
  /** Expressions whose values no cell can hold, and what the error says of them. */
  readonly noValues: readonly (readonly [expression: string, text: string])[]
  /** Expressions of types that no cell can hold. */
  readonly noColumns: readonly string[]
  /** What is wrong with a query, as this warehouse names it. */
  readonly codes: { readonly syntax: string; readonly table: string; readonly value: string }
  /** A query that runs for minutes. */
  readonly endless: string
  /** Something that would write, in a table `kept` that has one row. */
  readonly writes: readonly string[]
}

export async function answer(
  warehouse: Warehouse,
  query: string,
): Promise<{ columns: readonly string[]; rows: (readonly Json[])[] }> {
  const { columns, chunks } = await warehouse.read(query)
  const rows: (readonly Json[])[] = []
  for await (const chunk of chunks(1_000)) rows.push(...chunk)
  return { columns, rows }
}

export async function errorOf(work: Promise<unknown>): Promise<SyncError> {
  const error: unknown = await work.then(
    () => new Error('it went well'),
    (caught: unknown) => caught,
  )
  expect(error).toBeInstanceOf(SyncError)
  return error as SyncError
}

export function warehouseSuite(name: string, scene: () => WarehouseScene): void {
  const opened = async (): Promise<Warehouse> => {
    const warehouse = await scene().open()
    onTestFinished(() => warehouse.close())
    return warehouse
  }

  describe(`a warehouse on ${name}`, () => {
    it('makes every value a cell, exactly', async () => {
      const warehouse = await opened()
      for (const [expression, cell] of [...SHARED, ...scene().values]) {
        const { rows } = await answer(warehouse, `SELECT ${expression} AS v`)
        expect({ expression, cell: rows[0]![0] }).toEqual({ expression, cell })
      }
    })

    it('gives a text for a value that no cell can hold, and the other rows as they are', async () => {
      const warehouse = await opened()
      for (const [expression, text] of scene().noValues) {
        const query = `SELECT i, CASE WHEN i = 3 THEN ${expression} END AS v FROM (${scene().rows(5)}) AS r ORDER BY i`
        const { rows } = await answer(warehouse, query)
        expect({ expression, cells: rows.map(([, cell]) => cell) }).toEqual({
          expression,
          cells: rows.map(([i]) => (i === '3' ? text : null)),
        })
      }
    })

    it('refuses a column of bytes before the first row, in lists too', async () => {
      const warehouse = await opened()
      for (const expression of scene().noColumns) {
        const error = await errorOf(warehouse.read(`SELECT 1 AS a, ${expression} AS v`))
        expect(error.code).toBe('query_column')
        expect(error.message).toMatch(/^column "v" holds .*; convert it to text in the query/)
      }
    })

    it('names columns as the query does, be they the same, and gives an answer without rows', async () => {
      const warehouse = await opened()
      const query = `SELECT 1 AS a, 2 AS a, 3 AS "Zoë; --" FROM (${scene().rows(1)}) AS r WHERE i > 1; -- that is all`
      expect(await answer(warehouse, query)).toEqual({ columns: ['a', 'a', 'Zoë; --'], rows: [] })
    })

    it('gives a million rows in order, in chunks of the size that is asked for', async () => {
      const warehouse = await opened()
      const { chunks } = await warehouse.read(scene().rows(1_000_000))
      let rows = 0
      for await (const chunk of chunks(777)) {
        if (chunk.length !== 777) expect(rows + chunk.length).toBe(1_000_000)
        for (const [cell] of chunk) if (cell !== String(++rows)) expect(cell).toBe(String(rows))
      }
      expect(rows).toBe(1_000_000)
    })

    it('gives the first rows where no more are wanted', async () => {
      const warehouse = await opened()
      const { chunks } = await warehouse.read(scene().rows(1_000), { rowsMax: 3 })
      for await (const chunk of chunks(3)) {
        expect(chunk).toEqual([['1'], ['2'], ['3']])
        break
      }
    })

    it('says where a query is wrong, in its own words', async () => {
      const { codes } = scene()
      const warehouse = await opened()
      const syntax = await errorOf(warehouse.read('SELECT 1,\n  2 secret_word FRMO t'))
      expect(syntax.message).toBe(
        `the warehouse refused the query (${codes.syntax}), at line 2, column 17 of it`,
      )
      const table = await errorOf(warehouse.read('SELECT * FROM secret_table'))
      expect(table.message).toBe(
        `the warehouse refused the query (${codes.table}), at line 1, column 15 of it`,
      )
      expect(table.code).toBe('query_refused')
      // It can be asked again.
      expect((await answer(warehouse, 'SELECT 1 AS v')).rows).toEqual([['1']])
    })

    it('never ends quietly where a later row fails, and never tells the value', async () => {
      const warehouse = await opened()
      for (const at of [1, 2_000, 300_000]) {
        const failing = `SELECT i, CAST(CASE WHEN i = ${at} THEN 'secret_value' ELSE '1' END AS INTEGER) AS v FROM (${scene().rows(300_000)}) AS r`
        const error = await errorOf(answer(warehouse, failing))
        expect(error.code).toBe('query_refused')
        expect(error.message).toBe(`the warehouse refused the query (${scene().codes.value})`)
      }
    })

    it('lets one SELECT through, and nothing that writes', async () => {
      const warehouse = await opened()
      for (const query of ['', '-- nothing', 'SELECT 1; SELECT 2', ...scene().writes]) {
        const error = await errorOf(answer(warehouse, query))
        expect({ query, code: error.code }).toEqual({ query, code: 'query_refused' })
      }
      const left = await answer(await opened(), 'SELECT count(*) AS n FROM kept')
      expect(left.rows).toEqual([['1']])
    })

    it('stops a query that runs when its signal says so', async () => {
      const warehouse = await opened()
      const stop = new AbortController()
      const reading = warehouse
        .read(scene().endless, { signal: stop.signal })
        .then(async ({ chunks }) => {
          for await (const _ of chunks(10));
        })
      setImmediate(() => stop.abort(new Error('enough')))
      await expect(reading).rejects.toThrow('enough')
      await expect(warehouse.read('SELECT 1', { signal: stop.signal })).rejects.toThrow('enough')
    })

    it('closes twice, in the middle of a reading, and answers nothing after', async () => {
      const warehouse = await opened()
      const { chunks } = await warehouse.read(scene().rows(1_000_000))
      const reading = chunks(10)[Symbol.asyncIterator]()
      expect((await reading.next()).value).toHaveLength(10)
      await Promise.all([warehouse.close(), warehouse.close()])
      const rest = (async () => {
        while ((await reading.next()).done !== true);
      })()
      expect((await errorOf(rest)).code).toBe('warehouse_closed')
      expect((await errorOf(warehouse.read('SELECT 1'))).code).toBe('warehouse_closed')
    })

    it('has a place without a password', async () => {
      const { place } = await opened()
      expect(place).toMatch(/^dwh \(/)
      expect(place).not.toContain('password')
    })
  })
}

/** What both dialects write alike. */
const SHARED: WarehouseScene['values'] = [
  ['NULL', null],
  ["'  a \u0001 Zoë 🦊 '", '  a \u0001 Zoë 🦊 '],
  ["''", ''],
  ['TRUE', true],
  ['FALSE', false],
  ['CAST(9223372036854775807 AS BIGINT)', '9223372036854775807'],
  ['CAST(-32768 AS SMALLINT)', '-32768'],
  ["CAST('12345678901234567890.123456789' AS DECIMAL(38, 9))", '12345678901234567890.123456789'],
  ["CAST('-0.50' AS DECIMAL(10, 2))", '-0.50'],
  ["CAST('0.1' AS REAL)", '0.1'],
  ["CAST('16777216' AS REAL)", '16777216'],
  ["CAST('0.1' AS DOUBLE PRECISION)", '0.1'],
  ["CAST('1e21' AS DOUBLE PRECISION)", '1000000000000000000000'],
  ["CAST('-1e-7' AS DOUBLE PRECISION)", '-0.0000001'],
  ["DATE '2024-02-29'", '2024-02-29'],
  ["TIME '08:15:00'", '08:15:00'],
  ["TIME '08:15:00.25'", '08:15:00.25'],
  ["TIMESTAMP '2026-01-31 08:15:00'", '2026-01-31T08:15:00Z'],
  ["TIMESTAMP '2026-01-31 08:15:00.123456'", '2026-01-31T08:15:00.123456Z'],
  ["TIMESTAMPTZ '2026-01-31 08:15:00+02'", '2026-01-31T06:15:00Z'],
  ["TIMESTAMPTZ '1969-12-31 23:59:59.5-05:30'", '1970-01-01T05:29:59.5Z'],
  ["CAST('123E4567-e89b-12d3-a456-426614174000' AS UUID)", '123e4567-e89b-12d3-a456-426614174000'],
  [`CAST('{"b": 1.00, "a": null}' AS JSON)`, '{"b": 1.00, "a": null}'],
  ["ARRAY['a', 'b;\"c\"', NULL]", ['a', 'b;"c"', null]],
  ['ARRAY[1, 2]', ['1', '2']],
  ["ARRAY[TIMESTAMP '2026-01-31 08:15:00']", ['2026-01-31T08:15:00Z']],
]
