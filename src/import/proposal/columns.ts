// What the first rows of a source show of each of its columns.

import type { Json } from '../../core/json.ts'
import { sourceCellText } from '../mapping/coerce.ts'
import { isBlank } from '../mapping/cell-parts.ts'

/** The first rows of a source. */
export interface SourceSample {
  readonly columns: readonly string[]
  /** Only rows with as many cells as there are columns. */
  readonly rows: readonly (readonly Json[])[]
}

export interface ColumnFacts {
  readonly name: string
  readonly rows: number
  /** Rows whose cell is not blank. */
  readonly filled: number
  /** Different values, by what counts as one key: trimmed, in the composed form of Unicode. */
  readonly distinct: number
  /** The first different values that are not blank, each with its number of rows. */
  readonly values: ReadonlyMap<string, number>
}

/** Different values of a column that are looked at. */
const VALUES_MAX = 500

export function columnFacts({ columns, rows }: SourceSample): ColumnFacts[] {
  return columns.map((name, index) => {
    const values = new Map<string, number>()
    const distinct = new Set<string>()
    let filled = 0
    for (const row of rows) {
      const cell = row[index] ?? null
      const text = cell === null ? '' : sourceCellText(cell)
      if (isBlank(text)) continue
      filled += 1
      distinct.add(text.trim().normalize('NFC'))
      const count = values.get(text)
      if (count !== undefined || values.size < VALUES_MAX) values.set(text, (count ?? 0) + 1)
    }
    return { name, rows: rows.length, filled, distinct: distinct.size, values }
  })
}

/** The share of the rows looked at whose value fits. */
export function fittingShare({ values }: ColumnFacts, fits: (value: string) => boolean): number {
  let all = 0
  let fitting = 0
  for (const [value, rows] of values) {
    all += rows
    if (fits(value)) fitting += rows
  }
  return all === 0 ? 0 : fitting / all
}

/** Whether some value fits. */
export const hasValue = ({ values }: ColumnFacts, fits: (value: string) => boolean): boolean =>
  [...values.keys()].some(fits)
