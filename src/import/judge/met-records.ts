// Rows whose look-up found no record, and whose first sending the service answers as an update: somebody has made the record in between,
// and the row has written over it. The image counts these values, so the run says it.

import { parseJson } from '../../core/json.ts'
import type {
  AcceptedRecords,
  BeforeImage,
  BeforeImages,
  ItemOutcome,
  SentBatch,
} from '../../ledger/ledger.ts'
import { isWrittenProperty } from '../mapping/types.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'

/** The images of such rows, with what they have written over. */
export async function metImages(
  { ledger }: ImportDeps<AcceptedRecords & BeforeImages>,
  { run, config }: Pick<StagedImport, 'run' | 'config'>,
  { attempt, items }: SentBatch,
  outcomes: readonly ItemOutcome[],
): Promise<readonly BeforeImage[]> {
  // What was sent before may have made the record itself.
  if (attempt > 1) return []
  const updated = items.filter(
    ({ attempts, isReplayed, madeId, whole }, index) =>
      outcomes[index]!.state === 'updated' &&
      attempts === 0 &&
      isReplayed !== true &&
      madeId === undefined &&
      whole === undefined,
  )
  if (updated.length === 0) return []
  const images = await ledger.imagesOf(
    run,
    updated.map(({ ordinal }) => ordinal),
  )
  const met = [...images.values()].filter(
    ({ verdict, before }) => verdict === 'create' && before === null,
  )
  if (met.length === 0) return []
  const idOf = new Map(items.map(({ ordinal }, index) => [ordinal, outcomes[index]!.recordId]))
  const ids = [...idOf.values()].filter((id) => id !== null)
  // Another row of the run has made it.
  const own = await ledger.recordsOfRows(run, ids)
  const isOwn = (id: string) => own.has(id) || ids.filter((one) => one === id).length > 1
  const isOther = (name: string) =>
    name !== config.matching_property && isWrittenProperty(config, name)
  return met.flatMap((image): BeforeImage[] => {
    const recordId = idOf.get(image.ordinal)!
    // An answer that names no record says nothing.
    if (recordId === null || isOwn(recordId)) return []
    const sent = Object.keys(parseJson(image.sent) as object)
    return [{ ...image, writtenOver: sent.filter(isOther).length }]
  })
}
