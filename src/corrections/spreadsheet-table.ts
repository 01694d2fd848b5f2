// A file that a spreadsheet saved, as rows under the wanted columns. Promise kept here: the separator is the one with which the
// row reference is found, and no row is read with a wrong one.

import { CSV_RECORD_BYTES_MAX } from '../core/limits.ts'
import { SourceError } from '../core/errors.ts'
import { decodeText } from '../sources/csv/decode.ts'
import { csvFaults, type CsvFault } from '../sources/csv/faults.ts'
import { openFile, type InputFile } from '../sources/csv/file.ts'
import { RecordReader } from '../sources/csv/records.ts'
import type { SourceRow } from '../sources/source.ts'
import { unescapeFormula } from './cells.ts'
import { compareCells } from './cell-change.ts'

/** The columns about the error add to the row; and a text in another alphabet is longer in UTF-8. */
const recordBytesMax = 4 * CSV_RECORD_BYTES_MAX
const DELIMITERS = [',', ';', '\t']
type ReadFile = Pick<InputFile, 'pieces' | 'hasChanged' | 'close'>

/** Codes that a wrong separator, or a wrong use of quotes, leads to. */
const DIALECT_CODES = ['csv_quote', 'csv_quote_unclosed', 'csv_ragged_row', 'csv_row_too_long']
const WORKBOOK = Buffer.from('PK\u0003\u0004')

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
 * @param wanted names of columns @param needed the required ones among them
 * @throws SourceError corrections_header, corrections_workbook, and those of CSV files
 */
export async function openTable(
  file: SpreadsheetFile,
  wanted: readonly string[],
  needed: readonly string[],
): Promise<SpreadsheetTable> {
  const fault = csvFaults(fileNameOf(file))
  for (const delimiter of DELIMITERS) {
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
    const batches = readBatches(file, reader, fault)
    // The first batch may be broken after a header that shows whether this is the right delimiter.
    const first = await batches.next().catch((error: unknown) => {
      if (error instanceof SourceError && DIALECT_CODES.includes(error.code)) return error
      throw error
    })
    const { positions, ignored, doubled } = find(reader.header ?? [], wanted)
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
    yield bytes
  },
  hasChanged: async () => false,
  close: async () => {},
})

async function* readBatches(
  file: ReadFile,
  reader: RecordReader,
  fault: CsvFault,
): AsyncGenerator<TableRows, void, undefined> {
  for await (const text of decodeText(
    notWorkbook(file.pieces(), fault),
    undefined,
    saying(fault),
  )) {
    const rows = await reader.read(text)
    if (reader.header !== undefined) yield { rows, bytes: text.length }
  }
  yield { rows: await reader.read(undefined), bytes: 0 }
  if (await file.hasChanged())
    throw fault(
      'csv_changed',
      'the file changed while it was read; expected it to stay as it is until the end',
    )
}

async function* notWorkbook(
  pieces: AsyncIterable<Buffer>,
  fault: CsvFault,
): AsyncGenerator<Buffer, void, undefined> {
  let isFirst = true
  for await (const piece of pieces) {
    if (isFirst && piece.subarray(0, WORKBOOK.length).equals(WORKBOOK))
      throw fault(
        'corrections_workbook',
        'this is a workbook, such as .xlsx or .ods; expected CSV: save the sheet as "CSV UTF-8"',
      )
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
function find(header: readonly string[], wanted: readonly string[]) {
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
  for (const { name, index } of rest) {
    const alike = lacking.filter((other) => compareCells(other, name) !== 'different')
    const only = alike.length === 1 ? alike[0] : undefined
    if (only !== undefined && !positions.has(only)) positions.set(only, index)
    else if (name.trim() !== '') ignored.push(name)
  }
  return { positions, ignored, doubled }
}
