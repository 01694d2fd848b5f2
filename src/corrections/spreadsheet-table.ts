// A file that a spreadsheet saved, as rows under the wanted columns. Promises kept here: the separator is the one with which the
// row reference is found, and no row is read with a wrong one; a file is read in steps, between which others get their turn, and no
// further than it can be what it should be.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { CSV_RECORD_BYTES_MAX } from '../core/limits.ts'
import { SourceError } from '../core/errors.ts'
import { decodeText } from '../sources/csv/decode.ts'
import { csvFaults, type CsvFault } from '../sources/csv/faults.ts'
import { foreignFile } from '../sources/csv/foreign.ts'
import { openFile, type InputFile } from '../sources/csv/file.ts'
import { RecordReader } from '../sources/csv/records.ts'
import type { SourceRow } from '../sources/source.ts'
import { unescapeFormula } from './cells.ts'
import { compareCells } from './cell-change.ts'

/** The columns about the error add to the row; and a text in another alphabet is longer in UTF-8. */
const recordBytesMax = 4 * CSV_RECORD_BYTES_MAX
const DELIMITERS = [',', ';', '\t']
/** Bytes of a file in memory that are read in one step. */
const PIECE_BYTES = 65_536
/** Columns that a person may add. */
const ADDED_COLUMNS_MAX = 1_000
/** Names that are compared in one step. */
const COMPARED_AT_ONCE = 20_000
type ReadFile = Pick<InputFile, 'pieces' | 'hasChanged' | 'close'>

/** Codes that a wrong separator, or a wrong use of quotes, leads to. */
const DIALECT_CODES = ['csv_quote', 'csv_quote_unclosed', 'csv_ragged_row', 'csv_row_too_long']

/** A file by its path, or its bytes with a name for messages. */
export type SpreadsheetFile = string | { readonly name: string; readonly bytes: Buffer }

export const fileNameOf = (file: SpreadsheetFile): string =>
  typeof file === 'string' ? file : file.name

/** Rows that one piece of the text completed. */
type TableRows = { readonly rows: readonly SourceRow[]; readonly bytes: number }

export interface SpreadsheetTable {
  /** The position of each wanted column that exists. */
  readonly positions: ReadonlyMap<string, number>
  /** Names in the header that were not wanted. */
  readonly ignored: readonly string[]
  readonly fault: CsvFault
  /** Rows with as many cells as the header, or fewer. Read at most once. */
  batches(): AsyncGenerator<TableRows, void, undefined>
  close(): Promise<void>
}

/**
 * Opens a file and reads its header.
 * @param wanted names of columns @param needed the required ones among them @param written the delimiter that it was written with
 * @throws SourceError corrections_header, corrections_workbook, and those of CSV files
 */
export async function openTable(
  file: SpreadsheetFile,
  wanted: readonly string[],
  needed: readonly string[],
  written = ',',
): Promise<SpreadsheetTable> {
  const fault = csvFaults(fileNameOf(file))
  for (const delimiter of new Set([written, ...DELIMITERS])) {
    const table = await tryDelimiter(file, delimiter, wanted, needed, fault)
    if (table) return table
  }
  throw fault(
    'corrections_header',
    `no column ${needed[0]}; expected a header with it, separated by commas, semicolons or tabs, as the file had when it was written`,
    { line: 1 },
  )
}

/** Null if the first needed column is not in the header, read with this delimiter. */
async function tryDelimiter(
  of: SpreadsheetFile,
  delimiter: string,
  wanted: readonly string[],
  needed: readonly string[],
  fault: CsvFault,
): Promise<SpreadsheetTable | null> {
  const file = typeof of === 'string' ? await openFile(of, fault) : inMemory(of.bytes)
  try {
    // Excel omits empty cells at the end of a row.
    const dialect = { delimiter, quote: '"', recordBytesMax, shortRows: true }
    const reader = new RecordReader(dialect, fault)
    const batches = readBatches(file, reader, headerLimit(delimiter, wanted, fault), fault)
    // The first batch may be broken after a header that shows whether this is the right delimiter.
    const first = await batches.next().catch((error: unknown) => {
      if (error instanceof SourceError && DIALECT_CODES.includes(error.code)) return error
      throw error
    })
    const { positions, ignored, doubled } = await find(reader.header ?? [], wanted)
    if (!positions.has(needed[0]!)) {
      await file.close()
      return null
    }
    const line = reader.headerLine
    if (doubled)
      throw fault('corrections_header', `there are two columns ${doubled.name}; expected one`, {
        line,
        column: doubled.column,
      })
    const lacking = needed.find((name) => !positions.has(name))
    if (lacking !== undefined)
      throw fault(
        'corrections_header',
        `no column ${lacking}; expected it, as the file had it when it was written`,
        { line },
      )
    if (first instanceof SourceError) throw first
    return {
      positions,
      ignored,
      fault,
      async *batches() {
        if (first.done !== true) yield first.value
        yield* batches
      },
      close: () => file.close(),
    }
  } catch (error) {
    await file.close()
    throw error
  }
}

