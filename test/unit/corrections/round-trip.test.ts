// Rejects are written, a spreadsheet does what it does, a person corrects some, and they are read back.

import fc from 'fast-check'
import { parse } from 'csv-parse/sync'
import { describe, expect, test } from 'vitest'
import type { Json } from '../../../src/core/json.ts'
import { complaint, fixture, folder, read, written, type Left } from './scene.ts'
import { CELLS, COLUMNS } from './spreadsheets/cells.ts'
import { runs } from '../../runs.ts'

const put = folder()
const columns = ['id', 'name', 'born', 'amount']
const left: readonly Left[] = [
  { raw: ['001', 'Ada', '10.12.1815', '1.50'], column: 'born' },
  { raw: ['002', 'Grace', 'soon', '007'], column: 'born' },
  { raw: ['003', '=SUM(A1)', '', '12345678901234567890'], column: 'amount' },
]
const raws = (rows: readonly Left[]) => rows.map(({ raw }, index) => ({ ordinal: index + 1, raw }))

/** The records of a file as it was written, header first. */
const recordsOf = (text: string): string[][] => parse(text, { bom: true })

interface Saved {
  delimiter?: string
  end?: string
  /** Columns that are kept, in this order; default: all. */
  keep?: readonly number[]
}

/** Records as a spreadsheet saves them. */
function saved(
  records: readonly (readonly string[])[],
  { delimiter = ',', end = '\n', keep }: Saved = {},
) {
  const cell = (text: string) =>
    /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
  return records
    .map(
      (cells) =>
        (keep ? keep.map((index) => cells[index]!) : cells).map(cell).join(delimiter) + end,
    )
    .join('')
}

/** What is read of the rows above, after `change` of the records of their file. */
async function reread(change: (records: string[][]) => void, how: Saved = {}) {
  const records = recordsOf(written(columns, left))
  change(records)
  return await read([await put('some.csv', saved(records, how))], columns, left)
}

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc
    .array(
      fc.constantFrom('=', '+', '-', "'", '@', '1', '.', '"', ',', '\n', '\r', ' ', 'x', '\t'),
      {
        maxLength: 8,
      },
    )
    .map((parts) => parts.join('')),
)
/** As a spreadsheet could save it. */
const plain = text.map((value) => value.replaceAll('\0', ''))
const cell: fc.Arbitrary<Json> = fc.oneof(
  { weight: 6, arbitrary: text },
  fc.constant(null),
  fc.boolean(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value)),
  fc.array(text, { maxLength: 3 }),
  fc.record({ amount: text, unit: text }),
)
const table = fc
  .uniqueArray(
    fc.oneof(
      text.filter((name) => name.trim() !== '' && !/[\0\uFEFF]/.test(name)),
      fc.constantFrom('_row', '_column', '__row', 'row', '1', '01'),
    ),
    { minLength: 1, maxLength: 5 },
  )
  .chain((names) =>
    fc.record({
      names: fc.constant(names),
      rows: fc.array(
        fc.record({
          raw: fc.array(cell, { minLength: names.length, maxLength: names.length }),
          column: fc.constantFrom(...names),
        }),
        { maxLength: 6 },
      ),
      exact: fc.boolean(),
    }),
  )

