// Rows at the end of a file that are no data, such as the notes of a report. Promise kept here: as many as are configured are there,
// and none of them may be a row of data or a part of one, so that a file without them, or cut off, is not read as complete.

import { isOfWords, isTotalsWord } from '../../core/totals.ts'
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
  readonly #above = new FirstCells()

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
    const above = all.slice(0, end)
    for (const { cells } of above) this.#above.see(firstOf(cells))
    return above
  }

  /** @throws SourceError csv_footer, csv_ragged_row */
  end({ columns, hasBreak, requireWhole }: End): void {
    const data = this.#held.find(({ cells }) => this.#isData(cells, columns))
    if (data !== undefined && data.cells.length !== columns) requireWhole(data)
    if (data !== undefined || this.#held.length < this.#size)
      throw this.#missing(
        `expected one value at most in ${this.#size === 1 ? 'it' : 'each'} and fewer than ${columns} cells, or a first cell of another form than in the rows above`,
        data,
      )
    // A row that was cut off in its first cell looks the same; of several rows, those before it are notes.
    if (this.#size === 1 && !hasBreak)
      throw this.#missing(
        'expected a line break behind the last row: without one it may be a row of data that was cut off',
        this.#held[0],
      )
  }

  /** Whether it may be a row of data, or a part of one. */
  #isData(cells: SourceRow['cells'], columns: number): boolean {
    const width = cells.findLastIndex((cell) => String(cell).trim() !== '') + 1
    if (cells.length < columns) return valuesIn(cells) > 1
    return width > columns || !this.#above.differFrom(firstOf(cells))
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

const FORMS_MAX = 1_000

const firstOf = (cells: SourceRow['cells']): string => String(cells[0] ?? '').trim()

/** The forms of the first cells of rows: `C-12` and `D-7` are of one form. */
class FirstCells {
  readonly #forms = new Set<string>()
  #hasWords = false

  see(cell: string): void {
    this.#hasWords ||= isOfWords(cell) && !isTotalsWord(cell)
    if (this.#forms.size < FORMS_MAX) this.#forms.add(formOf(cell))
  }

  /** Whether a first cell is certainly none of a row of data. */
  differFrom(cell: string): boolean {
    if (this.#forms.size === 0) return false
    if (isTotalsWord(cell)) return true
    if (this.#forms.size >= FORMS_MAX) return false
    return !this.#forms.has(formOf(cell)) && !(isOfWords(cell) && this.#hasWords)
  }
}

const formOf = (cell: string): string => cell.replaceAll(/\d+/g, '9').replaceAll(/\p{L}+/gu, 'a')

const valuesIn = (cells: SourceRow['cells']): number =>
  cells.filter((cell) => String(cell).trim() !== '').length

/** What a person should know before the rows are used. */
export function footerWarnings(size: number): readonly string[] {
  if (size === 0) return []
  const rows = size === 1 ? 'the last row of the file is' : `the last ${size} rows of the file are`
  return [`${rows} left out, as \`footer: ${size}\` says`]
}
