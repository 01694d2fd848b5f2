// Watermarks whose order is not that of their texts are refused, times may lag, and `>` is told.

import { expect, it } from 'vitest'
import type { ColumnOrder } from '../../../src/core/domain/watermark.ts'
import { SourceError } from '../../../src/core/errors.ts'
import { openQuery } from '../../../src/sources/query/index.ts'
import type { Warehouse } from '../../../src/warehouses/warehouse.ts'

/** Reads a query whose answer has these values; gives the watermark, the query that was asked, and the warnings. */
async function readingOf(
  values: readonly string[],
  {
    order = 'text',
    lag,
    last,
    where = 'upd >= :watermark',
  }: { order?: ColumnOrder; lag?: string; last?: string; where?: string } = {},
) {
  let asked = ''
  const warehouse: Warehouse = {
    place: 'lake',
    async read(query) {
      asked = query
      return {
        columns: ['upd'],
        orders: [order],
        kinds: ['text'],
        async *chunks() {
          yield values.map((value) => [value])
        },
      }
    },
    close: async () => {},
  }
  const from = {
    warehouse: 'lake',
    query: `SELECT upd FROM t WHERE ${where}`,
    watermark: { column: 'upd', initial: '0', ...(lag !== undefined && { lag }) },
  }
  const watermark = last === undefined ? null : { column: 'upd', order, value: last }
  const source = await openQuery('s', from, async () => warehouse, undefined, {
    watermark,
    window: null,
  })
  for await (const _ of source.chunks(100));
  return { watermark: source.summary().watermark, asked, warnings: source.warnings }
}

it.each([
  [['9', '10'], undefined, 'CAST(upd AS DECIMAL)'],
  [['11'], '9', 'CAST(upd AS DECIMAL)'],
  [['10', '9'], undefined, 'CAST(upd AS DECIMAL)'],
  [['9.5', '10.5'], undefined, 'CAST(upd AS DECIMAL)'],
  [['-1', '-10'], undefined, 'CAST(upd AS DECIMAL)'],
  [['1614592800', '99'], undefined, 'CAST(upd AS DECIMAL)'],
  [['31.01.2026'], undefined, 'CAST(upd AS TIMESTAMP)'],
  [['1/31/2026 08:15'], undefined, 'CAST(upd AS TIMESTAMP)'],
  [['05-03-21'], undefined, 'CAST(upd AS TIMESTAMP)'],
])('texts %j are refused, with the cast to write', async (values, last, cast) => {
  const reading = readingOf(values, last === undefined ? {} : { last })
  await expect(reading).rejects.toThrow(SourceError)
  await expect(reading).rejects.toThrow(cast)
})

it.each([
  [['2026-01-31 08:15', '2026-02-01 07:00'], '2026-02-01 07:00'],
  [['0009', '0010'], '0010'],
  [['20260131', '20260201'], '20260201'],
  [['a9', 'a10'], 'a9'],
  [['rec_1', 'rec_2'], 'rec_2'],
])('texts %j are in order', async (values, greatest) => {
  expect((await readingOf(values)).watermark).toMatchObject({ value: greatest })
})

it.each([
  ['10 minutes', '2026-01-31T08:15:00.5Z', "'2026-01-31T08:05:00Z'"],
  ['1 hour', '2026-03-01T00:30:00Z', "'2026-02-28T23:30:00Z'"],
  ['1 day', '2026-03-01', "'2026-02-28'"],
  ['30 seconds', '2026-01-31T08:15:00.123456789Z', "'2026-01-31T08:14:30Z'"],
])('a lag of %s asks from %s on for %s', async (lag, last, asked) => {
  const found = await readingOf([], { order: 'time', lag, last })
  expect(found.asked).toContain(`upd >= ${asked}`)
  // What was reached stays.
  expect(found.watermark).toMatchObject({ value: last })
})

it.each(['number', 'text'] as const)('a lag of a column of %ss is refused', async (order) => {
  await expect(readingOf([], { order, lag: '10 minutes' })).rejects.toThrow('`lag` says nothing')
})

it.each([
  ['upd > :watermark', true],
  ['upd>:watermark::timestamptz', true],
  ['upd > CAST(:watermark AS TIMESTAMP)', true],
  [':watermark < upd', true],
  ['upd >= :watermark', false],
  [':watermark <= upd', false],
  ['upd <> :watermark', false],
])('%s is told: %s', async (where, isTold) => {
  expect((await readingOf([], { where })).warnings).toHaveLength(isTold ? 1 : 0)
})
