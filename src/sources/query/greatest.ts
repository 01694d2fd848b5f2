// The next watermark: the greatest value that a reading finds in one column, never less than its starting point.

import type { Json } from '../../core/json.ts'
import {
  isGreater,
  watermarkProblem,
  type ColumnOrder,
  type Watermark,
} from '../../core/domain/watermark.ts'
import { rankOf } from '../../core/domain/watermark-rank.ts'
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
  lag?: string,
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
  if (lag !== undefined && order !== 'time')
    throw fault(
      'query_watermark',
      `column ${name} is no date and no time, so \`lag\` says nothing; remove it, or cast the column in the query`,
    )
  // A previous text value cannot be compared with numbers.
  const cellOf = (cells: readonly Json[]): string | null => {
    const cell = cells[index] ?? null
    return cell === null ? null : String(cell)
  }
  let greatest = last?.order === order ? last.value : null
  return {
    /** Processes a row, 1-based in the answer. A NULL changes nothing. @throws SourceError query_watermark */
    see(row: number, cells: readonly Json[]): void {
      const value = cellOf(cells)
      if (value === null) return
      const expected = watermarkProblem(order, value)
      if (expected !== undefined)
        throw fault(
          'query_watermark',
          `row ${row}, column ${name}: the value cannot be the watermark; expected ${expected}`,
        )
      const meant = order === 'text' ? meantOrder(value, greatest ?? value) : null
      if (meant !== null)
        throw fault(
          'query_watermark',
          `row ${row}, column ${name}: the column is a text, and the value is a ${meant === 'number' ? 'number' : 'time'}: texts are compared letter by letter, and \`9\` is greater than \`10\`; cast it in the query, such as ${meant === 'number' ? `\`CAST(${column} AS DECIMAL) AS ${column}\`` : `\`CAST(${column} AS TIMESTAMP) AS ${column}\``}, and compare the same with \`:watermark\``,
        )
      if (greatest === null || isGreater(order, value, greatest)) greatest = value
    },
    /** The rank of a row; undefined if its value has no place in the order. */
    rank(cells: readonly Json[]): string | undefined {
      const value = cellOf(cells)
      return value === null ? undefined : (rankOf({ column, order, value }) ?? undefined)
    },
    /** Where the next reading starts; null if there was no value yet. */
    watermark: (): Watermark | null =>
      greatest === null ? last : { column, order, value: greatest },
  }
}

const WHOLE = /^\s*[+-]?(\d+)(?:[.,]\d+)?\s*$/

/** What texts are whose order is another one than that of their letters: numbers of several lengths, days that begin with the day. */
function meantOrder(text: string, other: string): 'number' | 'time' | null {
  const [one, two] = [text, other].map((value) => WHOLE.exec(value)?.[1]?.length)
  if (one !== undefined && two !== undefined && one !== two) return 'number'
  return /^\s*\d{1,2}[./-]\d{1,2}[./-]\d{2,4}(?!\d)/.test(text) ? 'time' : null
}