describe('untouched', () => {
  test('whatever the cells are, they come back as they were, of the shape that they had', async () => {
    await fc.assert(
      fc.asyncProperty(table, async ({ names, rows, exact }) => {
        const file = await put('any.csv', written(names, rows, { exact }))
        const found = await read([file], names, rows)
        expect(found.rows).toEqual(raws(rows))
        expect(found.account).toEqual({
          rows: rows.length,
          unchanged: rows.length,
          changed: new Map(),
          restored: new Map(),
          files: [{ file, rows: rows.length, missing: [], ignored: [] }],
        })
      }),
      { numRuns: runs(150) },
    )
  })

  test.each([
    ['default', 14],
    ['english', 32],
    ['german', 27],
    ['german-default', 13],
    ['xlsx', 22],
    ['german-unicode', 28],
  ] as const)('LibreOffice opened and saved it: %s, %i cells', async (name, cells) => {
    const rows = CELLS.map((raw, index) => ({ raw: [`00${index + 1}`, raw, 'x'] }))
    const { rows: found, account } = await read([fixture(`${name}.csv`)], COLUMNS, rows)
    expect(found).toEqual(raws(rows))
    expect(account).toMatchObject({ unchanged: CELLS.length, changed: new Map() })
    expect(account.restored.get('id')).toBe(CELLS.length)
    expect(account.restored.get('1.50')).toBe(cells)
    expect(account.files).toMatchObject([{ missing: [], ignored: [] }])
  })

  test.each<readonly [string, (records: string[][]) => string | Buffer]>([
    ['semicolons', (records) => saved(records, { delimiter: ';' })],
    ['no byte order mark, CRLF', (records) => saved(records, { end: '\r\n' })],
    [
      'tabs in UTF-16',
      (records) =>
        Buffer.from(`\uFEFF${saved(records, { delimiter: '\t', end: '\r\n' })}`, 'utf16le'),
    ],
  ])('saved with %s', async (_, save) => {
    const file = await put('saved.csv', save(recordsOf(written(columns, left))))
    const { rows, account } = await read([file], columns, left)
    expect(rows).toEqual(raws(left))
    expect(account.unchanged).toBe(3)
  })

  test('empty cells at the end are left out of a row, as Excel does', async () => {
    const records = recordsOf(written(columns, left))
    const lines = records.map((cells) => saved([cells], { delimiter: ';' }).replace(/;+\n$/, '\n'))
    const { rows } = await read([await put('short.csv', lines.join(''))], columns, left)
    expect(rows).toEqual(raws(left))
  })

  test('columns in another order, some deleted, some of somebody, rows deleted, empty lines', async () => {
    const { rows, account } = await reread(
      (records) => {
        records[0]!.push('my notes', '')
        for (const record of records.slice(1)) record.push('ask Bob', '')
        records.splice(2, 1)
        records.splice(
          2,
          0,
          records[0]!.map(() => ''),
        )
      },
      // `_column`, `amount`, `_row`, `name`, the notes; not `id` and `born`.
      { keep: [8, 3, 5, 1, 13, 14] },
    )
    expect(rows).toEqual([raws(left)[0], raws(left)[2]])
    expect(account).toMatchObject({ rows: 2, unchanged: 2 })
    expect(account.files).toMatchObject([
      { rows: 2, missing: ['id', 'born'], ignored: ['my notes'] },
    ])
  })
})

