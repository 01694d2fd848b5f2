// What a CSV file may be: dialects, encodings, line ends, gzip, and the places of its rows.

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { openCsv } from '../../../src/sources/csv/index.ts'
import { folder, readCsv } from './files.ts'

const files = folder()

/** Rows as `line: cells`. */
async function rowsOf(content: string | Uint8Array, options: object = {}): Promise<string[]> {
  const { rows } = await readCsv({ path: await files.put(content), ...options })
  return rows.map((row) => `${row.line}: ${row.cells.join('|')}`)
}

describe('rows of a CSV file', () => {
  it('have ordinals, lines and cells, and the file has a digest', async () => {
    const path = await files.put('id,name\n1,Ann\n2,"Bo, ""the"" man"\n')
    const { columns, rows, summary } = await readCsv({ path })
    expect(columns).toEqual(['id', 'name'])
    expect(rows).toEqual([
      { ordinal: 1, line: 2, cells: ['1', 'Ann'] },
      { ordinal: 2, line: 3, cells: ['2', 'Bo, "the" man'] },
    ])
    const digest = createHash('sha256')
      .update(await readFile(path))
      .digest('hex')
    expect(summary).toEqual({ rows: 2, digest })
  })

  it('have a digest of the whole file, also where it is read in several pieces', async () => {
    const content = `id\n${'7\n'.repeat(200_000)}`
    const { summary } = await readCsv({ path: await files.put(content) })
    expect(summary.digest).toBe(createHash('sha256').update(content).digest('hex'))
  })

  it('say how much of the file was read', async () => {
    const source = await openCsv({ path: await files.put(`id\n${'7\n'.repeat(200_000)}`) })
    const shares: number[] = []
    for await (const chunk of source.chunks(1_000))
      if (chunk.length > 0) shares.push(source.readShare!()!)
    await source.close()
    expect(shares[0]).toBeGreaterThan(0)
    expect(shares[0]).toBeLessThan(0.5)
    expect(shares).toEqual(shares.toSorted((a, b) => a - b))
    expect(shares.at(-1)).toBe(1)
  })

  it('may be none under the header', async () => {
    for (const content of ['id,name', 'id,name\n', '\n\nid,name\n\n']) {
      const { columns, rows, chunks, summary } = await readCsv({ path: await files.put(content) })
      expect([columns, rows, chunks, summary.rows]).toEqual([['id', 'name'], [], [], 0])
    }
  })

  it.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('keep their lines with %s, blank lines and breaks in cells', async (_name, eol) => {
    const text = ['', 'a,b', '', '1,"x', 'y', '', 'z"', '2,"p', 'q"', '', '', '3,c', ''].join(eol)
    expect(await rowsOf(text)).toEqual([
      `4: 1|${['x', 'y', '', 'z'].join(eol)}`,
      `8: 2|${['p', 'q'].join(eol)}`,
      '12: 3|c',
    ])
  })

  it('take each line end as it comes', async () => {
    expect(await rowsOf('a,b\n1,2\r\n3,4\r5,6')).toEqual(['2: 1|2', '3: 3|4', '4: 5|6'])
  })

  it('of one column is none if its cell is empty, with quotes or without; an empty line is no row', async () => {
    expect(await rowsOf('a\n""\n\nx\n')).toEqual(['4: x'])
  })

  it('come in filled chunks of at most rowsMax', async () => {
    const path = await files.put(`id\n${'7\n'.repeat(100_050)}`)
    const { chunks } = await readCsv({ path }, 1_000)
    expect(new Set(chunks.slice(0, -1))).toEqual(new Set([1_000]))
    expect([chunks.length, chunks.at(-1)]).toEqual([101, 50])
  })

  it('come in smaller chunks when they are huge', async () => {
    const path = await files.put(`id\n${`${'x'.repeat(1_000_000)}\n`.repeat(12)}`)
    const { chunks, rows } = await readCsv({ path })
    expect(rows.length).toBe(12)
    expect(Math.max(...chunks)).toBeLessThan(6)
  })
})

describe('dialects', () => {
  it('may have another delimiter and quote', async () => {
    const text = "a;b\n'1;1';'it''s'\n\"x;2\n"
    expect(await rowsOf(text, { delimiter: ';', quote: "'" })).toEqual(["2: 1;1|it's", '3: "x|2'])
    expect(await rowsOf('a\tb\n1\t2\n', { delimiter: '\t' })).toEqual(['2: 1|2'])
    expect(await rowsOf('a§b\n1§2\n', { delimiter: '§' })).toEqual(['2: 1|2'])
  })

  it('may have no quote: then it is a character like others', async () => {
    expect(await rowsOf('a,b\n"1,2"\n', { quote: null })).toEqual(['2: "1|2"'])
  })
})

