// Rows of `runs` and `destinations`, and the lists of states that statements about them name.

import type { Json } from '../../core/json.ts'
import { REGULAR_PURPOSES } from '../../core/domain/purpose.ts'
import { COMPLETE_STATES, LIVE_STATES, type Books, type RunState } from '../../core/domain/books.ts'
import type { Destination, Run, RunSchema } from '../roles/runs.ts'
import { sqlList, type Row } from './values.ts'

/** The states of a run that is not over. */
export const liveStates = sqlList(LIVE_STATES)

/**
 * The states of a run whose watermark counts. What such a run left over, rejected or read back different, is carried into the
 * next one.
 */
export const completeStates = sqlList(COMPLETE_STATES)

/** The purposes of runs that bring in what is new. */
export const regularPurposes = sqlList(REGULAR_PURPOSES)

/** Named one by one: a later release may add some, and a prepared statement must not change. */
export const RUN_COLUMNS = `id, sync, kind, mode, purpose, of_run, state, reason, message, workflow_id, workflow_run_id, config, destination,
  key_fingerprint, properties, source_columns, source_digest, rows_read, stage_fence, warnings, counts, verified_through,
  opened_at, closed_at`

/** How a driver gives what is not null: JSON, and ISO 8601 in UTC. */
export interface ColumnReaders {
  json(value: unknown): unknown
  time(value: unknown): string
}

/** The column `counts`. */
export const storedBooks = (value: unknown, { json }: Pick<ColumnReaders, 'json'>): Books | null =>
  value === null || value === undefined ? null : (json(value) as Books)

/** Makes the function that reads a run. */
export const runReader =
  ({ json, time }: ColumnReaders) =>
  (row: Row): Run => {
    const or = <Value>(name: string, read: (value: unknown) => Value): Value | null =>
      row[name] === null || row[name] === undefined ? null : read(row[name])
    return {
      id: Number(row['id']),
      sync: String(row['sync']),
      kind: row['kind'] as Run['kind'],
      mode: row['mode'] as Run['mode'],
      purpose: row['purpose'] as Run['purpose'],
      of: or('of_run', Number),
      state: row['state'] as RunState,
      reason: or('reason', String) as Run['reason'],
      message: or('message', String),
      workflowId: String(row['workflow_id']),
      workflowRunId: String(row['workflow_run_id']),
      config: or('config', json) as Json,
      destination: or('destination', Number),
      keyFingerprint: or('key_fingerprint', String),
      schema: or('properties', json) as RunSchema | null,
      sourceColumns: or('source_columns', json) as string[] | null,
      sourceDigest: or('source_digest', String),
      rowsRead: or('rows_read', Number),
      stageFence: Number(row['stage_fence']),
      warnings: (or('warnings', json) as string[] | null) ?? [],
      // As they were sealed.
      counts: or('counts', json) as Books | null,
      verifiedThrough: or('verified_through', time),
      openedAt: time(row['opened_at']),
      closedAt: or('closed_at', time),
    }
  }

/** The warnings of a run, and those of `added` that are new. */
export const mergeWarnings = (before: readonly string[], added: readonly string[]): string[] => [
  ...before,
  ...added.filter((warning) => !before.includes(warning)),
]

/** Of `destinations`. */
export const destinationOfRow = (row: Row): Destination => ({
  sync: String(row['sync']),
  origin: String(row['origin']),
  orgId: Number(row['org_id']),
  objectType: String(row['object_type']),
  matchingProperty: String(row['matching_property']),
})
