// The shapes in which offices send files: what is above the header, columns without a name of their own, rows that are none, cells that
// are left out. Each has one reading, or is refused with the setting that reads it.

import { describe, expect, it } from 'vitest'
import { openCsv, type CsvOptions } from '../../../src/sources/csv/index.ts'
import { faultOf, folder, readCsv } from './files.ts'

const files = folder()

/** Columns and rows, joined by `|`, each row with its line. */
async function read(text: string | Buffer, options: Partial<CsvOptions> = {}) {
  const { columns, rows } = await readCsv({ path: await files.put(text), ...options })
  expect(rows.map(({ ordinal }) => ordinal)).toEqual(rows.map((_, index) => index + 1))
  return [columns.join('|'), ...rows.map(({ line, cells }) => `${line}: ${cells.join('|')}`)]
}

async function warningsOf(text: string, options: Partial<CsvOptions> = {}) {
  const source = await openCsv({ path: await files.put(text), ...options })
  try {
    for await (const _ of source.chunks(2));
    return source.warnings
  } finally {
    await source.close()
  }
}

type Shape = readonly [
  what: string,
  text: string,
  options: Partial<CsvOptions>,
  read: readonly string[],
]

const ABOVE: readonly Shape[] = [
  [
    'two lines and a blank one',
    'Report\nPeriod: 2014\n\nid,n\n1,A\n',
    { header: 4 },
    ['id|n', '5: 1|A'],
  ],
  ['lines in CRLF', 'R\r\n\r\nid,n\r\n1,A\r\n', { header: 3 }, ['id|n', '4: 1|A']],
  ['lines in CR', 'R\rP\rid,n\r1,A\r', { header: 3 }, ['id|n', '4: 1|A']],
  ['lines in both', 'R\r\nP\nid,n\r\n1,A\n', { header: 3 }, ['id|n', '4: 1|A']],
  ['delimiters and quotes above', 'a,"b,c\n"x",,\nid,n\n1,A\n', { header: 3 }, ['id|n', '4: 1|A']],
  ['a quote that is not closed above', 'Size 5"\nid,n\n1,A\n', { header: 2 }, ['id|n', '3: 1|A']],
  ['the default, said', 'id,n\n1,A\n', { header: 1 }, ['id|n', '2: 1|A']],
  [
    'a line of delimiters above',
    ';;\nid;n\n1;A\n',
    { header: 2, delimiter: ';' },
    ['id|n', '3: 1|A'],
  ],
  [
    'the line for spreadsheets above',
    'sep=;\nid;n\n1;A\n',
    { header: 2, delimiter: ';' },
    ['id|n', '3: 1|A'],
  ],
  ['a byte order mark above', '\ufeffR\nid,n\n1,A\n', { header: 2 }, ['id|n', '3: 1|A']],
  ['no header', '1,A\n2,B\n', { header: 'none' }, ['#1|#2', '1: 1|A', '2: 2|B']],
  [
    'no header, and a blank line',
    '\n1,A\n\n2,B',
    { header: 'none' },
    ['#1|#2', '2: 1|A', '4: 2|B'],
  ],
  [
    'no header, with quotes',
    '"1","A ""x"""\n2,B\n',
    { header: 'none' },
    ['#1|#2', '1: 1|A "x"', '2: 2|B'],
  ],
  [
    'no header, a quoted break',
    '1,"A\nB"\n2,C\n',
    { header: 'none' },
    ['#1|#2', '1: 1|A\nB', '3: 2|C'],
  ],
  [
    'no header, the first row again',
    '1,A\n1,A\n',
    { header: 'none' },
    ['#1|#2', '1: 1|A', '2: 1|A'],
  ],
  ['no header, one row without an end', '1,A', { header: 'none' }, ['#1|#2', '1: 1|A']],
  ['no header, a footer', '1,A\nEnd\n', { header: 'none', footer: 1 }, ['#1|#2', '1: 1|A']],
]

