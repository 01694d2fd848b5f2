// A CSV file as a source: strict, streaming, in bounded memory. Promise kept here: every record of the file becomes
// exactly one row with its line, or the reading ends with an error that says where and what was expected.

import { CSV_RECORD_BYTES_MAX } from '../../core/limits.ts'
import { tooManyColumns } from '../columns.ts'
import { SourceError } from '../../core/errors.ts'
import { singlePass } from '../single-pass.ts'
import type { Source, SourceRow } from '../source.ts'
import { decodeText, encodingOf } from './decode.ts'
import { atColumn, csvFaults, excerptOf, withHint, type CsvFault } from './faults.ts'
import { escapesDoubled } from './escapes.ts'
import { footerWarnings } from './footer.ts'
import { requireCsv } from './foreign.ts'
import { openFile, type InputFile } from './file.ts'
import { delimiterHint, encodingWarnings, quotesHint } from './hints.ts'
import { lineWith, LinesAbove, withoutEndMark, withoutSeparatorLine } from './lines.ts'
import { RecordReader, type Dialect } from './records.ts'
import { columnNames, numberedColumns } from './column-names.ts'
import type { RowRules } from './data-rows.ts'
import { RuledRows } from './ruled-rows.ts'
import type { CsvSettings } from './settings.ts'
import { sniffCsv, SNIFFED_BYTES_MAX } from './sniff.ts'

/** Codes of a wrong byte: the text before that byte has been read. */
const TEXT_CODES = ['csv_encoding', 'csv_nul']

/** The bytes of LF and CR. */
const LINE_BREAKS = [10, 13]

/** Bytes of text after which a chunk is yielded although it has few rows. */
const CHUNK_BYTES_MAX = 4 * CSV_RECORD_BYTES_MAX

export interface CsvOptions extends Partial<Omit<CsvSettings, 'csv' | 'sql' | 'tables'>> {
  /** The file: CSV, or CSV in gzip (detected by its first bytes). */
  readonly path: string
  /** Bytes of one record, without delimiters and quotes. Default CSV_RECORD_BYTES_MAX. */
  readonly recordBytesMax?: number | undefined
}

/**
 * Opens a CSV file and reads its header. An empty line is not a row; lines end in LF, CRLF or CR.
 * @throws SourceError csv_missing, csv_not_a_file, csv_unreadable, csv_options, csv_encoding_unknown, csv_empty, csv_foreign, csv_header, and
 *   those of reading: csv_ragged_row, csv_quote, csv_quote_unclosed, csv_row_too_long, csv_encoding, csv_nul, csv_gzip,
 *   csv_footer, csv_changed
 */
