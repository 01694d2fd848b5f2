// What a mapping has to change in the cells of a column before they can be read.

import type { ReadingSettings } from './reading.ts'

export interface CellForm {
  readonly settings: ReadingSettings
  /** What a cell becomes; null: it stays. */
  change(cell: string): string | null
}

type Counts = ReadonlyMap<string, number>

/** Whether some cells would change, and whether others would not. */
export function hasCells(values: Counts, change: CellForm['change']) {
  const changed = [...values.keys()].map((value) => change(value) !== null)
  return { some: changed.includes(true), others: changed.includes(false) }
}

/** The values as they are then, each with its rows. */
export function changedCells(cells: Counts, { change }: CellForm): Counts {
  const values = new Map<string, number>()
  for (const [cell, count] of cells) {
    const value = change(cell) ?? cell
    values.set(value, (values.get(value) ?? 0) + count)
  }
  return values
}
