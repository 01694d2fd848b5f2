// Whether the records of an undo's rows hold what they held when it was staged, right before the rows are sent, or sent again. Promise
// kept here: a row whose record others have changed meanwhile is not sent.

import type { BeforeImage, BeforeImages, ItemOutcome } from '../../ledger/ledger.ts'
import { propertyTypes } from '../mapping/types.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import type { FoundRow } from '../push/found-records.ts'
import { blankOutcome } from '../push/outcome.ts'
import type { PropertyValues } from '../verify/look-up.ts'
import { holdsExpected } from './restorable.ts'
import { valuesOf } from './undo-rows.ts'

export const CHANGED_SINCE = 'changed_since'

/** Reads which of at most 100 rows are not sent, with their outcomes by ordinal. Null for a run that is no undo. */
export function changedRowReader(
  { ledger }: ImportDeps<BeforeImages>,
  { run, config, schema, undoes }: StagedImport,
): ((rows: readonly FoundRow[]) => Promise<ReadonlyMap<number, ItemOutcome>>) | null {
  if (undoes === undefined) return null
  const typeOf = propertyTypes(config, schema)
  const isExpected = ({ item, record }: FoundRow, image: BeforeImage | undefined): boolean => {
    if (record === null || image?.before == null || record.id !== image.recordId) return false
    const held = record.properties as PropertyValues
    return holdsExpected({ expected: valuesOf(image.before), sent: item.sent }, held, typeOf)
  }
  return async (rows) => {
    const alone = rows.filter(({ isSeveral }) => !isSeveral)
    const images = await ledger.imagesOf(
      run,
      alone.map(({ item }) => item.ordinal),
    )
    const left = alone.flatMap((row): ItemOutcome[] => {
      const { item, record } = row
      const image = images.get(item.ordinal)
      const isMade = image?.before === null
      // An update makes no record, also where the undo makes others again.
      if (record === null) return isMade ? [] : [blankOutcome(item, 'absent')]
      if (isMade ? row.isAsSent : isExpected(row, image)) return []
      return [{ ...blankOutcome(item, 'kept'), recordId: record.id, reason: CHANGED_SINCE }]
    })
    return new Map(left.map((outcome) => [outcome.ordinal, outcome]))
  }
}
