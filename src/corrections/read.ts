// Reads rows back from a spreadsheet. Promises kept here: every change that a person made counts, in any column; a change that
// only a spreadsheet made does not, except in the column that was in error; each row comes once; memory does not grow with the
// files, and none is read beyond the first row that cannot be one of the run.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Json } from '../core/json.ts'
import { CSV_RECORD_BYTES_MAX, LEDGER_ROWS_MAX } from '../core/limits.ts'
import type { SourceRow } from '../sources/source.ts'
import { cellText, unescapeFormula } from './cells.ts'
import { rejectColumnNames, parseRowReference, rowReference } from './reject-columns.ts'
import { compareCells } from './cell-change.ts'
import { correctedCell } from './corrected-cell.ts'
import {
  fileNameOf,
  openTable,
  type SpreadsheetFile,
  type SpreadsheetTable,
} from './spreadsheet-table.ts'

/** Blank rows that spreadsheets leave at the end of a file. */
const BLANK_ROWS_MAX = 10_000
/** Rows that are compared in one step. */
const ROWS_AT_ONCE = 100

/** Bytes of text after which a page is yielded although it has few rows. */
const PAGE_BYTES_MAX = 4 * CSV_RECORD_BYTES_MAX

/** A row as a person corrected it: cells in the order of the run's columns. */
export interface SpreadsheetRow {
  /** The row's ordinal in the run that left it over. */
  readonly ordinal: number
  readonly raw: readonly Json[]
}

/** Which columns a file of corrections had, and which it lacked. */
export interface CorrectionsFile {
  readonly file: string
  readonly rows: number
  /** Columns of the run that it lacks: their cells stay unchanged. */
  readonly missing: readonly string[]
  /** Columns that a person added: they are not read. */
  readonly ignored: readonly string[]
}

export interface CorrectionsAccount {
  readonly rows: number
  /** Rows without a changed cell; they are yielded anyway. */
  readonly unchanged: number
  /** Cells that a person changed, by column, in the order of the run's columns. */
  readonly changed: ReadonlyMap<string, number>
  /** Cells that only looked different and keep their value, by column, in the order of the run's columns. */
  readonly restored: ReadonlyMap<string, number>
  readonly files: readonly CorrectionsFile[]
}

export interface CorrectionsOptions {
  /** The closed run whose rows these are. */
  readonly run: number
  /** Its columns (`Run.sourceColumns`). */
  readonly columns: readonly string[]
  /** With which its rejects are written. Default: a comma. */
  readonly delimiter?: string
  /** The rows of at most 1,000 ordinals as the ledger holds them, without those that are not left. */
  readonly rawOf: (ordinals: readonly number[]) => Promise<ReadonlyMap<number, readonly Json[]>>
}

/** @param files CSV files that `rejects` wrote and a person corrected */
export const readCorrections = (
  files: readonly SpreadsheetFile[],
  options: CorrectionsOptions,
): Corrections => new Corrections(files, options)

/** Corrections, to be read once. */
class Corrections {
  readonly #files: readonly SpreadsheetFile[]
  readonly #options: CorrectionsOptions
  readonly #names: ReturnType<typeof rejectColumnNames>
  readonly #seen = new Ordinals()
  readonly #read: CorrectionsFile[] = []
  readonly #changed: number[]
  readonly #restored: number[]
  #rows = 0
  #blank = 0
  #unchanged = 0

  constructor(files: readonly SpreadsheetFile[], options: CorrectionsOptions) {
    this.#files = files
    this.#options = options
    this.#names = rejectColumnNames(options.columns)
    this.#changed = options.columns.map(() => 0)
    this.#restored = options.columns.map(() => 0)
  }

