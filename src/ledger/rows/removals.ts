// Rows of `removals`.

import type { RemovalCause, DeletionCounts } from '../../core/domain/deletions.ts'
import {
  CARRIED_DELETIONS,
  DONE_DELETIONS,
  OPEN_STATES,
  type DeletionState,
} from '../../core/domain/outcomes.ts'
import type { GoneKey, OpenRemoval, ReportedRemoval } from '../roles/removals.ts'
import { acceptedOfRow } from './accepted.ts'
import { number, sqlList, text, type Row } from './values.ts'

export const openRemovalStates = sqlList(OPEN_STATES)
export const carriedStates = sqlList(CARRIED_DELETIONS)
export const doneRemovalStates = sqlList(DONE_DELETIONS)

/** The columns that `openRemovalOfRow` reads of `removals` and of `accepted`. */
export const OPEN_REMOVAL_COLUMNS = `removals.number, removals.key, removals.record_id, removals.cause, removals.state, removals.attempts, removals.detail,
  accepted.key AS accepted_key, accepted.record_id AS accepted_record_id, accepted.hash AS accepted_hash,
  accepted.marks AS accepted_marks, accepted.run AS accepted_run, accepted.read_back AS accepted_read_back,
  accepted.normalised AS accepted_normalised, accepted.records AS accepted_records, accepted.seen, accepted.read_back_run`

export const openRemovalOfRow = (row: Row): OpenRemoval => ({
  number: Number(row['number']),
  key: String(row['key']),
  cause: row['cause'] as RemovalCause,
  recordId: text(row['record_id']),
  isSent: row['state'] === 'in_flight',
  attempts: Number(row['attempts']),
  detail: text(row['detail']),
  accepted:
    row['accepted_key'] === null
      ? null
      : {
          ...acceptedOfRow(row, 'accepted_'),
          seen: text(row['seen']),
          seenRun: number(row['read_back_run']),
        },
})

/** Whether a row of `accepted` says that the sync has written a record; without an id if the service has answered none. */
export const IS_TRACKED = '(accepted.record_id IS NOT NULL OR accepted.hash IS NOT NULL)'

/**
 * The hash of what was accepted for a record whose removal may have been carried out: no row counts as unchanged by it, and what was
 * written stays proven, so that a later run may remove the record.
 */
export const HASH_IN_DOUBT = `'removal in doubt: ' || hash`
export const IS_NOT_IN_DOUBT = `hash NOT LIKE 'removal in doubt: %'`

export const goneKeyOfRow = (row: Row): GoneKey => ({
  key: String(row['key']),
  recordId: text(row['record_id']),
  isTracked: Number(row['is_tracked'] ?? 0) === 1,
})

export const reportedRemovalOfRow = (row: Row): ReportedRemoval => ({
  number: Number(row['number']),
  key: String(row['key']),
  recordId: text(row['record_id']),
  cause: row['cause'] as RemovalCause,
  state: row['state'] as DeletionState,
  httpStatus: number(row['http_status']),
  code: text(row['code']),
  reason: text(row['reason']),
  detail: text(row['detail']),
  inDoubt: Number(row['in_doubt']) === 1,
})

export const removalCountsOfRows = (rows: readonly Row[]): DeletionCounts =>
  Object.fromEntries(rows.map((row) => [String(row['state']), Number(row['records'])]))