describe('above the rows', () => {
  it.each(ABOVE)('%s', async (_, text, options, expected) => {
    expect(await read(text, options)).toEqual(expected)
  })

  it('a header far down is found across the pieces of a file', async () => {
    const lines = Array.from({ length: 900 }, (_, index) => `${'note, '.repeat(40)}${index}`)
    for (const end of ['\n', '\r\n', '\r'])
      expect(await read([...lines, 'id,n', '1,A', ''].join(end), { header: 901 })).toEqual([
        'id|n',
        '902: 1|A',
      ])
  })

  it.each([
    ['is blank', 'R\n\nid,n\n1,A\n', 2, /line 2 .* blank; the next one that is not is line 3/],
    ['is behind the end', 'id,n\n1,A\n', 9, /the file ends before line 9, .*`header: 9`/],
    ['has delimiters alone', 'R\n,,\nid,n\n', 2, /names no column; expected .*`header: N`/],
  ])('a header that %s is refused', async (_, text, header, message) => {
    expect((await faultOf({ path: await files.put(text), header })).message).toMatch(message)
  })
})

const COLUMNS: readonly Shape[] = [
  ['a name twice', 'id,n,n\n1,A,B\n', {}, ['id|n#1|n#2', '2: 1|A|B']],
  ['a name three times', 'n,n,id,n\nA,B,1,C\n', {}, ['n#1|n#2|id|n#3', '2: A|B|1|C']],
  ['two names twice', 'a,b,a,b\n1,2,3,4\n', {}, ['a#1|b#1|a#2|b#2', '2: 1|2|3|4']],
  ['names that differ in capitals', 'n,N\nA,B\n', {}, ['n|N', '2: A|B']],
  ['a column without a name', ',n\n0,A\n', {}, ['#1|n', '2: 0|A']],
  ['one in the middle', 'id,,n\n1,x,A\n', {}, ['id|#2|n', '2: 1|x|A']],
  ['names of spaces', 'id," ",n\n1,x,A\n', {}, ['id|#2|n', '2: 1|x|A']],
  ['a delimiter at each end', 'id,n,\n1,A,\n2,B,\n', {}, ['id|n', '2: 1|A', '3: 2|B']],
  ['two at each end', 'id,n,,\n1,A,,\n', {}, ['id|n', '2: 1|A']],
  ['one at the end of the header alone', 'id,n,\n1,A\n', {}, ['id|n', '2: 1|A']],
  ['spaces behind the last delimiter', 'id;n; \n1;A;  \n', { delimiter: ';' }, ['id|n', '2: 1|A']],
  [
    'one at each end, none may be ragged',
    'id,n,\n1,A,\n',
    { ragged: 'refuse' },
    ['id|n', '2: 1|A'],
  ],
  ['a value under no name', 'id,n,\n1,A,x\n2,B,\n', {}, ['id|n', '2: 1|A|x', '3: 2|B']],
  ['a cell too many that is empty', 'id,n\n1,A,\n2,B\n', {}, ['id|n', '2: 1|A|', '3: 2|B']],
]

describe('columns', () => {
  it.each(COLUMNS)('%s', async (_, text, options, expected) => {
    expect(await read(text, options)).toEqual(expected)
  })

  it('a name that an order would take from another column is refused', async () => {
    const error = await faultOf({ path: await files.put('n,n,n#2\n1,2,3\n') })
    expect(error).toMatchObject({ code: 'csv_header', line: 1, column: 3 })
    expect(error.message).toMatch(/columns 2 and 3 .* both be called "n#2"; rename one/)
  })
})