describe('encodings', () => {
  const text = 'id,name\n1,Zoë 😀 €\n'

  it('drop a byte order mark', async () => {
    for (const content of [
      Buffer.from(`\ufeff${text}`),
      Buffer.from(`\ufeff${text}`, 'utf16le'),
      Buffer.from(`\ufeff${text}`, 'utf16le').swap16(),
    ]) {
      const { columns, rows } = await readCsv({ path: await files.put(content) })
      expect([columns, rows[0]?.cells]).toEqual([
        ['id', 'name'],
        ['1', 'Zoë 😀 €'],
      ])
    }
  })

  it('include UTF-16LE without a mark', async () => {
    const content = Buffer.from(text, 'utf16le')
    expect(await rowsOf(content, { encoding: 'utf-16le' })).toEqual(['2: 1|Zoë 😀 €'])
  })

  it.each(['windows-1252', 'iso-8859-1'])('include %s with its euro sign', async (encoding) => {
    const content = Buffer.from('a,b\n\xe9,\x80\x93\x94\xff\n', 'latin1')
    expect(await rowsOf(content, { encoding })).toEqual(['2: é|€“”ÿ'])
  })

  it('include what the platform knows', async () => {
    const content = Buffer.concat([
      Buffer.from('a,b\n1,'),
      Buffer.from([0x93, 0xfa]),
      Buffer.from('\n'),
    ])
    expect(await rowsOf(content, { encoding: 'shift_jis' })).toEqual(['2: 1|日'])
  })

  it('keep a replacement character that the file holds', async () => {
    expect(await rowsOf('a\n\ufffd\n')).toEqual(['2: \ufffd'])
  })
})

describe('gzip', () => {
  it('is told by its first bytes, with several members, and the digest is of the raw bytes', async () => {
    const raw = Buffer.concat([gzipSync('id\n1\n'), gzipSync('2\n'), gzipSync('3\n')])
    const { rows, summary } = await readCsv({ path: await files.put(raw) })
    expect(rows.map((row) => row.cells[0])).toEqual(['1', '2', '3'])
    expect(summary.digest).toBe(createHash('sha256').update(raw).digest('hex'))
  })

  it('is read whole when it is long', async () => {
    const raw = gzipSync(`id\n${'12345678\n'.repeat(300_000)}`)
    expect((await readCsv({ path: await files.put(raw) })).summary.rows).toBe(300_000)
  })
})

describe('a source', () => {
  it('is read once, tells its summary at the end only, and closes twice', async () => {
    const source = await openCsv({ path: await files.put('id\n1\n') })
    expect(() => source.summary()).toThrow(/after the last row/)
    for await (const chunk of source.chunks(10)) expect(chunk.length).toBe(1)
    expect(source.summary().rows).toBe(1)
    await expect(source.chunks(10)[Symbol.asyncIterator]().next()).rejects.toThrow(/read before/)
    await source.close()
    await source.close()
  })

  it.each([0, -1, 1.5, Number.NaN])('has no chunks of %d rows', async (rowsMax) => {
    const source = await openCsv({ path: await files.put('id\n1\n2\n') })
    const chunks = source.chunks(rowsMax)[Symbol.asyncIterator]()
    await expect(chunks.next()).rejects.toMatchObject({ code: 'csv_options' })
    await source.close()
  })

  it('stops when it is told to', async () => {
    const source = await openCsv({ path: await files.put(`id\n${'1\n'.repeat(1_000)}`) })
    const stop = new AbortController()
    const chunks = source.chunks(10, stop.signal)[Symbol.asyncIterator]()
    expect((await chunks.next()).done).toBe(false)
    stop.abort(new Error('told to'))
    await expect(chunks.next()).rejects.toThrow('told to')
    await source.close()
  })
})

describe('ragged rows', () => {
  it('are handed on as they are, each with its line, and are counted', async () => {
    const path = await files.put('a,b,c\n1,2,3\n4\n"x\ny",5\n6,7,8,9,"1,0"\n2,3,4\n')
    const { rows, summary } = await readCsv({ path })
    expect(rows).toEqual([
      { ordinal: 1, line: 2, cells: ['1', '2', '3'] },
      { ordinal: 2, line: 3, cells: ['4'] },
      { ordinal: 3, line: 4, cells: ['x\ny', '5'] },
      { ordinal: 4, line: 6, cells: ['6', '7', '8', '9', '1,0'] },
      { ordinal: 5, line: 7, cells: ['2', '3', '4'] },
    ])
    expect(summary.rows).toBe(5)
  })

  it('may be the last ones where they are long', async () => {
    const { rows } = await readCsv({ path: await files.put('a,b\n1,2\n1,2,3') })
    expect(rows.at(-1)?.cells).toEqual(['1', '2', '3'])
  })
})

describe('a byte order mark', () => {
  it.each([
    ['utf-8', 'utf8', 1],
    ['utf-8', 'utf8', 2],
    ['utf-8', 'utf8', 3],
    ['utf-16le', 'utf16le', 2],
  ] as const)('of %s goes, as %s, also where it is there %i times', async (_, encoding, times) => {
    const text = `${'\ufeff'.repeat(times)}id,name\n1,\ufeffAda\n`
    const { columns, rows } = await readCsv({ path: await files.put(Buffer.from(text, encoding)) })
    expect(columns).toEqual(['id', 'name'])
    expect(rows[0]?.cells).toEqual(['1', '\ufeffAda'])
  })
})
