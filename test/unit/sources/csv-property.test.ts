// Any table, written by a writer of our own and cut into any pieces, is read back equal and with the right lines.

import fc from 'fast-check'
import { parse } from 'csv-parse/sync'
import { expect, it } from 'vitest'
import { decodeText } from '../../../src/sources/csv/decode.ts'
import { csvFaults } from '../../../src/sources/csv/faults.ts'
import { RecordReader } from '../../../src/sources/csv/records.ts'
import type { SourceRow } from '../../../src/sources/source.ts'
import { folder, readCsv } from './files.ts'
import { runs } from '../../runs.ts'

const files = folder()
const RECORD_BYTES_MAX = 100_000

interface Table {
  delimiter: string
  quote: string
  /** Line ends, used in turn. */
  eols: string[]
  /** Blank lines before each record, in turn. */
  blanks: number[]
  quoteAll: boolean
  lastEol: boolean
  rows: string[][]
}

interface Written {
  text: string
  columns: string[]
  rows: SourceRow[]
}

/** The writer: as simple as can be, and it knows nothing of the reader. */
function write(table: Table): Written {
  const { delimiter, eols, blanks, rows } = table
  let text = ''
  const places = rows.map((cells, index) => {
    const eol = eols[index % eols.length] ?? '\n'
    text += eol.repeat(blanks[index % blanks.length] ?? 0)
    const line = 1 + (text.match(/\r\n|\n|\r/g)?.length ?? 0)
    text += cells.map((cell) => writeCell(table, cell, cells.length === 1)).join(delimiter)
    if (table.lastEol || index < rows.length - 1) text += eol
    return { ordinal: index, line, cells }
  })
  return { text, columns: rows[0] ?? [], rows: places.slice(1) }
}

function writeCell(table: Table, cell: string, alone: boolean): string {
  const { delimiter, quote, quoteAll } = table
  const special = [delimiter, quote, '\n', '\r', '\ufeff'].some((mark) => cell.includes(mark))
  if (!special && !quoteAll && !(alone && cell === '')) return cell
  return quote + cell.replaceAll(quote, quote + quote) + quote
}

const LETTERS = [
  'a',
  'b',
  '1',
  ' ',
  '"',
  "'",
  ',',
  ';',
  '\t',
  '\n',
  '\r',
  '\r\n',
  'é',
  '€',
  '日',
  '😀',
  '\ufeff',
  '\u2028',
]

function tables(letters: string[], eols: fc.Arbitrary<string[]>): fc.Arbitrary<Table> {
  const cell = fc.string({ unit: fc.constantFrom(...letters), maxLength: 6 })
  const body = fc.integer({ min: 1, max: 4 }).chain((width) =>
    fc
      .tuple(
        fc.uniqueArray(
          cell.filter((name) => name.trim() !== ''),
          { minLength: width, maxLength: width },
        ),
        fc.array(fc.array(cell, { minLength: width, maxLength: width }), { maxLength: 8 }),
      )
      .map(([header, rows]) => [header, ...rows]),
  )
  return fc.record({
    delimiter: fc.constantFrom(',', ';', '\t', '€'),
    quote: fc.constantFrom('"', "'"),
    eols,
    blanks: fc.array(fc.nat({ max: 2 }), { minLength: 1, maxLength: 3 }),
    quoteAll: fc.boolean(),
    lastEol: fc.boolean(),
    rows: body,
  })
}

// A CR before an LF is one break, so CR stands alone.
const anyEols: fc.Arbitrary<string[]> = fc.oneof(
  fc.array<string>(fc.constantFrom('\n', '\r\n'), { minLength: 1, maxLength: 3 }),
  fc.constant<string[]>(['\r']),
)

async function* piecesOf(bytes: Buffer, sizes: number[]): AsyncGenerator<Buffer> {
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1
    yield Buffer.from(bytes.subarray(at, at + size))
    at += size
  }
}

async function readPieces(
  table: Table,
  bytes: Buffer,
  sizes: number[],
  encoding?: string,
): Promise<Omit<Written, 'text'>> {
  const fault = csvFaults('table.csv')
  const { delimiter, quote } = table
  const reader = new RecordReader({ delimiter, quote, recordBytesMax: RECORD_BYTES_MAX }, fault)
  const rows: SourceRow[] = []
  for await (const text of decodeText(piecesOf(bytes, sizes), encoding, fault))
    rows.push(...(await reader.read(text)))
  rows.push(...(await reader.read(undefined)))
  return { columns: [...(reader.header ?? [])], rows }
}