const pad = { ragged: 'pad' } as const
const PADDED: readonly Shape[] = [
  ['a short row', 'id,n,e\n1,A\n2,B,b\n', pad, ['id|n|e', '2: 1|A|', '3: 2|B|b']],
  ['a short last row', 'id,n,e\n1,A,a\n2,B\n', pad, ['id|n|e', '2: 1|A|a', '3: 2|B|']],
  ['one cell', 'id,n,e\n1\n', pad, ['id|n|e', '2: 1||']],
  ['empty cells beyond the header', 'id,n\n1,A,,\n2,B\n', pad, ['id|n', '2: 1|A', '3: 2|B']],
  ['spaces beyond the header', 'id,n\n1,A, ,\n', pad, ['id|n', '2: 1|A']],
  ['a value beyond the header', 'id,n\n1,A,,x\n', pad, ['id|n', '2: 1|A||x']],
  [
    'a first row without a header',
    '1,A,a\n2,B\n',
    { ...pad, header: 'none' },
    ['#1|#2|#3', '1: 1|A|a', '2: 2|B|'],
  ],
  ['nothing to pad', 'id,n\n1,A\n', pad, ['id|n', '2: 1|A']],
]

describe('rows that are padded', () => {
  it.each(PADDED)('%s', async (_, text, options, expected) => {
    expect(await read(text, options)).toEqual(expected)
  })

  it('a short last row without a line break behind it may be cut off', async () => {
    const error = await faultOf({ path: await files.put('id,n\n1,A\n2'), ...pad })
    expect(error).toMatchObject({ code: 'csv_ragged_row', line: 3 })
  })

  it('a short last row names the setting that reads it', async () => {
    const error = await faultOf({ path: await files.put('id,n\n1,A\n2\n') })
    expect(error.message).toMatch(/`ragged: pad`/)
  })
})

const back = { escape: '\\' } as const
const ESCAPED: readonly Shape[] = [
  ['a quote', 'id,n\n1,"He said \\"hi\\""\n', back, ['id|n', '2: 1|He said "hi"']],
  ['itself', 'id,n\n1,"C:\\\\dir"\n', back, ['id|n', '2: 1|C:\\dir']],
  ['itself at the end', 'id,n\n1,"C:\\\\"\n2,B\n', back, ['id|n', '2: 1|C:\\', '3: 2|B']],
  ['both', 'id,n\n1,"\\\\\\"x\\\\"\n', back, ['id|n', '2: 1|\\"x\\']],
  ['another character', 'id,n\n1,"C:\\new\\table"\n', back, ['id|n', '2: 1|C:\\new\\table']],
  ['a quote that is doubled', 'id,n\n1,"He said ""hi"""\n', back, ['id|n', '2: 1|He said "hi"']],
  ['a cell without quotes', 'id,n\n1,C:\\\\dir\\N\n', back, ['id|n', '2: 1|C:\\\\dir\\N']],
  [
    'a delimiter and a break in quotes',
    'id,n\n1,"a,\\"\nb"\n2,B\n',
    back,
    ['id|n', '2: 1|a,"\nb', '4: 2|B'],
  ],
  ['a quote alone', 'id,n\n1,"\\""\n', back, ['id|n', '2: 1|"']],
  [
    'NULL of MySQL',
    'id,n\n1,\\N\n2,"x\\"y"\n',
    { ...back, nulls: ['\\N'] },
    ['id|n', '2: 1|', '3: 2|x"y'],
  ],
  ['another escape', "id,n\n1,'it^'s ^^'\n", { escape: '^', quote: "'" }, ['id|n', "2: 1|it's ^"]],
  ['an umlaut next to it', 'id,n\n1,"ü\\"é\\"€"\n', back, ['id|n', '2: 1|ü"é"€']],
  ['the header', '"i\\"d",n\n1,A\n', back, ['i"d|n', '2: 1|A']],
]

describe('an escape before', () => {
  it.each(ESCAPED)('%s', async (_, text, options, expected) => {
    expect(await read(text, options)).toEqual(expected)
  })

  it('a quote in a cell without quotes, or no end, is refused', async () => {
    const bare = await faultOf({ path: await files.put('id,n\n1,\\"x\n'), ...back })
    expect(bare).toMatchObject({ code: 'csv_quote', line: 2, column: 2 })
    const open = await faultOf({ path: await files.put('id,n\n1,"x\\"\n'), ...back })
    expect(open).toMatchObject({ code: 'csv_quote_unclosed', line: 2 })
  })
})

