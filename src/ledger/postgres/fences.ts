// Whether a run is still this caller's to write; the answer holds until the transaction ends. Locks are taken in one order
// everywhere: segment, items that are of its batches alone, run, items by ordinal, accepted keys by their hash.

import { FenceLost } from '../../core/errors.ts'
import { liveStates } from '../rows/runs.ts'
import type { Session } from './session.ts'

/**
 * Returns the run's destination.
 * @throws FenceLost if another worker began staging
 */
export async function checkStageFence(
  session: Session,
  run: number,
  fence: number,
): Promise<number | null> {
  const row = await session.one(
    'SELECT stage_fence, destination FROM runs WHERE id = $1 FOR NO KEY UPDATE',
    [run],
  )
  if (Number(row?.['stage_fence']) !== fence) throw new FenceLost(run, 0)
  return row?.['destination'] as number | null
}

export const LOCK_RUN_SQL = 'SELECT id FROM runs WHERE id = $1 FOR NO KEY UPDATE'

/** Other transactions that lock the run wait. */
export const lockRun = async (session: Session, run: number): Promise<void> =>
  void (await session.one(LOCK_RUN_SQL, [run]))

/** Whether the run is live, and stays so. */
export const isLive = async (session: Session, run: number): Promise<boolean> =>
  (await session.one(`SELECT 1 FROM runs WHERE id = $1 AND state IN (${liveStates}) FOR SHARE`, [
    run,
  ])) !== undefined

/** Seals one run of a sync at a time: the next one sees the manifest of this one. */
export async function lockChain(session: Session, run: number): Promise<void> {
  await session.one(
    `SELECT pg_advisory_xact_lock(hashtextextended('records-sync manifests ' || current_schema() || ' ' || sync, 0))
     FROM runs WHERE id = $1`,
    [run],
  )
}

/** Opens one run at a time: the next one sees what this one wrote, and no number is left out. */
export async function lockRuns(session: Session): Promise<void> {
  await session.one(
    `SELECT pg_advisory_xact_lock(hashtextextended('records-sync runs ' || current_schema(), 0))`,
  )
}
