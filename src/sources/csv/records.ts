// Parses text into rows with their lines. Promise kept here: a row is whole and has as many cells as the header, unless the
// dialect accepts ragged rows. Memory is bounded by the longest record that is allowed. Plain records are read here; from the first other one on csv-parse reads.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { CsvError, Parser } from 'csv-parse'
import type { SourceRow } from '../source.ts'
import type { CsvFault, CsvPlace } from './faults.ts'
import { breaksOf, isPlainDialect, PlainRecords, type RecordPlace } from './plain-records.ts'

/** Bytes that csv-parse reads in one step. */
const PIECE_BYTES = 65_536
/** Characters that csv-parse may look ahead: a line break after a quote, or a delimiter, in bytes. */
const LOOK_AHEAD = 16

/** The dialect, already checked. */
export interface Dialect {
  readonly delimiter: string
  readonly quote: string | null
  readonly recordBytesMax: number
  /** Whether a record may have fewer cells than the header, as spreadsheets omit empty cells at its end. Default: no. */
  readonly shortRows?: boolean
  /** Whether rows with too few or too many cells are yielded as they are. Default: no. */
  readonly raggedRows?: boolean
  /** Whether the first record is a row as well, of a file that does not name its columns. Default: no. */
  readonly isHeadless?: boolean
  /** Whether white space next to a delimiter is no part of a cell. Default: no. */
  readonly skipSpace?: boolean
}

/** csv-parse in array mode. Overrides its `push`: a queue of objects between the parser and this file would only cost time. */
class RowParser extends Parser {
  header: readonly string[] | undefined
  headerLine = 1
  rows: SourceRow[] = []
  /** Whether the first record is a row as well. */
  isHeadless = false
  #ordinal = 0
  #line = 1
  #linesSeen = 0
  #blanksSeen = 0
  /** Whether the next record only stands for the header, which was read before. */
  #isStandIn = false

  /** Goes on where other records were read. If one was the header, the next has as many cells, and is not used. */
  goOn({ header, headerLine, ordinal, line }: RecordPlace): void {
    this.header = header
    this.headerLine = headerLine
    this.#ordinal = ordinal
    this.#line = line
    this.#isStandIn = header !== undefined
  }

  /** The line on which the next record begins. */
  get line(): number {
    return this.#line + this.info.empty_lines - this.#blanksSeen
  }

