// The texts in which rows wait for their merge. Promise kept here: a row arrives exactly as it was given, character by character
// and digit by digit, or it is refused.

import { SyncError } from '../../core/errors.ts'
import {
  DECIMAL,
  type ColumnType,
  type MirrorCell,
  type MirrorColumn,
  type MirrorRow,
  type MirrorValue,
} from '../mirror-tables.ts'

const WHOLE = DECIMAL.digits - DECIMAL.scale
const PATTERNS = {
  decimal: new RegExp(String.raw`^-?\d{1,${WHOLE}}(?:\.\d{1,${DECIMAL.scale}})?$`),
  date: /^\d{4}-\d\d-\d\d$/,
  instant: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z$/,
}
/** Half of a surrogate pair, which UTF-8 cannot contain. */
export const LONE_SURROGATE = /\p{Surrogate}/u

type Fits = (value: MirrorValue) => boolean

function fitsOf({ holds }: ColumnType): Fits {
  if (holds === 'boolean') return (value) => typeof value === 'boolean'
  if (holds === 'text' || holds === 'json') return (value) => typeof value === 'string'
  const pattern = PATTERNS[holds]
  return (value) => typeof value === 'string' && pattern.test(value)
}

const unfit = (column: string, expected: string): SyncError =>
  new SyncError(
    'row_unfit',
    `A value does not fit the column ${column} of DuckDB; expected ${expected}`,
  )

/** @throws SyncError `row_unfit` */
export function checkStagedInstant(column: string, value: string): void {
  if (!PATTERNS.instant.test(value)) throw unfit(column, 'an instant')
}

/**
 * Makes the text of a row's cells: a JSON array.
 * @throws SyncError `row_unfit` for a row that does not have these columns
 */
export function cellsWriter(columns: readonly MirrorColumn[]): (row: MirrorRow) => string {
  const fits = columns.map(({ type }) => {
    const one = fitsOf(type)
    return type.list
      ? (cell: MirrorCell) => Array.isArray(cell) && cell.every(one)
      : (cell: MirrorCell) => one(cell as MirrorValue)
  })
  return ({ id, version, cells, misfits }) => {
    if (cells.length !== columns.length)
      throw new SyncError(
        'row_unfit',
        `A row has ${cells.length} cells; expected ${columns.length}, one for each live column`,
      )
    if (version !== null) checkStagedInstant('_version', version)
    for (let index = 0; index < cells.length; index++) {
      const cell = cells[index]!
      if (cell === null || fits[index]!(cell)) continue
      const { name, type } = columns[index]!
      throw unfit(name, `${type.holds}${type.list ? ', a list' : ''}`)
    }
    const text = JSON.stringify(cells)
    // JSON writes half of a surrogate pair as its number; a text that only looks like that comes after two backslashes.
    if (text.includes(String.raw`\ud`)) checkWhole(columns, cells)
    if (LONE_SURROGATE.test(id)) throw unfit('_id', 'whole characters')
    if (misfits !== null && LONE_SURROGATE.test(misfits))
      throw unfit('_misfits', 'whole characters')
    return text
  }
}

function checkWhole(columns: readonly MirrorColumn[], cells: readonly MirrorCell[]): void {
  cells.forEach((cell, index) => {
    const values: readonly unknown[] = Array.isArray(cell) ? cell : [cell]
    if (values.some((value) => typeof value === 'string' && LONE_SURROGATE.test(value)))
      throw unfit(columns[index]!.name, 'whole characters')
  })
}
