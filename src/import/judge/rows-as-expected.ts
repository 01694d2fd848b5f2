// Whether the records of an undo's rows hold what they held when it was staged, right before the rows are sent, or sent again. Promise
// kept here: a row whose record others have changed meanwhile is not sent.

import { KEY_CHANGED } from '../../core/domain/held-back.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { BeforeImage, BeforeImages, ItemOutcome, PlannedItem } from '../../ledger/ledger.ts'
import { propertyTypes } from '../mapping/types.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import type { FoundRow } from '../look/found-records.ts'
import { blankOutcome } from '../look/outcome.ts'
import { readRecordById, type PropertyValues } from '../look/look-up.ts'
import { holdsExpected } from './restorable.ts'
import { valuesOf } from './undo-rows.ts'

export const CHANGED_SINCE = 'changed_since'

/** Reads which of at most 100 rows are not sent, with their outcomes by ordinal. Null for a run that is no undo. */
export function changedRowReader(
  deps: ImportDeps<BeforeImages>,
  { run, config, schema, undoes }: StagedImport,
): ((rows: readonly FoundRow[]) => Promise<ReadonlyMap<number, ItemOutcome>>) | null {
  if (undoes === undefined) return null
  const typeOf = propertyTypes(config, schema)
  const isExpected = (
    { item, record, isAsSent }: FoundRow,
    image: BeforeImage | undefined,
  ): boolean => {
    // A record that is made again.
    if (image?.before === null) return record === null || isAsSent
    if (record === null || image === undefined || record.id !== image.recordId) return false
    const held = record.properties as PropertyValues
    return holdsExpected({ expected: valuesOf(image.before), sent: item.sent }, held, typeOf)
  }
  return async (rows) => {
    const alone = rows.filter(({ isSeveral }) => !isSeveral)
    const images = await deps.ledger.imagesOf(
      run,
      alone.map(({ item }) => item.ordinal),
    )
    const left: ItemOutcome[] = []
    for (const row of alone) {
      const image = images.get(row.item.ordinal)
      const outcome = isExpected(row, image)
        ? null
        : row.record === null
          ? await withoutKey(deps, config, row.item, image?.recordId ?? null)
          : keptOutcome(row.item, row.record.id, CHANGED_SINCE)
      if (outcome !== null) left.push(outcome)
    }
    return new Map(left.map((outcome) => [outcome.ordinal, outcome]))
  }
}

const keptOutcome = (item: PlannedItem, recordId: string, reason: string): ItemOutcome => ({
  ...blankOutcome(item, 'protected'),
  recordId,
  reason,
})

/** Of a row whose key finds no record. An update makes none, also where the undo makes others again. */
async function withoutKey(
  deps: ImportDeps,
  config: ImportConfig,
  item: PlannedItem,
  recordId: string | null,
): Promise<ItemOutcome> {
  const record = recordId === null ? null : await readRecordById(deps, config, recordId)
  return record === null
    ? blankOutcome(item, 'not_found')
    : keptOutcome(item, record.id, KEY_CHANGED)
}
