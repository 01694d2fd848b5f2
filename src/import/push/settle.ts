// Settles a batch that was answered: the outcome of each item, with the baseline hashes of what was accepted, with what its answer
// shows otherwise, and with the second records of keys.

import type { BatchAnswer } from '../../client/index.ts'
import type { BatchItemResult } from '../../contract/index.ts'
import type {
  AcceptedRecords,
  ItemOutcome,
  Outbox,
  PlannedItem,
  RequestOutcome,
  RowStaging,
  Runs,
  RunSegment,
  SentBatch,
  StepStates,
} from '../../ledger/ledger.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { createItemHasher } from '../verify/baseline-hashes.ts'
import { payloadsProperties, type PropertyValues } from '../verify/look-up.ts'
import { answerReader } from './answered.ts'
import { isTaken, itemOutcome } from './outcome.ts'
import { secondRecordReader } from './second-records.ts'

/** What delivering asks of the ledger: the outbox, and what is known of keys whose record has another id. */
export type DeliveryLedger = AcceptedRecords & Outbox & RowStaging & Runs & StepStates

/** A segment of a run that this worker has claimed. */
export interface ClaimedSegment extends StagedImport {
  readonly segment: RunSegment
  readonly fence: number
  readonly itemsPerRequest: number
  /** Items that the service refused alone, one after the other, at the end of the slice before. */
  readonly refusedInRow: number
}

export function settlement(
  deps: ImportDeps<DeliveryLedger>,
  job: ClaimedSegment,
): (
  batch: SentBatch,
  answer: BatchAnswer,
  ended: RequestOutcome,
) => Promise<readonly ItemOutcome[]> {
  const { run, config, schema, segment, fence } = job
  const hashesOf = schema && createItemHasher(config, schema)
  const readAnswer = answerReader(config, schema)
  const noteSecondRecords = secondRecordReader(deps, job)

  const outcomeOf = (
    item: PlannedItem,
    sent: PropertyValues,
    result: BatchItemResult,
  ): ItemOutcome => {
    if (!isTaken(result)) return itemOutcome(item, result)
    const outcome = itemOutcome(item, result, hashesOf && hashesOf(sent))
    return readAnswer({ key: item.key, sent }, outcome, result.record)
  }

  return async (batch, { data }, ended) => {
    const sent = payloadsProperties(batch.items)
    const outcomes = batch.items.map((item, index) => outcomeOf(item, sent[index]!, data[index]!))
    const noted = await noteSecondRecords(batch, outcomes)
    await deps.ledger.settle(run, segment, fence, batch, ended, noted.outcomes)
    if (noted.later.length > 0) await deps.ledger.noteRecordsOfKeys(run, noted.later)
    return noted.outcomes
  }
}
