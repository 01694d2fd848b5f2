// The check of every row that comes into a batch, the same for each database. Promise kept here: a cell without the form that
// `MirrorValue` states is refused, so that none ends as another value, a rounded one, or NULL. What has the form and is still no
// value, such as 2026-02-30, the database refuses: its casts are strict.

import { SyncError } from '../../core/errors.ts'
import { fitsDecimal } from '../../core/domain/mirror.ts'
import type {
  ColumnType,
  MirrorCell,
  MirrorColumn,
  MirrorRow,
  MirrorValue,
} from '../mirror-tables.ts'

const DATE = /^\d{4}-\d\d-\d\d$/
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z$/

type Fits = (value: MirrorValue) => boolean

const textThat =
  (fits: (text: string) => boolean): Fits =>
  (value) =>
    typeof value === 'string' && fits(value)

const FITS: Readonly<Record<ColumnType['holds'], Fits>> = {
  text: textThat(() => true),
  json: textThat(() => true),
  boolean: (value) => typeof value === 'boolean',
  decimal: textThat(fitsDecimal),
  date: textThat((text) => DATE.test(text)),
  instant: textThat((text) => INSTANT.test(text)),
}

/** A value that its column cannot hold: an error of ours, because a record's value that does not fit is a misfit. */
export const unfitCell = (column: string, expected: string): SyncError =>
  new SyncError('row_unfit', `A value for the column ${column} does not fit; expected ${expected}`)

/** @throws SyncError `row_unfit` */
export function checkInstant(column: string, value: string): void {
  if (!INSTANT.test(value)) throw unfitCell(column, 'an instant')
}

/** What checks rows with these cells. It throws a SyncError `row_unfit`. */
export function rowChecker(columns: readonly MirrorColumn[]): (row: MirrorRow) => void {
  const fits = columns.map(({ type }): ((cell: MirrorCell) => boolean) => {
    const one = FITS[type.holds]
    return type.list
      ? (cell) => Array.isArray(cell) && cell.every(one)
      : (cell) => one(cell as MirrorValue)
  })
  return ({ version, cells }) => {
    if (cells.length !== columns.length)
      throw new SyncError(
        'row_unfit',
        `A row has ${cells.length} cells; expected ${columns.length}, one for each live column`,
      )
    if (version !== null) checkInstant('_version', version)
    for (let index = 0; index < cells.length; index++) {
      const cell = cells[index]!
      if (cell === null || fits[index]!(cell)) continue
      const { name, type } = columns[index]!
      throw unfitCell(name, `${type.holds}${type.list ? ', a list' : ''}`)
    }
  }
}
