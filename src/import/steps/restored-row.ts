// The row of an undo: what it sends for a row of the run that is undone, and which watermark its key has then.

import { writeJson } from '../../core/json.ts'
import type {
  AcceptedRecord,
  BeforeImage,
  Removals,
  Runs,
  StagedItem,
} from '../../ledger/ledger.ts'
import { textHash } from '../mapping/map.ts'
import type { MatchingProperty } from '../mapping/types.ts'
import type { PropertyChange } from '../judge/image-changes.ts'
import { valueOfKey, type PropertyValues } from '../look/look-up.ts'
import { payloadOf } from '../judge/restorable.ts'
import type { UndoneRow } from '../judge/undo-rows.ts'

export interface Restored {
  readonly item: StagedItem
  readonly image: BeforeImage
  /** Of a record that gets values back. */
  readonly changes: readonly PropertyChange[]
}

/** The parts of a row of an undo. */
export interface RestoredValues {
  readonly recordId: string | null
  /** The key in the form that its record has; left out if the values have it. */
  readonly key?: PropertyValues
  readonly values: PropertyValues
  /** Null: there is no record. */
  readonly expected: PropertyValues | null
  readonly watermark: string | undefined
}

export function restoredRow(
  { ordinal: row, line, key }: Pick<UndoneRow['item'], 'ordinal' | 'line' | 'key'>,
  { recordId, values, expected, key: held = {}, watermark }: RestoredValues,
  { ordinal, matching }: { readonly ordinal: number; readonly matching: MatchingProperty },
): Restored & { readonly item: { readonly hash: string } } {
  const [keyValue = key] = valueOfKey(key, matching.type)
  const payload = payloadOf({ [matching.name]: keyValue, ...held, ...values })
  const hash = textHash(payload)
  const before = expected === null ? null : writeJson(expected)
  const verdict = expected === null ? 'create' : 'update'
  const ranked = watermark !== undefined && { watermark }
  return {
    item: { ordinal, line, raw: writeJson([row]), valid: true, key, payload, hash, ...ranked },
    image: { ordinal, recordId, verdict, before, sent: writeJson(values) },
    changes: [],
  }
}

/**
 * The watermark that a key has once its row of the run `of` is taken back: that of before the run. If a later run has written the record,
 * and was not undone itself, the watermark stays as it is.
 */
export async function watermarkOnceUndone(
  ledger: Pick<Removals, 'writerOf'> & Pick<Runs, 'run'>,
  { key, run, watermark }: Pick<AcceptedRecord, 'key' | 'run' | 'watermark'>,
  { of, image }: { readonly of: number; readonly image: BeforeImage },
): Promise<string | undefined> {
  let writer = await ledger.writerOf(key, run)
  // Bounded: each pass goes to an earlier run.
  while (writer !== null && writer > of) {
    const undone = await ledger.run(writer)
    if (undone?.purpose !== 'undo' || undone.of === null) break
    writer = await ledger.writerOf(key, undone.of - 1)
  }
  return writer === of ? image.watermark : watermark
}