  override push(record: unknown): boolean {
    if (record === null) return super.push(null)
    const cells = record as readonly string[]
    const { lines, empty_lines: blanks } = this.info
    const line = this.line
    if (this.#isStandIn) {
      this.#isStandIn = false
      this.#linesSeen = lines
      this.#blanksSeen = blanks
      return true
    }
    const isFirst = this.header === undefined
    if (isFirst) {
      this.header = cells
      this.headerLine = line
    }
    if (!isFirst || this.isHeadless) this.rows.push({ ordinal: (this.#ordinal += 1), line, cells })
    // csv-parse counts a CRLF inside quotes as two lines; its count only shows whether there is any break to look for.
    const plain = lines - this.#linesSeen === 1 + blanks - this.#blanksSeen
    this.#line = line + 1 + (plain ? 0 : breaksOf(cells))
    this.#linesSeen = lines
    this.#blanksSeen = blanks
    return true
  }
}

/** Rows of one file, parsed piece by piece. */
export class RecordReader {
  readonly #parser: RowParser
  readonly #dialect: Dialect
  readonly #fault: CsvFault
  /** Reads as long as all records are plain. */
  #plain: PlainRecords | null
  #pendingBytes = 0
  #progress = 0

  constructor(dialect: Dialect, fault: CsvFault) {
    this.#dialect = dialect
    this.#fault = fault
    this.#parser = new RowParser({
      delimiter: dialect.delimiter,
      quote: dialect.quote,
      escape: dialect.quote,
      // By default csv-parse takes the first break it meets for all, and leaves a CR in the cells of a mixed file.
      record_delimiter: ['\r\n', '\n', '\r'],
      skip_empty_lines: true,
      max_record_size: dialect.recordBytesMax,
      relax_column_count: dialect.raggedRows === true,
      relax_column_count_less: dialect.shortRows === true,
      trim: dialect.skipSpace === true,
    })
    this.#parser.isHeadless = dialect.isHeadless === true
    // Every error also reaches the callback of the call that caused it.
    this.#parser.on('error', () => {})
    const { raggedRows, shortRows } = dialect
    const plain = {
      ...dialect,
      mayHave: (cells: number, columns: number) =>
        cells === columns || raggedRows === true || (shortRows === true && cells < columns),
    }
    const isPlain = isPlainDialect(plain) && dialect.skipSpace !== true
    this.#plain = isPlain ? new PlainRecords(plain) : null
  }

  /** The first record; undefined until one was read. */
  get header(): readonly string[] | undefined {
    return this.#plain === null ? this.#parser.header : this.#plain.place.header
  }

  get headerLine(): number {
    return this.#plain === null ? this.#parser.headerLine : this.#plain.place.headerLine
  }

  /**
   * The rows that `piece` completes; `undefined` is the end of the text.
   * @throws SourceError csv_ragged_row, csv_quote, csv_quote_unclosed, csv_row_too_long
   */
  async read(piece: Buffer | undefined): Promise<readonly SourceRow[]> {
    const plain = this.#plain
    if (plain === null) return await this.#parse(piece)
    const { line } = plain.place
    const rows = piece === undefined ? [] : plain.read(piece)
    this.#pendingBytes = plain.place.line === line ? this.#pendingBytes + (piece?.length ?? 0) : 0
    if (piece !== undefined && !plain.isStopped) return rows
    for (const row of await this.#handOver(plain)) rows.push(row)
    // The end of the text: what is left is for csv-parse to judge, such as a last row without a line break.
    if (piece === undefined) for (const row of await this.#parse(undefined)) rows.push(row)
    return rows
  }

  /** From here on csv-parse reads, the rest first. It learns from a stand-in how many cells the header has. */
  async #handOver({ place, rest }: PlainRecords): Promise<readonly SourceRow[]> {
    this.#plain = null
    this.#parser.goOn(place)
    if (place.header !== undefined) {
      const cells = place.header.map(() => this.#filler)
      await this.#write(Buffer.from(`${cells.join(this.#dialect.delimiter)}\n`))
      this.#progress = 1
    }
    // A long record comes in one: others get their turn between its parts.
    for (let at = 0; at < rest.length; at += PIECE_BYTES) {
      if (at > 0) await nextTurn()
      await this.#write(rest.subarray(at, at + PIECE_BYTES))
    }
    this.#checkLength(0)
    return this.#takeRows()
  }

  async #parse(piece: Buffer | undefined): Promise<readonly SourceRow[]> {
    await this.#write(piece)
    this.#checkLength(piece?.length ?? 0)
    return this.#takeRows()
  }

  #takeRows(): readonly SourceRow[] {
    const { rows } = this.#parser
    this.#parser.rows = []
    return rows
  }

  async #write(piece: Buffer | undefined): Promise<void> {
    const parser = this.#parser
    await new Promise<void>((resolve, reject) => {
      const done = (error?: Error | null): void => {
        if (error === undefined || error === null) resolve()
        else reject(this.#explain(error))
      }
      if (piece === undefined) parser.end(done)
      else parser.write(piece, done)
    })
  }

  /**
   * The 1-based column of the record at the end of the text that was read. It reads a few characters more, so nothing can be read
   * after it.
   */
  async columnAtEnd(): Promise<number> {
    // csv-parse looks a few characters ahead, and so has not read the last ones yet.
    if (this.#plain !== null) await this.#handOver(this.#plain).catch(() => {})
    await this.#parse(Buffer.from(this.#filler.repeat(LOOK_AHEAD))).catch(() => {})
    const { record } = (this.#parser as unknown as { state: { record: readonly unknown[] } }).state
    return record.length + 1
  }

  /** A character without a meaning. */
  get #filler(): string {
    const { delimiter, quote } = this.#dialect
    return ['x', 'y', 'z'].find((mark) => mark !== delimiter && mark !== quote)!
  }

  /** csv-parse counts the characters of cells; a record of delimiters alone has none, and is bounded here. */
  #checkLength(bytes: number): void {
    const { records, empty_lines } = this.#parser.info
    this.#pendingBytes = records + empty_lines === this.#progress ? this.#pendingBytes + bytes : 0
    this.#progress = records + empty_lines
    if (this.#pendingBytes > this.#dialect.recordBytesMax) throw this.#tooLong({})
  }

  #tooLong(place: CsvPlace): Error {
    const { recordBytesMax } = this.#dialect
    return this.#fault(
      'csv_row_too_long',
      `the row that begins here is longer than ${recordBytesMax} bytes; expected a shorter one (is a quote not closed?)`,
      { line: this.#parser.line, ...place },
    )
  }

  #explain(error: Error): Error {
    const line = this.#parser.line
    if (!(error instanceof CsvError))
      return this.#fault('csv_unreadable', 'the row cannot be parsed; expected CSV', { line })
    const cell = typeof error['column'] === 'number' ? error['column'] + 1 : undefined
    const place: CsvPlace = cell === undefined ? { line } : { line, column: cell }
    const quote = this.#dialect.quote ?? ''
    switch (error.code) {
      case 'CSV_RECORD_INCONSISTENT_FIELDS_LENGTH':
        return raggedRow(this.#fault, {
          found: (error['record'] as readonly string[]).length,
          expected: this.header?.length ?? 0,
          line,
        })
      case 'CSV_INVALID_CLOSING_QUOTE':
        return this.#fault(
          'csv_quote',
          `text after the closing quote of column ${cell}; expected a delimiter or the end of the row (a quote inside a quoted cell is written ${quote}${quote})`,
          place,
        )
      case 'INVALID_OPENING_QUOTE':
        return this.#fault(
          'csv_quote',
          `a quote inside the unquoted cell of column ${cell}; expected the whole cell in quotes, and quotes in it written ${quote}${quote}`,
          place,
        )
      case 'CSV_QUOTE_NOT_CLOSED':
        return this.#fault(
          'csv_quote_unclosed',
          `the quote that opens column ${cell} is not closed; expected ${quote} before the end of the file`,
          place,
        )
      case 'CSV_MAX_RECORD_SIZE':
        return this.#tooLong(place)
      default:
        return this.#fault('csv_unreadable', 'the row cannot be parsed; expected CSV', place)
    }
  }
}

/** The error for a row with another number of cells than there are columns. @param why behind the counts */
export function raggedRow(
  fault: CsvFault,
  row: { readonly found: number; readonly expected: number; readonly line: number },
  { what = 'the row', why = '' }: { readonly what?: string; readonly why?: string } = {},
): Error {
  const { found, expected, line } = row
  return fault(
    'csv_ragged_row',
    `${what} has ${found === 1 ? '1 cell' : `${found} cells`}; expected ${expected}, as in the header${why}`,
    { line, column: Math.min(expected, found) + 1 },
  )
}