describe('corrected', () => {
  test('an edit is taken in whatever column; what only looks different is not, except in the one in error', async () => {
    const { rows, account } = await reread((records) => {
      // Whatever of the first row a person did not touch, a spreadsheet did.
      records[1]!.splice(0, 4, '1', 'Ada Lovelace', '1815-12-10', '1,5')
      records[2]!.splice(0, 4, '2', 'Grace ', '1906-12-09', '7')
      records[3]!.splice(0, 4, '3', "'=SUM(A2)", '1900-01-01', '1,23456789012346E+19')
    })
    expect(rows.map(({ raw }) => raw)).toEqual([
      ['001', 'Ada Lovelace', '1815-12-10', '1.50'],
      ['002', 'Grace', '1906-12-09', '007'],
      ['003', '=SUM(A2)', '1900-01-01', '12345678901234567890'],
    ])
    expect(account).toMatchObject({
      rows: 3,
      unchanged: 0,
      changed: new Map([
        ['name', 2],
        ['born', 3],
      ]),
      restored: new Map([
        ['id', 3],
        ['name', 1],
        ['amount', 3],
      ]),
    })
  })

  test('apostrophes: the one that was written goes, those of a person stay', async () => {
    const { rows } = await reread((records) => {
      expect(records[3]![1]).toBe("'=SUM(A1)")
      records[1]!.splice(1, 1, "'90s")
      records[2]!.splice(1, 1, "''=SUM(A2)")
      records[3]!.splice(1, 1, '=SUM(A1)')
    })
    expect(rows.map(({ raw }) => raw[1])).toEqual(["'90s", "'=SUM(A2)", '=SUM(A1)'])
  })

  test('the column in error is known by its name, or by what a spreadsheet made of that', async () => {
    const rows: readonly Left[] = [{ raw: ['1.50', '1.50'], column: '007' }]
    const records = recordsOf(written(['007', '008'], rows))
    for (const record of records)
      record.splice(0, 2, record === records[0] ? '7' : '1.5', record === records[0] ? '8' : '1.5')
    records[1]![6] = '7'
    const found = await read([await put('names.csv', saved(records))], ['007', '008'], rows)
    expect(found.rows).toEqual([{ ordinal: 1, raw: ['1.5', '1.50'] }])
  })

  test('a mangled cell is restored beside a real edit', async () => {
    const mangles: readonly (readonly [fc.Arbitrary<string>, (stored: string) => string])[] = [
      [fc.integer({ min: 1, max: 1e9 }).map((n) => `00${n}`), (was) => was.slice(2)],
      [
        fc.integer({ min: 1, max: 1e6 }).map((n) => `${n}.250`),
        (was) => was.slice(0, -1).replace('.', ','),
      ],
      [
        fc.bigInt({ min: 10n ** 17n, max: 10n ** 25n }).map(String),
        (was) => Number(was).toExponential(5).replace('e+', 'E+'),
      ],
      [fc.boolean().map(String), (was) => was.toUpperCase()],
      [
        fc
          .date({ min: new Date('1970-01-01'), max: new Date('2068-12-31'), noInvalidDate: true })
          .map((day) => day.toISOString().slice(0, 10)),
        (was) => `${was.slice(8)}.${was.slice(5, 7)}.${was.slice(2, 4)}`,
      ],
      [
        fc
          .date({ min: new Date('1970-01-01'), max: new Date('2068-12-31'), noInvalidDate: true })
          .map((day) => day.toISOString().slice(0, 16).replace('T', ' ')),
        (was) => `${was.slice(5, 7)}/${was.slice(8, 10)}/${was.slice(0, 4)} ${was.slice(11)}:00`,
      ],
      [fc.integer({ min: 1, max: 1e9 }).map((n) => `+${n}`), (was) => was.slice(1)],
      [plain.map((rest) => `a\r\n${rest}`), (was) => was.replaceAll('\r\n', '\n')],
      [plain.map((rest) => `${rest}x  `), (was) => was.trimEnd()],
      [plain.map((rest) => `x\u00A0${rest}y`), (was) => was.replaceAll('\u00A0', ' ')],
      [
        fc
          .string({ unit: fc.constantFrom('ä', 'é', '€', 'x', '中'), minLength: 1 })
          .map((rest) => `ü${rest}`),
        (was) => Buffer.from(was).toString('latin1'),
      ],
    ]
    const mangled = fc.oneof(
      ...mangles.map(([stored, mangle]) => stored.map((was) => ({ was, is: mangle(was) }))),
    )
    await fc.assert(
      fc.asyncProperty(mangled, fc.string({ minLength: 1 }), async ({ was, is }, edit) => {
        const rows: readonly Left[] = [{ raw: [was, 'old'], column: 'a' }]
        const records = recordsOf(written(['b', 'a'], rows))
        // A guard that is there stays there.
        records[1]![0] = records[1]![0] === was ? is : `'${is}`
        records[1]![1] = `new ${edit}`
        const file = await put('mangled.csv', saved(records))
        const found = await read([file], ['b', 'a'], rows)
        expect(found.rows).toEqual([{ ordinal: 1, raw: [was, `new ${edit}`] }])
      }),
      { numRuns: runs(300), examples: [[{ was: '+49-170-1234567', is: '+49-170-1234567' }, 'x']] },
    )
  })

  test('cells that were no text keep their shape', async () => {
    const rows: readonly Left[] = [
      { raw: [1.5, true, ['a', 'b'], { amount: '1', unit: 'EUR' }, null] },
      { raw: [2, false, ['a'], { amount: '2', unit: 'EUR' }, null] },
      { raw: [3, true, [], { amount: '3', unit: 'EUR' }, 4] },
    ]
    const names = ['number', 'truth', 'list', 'object', 'nothing']
    const records = recordsOf(written(names, rows))
    records[1]!.splice(0, 5, '2.50', 'FALSCH', '["a","c"]', '{"amount":"9","unit":"EUR"}', 'some')
    records[2]!.splice(0, 5, '', '', 'a', '{}', '')
    records[3]!.splice(0, 5, 'three', '1', '{}', '[]', '')
    const { rows: found } = await read([await put('typed.csv', saved(records))], names, rows)
    expect(found.map(({ raw }) => raw)).toEqual([
      [2.5, false, ['a', 'c'], { amount: '9', unit: 'EUR' }, 'some'],
      [null, null, 'a', {}, null],
      ['three', '1', '{}', '[]', null],
    ])
  })

  test('pages of 1,000 rows, of several files', async () => {
    const many = Array.from({ length: 2_500 }, (_, index) => ({ raw: [`k${index}`] }))
    const [header, ...rest] = recordsOf(written(['id'], many))
    const first = await put('first.csv', saved([header!, ...rest.slice(0, 1_200)]))
    const second = await put('second.csv', saved([header!, ...rest.slice(1_200).toReversed()]))
    const { rows, pages, account } = await read([first, second], ['id'], many)
    expect(pages.reduce((sum, rowsOfPage) => sum + rowsOfPage, 0)).toBe(2_500)
    expect(Math.max(...pages)).toBeLessThanOrEqual(1_000)
    expect(rows.toSorted((a, b) => a.ordinal - b.ordinal)).toEqual(raws(many))
    expect(account.files.map((file) => file.rows)).toEqual([1_200, 1_300])
  })
})

