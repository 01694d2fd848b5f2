// Rows of `items`, alone or with their payloads, and what statements ask about an item.

import { GONE_FROM_SOURCE, HELD_BACK_REASONS } from '../../core/domain/held-back.ts'
import { RANK_HEAD } from '../../core/domain/watermark-rank.ts'
import type { Purpose } from '../../core/domain/purpose.ts'
import { parseJson, type Json } from '../../core/json.ts'
import {
  ACCEPTED_STATES,
  OPEN_STATES,
  REJECT_STATES,
  SPARED_STATES,
  TIMED_STATES,
  WRITTEN_STATES,
  type ItemState,
} from '../../core/domain/outcomes.ts'
import type { CarriedRow, LeftRow, RetriedRow, UnreadRow } from '../roles/leftovers.ts'
import type { PlannedItem, RunSegment, SentBatch } from '../roles/outbox.ts'
import type { RejectGroup, ReportedItem } from '../roles/run-reports.ts'
import type { CellError } from '../roles/staging.ts'
import type { WrittenItem } from '../roles/verification.ts'
import { number, sqlList, text, type Row } from './values.ts'

export const acceptedStates = sqlList(ACCEPTED_STATES)
export const openStates = sqlList(OPEN_STATES)
export const timedStates = sqlList(TIMED_STATES)
export const writtenStates = sqlList(WRITTEN_STATES)
/** States whose payloads a closed run does not keep, unless the row is left. */
export const doneStates = sqlList([...ACCEPTED_STATES, ...SPARED_STATES, 'deletion_requested'])

/**
 * Whether a closed run left an item over: what it brought in is accepted, and was found when it was read back. A row that a
 * later one has overwritten is not left: to send it alone would write older values over newer ones.
 */
export const isLeft = (item: string): string =>
  `(${item}.state IN (${sqlList(REJECT_STATES)}) OR ${item}.verified NOT IN ('equal', 'overwritten'))`

/**
 * Whether an attempt is done with its row: the service has it as it was sent, the mode of the import does not write it, or its source lacks
 * it by now.
 */
export const isDone = (item: string): string =>
  `(${item}.state IN (${acceptedStates}) AND coalesce(${item}.verified, 'equal') = 'equal'
    OR ${item}.state IN (${sqlList(SPARED_STATES)}) OR coalesce(${item}.reason, '') = '${GONE_FROM_SOURCE}')`

/** Whether a retry takes an item. */
export const isRetried = (item: string): string =>
  `coalesce(${item}.reason, '') NOT IN (${sqlList(HELD_BACK_REASONS)})`

/** Whether an item was accepted and read back different. */
export const isReadBackDifferent = (item: string): string =>
  `(${item}.state IN (${acceptedStates}) AND ${item}.verified <> 'equal')`

/** Whether an item was written, and not read back. */
export const isUnread = (item: string): string =>
  `(${item}.state IN (${writtenStates}) AND ${item}.verified IS NULL)`

/** Runs whose rows the source need not give to the next run. */
const UNRETURNED_PURPOSES: readonly Purpose[] = ['retry', 'backfill', 'reconcile']

/**
 * Of an item of a run with the purpose given, which is over and was to read all back: whether a later run does so by what is kept of it.
 * Of other unread items the source gives the rows again.
 */
export const isReadBackLater = (item: string, purpose: string): string =>
  `(${isUnread(item)} AND (${item}.line = 0 OR ${purpose} IN (${sqlList(UNRETURNED_PURPOSES)})))`

/**
 * Whether a run that reads all back reads an item back that it has not read yet: what it wrote itself, and what an earlier run
 * wrote and has not read back. Of the other unchanged items there is no payload.
 */
export const isToBeRead = `(state IN (${writtenStates}) OR state = 'unchanged')`

/** How many of a group of items were written as a look-up has shown, and not by an answer. */
export const LOOKED_UP_COUNT = `sum(CASE WHEN state IN (${writtenStates}) AND coalesce(http_status, 0) NOT BETWEEN 200 AND 299
  THEN 1 ELSE 0 END)`

/** Whether `item` is one whose values were accepted. */
export const isBroughtIn = (item: string): string => `${item}.state IN (${acceptedStates})`

/**
 * Whether an item shows that the source has a row of its key: not one that asks for the deletion of its record, and not one that
 * another row took the place of, which shows it in its own right.
 */
export const isOfRow = (item: string): string =>
  `${item}.state NOT IN ('deletion_requested', 'superseded')`

/**
 * Whether an item takes the place of those before it with its key. A row that was corrected does so if the correction was written
 * under its key: what is before it must not be written over that.
 */
export const takesPlace = (item: string): string =>
  `(${item}.state <> 'invalid' AND (${item}.state <> 'corrected' OR ${item}.hash IS NOT NULL))`

/** Whether one rank is greater than another one of the same column and order. */
export const isAfter = (rank: string, other: string): string =>
  `(${rank} > ${other} AND substr(${rank}, 1, ${RANK_HEAD}) = substr(${other}, 1, ${RANK_HEAD}))`

/** Whether an item's values may be those of its key's record. */
export const isMapped = (item: string): string => `${item}.state NOT IN ('invalid', 'corrected')`

/** Whether the row of an item was read by an earlier run, in order: such a row is older than all that the run has read itself. */
export const readFirst = (item: string): string => `${item}.line = 0`

/** The columns of a planned item with its payload. */
export const PLANNED_COLUMNS = 'ordinal, key, payload, hash, attempts, record_id, replayed'

