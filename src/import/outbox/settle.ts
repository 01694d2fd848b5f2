// Settles a batch that was answered: the outcome of each item, with the baseline hashes of what was accepted, with what its answer
// shows otherwise, and with the second records of keys.

import type { BatchAnswer } from '../../client/index.ts'
import { BATCH_ITEM_OUTCOMES, type BatchItemResult } from '../../contract/index.ts'
import { modeEntry } from '../../core/domain/import-modes.ts'
import { writeJson } from '../../core/json.ts'
import { ITEM_ATTEMPTS_MAX } from '../../core/limits.ts'
import type {
  BeforeImage,
  ItemOutcome,
  PlannedItem,
  RequestOutcome,
  SentBatch,
} from '../../ledger/ledger.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { ImportDeps } from '../ports.ts'
import { afterReader } from '../look/after-write.ts'
import { isWrittenProperty } from '../mapping/types.ts'
import { createItemHasher } from '../look/baseline-hashes.ts'
import { payloadProperties, payloadsProperties, type PropertyValues } from '../look/look-up.ts'
import { answerReader, inPart, MADE_IN_PART, partText } from '../look/answered.ts'
import type { RowChooser } from '../judge/choose-rows.ts'
import type { ClaimedSegment, DeliveryLedger } from '../judge/claimed-segment.ts'
import { blankOutcome, isTaken, itemOutcome } from '../look/outcome.ts'
import { metImages } from '../judge/met-records.ts'
import { secondRecordReader } from '../judge/second-records.ts'

/** Reads the outcome of an item from its answer. */
function outcomeReader(job: ClaimedSegment) {
  const { config, schema } = job
  const hashesOf = schema && createItemHasher(config, schema)
  const readAnswer = answerReader(config, schema)
  // What only creates, or only updates, tells which it was, even if the item is answered 204.
  const { spares, found } = modeEntry(config.mode)
  const taken = spares === null ? undefined : found

  /**
   * Of a row whose record went between its look-up and its sending, so that the service made one of a part of it: the row is sent
   * again, whole. Where only what was planned may be sent, or no attempt is left, it is set aside.
   */
  const madeInPart = (item: PlannedItem, recordId: string | null): ItemOutcome => {
    const isSpent = item.attempts + 1 >= ITEM_ATTEMPTS_MAX
    const state =
      job.plan !== null || job.undoes !== undefined ? 'conflict' : isSpent ? 'refused' : 'pending'
    const facts = { httpStatus: 201, reason: MADE_IN_PART, detail: partText(recordId) }
    return { ...blankOutcome(item, state), ...facts, recordId }
  }

  return (item: PlannedItem, sent: PropertyValues, result: BatchItemResult): ItemOutcome => {
    const { madeId } = item
    if (!isTaken(result)) {
      const outcome = itemOutcome(item, result)
      return madeId === undefined ? outcome : inPart(outcome, madeId)
    }
    const isNew = BATCH_ITEM_OUTCOMES[result.status] === 'created'
    // What is known of the record that was there before says nothing of a new one.
    const marks = (isNew ? null : item.marks) ?? (hashesOf && hashesOf(sent))
    const outcome = itemOutcome(item, result, marks, taken)
    const { recordId } = outcome
    if (isNew && item.whole !== undefined) return madeInPart(item, recordId)
    const isMade = madeId !== undefined && !isNew && (recordId ?? madeId) === madeId
    const made = { ...outcome, state: 'created', recordId: madeId ?? null } as const
    return readAnswer({ key: item.key, sent }, isMade ? made : outcome, result.record)
  }
}

/** The images of records that were made of a part of their rows: nothing was there before. */
function madeImages(
  config: ImportConfig,
  { items }: SentBatch,
  outcomes: readonly ItemOutcome[],
): readonly BeforeImage[] {
  return items.flatMap(({ ordinal, whole }, index): BeforeImage[] => {
    const { reason, recordId } = outcomes[index]!
    if (reason !== MADE_IN_PART || whole === undefined) return []
    const sent = Object.entries(payloadProperties({ payload: whole }))
    const written = sent.filter(([name]) => isWrittenProperty(config, name))
    const values = writeJson(Object.fromEntries(written))
    return [{ ordinal, verdict: 'create', recordId, before: null, sent: values }]
  })
}

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
  const readAfter = afterReader(config, schema)
  const noteSecondRecords = secondRecordReader(deps, job)

  const outcomeOf = outcomeReader(job)

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
    const met = chooser.keepsImages ? await metImages(deps, job, batch, answered) : []
    const images = [...madeImages(config, batch, answered), ...met]
    await deps.ledger.recordImages(run, images, { again: true })
    const outcomes = chooser.decides ? await chooser.decide(batch, answered) : answered
    await noteAfter(batch, sent, answer, outcomes)
    const noted = await noteSecondRecords(batch, outcomes)
    await deps.ledger.settle(run, segment, fence, batch, ended, noted.outcomes)
    if (noted.later.length > 0) await deps.ledger.noteRecordsOfKeys(run, noted.later)
    return noted.outcomes
  }
}
