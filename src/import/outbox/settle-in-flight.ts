// For runs that end before their time: rows and deletions whose answer was lost are looked up before they are reported as failed.
// A run that comes to its end verifies anyway.

import type { OrgRef } from '../../core/domain/org-ref.ts'
import type { Run } from '../../ledger/ledger.ts'
import { jobOf } from '../../runs/job.ts'
import type { ImportClient, ImportDeps } from '../ports.ts'
import { settleRemovalsInFlight, type RemovingLedger } from './remove.ts'
import { verify, type VerifyLedger } from './verify.ts'

/** Longer than the answers of a few dozen requests take; what is not settled by then stays in doubt, and is reported so. */
const WAIT_MAX_MS = 20_000

/**
 * Settles what a run has in flight. A service that does not answer leaves it in doubt. A run that never knew its destination has
 * nothing in flight.
 * @param drain ends when none of the run's writes can be sent any more
 */
export async function settleInFlight(
  deps: Omit<ImportDeps<RemovingLedger & VerifyLedger>, 'client'>,
  run: Run,
  drain: (run: Run) => Promise<void>,
  connect: (connection: string, home: OrgRef | null) => Promise<{ client: ImportClient }>,
): Promise<void> {
  if (run.kind === 'mirror' || run.destination === null) return
  await drain(run)
  const { sync, undo } = jobOf(run, 'import')
  const config = sync.import
  const home = await deps.ledger.destinationOf(run.id)
  const connected = await connect(config.to, home).catch(() => null)
  if (connected === null) return
  const { id, schema } = run
  const signal = AbortSignal.any([deps.signal, AbortSignal.timeout(WAIT_MAX_MS)])
  const asking = { ...deps, client: connected.client, signal }
  const job = { run: id, config, schema, undoes: undo?.of }
  try {
    await settleRemovalsInFlight(asking, job)
  } catch (error) {
    deps.logger.warn({ run: id, error: nameOf(error) }, 'removals_not_settled')
  }
  try {
    const { read, equal } = await verify(asking, { ...job, written: null, rows: null })
    if (read > 0) deps.logger.info({ run: id, read, equal }, 'doubts_settled')
  } catch (error) {
    deps.logger.warn({ run: id, error: nameOf(error) }, 'doubts_not_settled')
  }
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error)
