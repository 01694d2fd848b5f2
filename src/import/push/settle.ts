// Settles a batch that was answered: the outcome of each item, with the baseline hashes of what was accepted, with what its answer
// shows otherwise, and with the second records of keys.

import type { BatchAnswer } from '../../client/index.ts'
import type { BatchItemResult } from '../../contract/index.ts'
import { modeEntry } from '../../core/domain/import-modes.ts'
import type { ItemOutcome, PlannedItem, RequestOutcome, SentBatch } from '../../ledger/ledger.ts'
import type { ImportDeps } from '../ports.ts'
import { afterReader } from '../changes/after-write.ts'
import { createItemHasher } from '../verify/baseline-hashes.ts'
import { payloadsProperties, type PropertyValues } from '../verify/look-up.ts'
import { answerReader, madeInPart } from './answered.ts'
import type { RowChooser } from './choose-rows.ts'
import type { ClaimedSegment, DeliveryLedger } from './claimed-segment.ts'
import { isTaken, itemOutcome } from './outcome.ts'
import { secondRecordReader } from './second-records.ts'

export function settlement(
  deps: ImportDeps<DeliveryLedger>,
  job: ClaimedSegment,
  chooser: RowChooser,
): (
  batch: SentBatch,
  answer: BatchAnswer,
  ended: RequestOutcome,
) => Promise<readonly ItemOutcome[]> {
  const { run, config, schema, segment, fence } = job
  const hashesOf = schema && createItemHasher(config, schema)
  const readAnswer = answerReader(config, schema)
  const readAfter = afterReader(config, schema)
  const noteSecondRecords = secondRecordReader(deps, job)

  // What only creates, or only updates, tells which it was, even if the item is answered 204.
  const { spares, found } = modeEntry(config.mode)
  const taken = spares === null ? undefined : found

  const outcomeOf = (
    item: PlannedItem,
    sent: PropertyValues,
    result: BatchItemResult,
  ): ItemOutcome => {
    if (!isTaken(result)) return itemOutcome(item, result)
    const outcome = itemOutcome(item, result, item.marks ?? (hashesOf && hashesOf(sent)), taken)
    const read = readAnswer({ key: item.key, sent }, outcome, result.record)
    return item.isPart && read.state === 'created' ? madeInPart(config, read) : read
  }

  /** What answers show of records whose images are kept: before anything else counts as done. */
  const noteAfter = async (
    { items }: SentBatch,
    sent: readonly PropertyValues[],
    { data }: BatchAnswer,
    outcomes: readonly ItemOutcome[],
  ): Promise<void> => {
    if (!chooser.keepsImages) return
    const shown = items.flatMap(({ ordinal }, index) => {
      const after = readAfter(sent[index]!, outcomes[index]!.state, data[index]!.record)
      return after === null ? [] : [{ ordinal, after }]
    })
    await deps.ledger.noteAfter(run, shown)
  }

  return async (batch, answer, ended) => {
    const { data } = answer
    const sent = payloadsProperties(batch.items)
    const answered = batch.items.map((item, index) => outcomeOf(item, sent[index]!, data[index]!))
    const outcomes = chooser.decides ? await chooser.decide(batch, answered) : answered
    await noteAfter(batch, sent, answer, outcomes)
    const noted = await noteSecondRecords(batch, outcomes)
    await deps.ledger.settle(run, segment, fence, batch, ended, noted.outcomes)
    if (noted.later.length > 0) await deps.ledger.noteRecordsOfKeys(run, noted.later)
    return noted.outcomes
  }
}
