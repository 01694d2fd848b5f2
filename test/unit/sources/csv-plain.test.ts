// What is plain is read without csv-parse, wherever its pieces are cut; what is not is left to csv-parse, with all behind it.

import { describe, expect, it, vi } from 'vitest'
import type { SourceError } from '../../../src/core/errors.ts'
import { csvFaults } from '../../../src/sources/csv/faults.ts'
import { PlainRecords } from '../../../src/sources/csv/plain-records.ts'
import { RecordReader, type Dialect } from '../../../src/sources/csv/records.ts'

const dialect: Dialect = { delimiter: ',', quote: '"', recordBytesMax: 100 }
const plainOf = () =>
  new PlainRecords({ ...dialect, mayHave: (cells, columns) => cells === columns })

describe('plain records', () => {
  const text =
    '\n\r\nid,name\r\n1,"a ""b"", c"\n\n"",K\u00f6ln\r\n\r\n3,"two\r\nlines"\n4,\u65e5\u672c\n'
  const rows = [
    { ordinal: 1, line: 4, cells: ['1', 'a "b", c'] },
    { ordinal: 2, line: 6, cells: ['', 'K\u00f6ln'] },
    { ordinal: 3, line: 8, cells: ['3', 'two\r\nlines'] },
    { ordinal: 4, line: 10, cells: ['4', '\u65e5\u672c'] },
  ]

  it('are read wherever a piece ends', () => {
    const bytes = Buffer.from(text)
    for (let cut = 0; cut <= bytes.length; cut++) {
      const plain = plainOf()
      const read = plain.read(bytes.subarray(0, cut))
      expect(plain.isStopped).toBe(false)
      read.push(...plain.read(bytes.subarray(cut)))
      expect(read).toEqual(rows)
      expect(plain.isStopped).toBe(false)
      expect(plain.rest).toHaveLength(0)
      expect(plain.place).toMatchObject({ header: ['id', 'name'], headerLine: 3, line: 11 })
    }
  })

  it('of many pieces are read once, not from the beginning with each piece', () => {
    const bytes = Buffer.from(`id,name\n1,${'x'.repeat(100_000)}\n2,"${'y'.repeat(100_000)}"\n`)
    const plain = new PlainRecords({
      ...dialect,
      recordBytesMax: 1_000_000,
      mayHave: (cells, columns) => cells === columns,
    })
    const looks = vi.spyOn(String.prototype, 'charCodeAt')
    const rows = []
    for (let at = 0; at < bytes.length; at += 1_000)
      for (const row of plain.read(bytes.subarray(at, at + 1_000))) rows.push(row)
    const count = looks.mock.calls.length
    looks.mockRestore()
    expect(rows.map(({ cells }) => String(cells[1]).length)).toEqual([100_000, 100_000])
    expect(count).toBeLessThan(2 * bytes.length)
  })

  it('that do not end, or are too long, are found in however many pieces they come', () => {
    const plain = plainOf()
    for (const piece of ['id,na', 'me\n1,', 'x'.repeat(60)]) plain.read(Buffer.from(piece))
    expect(plain.isStopped).toBe(false)
    expect(plain.read(Buffer.from('x'.repeat(60)))).toEqual([])
    expect(plain.isStopped).toBe(true)
    expect(plain.rest.toString()).toBe(`1,${'x'.repeat(120)}`)
  })

  it.each([
    ['a quote within a cell', '5,a"b'],
    ['text behind a closing quote', '5,"a"b'],
    ['a lone CR', '5,a\r6,b'],
    ['too few cells', '5'],
    ['too many cells', '5,a,b'],
    ['more bytes than a record may have', `5,${'x'.repeat(100)}`],
  ])('end at %s', (_, strange) => {
    const plain = plainOf()
    const bytes = Buffer.from(`${text}${strange}\n7,x\n`)
    expect(plain.read(bytes)).toEqual(rows)
    expect(plain.isStopped).toBe(true)
    expect(plain.rest.toString()).toBe(`${strange}\n7,x\n`)
  })
})

describe('behind a record that is not plain', () => {
  const read = async (text: string, more: Partial<Dialect> = {}) => {
    const reader = new RecordReader({ ...dialect, ...more }, csvFaults('a.csv'))
    const rows = [...(await reader.read(Buffer.from(text)))]
    for (const row of await reader.read(undefined)) rows.push(row)
    return rows
  }
  const refused = (text: string, more?: Partial<Dialect>) =>
    read(text, more).then(
      () => null,
      (error: SourceError) => [error.code, error.line, error.column],
    )
  const strange = 'id,name\n1,a\n\n2,b\r3,"c\nd"\n'

  it('rows go on with their ordinals and lines', async () => {
    expect(await read(`${strange}\n4,e\n`)).toEqual([
      { ordinal: 1, line: 2, cells: ['1', 'a'] },
      { ordinal: 2, line: 4, cells: ['2', 'b'] },
      { ordinal: 3, line: 5, cells: ['3', 'c\nd'] },
      { ordinal: 4, line: 8, cells: ['4', 'e'] },
    ])
  })

  it('errors have their places', async () => {
    expect(await refused(`${strange}4,e"\n`)).toEqual(['csv_quote', 7, 2])
    expect(await refused(`${strange}4\n`)).toEqual(['csv_ragged_row', 7, 2])
  })

  it('a row has as many cells as the header, if it is the first there too', async () => {
    expect(await refused('id,name\n1,a\n2,b,c\n')).toEqual(['csv_ragged_row', 3, 3])
    expect(await refused('id,name\n1,a\n2\n')).toEqual(['csv_ragged_row', 3, 2])
    expect(await refused('id,name\n1,a\n2\n3,b,c\n', { shortRows: true })).toEqual([
      'csv_ragged_row',
      4,
      3,
    ])
  })
})
