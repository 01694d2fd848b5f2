// Rows at the end that are no data, and cells that mean no value.

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openCsv, type CsvOptions } from '../../../src/sources/csv/index.ts'
import { faultOf, folder } from './files.ts'

const files = folder()

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

it('a footer is left out, with rows of any number of cells; other rows stay', async () => {
  const text = 'a,b\n1,2\n3\n4,5\n\n"Report"\nx,y,z\nEnd'
  expect(await read(text, { footer: 3 })).toEqual([['1', '2'], ['3'], ['4', '5']])
})

it.each([
  ['a,b\n1,2\n3,4\nEnd\n', 2, 3],
  ['a,b\nEnd\n', 2, undefined],
  ['a,b\n', 1, undefined],
])('%j has no footer of %d rows', async (text, footer, line) => {
  expect(await faultOf({ path: await files.put(text), footer })).toMatchObject({
    code: 'csv_footer',
    line,
    message: expect.stringContaining(`end with ${footer} rows that are no data`),
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
  const text = 'a,b\n\\N,NULL\nNULLs,\\N x\n'
  expect(await read(text, { nulls: ['\\N', 'NULL'] })).toEqual([
    ['', ''],
    ['NULLs', '\\N x'],
  ])
  expect((await read(text, {}))[0]).toEqual(['\\N', 'NULL'])
})
