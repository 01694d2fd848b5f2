// A CSV file as a source: strict, streaming, in bounded memory. Promise kept here: every record of the file becomes
// exactly one row with its line, or the reading ends with an error that says where and what was expected.

import { CSV_RECORD_BYTES_MAX } from '../../core/limits.ts'
import { tooManyColumns } from '../columns.ts'
import { SourceError } from '../../core/errors.ts'
import { singlePass } from '../single-pass.ts'
import type { Source, SourceRow } from '../source.ts'
import { decodeText, encodingOf } from './decode.ts'
import { atColumn, csvFaults, excerptOf, withHint, type CsvFault } from './faults.ts'
import { Footer, footerWarnings } from './footer.ts'
import { openFile, type InputFile } from './file.ts'
import { delimiterHint, encodingWarnings } from './hints.ts'
import { RecordReader, type Dialect } from './records.ts'
import type { CsvSettings } from './settings.ts'
import { SEPARATOR_LINE, sniffCsv, SNIFFED_BYTES_MAX } from './sniff.ts'

/** Codes of a wrong byte: the text before that byte has been read. */
const TEXT_CODES = ['csv_encoding', 'csv_nul']

const SEPARATOR_LINE_MAX = 16

/** The bytes of LF and CR. */
const LINE_BREAKS = [10, 13]

/** Bytes of text after which a chunk is yielded although it has few rows. */
const CHUNK_BYTES_MAX = 4 * CSV_RECORD_BYTES_MAX

export interface CsvOptions {
  /** The file: CSV, or CSV in gzip (detected by its first bytes). */
  readonly path: string
  /** One character. Default `,`. */
  readonly delimiter?: string | undefined
  /** One character; a quote inside a quoted cell is doubled. null: quotes mean nothing. Default `"`. */
  readonly quote?: string | null | undefined
  /**
   * `utf-8`, `utf-16le`, `windows-1252`, `iso-8859-1` (the same as windows-1252) or another label of the WHATWG Encoding
   * Standard. Default: from the byte order mark, else UTF-8.
   */
  readonly encoding?: string | undefined
  /**
   * What happens to a row with too few or too many cells: `reject` yields it as it is, `refuse` ends the reading. A last row with
   * too few cells always ends it: the file may be truncated. Default `reject`.
   */
  readonly ragged?: CsvSettings['ragged']
  /** Rows at the end that are no data: none has two values, nor as many cells as the header. Default: 0. */
  readonly footer?: number | undefined
  /** Cells that mean no value: they are read as empty ones. Default: none. */
  readonly nulls?: readonly string[] | undefined
  /** Bytes of one record, without delimiters and quotes. Default CSV_RECORD_BYTES_MAX. */
  readonly recordBytesMax?: number | undefined
}

/**
 * Opens a CSV file and reads its header. An empty line is not a row; lines end in LF, CRLF or CR.
 * @throws SourceError csv_missing, csv_not_a_file, csv_unreadable, csv_options, csv_encoding_unknown, csv_empty, csv_header, and
 *   those of reading: csv_ragged_row, csv_quote, csv_quote_unclosed, csv_row_too_long, csv_encoding, csv_nul, csv_gzip,
 *   csv_footer, csv_changed
 */
export async function openCsv(options: CsvOptions): Promise<Source> {
  const fault = csvFaults(options.path)
  const reader = new RecordReader(dialectOf(options, fault), fault)
  if (options.encoding !== undefined) encodingOf(options.encoding, fault)
  const file = await openFile(options.path, fault)
  const reading: Reading = { file, reader, options, head: [], fault }
  try {
    const batches = readBatches(reading)
    const first = await batches.next()
    const columns = headerOf(reader, fault)
    // The wrong bytes of a first piece are reported before its columns are compared: they come from one mistake.
    const second = isReadable(reading) ? null : await batches.next()
    const rows = [first, second].flatMap((batch) =>
      batch === null || batch.done === true ? [] : batch.value.rows,
    )
    return singlePass({
      columns,
      warnings: [
        ...encodingWarnings(headOf(reading), options.encoding),
        ...footerWarnings(options.footer ?? 0),
      ],
      fault,
      async *read(rowsMax, signal) {
        if (!Number.isSafeInteger(rowsMax) || rowsMax < 1)
          throw fault('csv_options', `rowsMax is ${rowsMax}; expected a whole number above 0`)
        const count = yield* inChunks(rows, batches, rowsMax, signal)
        return { rows: count, digest: file.digest() }
      },
      readShare: () => file.readShare(),
      stamp: () => file.stamp(),
      close: () => file.close(),
    })
  } catch (error) {
    await file.close()
    throw error
  }
}

