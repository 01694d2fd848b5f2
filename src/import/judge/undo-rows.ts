// What became of the rows of a run, and what an undo does about each: values are restored, a record that the run made is deleted, or the
// row is left, because the ledger does not know what was there before.

import { IN_VALUES_MAX } from '../../contract/index.ts'
import { isJsonObject, parseJson, type Json } from '../../core/json.ts'
import type { UndoTask } from '../../core/domain/purpose.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { slicesOf } from '../../core/slices.ts'
import type { BeforeImage, BeforeImages, ReportedItem, RunReports } from '../../ledger/ledger.ts'
import { sourceCellText } from '../mapping/coerce.ts'
import { textHash } from '../mapping/map.ts'
import type { PropertyValues } from '../look/look-up.ts'

/** A row that the run wrote, or may have written. */
export interface UndoneRow {
  readonly item: ReportedItem & { readonly key: string }
  readonly image: BeforeImage | null
}

/** What is done about a row. `unknown_before`: nothing, because it is not known what its record held. */
export type UndoAction = 'restore' | 'delete' | 'unknown_before'

export function undoActionOf({ item, image }: UndoneRow): UndoAction {
  if (item.state === 'created') return 'delete'
  if (image === null) return 'unknown_before'
  // Without a record before, and not answered as created: the row was sent again after a lost answer, and somebody else may have made
  // the record in between.
  return image.before === null ? 'unknown_before' : 'restore'
}

export const valuesOf = (text: string): PropertyValues => parseJson(text) as PropertyValues

/** Rows of the run that were written, or may have been, at most 100 at a time, in order. Bounded by the items of the run. */
export async function* writtenRows(
  ledger: BeforeImages & RunReports,
  { of, choice }: UndoTask,
): AsyncGenerator<readonly UndoneRow[]> {
  const states = ['created', 'updated', 'outcome_unknown'] as const
  for (let after = 0; ;) {
    const page = await ledger.report(of, { states, after, limit: LEDGER_ROWS_MAX })
    if (page.length === 0) return
    after = page.at(-1)!.ordinal
    const written = page.filter(
      (item): item is UndoneRow['item'] =>
        item.key !== null &&
        (item.state !== 'outcome_unknown' || item.inDoubt) &&
        isOfRows(item, choice),
    )
    for (const items of slicesOf(written, IN_VALUES_MAX)) {
      const ordinals = items.map(({ ordinal }) => ordinal)
      const images = await ledger.imagesOf(of, ordinals)
      const rows = items.map((item) => ({ item, image: images.get(item.ordinal) ?? null }))
      const chosen = rows.filter((row) => hasValue(row, choice))
      if (chosen.length > 0) yield chosen
    }
  }
}

const isOfRows = ({ ordinal }: ReportedItem, { rows }: UndoTask['choice']): boolean =>
  rows === undefined || rows.some(([first, last]) => ordinal >= first && ordinal <= last)

/** Whether the row sent the value that was chosen. */
function hasValue({ image }: UndoneRow, { where }: UndoTask['choice']): boolean {
  if (where === undefined) return true
  if (image === null) return false
  const value = valuesOf(image.sent)[where.property] ?? null
  return [value].flat().some((one) => textHash(valueText(one as Json)) === where.digest)
}

const valueText = (value: Json): string =>
  isJsonObject(value) && 'amount' in value
    ? valueText(value['amount'] as Json)
    : sourceCellText(value)