const skip = { skip_space: true } as const
const SPACED: readonly Shape[] = [
  ['before a quote', 'id, n\n1, "Lovelace, Ada"\n', skip, ['id|n', '2: 1|Lovelace, Ada']],
  ['behind a quote', 'id,n\n1,"A, B" ,\n2 , "C" \n', skip, ['id|n', '2: 1|A, B|', '3: 2|C']],
  ['around plain cells', ' id , n \n 1 , A B \n', skip, ['id|n', '2: 1|A B']],
  ['tabs', 'id,\tn\n1,\t"A, B"\n', skip, ['id|n', '2: 1|A, B']],
  ['in quotes', 'id, n\n1, " A "\n', skip, ['id|n', '2: 1| A ']],
  ['a line of spaces', 'id, n\n   \n1, A\n', skip, ['id|n', '3: 1|A']],
  ['a quoted break', 'id, n\n1, "A\r\nB"\n2, C\n', skip, ['id|n', '2: 1|A\r\nB', '4: 2|C']],
]

describe('space next to a delimiter is skipped', () => {
  it.each(SPACED)('%s', async (_, text, options, expected) => {
    expect(await read(text, options)).toEqual(expected)
  })
})

const NONE: readonly Shape[] = [
  ['a row of delimiters', 'id,n\n1,A\n,\n2,B\n', {}, ['id|n', '2: 1|A', '4: 2|B']],
  ['several at the end', 'id,n,e\n1,A,a\n,,\n,,\n,,\n', {}, ['id|n|e', '2: 1|A|a']],
  ['of other lengths', 'id,n,e\n1,A,a\n,\n,,,,,\n', {}, ['id|n|e', '2: 1|A|a']],
  ['where none may be ragged', 'id,n\n,,,\n1,A\n', { ragged: 'refuse' }, ['id|n', '3: 1|A']],
  ['of spaces', 'id,n\n , \n1,A\n', {}, ['id|n', '3: 1|A']],
  ['of what cannot be seen', 'id,n\n\u200b,\u00a0\n1,A\n', {}, ['id|n', '3: 1|A']],
  ['of quotes', 'id,n\n"",""\n1,A\n', {}, ['id|n', '3: 1|A']],
  ['of words for nothing', 'id,n\n\\N,\\N\n1,A\n', { nulls: ['\\N'] }, ['id|n', '3: 1|A']],
  ['without an end', 'id,n,e\n1,A,a\n,', {}, ['id|n|e', '2: 1|A|a']],
  ['above a footer', 'id,n\n1,A\n,\nEnd\n', { footer: 1 }, ['id|n', '2: 1|A']],
  ['below a footer', 'id,n\n1,A\nEnd\n,\n', { footer: 1 }, ['id|n', '2: 1|A']],
  ['the header again', 'id,name\n1,A\nid,name\n2,B\n', {}, ['id|name', '2: 1|A', '4: 2|B']],
  ['in capitals', 'id,name\n1,A\nID,Name\n', {}, ['id|name', '2: 1|A']],
  ['with spaces', 'id,name\n id , name \n1,A\n', {}, ['id|name', '3: 1|A']],
  ['in quotes', 'id,name\n1,A\n"id","name"\n', {}, ['id|name', '2: 1|A']],
  [
    'in quotes that mean nothing',
    'id,name\n"id","name"\n1,A\n',
    { quote: null },
    ['id|name', '3: 1|A'],
  ],
  [
    'with a byte order mark',
    'id,name\n1,A\n\ufeffid,name\n2,B\n',
    {},
    ['id|name', '2: 1|A', '4: 2|B'],
  ],
  ['with the delimiter at its end', 'id,name,\n1,A,\nid,name,\n', {}, ['id|name', '2: 1|A']],
  ['with a name twice', 'id,n,n\nid,n,n\n1,A,B\n', {}, ['id|n#1|n#2', '3: 1|A|B']],
  ['in another form of Unicode', 'pr\u00e9,b\npre\u0301,b\n1,2\n', {}, ['pr\u00e9|b', '3: 1|2']],
  ['as its first cell alone', 'id,name\nid,A\n', {}, ['id|name', '2: id|A']],
  ['in another order', 'id,name\nname,id\n', {}, ['id|name', '2: name|id']],
  ['as the name of a person', 'id,name\n7,name\n', {}, ['id|name', '2: 7|name']],
  ['Ctrl-Z', 'id,n\r\n1,A\r\n\x1a', {}, ['id|n', '2: 1|A']],
  ['Ctrl-Z behind a cell', 'id,n\r\n1,A\x1a', {}, ['id|n', '2: 1|A']],
  ['a block of Ctrl-Z', `id,n\n1,A\n${'\x1a'.repeat(128)}`, {}, ['id|n', '2: 1|A']],
  ['Ctrl-Z inside', 'id,n\n1,A\x1aB\n', {}, ['id|n', '2: 1|A\x1aB']],
  ['Ctrl-Z and nothing else', 'id,n\n\x1a', {}, ['id|n']],
]

