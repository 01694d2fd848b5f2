// Rows at the end of a file that are no data, such as the notes of a report. Promise kept here: as many as are configured are there,
// and none of them is a whole row, so that a file without them, or cut off before them, is not read as complete.

import type { SourceRow } from '../source.ts'
import type { CsvFault } from './faults.ts'

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

  /** @throws SourceError csv_footer */
  end(columns: number): void {
    const whole = this.#held.find(({ cells }) => cells.length === columns)
    if (whole === undefined && this.#held.length === this.#size) return
    throw this.#fault(
      'csv_footer',
      `the file does not end with ${this.#size} rows that are no data, as \`footer\` says; expected none of them with ${columns} cells (was the file cut off?)`,
      whole === undefined ? {} : { line: whole.line },
    )
  }
}
