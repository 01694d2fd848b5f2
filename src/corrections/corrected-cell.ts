// One cell as a person, or a spreadsheet, wrote it. Promise kept here: what a person changed counts; what only a spreadsheet changed
// does not.

import type { Json } from '../core/json.ts'
import { compareCells } from './cell-change.ts'
import { cellText, escapeFormula, restoreCellType, unescapeFormula } from './cells.ts'

/** `restored`: only a spreadsheet changed it, and it keeps its value. */
export interface CorrectedCell {
  readonly is: 'same' | 'changed' | 'restored'
  readonly cell: Json
}

/** @param counts whether a change of looks alone counts, as in the column that was in error */
export function correctedCell(was: Json, found: string, counts: boolean): CorrectedCell {
  const written = cellText(was)
  if (found === written || found === escapeFormula(written)) return { is: 'same', cell: was }
  const text = unescapeFormula(found)
  const look = compareCells(written, text)
  if (look === 'damaged' || (look === 'same' && !counts)) return { is: 'restored', cell: was }
  return { is: 'changed', cell: restoreCellType(text, was) }
}
