// Rows at the end that are no data, and cells that mean no value.

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openCsv, type CsvOptions } from '../../../src/sources/csv/index.ts'
import { faultOf, folder } from './files.ts'

const files = folder()
const REFUSE = { footer: 1, ragged: 'refuse' } as const

async function read(text: string, options: Partial<CsvOptions>) {
  const source = await openCsv({ path: await files.put(text), ...options })
  try {
    const rows = []
    for await (const chunk of source.chunks(3)) rows.push(...chunk.map(({ cells }) => cells))
    expect(source.summary().rows).toBe(rows.length)
    return rows
  } finally {
    await source.close()
  }
}

it('a footer is left out, with rows of one value; other rows stay', async () => {
  const text = 'a,b,c\n1,2,0\n3\n4,5,0\n\n"Report, of x"\n,y\nEnd'
  expect(await read(text, { footer: 3 })).toEqual([['1', '2', '0'], ['3'], ['4', '5', '0']])
})

it.each([
  [1, 'the last row of the file is left out, as `footer: 1` says'],
  [2, 'the last 2 rows of the file are left out, as `footer: 2` says'],
])('a footer of %d is a warning', async (footer, warning) => {
  const source = await openCsv({ path: await files.put('a,b\n1,2\nx\ny\n'), footer })
  expect(source.warnings).toEqual([warning])
  await source.close()
})

const TABLE = 'a,b,c\n1,2,3\n4,5,6\n'
it.each([
  ['cut off in its second cell', `${TABLE}7,N`, { footer: 1 }, 'csv_footer', 4],
  ['cut off in its first cell', `${TABLE}7`, { footer: 1 }, 'csv_footer', 4],
  ['too short, and one cut off', `${TABLE}7,8\n9,N`, { footer: 2 }, 'csv_footer', 4],
  ['a cell too long', `${TABLE}7,N, 2,2\nReport\n`, { footer: 2 }, 'csv_footer', 4],
  ['too long, of one value', `${TABLE}7,,,\n`, { footer: 1 }, 'csv_footer', 4],
  ['as long as the header, of one value', `${TABLE}7,,\n`, { footer: 1 }, 'csv_footer', 4],
  ['too long where none may be', `${TABLE}7,8,9,\n`, REFUSE, 'csv_ragged_row', 4],
  ['too short where none may be', `${TABLE}7,8\n`, REFUSE, 'csv_ragged_row', 4],
])('a row of data is no footer: %s', async (_, text, options, code, line) => {
  expect(await faultOf({ path: await files.put(text), ...options })).toMatchObject({ code, line })
})

it('a file that is cut off anywhere in its rows is never read as complete', async () => {
  const data = Array.from({ length: 4 }, (_, index) => `id${index},"n, ${index}",${index}\n`)
  const text = ['a,b,c\n', ...data].join('')
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 7, max: text.length }),
      fc.integer({ min: 1, max: 4 }),
      async (end, footer) => {
        const path = await files.put(text.slice(0, end))
        expect((await faultOf({ path, footer })).code).toMatch(/^csv_(footer|quote_unclosed)$/)
      },
    ),
    { numRuns: 60 },
  )
})

it.each([
  ['a,b\n1,2\n3,4\nEnd\n', 2, 3],
  ['a,b\nEnd\n', 2, undefined],
  ['a,b\n', 1, undefined],
])('%j has no footer of %d rows', async (text, footer, line) => {
  expect(await faultOf({ path: await files.put(text), footer })).toMatchObject({
    code: 'csv_footer',
    line,
    message: expect.stringMatching(`end with ${footer} rows? that (is|are) no data`),
  })
})

it('without the setting the error names it; with it, rows that have to be whole are', async () => {
  const path = await files.put('a,b\n1,2\n3\n4,5\ntotal\n')
  const cut = { code: 'csv_ragged_row', line: 5 }
  const named = expect.stringContaining('`footer: 1` under `from` says')
  expect(await faultOf({ path })).toMatchObject({ ...cut, message: named })
  expect(await faultOf({ path, footer: 1, ragged: 'refuse' })).toMatchObject({
    code: 'csv_ragged_row',
    line: 3,
    column: 2,
  })
})

it('whatever the number of rows, all of them come, and none of the footer', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(40), fc.integer({ min: 1, max: 8 }), async (rows, footer) => {
      const data = Array.from({ length: rows }, (_, index) => `${index},x\n`)
      const notes = Array.from({ length: footer }, (_, index) => `note ${index}\n`)
      const found = await read(['a,b\n', ...data, ...notes].join(''), { footer })
      expect(found.map(([cell]) => cell)).toEqual(data.map((_, index) => `${index}`))
    }),
    { numRuns: 30 },
  )
})

it('cells that mean no value are empty; parts of cells stay', async () => {
  const text = 'a,b\n\\N,NULL\n\\N,x\nNULLs,\\N x\n'
  expect(await read(text, { nulls: ['\\N', 'NULL'] })).toEqual([
    ['', 'x'],
    ['NULLs', '\\N x'],
  ])
  expect((await read(text, {}))[0]).toEqual(['\\N', 'NULL'])
})
