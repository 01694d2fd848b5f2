// How old a write may be when it is sent. A worker that was suspended must not send when it resumes: another one may have
// taken over its work, and a newer run may have written newer values.

import { Deadline } from '../../core/deadline.ts'
import { SendDeadlinePassed, SyncError } from '../../core/errors.ts'
import { LIVE_STATES } from '../../core/domain/books.ts'
import type { Runs } from '../../ledger/ledger.ts'
import type { ImportDeps, ImportTuning } from '../ports.ts'

/** Attempts of a single write that could not be sent in time. */
const TRIES_MAX = 5

/**
 * The time from the record of a write in the ledger to its first byte. No worker takes over the segment of another before its
 * heartbeats were absent for the whole heartbeat time-out; a third of it leaves room for the heartbeat that was on its way.
 * Start it before the record is written: the ledger's answer waits as long as the process is suspended.
 */
export const sendDeadline = (tuning: ImportTuning): Deadline => new Deadline(maxWriteAgeMs(tuning))

/** How old a write may be when it is sent, ms. */
export const maxWriteAgeMs = ({
  heartbeat_timeout_ms: timeoutMs,
}: Pick<ImportTuning, 'heartbeat_timeout_ms'>): number => timeoutMs / 3

/** Sends a write that is not recorded as a batch: only while its run is open, and soon after that was checked. */
export async function sendIfRunIsOpen<Result>(
  { ledger, tuning, signal }: Pick<ImportDeps<Runs>, 'ledger' | 'tuning' | 'signal'>,
  run: number,
  send: (sendBefore: Deadline) => Promise<Result>,
): Promise<Result> {
  for (let tries = 1; ; tries++) {
    signal.throwIfAborted()
    const deadline = sendDeadline(tuning)
    const row = await ledger.run(run)
    if (!row || !LIVE_STATES.includes(row.state))
      throw new SyncError('run_closed', `Run ${run} is closed; nothing more is sent for it`)
    try {
      return await send(deadline)
    } catch (error) {
      if (!(error instanceof SendDeadlinePassed) || tries >= TRIES_MAX) throw error
    }
  }
}