describe('a record that is no row is left out', () => {
  it.each(NONE)('%s', async (_, text, options, expected) => {
    expect(await read(text, options)).toEqual(expected)
  })

  it('and counted, with its lines', async () => {
    const text = `id,n\n1,A\n${',\n'.repeat(7)}ID,N\n2,B\n`
    expect(await warningsOf(text)).toEqual([
      '7 rows of empty cells were left out (lines 3, 4, 5, 6, 7 and more)',
      '1 row that repeats the header was left out (line 10)',
    ])
    expect(await warningsOf('id,n\n1,A\n')).toEqual([])
  })
})

const footer = { footer: 1 } as const
describe('a footer as wide as the header', () => {
  const TABLE = 'id,name,n\nTT1,Ada,5\nTT2,Bob,6\n'
  const NAMES = 'name,n\nAda,5\nBob Meyer,6\n'
  it.each([
    ['a word of totals', `${TABLE}Totals:,,11\n`],
    ['the word alone', `${TABLE}Totals:,,\n`],
    ['in German', `${TABLE}Summe,,11\n`],
    ['in Japanese', `${TABLE}合計,,11\n`],
    ['a count', `${TABLE}Total rows: 2,,\n`],
    ['a note', `${TABLE}Report of today,x,y\n`],
    ['nothing in the first cell', `${TABLE},Total,11\n`],
    ['a total below names', `${NAMES}Grand Total,11\n`],
  ])('is left out: %s', async (_, text) => {
    expect(await read(text, footer)).toHaveLength(3)
  })

  it.each([
    ['a row of data', `${TABLE}TT3,Cy,7\n`],
    ['its key alone', `${TABLE}TT3,,\n`],
    ['a name', `${NAMES}Cy,7\n`],
    ['a name of other words', `${NAMES}Cy van der Berg,7\n`],
    ['another form and too many cells', `${TABLE}Totals:,,11,x\n`],
    ['all there is', 'id,name\nTotals:,1\n'],
  ])('stops the run where it may be data: %s', async (_, text) => {
    const error = await faultOf({ path: await files.put(text), ...footer })
    expect(error.code).toBe('csv_footer')
  })
})

describe('the line that has the names of a mapping', () => {
  it.each([
    ['above the rows', 'Report\n\nx,y\nid,n\n1,A\n', {}, 4],
    ['in quotes and spaces', 'R\n"id" , n\n1,A\n', { skip_space: true }, 2],
    ['with other columns', 'R\na,n,b,id\n', {}, 2],
    ['by another delimiter', 'R\nid;n\n', { delimiter: ';' }, 2],
    ['nowhere', 'a,b\n1,2\n', {}, null],
    ['in another encoding', Buffer.from('R\nid,n,ü\n', 'latin1'), { encoding: 'windows-1252' }, 2],
  ])('is found %s', async (_, text, options, line) => {
    const source = await openCsv({ path: await files.put(text), ...options })
    expect(source.lineWith!(['id', 'n'])).toBe(line)
    await source.close()
  })
})
