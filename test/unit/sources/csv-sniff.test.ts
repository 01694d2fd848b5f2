// Delimiter and encoding are recognised in the first bytes of a file, and what is only likely says so.

import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readHead } from '../../../src/sources/csv/head.ts'
import { SNIFFED_BYTES_MAX, sniffCsv } from '../../../src/sources/csv/sniff.ts'
import { folder } from './files.ts'

const files = folder()
const latin1 = (text: string) => Buffer.from(text, 'latin1')
/** `encoding delimiter`, with `?` behind what is not certain. */
const guessed = (head: Buffer | string) => {
  const { encoding, delimiter, unsure } = sniffCsv(Buffer.from(head))
  const mark = (what: 'encoding' | 'delimiter') => (unsure.includes(what) ? '?' : '')
  return `${encoding}${mark('encoding')} ${JSON.stringify(delimiter)}${mark('delimiter')}`
}

describe('delimiter', () => {
  it.each([
    ['id,name\n1,Ada\n', '","'],
    ['id;name\r\n1;Ada\r\n', '";"'],
    ['id\tname\n1\tAda\n', '"\\t"'],
    ['id|name\r1|Ada\r', '"|"'],
    // Other delimiters in cells, quoted or not.
    ['id;amount;net\n1;2,5;3,5\n2;7,25;8\n', '";"'],
    ['id,tags\n1,a;b;c\n2,d;e\n', '","'],
    ['"id";"full, name"\n"1";"Lovelace; Ada"\n"2";"Hopper"\n', '";"'],
    ['id;note\n1;"two\nlines; and ""quotes"""\n2;x\n', '";"'],
    ['id\ttext\n1\ta, b, c\n2\td, e\n', '"\\t"'],
    // A header alone is enough; so is one column.
    ['id;first_name;last_name', '";"'],
    ['email\nada@example.com\n', '","'],
    ['\n\nid;name\n\n1;Ada\n', '";"'],
    ['sep=;\r\nid;name\r\n1;Ada\r\n', '";"'],
    // Rows with too few or too many cells.
    ['a;b;c\n1;2;3\n1;2\n4;5;6\n1;2;3;4\n7;8;9\n', '";"'],
    // Two that fit equally well.
    ['id;net, EUR;gross, EUR\n1;2,5;3,5\n', '";"?'],
    ['Name, first\nAda\nGrace\n', '","?'],
    ['', '","'],
  ])('of %j is %s', (text, expected) => {
    expect(guessed(text)).toBe(`utf-8 ${expected}`)
  })

  it('gives its reason without a cell of the file', () => {
    const { reasons, certain } = sniffCsv(Buffer.from('id;secret\n1;a\n2;b\n3\n'))
    expect(certain).toBe(true)
    expect(reasons).toEqual({
      delimiter: '`;` gives 2 columns, in the header and in 66 % of the rows',
      encoding: 'it has ASCII only',
    })
  })

  it('does not count the row in which the first bytes end', () => {
    const row = `${'x'.repeat(40_000)};1\n`
    expect(guessed(`a;b\n${row}${row}`)).toBe('utf-8 ";"')
    expect(sniffCsv(Buffer.from(`a;b\n${row}${row}`)).reasons.delimiter).toContain('100 %')
  })

  it('is found in any table, whatever its cells have', () => {
    const cell = fc.string({
      unit: fc.constantFrom('a', 'B', '7', ' ', '"', '\n', '\r', ',', ';', '\t', '|', 'é'),
      maxLength: 6,
    })
    const tables = fc.record({
      delimiter: fc.constantFrom(',', ';', '\t', '|'),
      columns: fc.integer({ min: 2, max: 5 }),
      rows: fc.array(fc.array(cell, { minLength: 5, maxLength: 5 }), { maxLength: 8 }),
      eol: fc.constantFrom('\n', '\r\n', '\r'),
    })
    fc.assert(
      fc.property(tables, ({ delimiter, columns, rows, eol }) => {
        const header = Array.from({ length: columns }, (_, index) => `column ${index}`)
        const written = [header, ...rows.map((row) => row.slice(0, columns))]
          .map((row) =>
            row
              .map((text) =>
                text.includes(delimiter) || /["\r\n]/.test(text)
                  ? `"${text.replaceAll('"', '""')}"`
                  : text,
              )
              .join(delimiter),
          )
          .join(eol)
        const guess = sniffCsv(Buffer.from(written))
        expect(guess).toMatchObject({ delimiter, encoding: 'utf-8', certain: true })
      }),
    )
  })
})

describe('encoding', () => {
  it.each([
    ['id,name\n1,Ada\n', 'utf-8'],
    ['id,name\n1,Zoë 日本 €\n', 'utf-8'],
    [latin1('id,name\n1,Zo\xeb\n2,M\xfcller\n'), 'windows-1252'],
    [latin1('id,name\n1,L\x92H\xf4pital \x80 5 \x96 6\n'), 'windows-1252'],
    [latin1('id,name\n1,caf\xe9'), 'windows-1252'],
    [latin1('ID,STRASSE\n1,M\xdcLLERSTRA\xdfE\n'), 'windows-1252'],
    [Buffer.from('id,name\n1,Zoë\n', 'utf16le'), 'utf-16le'],
    [Buffer.from('id,name\n1,Zoë\n', 'utf16le').swap16(), 'utf-16be'],
    // Windows-1251, and German of an old Macintosh and of DOS.
    [latin1('id,name\n1,\xcc\xee\xf1\xea\xe2\xe0\n'), 'windows-1251?'],
    [latin1('id,name\n1,M\x9fller\n2,J\x8arg\n'), 'windows-1250?'],
    [latin1('id,name\n1,M\x81ller\n2,J\x94rg\n'), 'windows-1250?'],
    [latin1('id,name\n1,Wa\xb3\xeasa\n'), 'windows-1250?'],
    // Japanese in Shift_JIS, of kana and of kanji; Chinese.
    [latin1('id,name\n1,\x82\xb1\x82\xf1\x82\xc9\n'), 'shift_jis?'],
    [
      Buffer.from(
        '8cda8b7194d48d862c90a92c96bc2c89ef8ed096bc0a43312c8e5293632c91be98592c8a948eae89ef8ed00a',
        'hex',
      ),
      'shift_jis?',
    ],
    [
      Buffer.from('bfcdbba7b1e0bac52cd0d5c3fb2cb9abcbbe0a312cd5c5ceb02cb1b1bea9bfc6bcbc0a', 'hex'),
      'gb18030?',
    ],
    // More than one, and no text.
    [Buffer.concat([Buffer.from('id,name\n1,Zoë é ü\n'), latin1('2,Zo\xeb\n')]), 'utf-8?'],
    [Buffer.from('id,name\n1,A\0B\n'), 'utf-8?'],
  ])('of %j is %s', (bytes, expected) => {
    expect(guessed(bytes as Buffer)).toBe(`${expected} ","`)
  })

  it.each([
    ['utf-8', Buffer.from('\ufeff\ufeffid;name\n1;Zoë\n')],
    ['utf-16le', Buffer.from('\ufeffid;name\n1;Zoë\n', 'utf16le')],
    ['utf-16be', Buffer.from('\ufeffid;name\n1;Zoë\n', 'utf16le').swap16()],
  ])('%s is named by a byte order mark', (encoding, bytes) => {
    expect(sniffCsv(bytes)).toMatchObject({
      delimiter: ';',
      encoding,
      byteOrderMark: true,
      certain: true,
    })
  })

  it('does not take a character that the first bytes cut for a wrong one', () => {
    const text = `id,name\n1,${'x'.repeat(SNIFFED_BYTES_MAX - 11)}é and more\n`
    const head = Buffer.from(text).subarray(0, SNIFFED_BYTES_MAX)
    expect(head.at(-1)).toBe(0xc3)
    expect(sniffCsv(head)).toMatchObject({ encoding: 'utf-8', certain: true })
  })

  it('ends for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(sniffCsv(Buffer.from(bytes)).delimiter).toHaveLength(1)
      }),
    )
  })
})

describe('readHead', () => {
  it('reads the first bytes, unzipped', async () => {
    const text = 'id;name\n1;Zoë\n'.repeat(10_000)
    const plain = Buffer.from(text).subarray(0, SNIFFED_BYTES_MAX)
    expect(await readHead(await files.put(text))).toEqual(plain)
    expect(await readHead(await files.put(gzipSync(text), 'a.csv.gz'))).toEqual(plain)
    expect((await readHead(await files.put('id\n1\n'))).toString()).toBe('id\n1\n')
  })

  it('says which file is missing', async () => {
    await expect(readHead(files.path('none.csv'))).rejects.toThrow(
      'none.csv: there is no such file; expected a CSV file',
    )
  })
})