/** What was sent to us stays as it is. */
const inMemory = (bytes: Buffer): ReadFile => ({
  async *pieces() {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      await nextTurn()
      yield bytes.subarray(at, at + PIECE_BYTES)
    }
  },
  hasChanged: async () => false,
  close: async () => {},
})

/** Refuses a header that cannot be that of the file that was written: it is told by its separators before it has ended. */
function headerLimit(delimiter: string, wanted: readonly string[], fault: CsvFault) {
  const columnsMax = wanted.length + ADDED_COLUMNS_MAX
  // Names may have separators in them.
  const marksMax = wanted.reduce((sum, name) => sum + name.length, columnsMax)
  let marks = 0
  return (text: Buffer, header: readonly string[] | undefined): void => {
    if (header === undefined) marks += text.toString('latin1').split(delimiter).length - 1
    if (header === undefined ? marks <= marksMax : header.length <= columnsMax) return
    throw fault(
      'corrections_header',
      `the header has more than ${columnsMax} columns; expected those that were written, and at most ${ADDED_COLUMNS_MAX} more`,
      { line: 1 },
    )
  }
}

async function* readBatches(
  file: ReadFile,
  reader: RecordReader,
  limit: ReturnType<typeof headerLimit>,
  fault: CsvFault,
): AsyncGenerator<TableRows, void, undefined> {
  for await (const text of decodeText(onlyCsv(file.pieces(), fault), undefined, saying(fault))) {
    const rows = await reader.read(text)
    limit(text, reader.header)
    if (reader.header !== undefined) yield { rows, bytes: text.length }
  }
  yield { rows: await reader.read(undefined), bytes: 0 }
  if (await file.hasChanged())
    throw fault(
      'csv_changed',
      'the file changed while it was read; expected it to stay as it is until the end',
    )
}

async function* onlyCsv(
  pieces: AsyncIterable<Buffer>,
  fault: CsvFault,
): AsyncGenerator<Buffer, void, undefined> {
  let isFirst = true
  for await (const piece of pieces) {
    const found = isFirst ? foreignFile(piece) : null
    if (found !== null)
      throw fault('corrections_workbook', `this is ${found.what}; expected CSV: ${found.toDo}`)
    isFirst = false
    yield piece
  }
}

/** For bytes that do not fit, the error says what a person can do in a spreadsheet. */
const saying =
  (fault: CsvFault): CsvFault =>
  (code, message, place) =>
    fault(
      code,
      code === 'csv_encoding'
        ? 'bytes of this line, or further on, are not UTF-8; expected the sheet saved as "CSV UTF-8" or "Unicode text"'
        : message,
      place,
    )

/** Removes what LibreOffice leaves of a byte order mark and of the quotes that follow it. */
const unmarked = (name: string): string =>
  /^(?:\uFEFF|ï»¿)/.test(name) ? name.replace(/^(?:\uFEFF|ï»¿)"?|"$/g, '') : name

/** Finds the column of each cell of the header: by its name, else by what a spreadsheet made of the name. */
async function find(header: readonly string[], wanted: readonly string[]) {
  const positions = new Map<string, number>()
  let doubled: { name: string; column: number } | undefined
  const names = new Set(wanted)
  const rest: { name: string; index: number }[] = []
  for (const [index, cell] of header.entries()) {
    const texts = [unescapeFormula(cell), cell, unescapeFormula(unmarked(cell))]
    const name = texts.find((text) => names.has(text)) ?? texts[2]!
    if (!names.has(name)) rest.push({ name, index })
    else if (positions.has(name)) doubled ??= { name, column: index + 1 }
    else positions.set(name, index)
  }
  const ignored: string[] = []
  const lacking = wanted.filter((name) => !positions.has(name))
  let compared = 0
  for (const { name, index } of rest) {
    compared += lacking.length
    if (compared > COMPARED_AT_ONCE) {
      compared = 0
      await nextTurn()
    }
    const alike = lacking.filter((other) => compareCells(other, name) !== 'different')
    const only = alike.length === 1 ? alike[0] : undefined
    if (only !== undefined && !positions.has(only)) positions.set(only, index)
    else if (name.trim() !== '') ignored.push(name)
  }
  return { positions, ignored, doubled }
}
