// Rows at the end of a file that are no data, such as the notes of a report. Promise kept here: as many as are configured are there,
// and none of them may be a row of data or a part of one, so that a file without them, or cut off, is not read as complete.

import type { SourceRow } from '../source.ts'
import type { CsvFault } from './faults.ts'

/** What the rows of a footer are told apart by. */
interface End {
  /** Of the header. */
  readonly columns: number
  /** Whether the text ends with a line break. */
  readonly hasBreak: boolean
  /** @throws SourceError csv_ragged_row for a row of data with another number of cells, where none may have one */
  requireWhole(row: SourceRow): void
}

/** Holds the last rows back. */
export class Footer {
  readonly #size: number
  readonly #fault: CsvFault
  #held: SourceRow[] = []

  constructor(size: number, fault: CsvFault) {
    this.#size = size
    this.#fault = fault
  }

  /** The rows that are certainly above the footer. */
  pass(rows: readonly SourceRow[]): readonly SourceRow[] {
    if (this.#size === 0) return rows
    const all = [...this.#held, ...rows]
    const end = Math.max(0, all.length - this.#size)
    this.#held = all.slice(end)
    return all.slice(0, end)
  }

  /** @throws SourceError csv_footer, csv_ragged_row */
  end({ columns, hasBreak, requireWhole }: End): void {
    const data = this.#held.find(({ cells }) => cells.length >= columns || valuesIn(cells) > 1)
    if (data !== undefined && data.cells.length !== columns) requireWhole(data)
    if (data !== undefined || this.#held.length < this.#size)
      throw this.#missing(
        `expected one value at most in ${this.#size === 1 ? 'it' : 'each'}, and fewer than ${columns} cells`,
        data,
      )
    // A row that was cut off in its first cell looks the same; of several rows, those before it are notes.
    if (this.#size === 1 && !hasBreak)
      throw this.#missing(
        'expected a line break behind the last row: without one it may be a row of data that was cut off',
        this.#held[0],
      )
  }

  #missing(expected: string, row: SourceRow | undefined): Error {
    const rows = this.#size === 1 ? '1 row that is' : `${this.#size} rows that are`
    return this.#fault(
      'csv_footer',
      `the file does not end with ${rows} no data, as \`footer\` says; ${expected} (was the file cut off?)`,
      row === undefined ? {} : { line: row.line },
    )
  }
}

const valuesIn = (cells: SourceRow['cells']): number =>
  cells.filter((cell) => String(cell).trim() !== '').length

/** What a person should know before the rows are used. */
export function footerWarnings(size: number): readonly string[] {
  if (size === 0) return []
  const rows = size === 1 ? 'the last row of the file is' : `the last ${size} rows of the file are`
  return [`${rows} left out, as \`footer: ${size}\` says`]
}
