// The next watermark: the greatest value that a reading finds in one column, never less than its starting point.

import type { Json } from '../../core/json.ts'
import {
  isGreater,
  watermarkProblem,
  type ColumnOrder,
  type Watermark,
} from '../../core/domain/watermark.ts'
import type { SourceFault } from '../source.ts'

/**
 * @param answer its columns, and how each is ordered
 * @param last the watermark that the reading starts from
 * @throws SourceError query_watermark if the answer lacks the column, or the order of its values is not known
 */
export function greatestValue(
  column: string,
  answer: { columns: readonly string[]; orders: readonly (ColumnOrder | null)[] },
  last: Watermark | null,
  fault: SourceFault,
) {
  const name = JSON.stringify(column)
  const index = answer.columns.indexOf(column)
  if (index < 0)
    throw fault(
      'query_watermark',
      `the answer has no column ${name}, which \`watermark\` names; add it to the SELECT`,
    )
  const order = answer.orders[index] ?? null
  if (order === null)
    throw fault(
      'query_watermark',
      `column ${name} cannot be the watermark; expected numbers, dates, times or texts, cast it in the query`,
    )
  // A previous text value cannot be compared with numbers.
  let greatest = last?.order === order ? last.value : null
  return {
    /** Processes a row, 1-based in the answer. A NULL changes nothing. @throws SourceError query_watermark */
    see(row: number, cells: readonly Json[]): void {
      const cell = cells[index] ?? null
      if (cell === null) return
      const value = String(cell)
      const expected = watermarkProblem(order, value)
      if (expected !== undefined)
        throw fault(
          'query_watermark',
          `row ${row}, column ${name}: the value cannot be the watermark; expected ${expected}`,
        )
      if (greatest === null || isGreater(order, value, greatest)) greatest = value
    },
    /** Where the next reading starts; null if there was no value yet. */
    watermark: (): Watermark | null =>
      greatest === null ? last : { column, order, value: greatest },
  }
}
