// How old a write may be when it is sent. A worker that stood still must not send when it goes on: another one may have
// taken its work over meanwhile, and a newer run may have written newer values.

import { Deadline } from '../../core/deadline.ts'
import { SendDeadlinePassed, SyncError } from '../../core/errors.ts'
import { LIVE_STATES } from '../../core/states.ts'
import type { Runs } from '../../ledger/ledger.ts'
import type { ImportDeps, ImportTuning } from '../ports.ts'

/** Times that a single write is begun which could not be sent in time. */
const TRIES_MAX = 5

/**
 * The time from the note of a write in the ledger to its first byte. Nobody takes a worker's segment over before its
 * heartbeats stayed away for the whole of that time-out; a third of it leaves room for the heartbeat that was on its way.
 * Begin it before the note is written: the ledger's answer may wait as long as the process stands still.
 */
export const sendDeadline = (tuning: ImportTuning): Deadline => new Deadline(maxWriteAgeMs(tuning))

/** How old a write may be when it is sent, ms. */
export const maxWriteAgeMs = ({
  heartbeat_timeout_ms: timeoutMs,
}: Pick<ImportTuning, 'heartbeat_timeout_ms'>): number => timeoutMs / 3

/** Sends a write that is not noted as a batch: only while its run is open, and soon after that was looked at. */
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
