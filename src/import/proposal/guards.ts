// Guards that keep a spreadsheet from changing a text: `="00123"` and `'00123`. A guard is no part of the value: a pattern of the mapping
// takes it away.

import { hasCells, type CellForm } from './cell-form.ts'

/** The same to JavaScript and to the patterns of a mapping. */
const FORMULA = '^="(?<v>.*)"$'
/** An apostrophe stands before a number, or before what a spreadsheet takes for a formula: `'t Hooft` is a name. */
const APOSTROPHE = "^'(?<v>[+=@-].*|[\\d.,]+)$"
const ANY_APOSTROPHE = "^'(?<v>.*)$"

/** The guard of a column; null if no cell has one. */
export function guardOf(values: ReadonlyMap<string, number>): CellForm | null {
  for (const pattern of [FORMULA, APOSTROPHE, ANY_APOSTROPHE]) {
    const form = new RegExp(pattern, 's')
    const change = (cell: string) => form.exec(cell.trim())?.groups?.['v'] ?? null
    const { some, others } = hasCells(values, change)
    // Many names begin with an apostrophe, but not all names of a column.
    const isCertain = pattern !== ANY_APOSTROPHE || (!others && values.size > 1)
    if (some && isCertain) return { settings: { pattern, ...(others && { else: 'keep' }) }, change }
  }
  return null
}
