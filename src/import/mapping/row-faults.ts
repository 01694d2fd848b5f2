// What is wrong with a row as a whole: none of its cells is read.

import type { Json } from '../../core/json.ts'
import { REPORT_VALUE_CHARS_MAX } from '../../core/limits.ts'
import type { CellError } from '../../ledger/ledger.ts'
import type { SourceRow } from '../../sources/source.ts'
import { sourceCellText } from './coerce.ts'

/** Reason of a row with another number of cells than its source has columns. */
const ROW_RAGGED = 'row_ragged'
/** Reason of a row whose record the service could not be brought to show. */
const ROW_UNREAD = 'row_unread'

/** Reason of a row whose key is a word of totals. */
const ROW_OF_TOTALS = 'row_of_totals'

export const cut = (text: string): string =>
  text.length > REPORT_VALUE_CHARS_MAX ? `${text.slice(0, REPORT_VALUE_CHARS_MAX)}…` : text

/** What is wrong with a row as a whole; null if nothing is. Cells of a ragged row may be under wrong columns: not even its key is read. */
export function rowFault(row: SourceRow, columns: number): CellError | null {
  if (row.unread !== undefined) return unreadRow(row.unread)
  return row.cells.length === columns ? null : raggedRow(row, columns)
}

const unreadRow = (detail: string): CellError => ({
  reason: ROW_UNREAD,
  column: null,
  field: null,
  value: null,
  detail,
})

/** What is wrong with a row of another length than the header. */
const raggedRow = ({ cells }: SourceRow, expected: number): CellError => {
  const found = cells.length === 1 ? '1 cell' : `${cells.length} cells`
  const surplus = cells.slice(expected).map((cell) => sourceCellText(cell ?? ''))
  const isPaddable = surplus.every((text) => text.trim() === '')
  return {
    reason: ROW_RAGGED,
    column: null,
    field: null,
    value: surplus.length === 0 ? null : cut(surplus.map(quoted).join(',')),
    detail: `the row has ${found}; expected ${expected}, as in the header${isPaddable ? '; `ragged: pad` under `from` reads such rows' : ''}`,
  }
}

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`

export const totalsRow = (column: string, key: Json): CellError => ({
  reason: ROW_OF_TOTALS,
  column,
  field: null,
  value: cut(sourceCellText(key)),
  detail:
    'its key is a word for a total, and the keys above it are none: `footer: 1` under `from` leaves the last row of a file out',
})

/** What is wrong with a cell of a query that no property can take. */
export const NOT_A_CELL = {
  ok: false,
  reason: 'not_a_value',
  expected: 'a finite number, or a time of the calendar',
} as const