describe('refused, with file, line and what was expected', () => {
  const refused = async (change: (records: string[][]) => void, how: Saved = {}) => {
    const records = recordsOf(written(columns, left))
    change(records)
    return await complaint([await put('some.csv', saved(records, how))], columns, left)
  }

  test('a row twice, in one file or two', async () => {
    expect(await refused((records) => records.push(records[1]!))).toBe(
      'some.csv:5:1: run 7 row 1 is here a second time; it is at some.csv:2 already; expected each row once',
    )
    const file = await put('one.csv', written(columns, left))
    const other = await put('two.csv', written(columns, left))
    expect(await complaint([file, other], columns, left)).toBe(
      'two.csv:2:1: run 7 row 1 is here a second time; it is at one.csv:2 already; expected each row once',
    )
  })

  test('a row of another run, one that is not left, one without a reference', async () => {
    expect(await refused((records) => (records[2]![5] = 'run 6 row 2'))).toBe(
      'some.csv:3:6: the row is of run 6; expected rows of run 7',
    )
    expect(await refused((records) => (records[2]![5] = 'run 7 row 9'))).toBe(
      'some.csv:3:1: run 7 row 9 is not left: it was accepted, or mended since, or never was; expected rows that `rejects 7` writes',
    )
    for (const reference of ['', 'row 2', '2', 'run 7 row 2 '.repeat(2)])
      expect(await refused((records) => (records[3]![5] = reference))).toBe(
        'some.csv:4:6: _row says no row; expected the reference that was written, such as "run 7 row 12"',
      )
  })

  test('a file without the columns that say which rows these are, and what was wrong', async () => {
    expect(await refused((records) => (records[0]![5] = 'row'))).toBe(
      'some.csv:1:1: no column _row; expected a header with it, separated by commas, semicolons or tabs, as the file had when it was written',
    )
    expect(await refused((records) => (records[0]![8] = 'about'))).toBe(
      'some.csv:1:1: no column _column; expected it, as the file had it when it was written',
    )
    expect(await refused((records) => (records[0]![0] = 'name'))).toBe(
      'some.csv:1:2: there are two columns name; expected one',
    )
    expect(await complaint([await put('empty.csv', '')], columns, left)).toMatch(
      /^empty.csv:1:1: no column _row; /,
    )
  })

  test('a workbook, an old encoding, a broken row', async () => {
    expect(
      await complaint([await put('book.csv', 'PK\u0003\u0004 xl/workbook.xml')], columns, left),
    ).toBe(
      'book.csv: this is a workbook, such as .xlsx or .ods; expected CSV: save the sheet as "CSV UTF-8"',
    )
    const old = Buffer.from(written(columns, left).slice(1).replace('Ada', 'Zoë'), 'latin1')
    expect(await complaint([await put('old.csv', old)], columns, left)).toBe(
      'old.csv:2:1: bytes of this line, or further on, are not UTF-8; expected the sheet saved as "CSV UTF-8" or "Unicode text"',
    )
    expect(await refused((records) => records[2]!.push('more'), { delimiter: ';' })).toMatch(
      /^some.csv:3:14: the row has 14 cells; expected 13, as in the header/,
    )
    expect(
      await complaint(
        [await put('quote.csv', written(columns, left).replace('"Ada"', '"Ada"x'))],
        columns,
        left,
      ),
    ).toMatch(/^quote.csv:2:2: text after the closing quote/)
  })
})

describe('a row with other cells than columns', () => {
  const names = ['id', 'name', 'born']
  const ragged: readonly Left[] = [{ raw: ['1', 'Ada'] }, { raw: ['2', 'Bob', 'x', 'more'] }]
  const reread = async (change: (records: string[][]) => void) => {
    const records = recordsOf(written(names, ragged))
    change(records)
    return await read([await put('ragged.csv', saved(records))], names, ragged)
  }

  test('that nobody changed stays as it was, with its cells', async () => {
    const { rows, account } = await reread(() => {})
    expect(rows).toEqual(raws(ragged))
    expect(account.unchanged).toBe(2)
  })
  test('that a person corrected has the cells of the columns', async () => {
    const { rows, account } = await reread((records) => {
      records[1]![2] = '1815-12-10'
      records[2]![1] = 'Bob, more'
    })
    expect(rows.map(({ raw }) => raw)).toEqual([
      ['1', 'Ada', '1815-12-10'],
      ['2', 'Bob, more', 'x'],
    ])
    expect(account.unchanged).toBe(0)
  })
  test('is right as it stands where a person emptied the reason', async () => {
    const reason = recordsOf(written(names, ragged))[0]!.indexOf('_reason')
    const { rows } = await reread((records) => {
      records[1]![reason] = ''
    })
    expect(rows.map(({ raw }) => raw)).toEqual([['1', 'Ada', null], ragged[1]!.raw])
  })
})
