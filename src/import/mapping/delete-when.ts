// Rows that say themselves that their record is gone.

import type { ImportConfig } from '../../../config/index.ts'
import type { SourceRow } from '../../sources/source.ts'
import { sourceCellText } from './coerce.ts'

/** Reads whether a row asks for the deletion of its record; null if no row does. */
export function deletionReader(
  { delete_when: when }: ImportConfig,
  columns: readonly string[],
): ((row: SourceRow) => boolean) | null {
  if (when === undefined) return null
  const index = columns.indexOf(when.column)
  const texts: ReadonlySet<string> = new Set(when.equals.map((text) => text.trim()))
  return ({ cells }) => texts.has(sourceCellText(cells[index] ?? '').trim())
}