it('reads any table back, however its bytes arrive', async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 })
  const wide = fc.boolean()
  await fc.assert(
    fc.asyncProperty(
      tables(LETTERS, anyEols),
      sizes,
      wide,
      fc.boolean(),
      async (table, cuts, utf16, mark) => {
        const { text, columns, rows } = write(table)
        const bytes = Buffer.from((mark ? '\ufeff' : '') + text, utf16 ? 'utf16le' : 'utf8')
        const read = await readPieces(table, bytes, cuts, utf16 ? 'utf-16le' : 'utf-8')
        expect(read).toEqual({ columns, rows })
      },
    ),
    { numRuns: runs(500) },
  )
})

it('reads any table back from a file, in chunks of any size', async () => {
  await fc.assert(
    fc.asyncProperty(
      tables(LETTERS, anyEols),
      fc.integer({ min: 1, max: 4 }),
      async (table, rowsMax) => {
        const { text, columns, rows } = write(table)
        const { delimiter, quote } = table
        const read = await readCsv(
          { path: await files.put(text, 'table.csv'), delimiter, quote },
          rowsMax,
        )
        // What has no value, or repeats the header, is no row.
        const bare = (cell: unknown) => String(cell).replaceAll(/[\s"'\ufeff]/g, '')
        const rest = rows.filter(({ cells }) => {
          const texts = cells.map(bare).join()
          return (
            cells.some((cell) => String(cell).trim() !== '') && texts !== columns.map(bare).join()
          )
        })
        const isKept = ({ line }: SourceRow) => read.rows.some((row) => row.line === line)
        expect(rest.every(isKept)).toBe(true)
        const kept = rows.filter(isKept).map((row, index) => ({ ...row, ordinal: index + 1 }))
        expect([read.columns, read.rows, read.summary.rows]).toEqual([columns, kept, kept.length])
        expect(read.chunks.every((length) => length >= 1 && length <= rowsMax)).toBe(true)
      },
    ),
    { numRuns: runs(200) },
  )
})

// csv-parse counts a CRLF inside quotes twice, so it can judge tables without CR only.
it('agrees with the lines that csv-parse counts', async () => {
  const letters = LETTERS.filter((letter) => !letter.includes('\r'))
  await fc.assert(
    fc.asyncProperty(tables(letters, fc.constant(['\n'])), async (table) => {
      const { text } = write(table)
      const { delimiter, quote } = table
      const judged = parse(text, {
        delimiter,
        quote,
        escape: quote,
        info: true,
        skip_empty_lines: true,
      }) as unknown as {
        info: { lines: number }
      }[]
      const read = await readPieces(table, Buffer.from(text), [65_536])
      // Its count stands at the end of a record.
      const ends = read.rows.map((row) => row.line + (row.cells.join('').match(/\n/g)?.length ?? 0))
      expect(ends).toEqual(judged.slice(1).map(({ info }) => info.lines))
    }),
    { numRuns: runs(200) },
  )
})

it('tells the line of a byte that does not belong, however the bytes arrive', async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 })
  const bad = fc.constantFrom(
    [0, 'csv_nul'] as const,
    [0xff, 'csv_encoding'] as const,
    [0x80, 'csv_encoding'] as const,
  )
  await fc.assert(
    fc.asyncProperty(
      tables(LETTERS, anyEols),
      sizes,
      bad,
      fc.nat(),
      async (table, cuts, [byte, code], where) => {
        const characters = [...write(table).text]
        const before = characters.slice(0, where % (characters.length + 1)).join('')
        const after = characters.slice(where % (characters.length + 1)).join('')
        const bytes = Buffer.concat([Buffer.from(before), Buffer.from([byte]), Buffer.from(after)])
        const line = 1 + (before.match(/\r\n|\n|\r/g)?.length ?? 0)
        await expect(readPieces(table, bytes, cuts)).rejects.toMatchObject({ code, line })
      },
    ),
    { numRuns: runs(300) },
  )
})
