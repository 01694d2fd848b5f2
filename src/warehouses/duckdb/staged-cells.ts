// The texts in which rows wait for their merge. Promise kept here: a row arrives exactly as it was given, character by character
// and digit by digit, or it is refused.

import type { MirrorCell, MirrorColumn, MirrorRow } from '../mirror-tables.ts'
import { rowChecker, unfitCell } from '../mirror/row-check.ts'

/** Half of a surrogate pair, which UTF-8 cannot contain. */
export const LONE_SURROGATE = /\p{Surrogate}/u

const unfit = (column: string) => unfitCell(column, 'whole characters')

/**
 * Makes the text of a row's cells: a JSON array.
 * @throws SyncError `row_unfit` for a row that does not fit these columns, or that DuckDB cannot store
 */
export function cellsWriter(columns: readonly MirrorColumn[]): (row: MirrorRow) => string {
  const check = rowChecker(columns)
  return (row) => {
    check(row)
    const { id, cells, misfits } = row
    const text = JSON.stringify(cells)
    // JSON writes half of a surrogate pair as its number; a text that only looks like that comes after two backslashes.
    if (text.includes(String.raw`\ud`)) checkCharacters(columns, cells)
    if (LONE_SURROGATE.test(id)) throw unfit('_id')
    if (misfits !== null && LONE_SURROGATE.test(misfits)) throw unfit('_misfits')
    return text
  }
}

function checkCharacters(columns: readonly MirrorColumn[], cells: readonly MirrorCell[]): void {
  cells.forEach((cell, index) => {
    const values: readonly unknown[] = Array.isArray(cell) ? cell : [cell]
    if (values.some((value) => typeof value === 'string' && LONE_SURROGATE.test(value)))
      throw unfit(columns[index]!.name)
  })
}
