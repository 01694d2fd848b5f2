// The next watermark: the greatest value that a reading finds in one column, never less than its starting point.

import type { SourceError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import {
  isGreater,
  watermarkProblem,
  type ColumnOrder,
  type Watermark,
} from '../../core/domain/watermark.ts'

type Fault = (code: string, message: string) => SourceError

export class GreatestValue {
  readonly #column: string
  readonly #index: number
  readonly #order: ColumnOrder
  readonly #fault: Fault
  #value: string | null
  readonly #last: Watermark | null

  /**
   * @param answer its columns, and how each is ordered
   * @param last the watermark that the reading starts from
   * @throws SourceError query_watermark if the answer lacks the column, or the order of its values is not known
   */
  constructor(
    column: string,
    answer: { columns: readonly string[]; orders: readonly (ColumnOrder | null)[] },
    last: Watermark | null,
    fault: Fault,
  ) {
    const name = JSON.stringify(column)
    this.#column = column
    this.#index = answer.columns.indexOf(column)
    if (this.#index < 0)
      throw fault(
        'query_watermark',
        `the answer has no column ${name}, which \`watermark\` names; add it to the SELECT`,
      )
    const order = answer.orders[this.#index] ?? null
    if (order === null)
      throw fault(
        'query_watermark',
        `column ${name} cannot be the watermark; expected numbers, dates, times or texts, cast it in the query`,
      )
    this.#order = order
    this.#fault = fault
    this.#last = last
    // A previous text value cannot be compared with numbers.
    this.#value = last?.order === order ? last.value : null
  }

  /** Processes a row, 1-based in the answer. A NULL changes nothing. @throws SourceError query_watermark */
  see(row: number, cells: readonly Json[]): void {
    const cell = cells[this.#index] ?? null
    if (cell === null) return
    const value = String(cell)
    const expected = watermarkProblem(this.#order, value)
    if (expected !== undefined)
      throw this.#fault(
        'query_watermark',
        `row ${row}, column ${JSON.stringify(this.#column)}: the value cannot be the watermark; expected ${expected}`,
      )
    if (this.#value === null || isGreater(this.#order, value, this.#value)) this.#value = value
  }

  /** Where the next reading starts; null if there was no value yet. */
  watermark(): Watermark | null {
    if (this.#value === null) return this.#last
    return { column: this.#column, order: this.#order, value: this.#value }
  }
}
