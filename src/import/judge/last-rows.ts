// The row that comes last of several with one record, in a run that keeps images or has a plan: its record is looked up right before it is
// sent once more. What the rows of the run have written there is ours; what others have changed since stays as the settings say.

import { keepsBefore } from '../../core/domain/protection.ts'
import { parseJson, writeJson, type JsonObject } from '../../core/json.ts'
import type {
  AcceptedRecords,
  BeforeImage,
  BeforeImages,
  ItemOutcome,
  LedgerIdentity,
  PlannedItem,
  Runs,
  StepStates,
} from '../../ledger/ledger.ts'
import { appliedPlan } from './applied-plan.ts'
import { keptOf, rowImager } from './as-sent.ts'
import { changedByOthers } from './changed-by-others.ts'
import { conflictOf } from './conflict.ts'
import { rowChangeReader, type RowChange } from './row-changes.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { changedRowReader } from './rows-as-expected.ts'
import { parsed, readRecordById } from '../look/look-up.ts'
import { ANSWERED_OTHER_RECORD, answerReader } from '../look/answered.ts'
import { againImage } from './doubted-rows.ts'
import { rowFinder, type FoundRow } from '../look/found-records.ts'
import { blankOutcome } from '../look/outcome.ts'

type LastLedger = AcceptedRecords & BeforeImages & LedgerIdentity & Runs & StepStates

/** What becomes of the row. */
export type LastRow =
  /** It is sent so. */
  | { readonly item: PlannedItem }
  /** Its record holds what of it may be sent. */
  | { readonly item: PlannedItem; readonly holds: NonNullable<FoundRow['record']> }
  /** Its key finds another record, several, or none. */
  | { readonly isMoved: true }
  /** Others have changed its record. */
  | { readonly left: ItemOutcome }

/** Reads what becomes of such a row now. Null if the run looks no row up before it is sent. */
export async function lastRowReader(
  deps: ImportDeps<LastLedger>,
  job: StagedImport,
): Promise<((item: PlannedItem) => Promise<LastRow>) | null> {
  const { ledger } = deps
  const { run, config } = job
  const row = await ledger.run(run)
  const plan = row && (await appliedPlan(ledger, row))
  if (!keepsBefore(config) && plan === null) return null
  const find = rowFinder(deps, job)
  const readChanges = rowChangeReader(deps, job)
  const readUndone = changedRowReader(deps, job)
  const asImaged = rowImager(job, 'unkept')
  const readAnswer = answerReader(config, job.schema)

  /** Under another form of its key, which the service takes for the same. */
  const readOtherForm = async (item: PlannedItem): Promise<FoundRow['record']> => {
    if (config.mode === 'update' || item.recordId == null) return null
    const record = await readRecordById(deps, config, item.recordId)
    const { answered } = readAnswer(parsed(item), blankOutcome(item, 'updated'), record)
    return answered?.reason === ANSWERED_OTHER_RECORD ? null : record
  }

  const conflictIn = async ({ image }: RowChange): Promise<ItemOutcome | null> => {
    if (plan === null) return null
    const planned = await ledger.imagesOf(plan.run, [image.ordinal])
    return conflictOf(image, planned.get(image.ordinal), config.matching_property)
  }

  return async (item) => {
    const [looked] = await find([item], { whole: true })
    const record = looked!.record ?? (await readOtherForm(item))
    if (looked!.isSeveral || record === null || record.id !== item.recordId)
      return { isMoved: true }
    const found = { ...looked!, record }
    const undone = (await readUndone?.([found]))?.get(item.ordinal)
    if (undone !== undefined) return { left: undone }
    const [change] = await readChanges([found])
    const { verdict } = change!.image
    if (verdict === 'changed') return { left: changedByOthers(config, change!) }
    if (verdict === 'equal') return { item, holds: record }
    const conflict = await conflictIn(change!)
    if (conflict !== null) return { left: conflict }
    const first = (await ledger.imagesOf(run, [item.ordinal])).get(item.ordinal)
    const image = first === undefined ? change!.image : lastImage(first, change!.image)
    await ledger.recordImages(run, [image], { isWritten: true })
    const sent = asImaged(item, image)
    return verdict === 'protected' ? { item: sent, holds: record } : { item: sent }
  }
}

/** What the record held before the run, and what is sent of the row after all. */
function lastImage(first: BeforeImage, now: BeforeImage): BeforeImage {
  if (first.verdict === 'update' && now.verdict === 'update') return againImage(first, now)
  const { kept = null, keptValues = 0, marks = null } = now
  if (kept === null) return first
  const names = new Set(keptOf(now).map(({ property }) => property))
  const sent = Object.entries(parseJson(first.sent) as JsonObject)
  return {
    ...first,
    sent: writeJson(Object.fromEntries(sent.filter(([name]) => !names.has(name)))),
    kept,
    keptValues,
    ...(marks !== null && { marks }),
  }
}
