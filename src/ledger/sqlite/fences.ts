// Whether a run is still this caller's to write; asked within the transaction that writes.

import { FenceLost } from '../../core/errors.ts'
import type { RunSegment } from '../roles/outbox.ts'
import { liveStates } from '../rows/runs.ts'
import type { SqliteDatabase } from './database.ts'

/** @throws FenceLost if another worker claimed the segment */
export function checkSegmentFence(
  db: SqliteDatabase,
  run: number,
  { first }: RunSegment,
  fence: number,
): void {
  const row = db.sql('SELECT fence FROM segments WHERE run = ? AND first = ?').get(run, first)
  if (Number(row?.['fence']) !== fence) throw new FenceLost(run, first)
}

/** @throws FenceLost if another worker began staging */
export function checkStageFence(db: SqliteDatabase, run: number, fence: number): void {
  const row = db.sql('SELECT stage_fence FROM runs WHERE id = ?').get(run)
  if (Number(row?.['stage_fence']) !== fence) throw new FenceLost(run, 0)
}

export const isLive = (db: SqliteDatabase, run: number): boolean =>
  db.sql(`SELECT 1 FROM runs WHERE id = ? AND state IN (${liveStates})`).get(run) !== undefined
