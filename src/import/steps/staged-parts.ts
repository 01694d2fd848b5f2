// The items of a chunk in parts that the ledger takes in one call: rows may be of a megabyte each.

import { SourceError } from '../../core/errors.ts'
import { formatNumber } from '../../core/format.ts'
import { LEDGER_CHARS_MAX, ROW_CHARS_MAX } from '../../core/limits.ts'
import { partition } from '../../core/slices.ts'
import type { StagedItem } from '../../ledger/ledger.ts'
import type { SourceRow } from '../../sources/source.ts'

const charsOf = (item: StagedItem): number =>
  item.raw.length + (item.valid ? item.payload.length : 0)

/** @throws SourceError `row_too_large` for a row that no part of the program could hold several of */
export function stagedParts(items: readonly StagedItem[]): readonly (readonly StagedItem[])[] {
  let chars = 0
  for (const item of items) {
    const size = charsOf(item)
    if (size > ROW_CHARS_MAX)
      throw new SourceError(
        'row_too_large',
        `Row ${item.ordinal} (line ${item.line}): its cells and what is sent of them take ${formatNumber(size)} characters as JSON; expected at most ${formatNumber(ROW_CHARS_MAX)}`,
      )
    chars += size
  }
  return chars <= LEDGER_CHARS_MAX ? [items] : partition(items, charsOf, LEDGER_CHARS_MAX)
}

/** The item that a row was mapped to, with the watermark of the row. */
export const withWatermark = (item: StagedItem, { watermark }: SourceRow): StagedItem =>
  watermark === undefined ? item : { ...item, watermark }