export async function openCsv(options: CsvOptions): Promise<Source> {
  const fault = csvFaults(options.path)
  const reader = new RecordReader(dialectOf(options, fault), fault)
  const warnings: string[] = []
  if (options.encoding !== undefined) encodingOf(options.encoding, fault)
  const file = await openFile(options.path, fault)
  const reading: Reading = { file, reader, options, head: [], warnings, fault }
  try {
    const batches = readBatches(reading)
    const first = await batches.next()
    const { columns } = namesOf(reading)
    // The wrong bytes of a first piece are reported before its columns are compared: they come from one mistake.
    const second = isReadable(reading) ? null : await batches.next()
    const rows = [first, second].flatMap((batch) =>
      batch === null || batch.done === true ? [] : batch.value.rows,
    )
    warnings.push(
      ...encodingWarnings(headOf(reading), options.encoding),
      ...footerWarnings(options.footer ?? 0),
    )
    return singlePass({
      columns,
      warnings,
      lineWith: (names) => lineWith(headOf(reading), names, options),
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
  /** Of the file; those on its rows are added behind the last one. */
  readonly warnings: string[]
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
  const { file, reader, options, fault, warnings } = reading
  const rules = new RuledRows(() => namesOf(reading), options, fault)
  try {
    let hasBreak = false
    for await (const text of textsOf(reading)) {
      const records = await reader.read(text)
      if (text.length > 0) hasBreak = LINE_BREAKS.includes(text.at(-1)!)
      if (reader.header !== undefined) yield { rows: rules.rowsOf(records), bytes: text.length }
    }
    const last = await reader.read(undefined)
    if (reader.header === undefined) return
    yield { rows: rules.rowsOf(last), bytes: 0 }
    rules.end(hasBreak)
    warnings.push(...rules.warnings())
  } catch (error) {
    // If the file changed meanwhile, errors in a mix of two versions are not worth reporting.
    if (await file.hasChanged()) throw changed(fault)
    if (!(error instanceof SourceError)) throw error
    const isText = TEXT_CODES.includes(error.code)
    const placed = isText ? atColumn(error, fault, await reader.columnAtEnd()) : error
    const { code } = placed
    const hint = delimiterHint(code, headOf(reading), options)
    throw withHint(placed, hint || quotesHint(code, headOf(reading), options))
  }
  if (await file.hasChanged()) throw changed(fault)
}

/** The text of the records: without what stands before the header, with quotes doubled, and without the end mark of DOS. */
async function* textsOf(reading: Reading): AsyncGenerator<Buffer, void, undefined> {
  const { options, fault } = reading
  const { escape, quote = '"', delimiter = ',', header } = options
  const isEscaped = escape !== undefined && quote !== null
  const escapes = isEscaped ? escapesDoubled({ delimiter, quote, escape }) : null
  const above = new LinesAbove(typeof header === 'number' ? header - 1 : 0)
  let isFirst = true
  const texts = withoutEndMark(decodeText(piecesOf(reading), options.encoding, fault))
  for await (const text of texts) {
    const read = above.skip(isFirst ? withoutSeparatorLine(text) : text)
    isFirst = false
    yield escapes === null ? read : escapes(read)
  }
  const rest = escapes?.(undefined)
  if (rest !== undefined && rest.length > 0) yield rest
}

/** The pieces of the file; keeps the first ones. */
async function* piecesOf({ file, head, fault }: Reading): AsyncGenerator<Buffer, void, undefined> {
  let bytes = 0
  for await (const piece of file.pieces()) {
    if (bytes === 0) requireCsv(piece, fault)
    if (bytes < SNIFFED_BYTES_MAX) head.push(piece)
    bytes += piece.length
    yield piece
  }
}

function changed(fault: CsvFault): SourceError {
  return fault(
    'csv_changed',
    'the file changed while it was read; expected it to stay as it is until the end',
  )
}

/** The columns of a file whose header is read. */
function namesOf({ reader, options, fault }: Reading): Omit<RowRules, 'ragged' | 'nulls'> {
  const first = reader.header
  const { header } = options
  if (first === undefined)
    throw fault(
      'csv_empty',
      typeof header === 'number'
        ? `the file ends before line ${header}, which names the columns as \`header: ${header}\` says`
        : 'the file is empty; expected a header with the names of the columns',
    )
  const width = first.length
  const tooMany = tooManyColumns('the header', width)
  if (tooMany !== null) throw fault('csv_header', tooMany, { line: reader.headerLine })
  if (header === 'none') return { columns: numberedColumns(width), width, header: null }
  const line = reader.headerLine
  if (header !== undefined && line !== header)
    throw fault(
      'csv_header',
      `line ${header} names the columns, as \`header: ${header}\` says, and it is blank; the next one that is not is line ${line}`,
      { line: header },
    )
  return { columns: columnNames(first, fault, line), width, header: first }
}

function dialectOf(options: CsvOptions, fault: CsvFault): Dialect {
  const { delimiter = ',', quote = '"', recordBytesMax = CSV_RECORD_BYTES_MAX } = options
  const { header, skip_space: skipSpace = false } = options
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
  const marks = { delimiter, quote, recordBytesMax, skipSpace }
  return { ...marks, raggedRows: true, isHeadless: header === 'none' }
}

function isMark(text: string): boolean {
  return /^.$/su.test(text) && !['\n', '\r', '\0', '\ufeff'].includes(text)
}