export const watermarkOf = (row: Row): { readonly watermark?: string } =>
  typeof row['watermark'] === 'string' ? { watermark: row['watermark'] } : {}

/** Of `items` with its payload. */
export const plannedOfRow = (row: Row): PlannedItem => ({
  ordinal: Number(row['ordinal']),
  key: String(row['key']),
  payload: String(row['payload']),
  hash: String(row['hash']),
  attempts: Number(row['attempts']),
  ...(typeof row['raw_key'] === 'string' && { rawKey: row['raw_key'] }),
  ...(typeof row['record_id'] === 'string' && { recordId: row['record_id'] }),
  ...(Number(row['replayed'] ?? 0) === 1 && { isReplayed: true as const }),
})

export const payloadChars = (items: readonly PlannedItem[]): number =>
  items.reduce((chars, { payload }) => chars + payload.length, 0)

/** Of `requests`: a batch, and the first and last of its items. */
export const sentOfRow = (row: Row): Omit<SentBatch, 'items'> & RunSegment => ({
  batch: Number(row['batch']),
  attempt: Number(row['attempt']),
  digest: String(row['digest']),
  first: Number(row['first']),
  last: Number(row['last']),
})

/** The columns of an item in a report. */
export const REPORTED_COLUMNS = `ordinal, line, of_ordinal, key, state, raw, http_status, record_id, code, reason, "column", field, value,
  detail, more, request_id, in_doubt`

/**
 * Whether an item of a live run may have been written although nothing says so, as SQL: its answer was lost, or it was answered
 * with 500 or 503 and waits to be sent again.
 */
export const isUnanswered = "(state = 'in_flight' OR (state = 'pending' AND replayed = 1))"

/** The same of a row that is left: `own` is the row, `now` its newest attempt, and `last` what that was read from. */
export const LEFT_COLUMNS = `own.ordinal, own.line, own.of_ordinal, now.run AS attempt_run, now.ordinal AS attempt_ordinal, now.key,
  now.state, last.raw, now.http_status, now.record_id, now.code, now.reason, now."column", now.field, now.value, now.detail,
  now.more, now.request_id, now.in_doubt`

/** Of `items` with its payload; or of the newest attempt of one that is left. */
export const reportedOfRow = (row: Row): ReportedItem => ({
  ordinal: Number(row['ordinal']),
  line: Number(row['line']),
  of: number(row['of_ordinal']),
  attempt: null,
  key: text(row['key']),
  state: row['state'] as ItemState,
  raw: row['raw'] === null ? null : (parseJson(String(row['raw'])) as Json[]),
  httpStatus: number(row['http_status']),
  recordId: text(row['record_id']),
  code: text(row['code']),
  reason: text(row['reason']),
  column: text(row['column']),
  field: text(row['field']),
  value: text(row['value']),
  detail: text(row['detail']),
  more: typeof row['more'] === 'string' ? (JSON.parse(row['more']) as CellError[]) : [],
  requestId: text(row['request_id']),
  inDoubt: Number(row['in_doubt']) === 1,
})

/** Of what the run left over. */
export const leftOfRow = (run: number, row: Row): ReportedItem => {
  const attempt = { run: Number(row['attempt_run']), ordinal: Number(row['attempt_ordinal']) }
  return { ...reportedOfRow(row), attempt: attempt.run === run ? null : attempt }
}

const leftRowOfRow = (row: Row): LeftRow => ({
  ordinal: Number(row['ordinal']),
  raw: parseJson(String(row['raw'])) as Json[],
  ...watermarkOf(row),
})

export const carriedRowOfRow = (row: Row): CarriedRow => ({
  ...leftRowOfRow(row),
  run: Number(row['run']),
})

export const unreadOfRow = (row: Row): UnreadRow => ({
  ...carriedRowOfRow(row),
  key: String(row['key']),
  payload: String(row['payload']),
  hash: String(row['hash']),
})

export const retriedOfRow = (row: Row): RetriedRow => ({
  ...leftRowOfRow(row),
  line: Number(row['line']),
})

/** Of items counted by kind of reject. */
export const rejectGroupOfRow = (row: Row): RejectGroup => ({
  state: row['state'] as ItemState,
  code: text(row['code']),
  reason: text(row['reason']),
  column: text(row['column']),
  field: text(row['field']),
  items: Number(row['items']),
  example: Number(row['example']),
  ...(Number(row['is_more']) === 1 && { isMore: true as const }),
})

/** Of `items` with its payload and the `known_…` of its key, to be read back. */
export const writtenOfRow = (row: Row): WrittenItem => ({
  ordinal: Number(row['ordinal']),
  key: String(row['key']),
  payload: String(row['payload']),
  hash: String(row['hash']),
  state: row['state'] as ItemState,
  recordId: text(row['record_id']),
  inDoubt: Number(row['in_doubt']) === 1,
  lastRead: text(row['last_read']),
  answered: text(row['answered']),
  answeredKey: text(row['answered_key']),
  isHeld: row['state'] === 'unchanged' && Number(row['line']) === 0,
  known:
    row['known_run'] === null
      ? null
      : {
          run: Number(row['known_run']),
          marks: text(row['known_marks']),
          lastRun: number(row['known_last_run']),
          lastBaseline: text(row['known_last_marks']),
          seenRun: number(row['known_seen_run']),
          seen: text(row['known_seen']),
        },
})