  /** The result so far; complete after the last page. */
  account(): CorrectionsAccount {
    const byColumn = (counts: readonly number[]) =>
      new Map(
        this.#options.columns.flatMap((name, index) =>
          counts[index]! > 0 ? [[name, counts[index]!] as const] : [],
        ),
      )
    return {
      rows: this.#rows,
      unchanged: this.#unchanged,
      changed: byColumn(this.#changed),
      restored: byColumn(this.#restored),
      files: this.#read,
    }
  }

  /**
   * All rows of all files, in order, at most 1,000 a page.
   * @throws SourceError corrections_header, corrections_row, corrections_workbook, and those of CSV files, with file and line
   */
  async *pages(signal?: AbortSignal): AsyncGenerator<readonly SpreadsheetRow[], void, undefined> {
    for (const file of this.#files) {
      const table = await this.#open(file)
      try {
        const before = this.#rows
        for await (const rows of pagesOf(table)) {
          signal?.throwIfAborted()
          const page = await this.#correct(table, rows)
          if (page.length > 0) yield page
        }
        this.#read.push({
          file: fileNameOf(file),
          rows: this.#rows - before,
          missing: this.#options.columns.filter((name) => !table.positions.has(name)),
          ignored: table.ignored,
        })
      } finally {
        await table.close()
      }
    }
  }

  #open(file: SpreadsheetFile): Promise<SpreadsheetTable> {
    const { row, column } = this.#names
    const { columns, delimiter } = this.#options
    return openTable(file, [...columns, ...Object.values(this.#names)], [row, column], delimiter)
  }

  async #correct(
    table: SpreadsheetTable,
    rows: readonly SourceRow[],
  ): Promise<readonly SpreadsheetRow[]> {
    const { run, columns, rawOf } = this.#options
    const filled = rows.filter(({ cells }) => cells.some((cell) => String(cell).trim() !== ''))
    this.#blank += rows.length - filled.length
    if (this.#blank > BLANK_ROWS_MAX)
      throw table.fault(
        'corrections_row',
        `more than ${BLANK_ROWS_MAX} rows are blank; expected rows that \`rejects ${run}\` writes: delete the blank ones`,
        { line: rows.at(-1)!.line },
      )
    const found = filled.map((row) => ({ row, ordinal: this.#ordinalOf(table, row) }))
    const stored = await rawOf(found.map(({ ordinal }) => ordinal))
    const page: SpreadsheetRow[] = []
    for (const [at, { row, ordinal }] of found.entries()) {
      if (at % ROWS_AT_ONCE === 0) await nextTurn()
      const fault = (message: string) => table.fault('corrections_row', message, { line: row.line })
      const old = stored.get(ordinal)
      if (!old)
        throw fault(
          `${rowReference(run, ordinal)} is not left: it was accepted, or mended since, or never was; expected rows that \`rejects ${run}\` writes`,
        )
      if (!this.#seen.add(ordinal))
        throw fault(
          `${rowReference(run, ordinal)} is here a second time; it is at ${await this.#placeOf(ordinal)} already; expected each row once`,
        )
      const error = columnOf(columns, textAt(table, row, this.#names.column))
      page.push({ ordinal, raw: this.#cellsOf(table, row, old, error) })
      this.#rows += 1
    }
    return page
  }

  /** @throws SourceError if the row has no reference, or one to another run */
  #ordinalOf(table: SpreadsheetTable, row: SourceRow): number {
    const { run } = this.#options
    const reference = parseRowReference(textAt(table, row, this.#names.row))
    const place = { line: row.line, column: table.positions.get(this.#names.row)! + 1 }
    const expected = `expected the reference that was written, such as "${rowReference(run, 12)}"`
    if (!reference)
      throw table.fault('corrections_row', `${this.#names.row} says no row; ${expected}`, place)
    if (reference.run !== run)
      throw table.fault(
        'corrections_row',
        `the row is of run ${reference.run}; expected rows of run ${run}`,
        place,
      )
    return reference.ordinal
  }

  #cellsOf(
    table: SpreadsheetTable,
    row: SourceRow,
    old: readonly Json[],
    error: string | undefined,
  ): readonly Json[] {
    let isChanged = false
    const raw = this.#options.columns.map((name, index) => {
      const was = old[index] ?? null
      const at = table.positions.get(name)
      if (at === undefined) return was
      const { is, cell } = correctedCell(was, cellText(row.cells[at]), name === error)
      if (is === 'restored') this.#restored[index]! += 1
      if (is === 'changed') this.#changed[index]! += 1
      isChanged ||= is === 'changed'
      return cell
    })
    if (isChanged) return raw
    // If the number of cells differs from the number of columns, the cells are under the wrong columns until a person says
    // otherwise.
    if (old.length !== raw.length && !this.#isConfirmed(table, row)) {
      this.#unchanged += 1
      return old
    }
    if (old.length === raw.length) this.#unchanged += 1
    return raw
  }

  /** Whether a person emptied the cell that says what is wrong with the row: then the row is right as it is. */
  #isConfirmed(table: SpreadsheetTable, row: SourceRow): boolean {
    const { reason } = this.#names
    return table.positions.has(reason) && textAt(table, row, reason).trim() === ''
  }

  /** Where a row first occurs: the files are read again, because this is not kept in memory for a million rows. */
  async #placeOf(ordinal: number): Promise<string> {
    for (const file of this.#files) {
      const table = await this.#open(file)
      try {
        for await (const { rows } of table.batches())
          for (const row of rows)
            if (parseRowReference(textAt(table, row, this.#names.row))?.ordinal === ordinal)
              return `${fileNameOf(file)}:${row.line}`
      } finally {
        await table.close()
      }
    }
    return 'another place'
  }
}

const textAt = (table: SpreadsheetTable, row: SourceRow, name: string): string =>
  unescapeFormula(cellText(row.cells[table.positions.get(name) ?? -1]))

/** The column that a text names, in its original form or as a spreadsheet rewrote it. */
function columnOf(columns: readonly string[], text: string): string | undefined {
  if (text === '' || columns.includes(text)) return text
  return columns.find((name) => compareCells(name, text) !== 'different')
}

/** Rows of a table, at most 1,000 at once, fewer if they are huge. */
async function* pagesOf(
  table: SpreadsheetTable,
): AsyncGenerator<readonly SourceRow[], void, undefined> {
  let waiting: SourceRow[] = []
  let bytes = 0
  for await (const batch of table.batches()) {
    bytes += batch.bytes
    for (const row of batch.rows) waiting.push(row)
    while (waiting.length >= LEDGER_ROWS_MAX || (waiting.length > 0 && bytes >= PAGE_BYTES_MAX)) {
      yield waiting.slice(0, LEDGER_ROWS_MAX)
      waiting = waiting.slice(LEDGER_ROWS_MAX)
      bytes = 0
    }
  }
  if (waiting.length > 0) yield waiting
}

/** A set of ordinals: one bit each, in blocks, because a file may have a few of very many rows. */
class Ordinals {
  readonly #pieces = new Map<number, Uint8Array>()

  /** False if it was already in the set. */
  add(ordinal: number): boolean {
    const bits = 8_192
    const key = Math.floor(ordinal / bits)
    let piece = this.#pieces.get(key)
    if (!piece) this.#pieces.set(key, (piece = new Uint8Array(bits / 8)))
    const at = ordinal % bits
    const mask = 1 << (at % 8)
    const isNew = (piece[at >> 3]! & mask) === 0
    piece[at >> 3]! |= mask
    return isNew
  }
}
