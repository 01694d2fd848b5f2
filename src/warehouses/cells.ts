// What both drivers need to convert values to cells, and to refuse values that cannot be cells.

import { SyncError } from '../core/errors.ts'
import { decimalOfNumber } from '../core/decimal.ts'
import type { Json } from '../core/json.ts'
import { INFINITE_TIME, NOT_FINITE } from '../core/not-a-cell.ts'

/** Converts one value that is not NULL to a cell. @throws NoCell */
export type CellOf<Value> = (value: Value) => Json

/** A value that cannot be a cell; its message is the text that stands for it. */
export class NoCell extends Error {}

/** `17`, `0.1`, never with an exponent; the shortest text of this double. */
export function numberCell(value: number): string {
  if (!Number.isFinite(value)) throw new NoCell(NOT_FINITE)
  return decimalOfNumber(value)
}

/** For an infinite instant, which both databases have. */
export function infiniteCell(): NoCell {
  return new NoCell(INFINITE_TIME)
}

/** `2026-01-31 08:15:00.5` as `2026-01-31T08:15:00.5Z`. */
export const instantCell = (text: string): string => `${text.replace(' ', 'T')}Z`

/** The cells of a row. A value that cannot be a cell is the text that stands for it, so that it stops no other one. */
export function rowCells<Value>(
  values: readonly (Value | null)[],
  cells: readonly CellOf<Value>[],
): Json[] {
  return values.map((value, index) => {
    if (value === null) return null
    try {
      return cells[index]!(value)
    } catch (error) {
      if (!(error instanceof NoCell)) throw error
      return error.message
    }
  })
}

/** The error for a column whose values can never be cells. */
export function noCellIn(column: string, type: string): SyncError {
  return new SyncError(
    'query_column',
    `column ${JSON.stringify(column)} holds ${type}, which no property can take; convert it to text in the query, or leave it out`,
  )
}

/** The error for a query that the warehouse refused: its code, and 1-based line and column of the query where known. */
export function refusedCell(
  code: string,
  place?: { line: number; column?: number | undefined },
): SyncError {
  const at =
    place === undefined
      ? ''
      : place.column === undefined
        ? `, at line ${place.line} of it`
        : `, at line ${place.line}, column ${place.column} of it`
  return new SyncError('query_refused', `the warehouse refused the query (${code})${at}`, {
    reason: code,
    line: place?.line ?? null,
    column: place?.column ?? null,
  })
}
