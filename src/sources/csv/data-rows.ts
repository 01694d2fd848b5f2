// Which records of a file are rows of data, and with which cells. Promise kept here: what is left out has no value of its own, or
// repeats the header, and is counted.

import { formatNumber } from '../../core/format.ts'
import { isBlank, seenText } from '../../core/look.ts'
import type { SourceRow } from '../source.ts'
import type { CsvSettings } from './settings.ts'

/** Lines that a warning names. */
const LINES_SHOWN = 5

export interface RowRules extends Pick<CsvSettings, 'ragged' | 'nulls'> {
  /** Cells of the header; those beyond the columns have no name. */
  readonly width: number
  readonly columns: readonly string[]
  /** The names as the file has them; null: it does not name its columns. */
  readonly header: readonly string[] | null
}

/** Records that were left out for one reason. */
class LeftOut {
  #count = 0
  readonly #lines: number[] = []

  add(line: number): void {
    this.#count += 1
    if (this.#lines.length < LINES_SHOWN) this.#lines.push(line)
  }

  text(one: string, several: string): readonly string[] {
    if (this.#count === 0) return []
    const more = this.#count > this.#lines.length ? ' and more' : ''
    const where = `line${this.#count === 1 ? '' : 's'} ${this.#lines.join(', ')}${more}`
    const rows = this.#count === 1 ? `1 row ${one}` : `${formatNumber(this.#count)} rows ${several}`
    return [`${rows} (${where})`]
  }
}

/** Records of a file, in order. */
export class DataRows {
  readonly #rules: RowRules
  readonly #nulls: ReadonlySet<string>
  readonly #header: readonly string[] | null
  readonly #cutsEnd: boolean
  readonly #blank = new LeftOut()
  readonly #headers = new LeftOut()
  #ordinal = 0
  #lastShort: SourceRow | undefined

  constructor(rules: RowRules) {
    const { ragged, nulls, width, columns, header } = rules
    this.#rules = rules
    this.#nulls = new Set(nulls)
    this.#header = header === null ? null : header.slice(0, columns.length).map(bareName)
    this.#cutsEnd = ragged === 'pad' || width > columns.length
  }

  /** The rows among the records. */
  take(records: readonly SourceRow[]): SourceRow[] {
    const rows: SourceRow[] = []
    for (const record of records) {
      const cells = this.#withoutNulls(record.cells as readonly string[])
      if (cells.every(isBlank)) {
        this.#blank.add(record.line)
        continue
      }
      if (this.#isHeader(cells)) {
        this.#headers.add(record.line)
        this.#lastShort = undefined
        continue
      }
      const fitted = this.#fitted(cells)
      this.#ordinal += 1
      const row = { ordinal: this.#ordinal, line: record.line, cells: fitted }
      this.#lastShort = cells.length < this.#rules.columns.length ? row : undefined
      rows.push(row)
    }
    return rows
  }

  /** The last row as it is in the file, if it has too few cells. */
  get lastShort(): SourceRow | undefined {
    return this.#lastShort
  }

  /** One line for each reason, for people. */
  warnings(): readonly string[] {
    return [
      ...this.#blank.text('of empty cells was left out', 'of empty cells were left out'),
      ...this.#headers.text(
        'that repeats the header was left out',
        'that repeat the header were left out',
      ),
    ]
  }

  #withoutNulls(cells: readonly string[]): readonly string[] {
    return this.#nulls.size === 0 ? cells : cells.map((cell) => (this.#nulls.has(cell) ? '' : cell))
  }

  #isHeader(cells: readonly string[]): boolean {
    const header = this.#header
    if (header === null || bareName(cells[0]!) !== header[0]) return false
    return (
      header.every((name, index) => bareName(cells[index] ?? '') === name) &&
      cells.slice(header.length).every(isBlank)
    )
  }

  /** Without empty cells that have no column, and with those that a row lacks, where the rules say so. */
  #fitted(cells: readonly string[]): readonly string[] {
    const { ragged, columns } = this.#rules
    const { length } = columns
    if (cells.length === length || !this.#cutsEnd) return cells
    if (cells.length > length)
      return cells.slice(length).every(isBlank) ? cells.slice(0, length) : cells
    return ragged === 'pad' ? [...cells, ...Array<string>(length - cells.length).fill('')] : cells
  }
}

/** A name as the header of another file may have it: in other capitals, with space, quotes or a byte order mark around it. */
const bareName = (name: string): string =>
  seenText(seenText(name).replaceAll(/^["']+|["']+$/g, '')).toLowerCase()