/** What one reading of a file works with. */
interface Reading {
  readonly file: InputFile
  readonly reader: RecordReader
  readonly options: CsvOptions
  /** The first pieces of the text. */
  readonly head: Buffer[]
  readonly fault: CsvFault
}

const headOf = ({ head }: Reading): Buffer => Buffer.concat(head)

/** Whether the first bytes are of the encoding that they are read in, as far as that can be known. */
function isReadable(reading: Reading): boolean {
  const { encoding = 'utf-8' } = reading.options
  const guess = sniffCsv(headOf(reading))
  const isUtf8 = guess.encoding === 'utf-8' && !guess.unsure.includes('encoding')
  return guess.byteOrderMark || isUtf8 || encoding.toLowerCase() !== 'utf-8'
}

/** The rows that one piece of the text completed. */
interface Batch {
  readonly rows: readonly SourceRow[]
  readonly bytes: number
}

/** The rows, in chunks of at most `rowsMax`. Returns how many there are. */
async function* inChunks(
  first: readonly SourceRow[],
  batches: AsyncIterable<Batch>,
  rowsMax: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly SourceRow[], number, undefined> {
  let rows = 0
  let waiting = [...first]
  let waitingBytes = 0
  for await (const batch of batches) {
    signal?.throwIfAborted()
    waitingBytes += batch.bytes
    for (const row of batch.rows) waiting.push(row)
    // Chunks are filled, because each costs its reader a transaction, unless their rows are huge.
    while (waiting.length >= rowsMax || (waiting.length > 0 && waitingBytes >= CHUNK_BYTES_MAX)) {
      const chunk = waiting.slice(0, rowsMax)
      waiting = waiting.slice(rowsMax)
      waitingBytes = 0
      rows += chunk.length
      yield chunk
      signal?.throwIfAborted()
    }
  }
  for (; waiting.length > 0; waiting = waiting.slice(rowsMax)) {
    rows += Math.min(rowsMax, waiting.length)
    yield waiting.slice(0, rowsMax)
  }
  return rows
}

/** The first step reads up to the header, every further step one piece. */
async function* readBatches(reading: Reading): AsyncGenerator<Batch, void, undefined> {
  const { file, reader, options, fault } = reading
  const footer = new Footer(options.footer ?? 0, fault)
  const nulls = new Set(options.nulls)
  const requireWhole = (rows: readonly SourceRow[]) => {
    if (options.ragged === 'refuse') reader.requireWhole(rows)
  }
  const dataOf = (read: readonly SourceRow[]) => {
    const rows = footer.pass(read)
    requireWhole(rows)
    return withoutNulls(rows, nulls)
  }
  try {
    let isFirst = true
    let hasBreak = false
    for await (const text of decodeText(piecesOf(reading), options.encoding, fault)) {
      const rows = await reader.read(isFirst ? withoutSeparatorLine(text) : text)
      isFirst = false
      if (text.length > 0) hasBreak = LINE_BREAKS.includes(text.at(-1)!)
      if (reader.header !== undefined) yield { rows: dataOf(rows), bytes: text.length }
    }
    yield { rows: dataOf(await reader.read(undefined)), bytes: 0 }
    const columns = reader.header?.length
    if (columns !== undefined)
      footer.end({ columns, hasBreak, requireWhole: (row) => requireWhole([row]) })
  } catch (error) {
    // If the file changed meanwhile, errors in a mix of two versions are not worth reporting.
    if (await file.hasChanged()) throw changed(fault)
    if (!(error instanceof SourceError)) throw error
    const isText = TEXT_CODES.includes(error.code)
    const placed = isText ? atColumn(error, fault, await reader.columnAtEnd()) : error
    throw withHint(placed, delimiterHint(placed.code, headOf(reading), options))
  }
  if (await file.hasChanged()) throw changed(fault)
}

function withoutNulls(
  rows: readonly SourceRow[],
  nulls: ReadonlySet<string>,
): readonly SourceRow[] {
  if (nulls.size === 0) return rows
  const cellOf = (cell: SourceRow['cells'][number]) => (nulls.has(cell as string) ? '' : cell)
  return rows.map((row) => ({ ...row, cells: row.cells.map(cellOf) }))
}

/** The pieces of the file; keeps the first ones. */
async function* piecesOf({ file, head }: Reading): AsyncGenerator<Buffer, void, undefined> {
  let bytes = 0
  for await (const piece of file.pieces()) {
    if (bytes < SNIFFED_BYTES_MAX) head.push(piece)
    bytes += piece.length
    yield piece
  }
}

/** `sep=;` in the first line is for spreadsheets alone. Its line stays, as an empty one, so that lines keep their numbers. */
function withoutSeparatorLine(text: Buffer): Buffer {
  const start = text.subarray(0, SEPARATOR_LINE_MAX).toString('latin1')
  const length = SEPARATOR_LINE.exec(start)?.[0].length ?? 0
  return text.subarray(length)
}

function changed(fault: CsvFault): SourceError {
  return fault(
    'csv_changed',
    'the file changed while it was read; expected it to stay as it is until the end',
  )
}

function headerOf(reader: RecordReader, fault: CsvFault): readonly string[] {
  const header = reader.header
  if (header === undefined)
    throw fault('csv_empty', 'the file is empty; expected a header with the names of the columns')
  const line = reader.headerLine
  const named = header.findLastIndex((name) => name.trim() !== '') + 1
  if (named > 0 && named < header.length) {
    const [first, last] = [named + 1, header.length]
    const which = first === last ? `column ${first} has` : `columns ${first} to ${last} have`
    throw fault(
      'csv_header',
      `the header ends with a delimiter: ${which} no name; expected a name, or no delimiter at the end of the header and of each row`,
      { line, column: first },
    )
  }
  const tooMany = tooManyColumns('the header', header.length)
  if (tooMany !== null) throw fault('csv_header', tooMany, { line })
  const seen = new Map<string, number>()
  header.forEach((name, index) => {
    const column = index + 1
    if (name.trim() === '')
      throw fault('csv_header', `column ${column} of the header has no name; expected one`, {
        line,
        column,
      })
    const earlier = seen.get(name)
    if (earlier !== undefined)
      throw fault(
        'csv_header',
        `columns ${earlier} and ${column} of the header have the same name; expected each name once`,
        { line, column },
      )
    seen.set(name, column)
  })
  return header
}

function dialectOf(options: CsvOptions, fault: CsvFault): Dialect {
  const { delimiter = ',', quote = '"', recordBytesMax = CSV_RECORD_BYTES_MAX } = options
  const { ragged = 'reject' } = options
  if (!isMark(delimiter))
    throw fault(
      'csv_options',
      `delimiter is ${excerptOf(delimiter)}; expected one character, no line break`,
    )
  if (quote !== null && (!isMark(quote) || quote === delimiter))
    throw fault(
      'csv_options',
      `quote is ${excerptOf(quote)}; expected null, or one character that is neither the delimiter nor a line break`,
    )
  if (!Number.isSafeInteger(recordBytesMax) || recordBytesMax < 1)
    throw fault(
      'csv_options',
      `recordBytesMax is ${recordBytesMax}; expected a whole number above 0`,
    )
  const footer = { hasFooter: (options.footer ?? 0) > 0 }
  return { delimiter, quote, recordBytesMax, raggedRows: ragged === 'reject', ...footer }
}

function isMark(text: string): boolean {
  return /^.$/su.test(text) && !['\n', '\r', '\0', '\ufeff'].includes(text)
}
