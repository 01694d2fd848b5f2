// What the first rows of a source show of each of its columns.

import type { Json } from '../../core/json.ts'
import { isBlank, seenText } from '../../core/look.ts'
import { sourceCellText } from '../mapping/coerce.ts'
import { changedCells, type CellForm } from './cell-form.ts'
import { guardOf } from './guards.ts'

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
  /** Different values, by what counts as one key: how they look. */
  readonly distinct: number
  /** The first different values that are not blank, each with its number of rows: readings are tried on them. */
  readonly values: ReadonlyMap<string, number>
  /** All of them: the evidence for a reading comes from these. */
  readonly all: ReadonlyMap<string, number>
  /** What the cells have around them, which is in none of the values; null: nothing. */
  readonly guard: CellForm | null
}

/** Different values of a column that each reading is tried on. */
const VALUES_MAX = 500

export function columnFacts({ columns, rows }: SourceSample): ColumnFacts[] {
  return columns.map((name, index) => {
    const cells = new Map<string, number>()
    let filled = 0
    for (const row of rows) {
      const cell = row[index] ?? null
      const text = cell === null ? '' : sourceCellText(cell)
      if (isBlank(text)) continue
      filled += 1
      cells.set(text, (cells.get(text) ?? 0) + 1)
    }
    const guard = guardOf(cells)
    const all = guard === null ? cells : changedCells(cells, guard)
    const distinct = new Set([...all.keys()].map((text) => seenText(text)))
    return { name, rows: rows.length, filled, distinct: distinct.size, ...tried(all), guard }
  })
}

const tried = (all: Counts) => ({ all, values: new Map([...all].slice(0, VALUES_MAX)) })

/** The column as it is after a change of its cells. */
export const changedColumn = (facts: ColumnFacts, change: CellForm): ColumnFacts => ({
  ...facts,
  ...tried(changedCells(facts.all, change)),
})

type Counts = ReadonlyMap<string, number>

/** How many rows have a value that fits, and how many one that does not. */
export function countCells(
  values: Counts,
  fits: (value: string) => boolean,
): { readonly for: number; readonly against: number } {
  const count = { for: 0, against: 0 }
  for (const [value, rows] of values) count[fits(value) ? 'for' : 'against'] += rows
  return count
}

/** The share of the rows looked at whose value fits. */
export function fittingShare({ values }: ColumnFacts, fits: (value: string) => boolean): number {
  const count = countCells(values, fits)
  return count.for === 0 ? 0 : count.for / (count.for + count.against)
}

/** Whether some value fits. */
export const hasValue = ({ values }: ColumnFacts, fits: (value: string) => boolean): boolean =>
  [...values.keys()].some(fits)
