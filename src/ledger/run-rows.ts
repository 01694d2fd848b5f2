// A row of `runs`, and the counts of its segments, as every driver reads them.

import type { Json } from '../core/json.ts'
import type { Books, RunState } from '../core/states.ts'
import type { Ledger, RunCounters, Run, RunSchema } from './ledger.ts'

type Row = Readonly<Record<string, unknown>>

/** The methods of a ledger that are about runs as a whole. */
export type RunMethods = Pick<
  Ledger,
  | 'project'
  | 'copy'
  | 'restoredAfter'
  | 'liveRuns'
  | 'openRun'
  | 'run'
  | 'runs'
  | 'setRunState'
  | 'bindDestination'
  | 'progress'
  | 'destinationOf'
>

/** How a driver gives what is not null: JSON, and ISO 8601 in UTC. */
export interface ColumnReaders {
  json(value: unknown): unknown
  time(value: unknown): string
}

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
      warnings: (or('warnings', json) as string[] | null) ?? [],
      counts: or('counts', json) as Books | null,
      verifiedThrough: or('verified_through', time),
      openedAt: time(row['opened_at']),
      closedAt: or('closed_at', time),
    }
  }

/** @param row undefined where there is no such run */
export const progressOfRow = (row: Row | null | undefined): RunCounters => {
  const number = (name: string) => Number(row?.[name] ?? 0)
  return {
    read: number('read'),
    planned: number('planned'),
    created: number('created'),
    updated: number('updated'),
    rejected: number('rejected'),
    failed: number('failed'),
    requests: number('requests'),
  }
}
