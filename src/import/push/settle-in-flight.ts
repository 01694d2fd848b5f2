// For runs that end before their time: rows whose answer was lost are looked up by key before they are reported as failed. A run
// that comes to its end verifies anyway.

import type { OrgRef } from '../../core/domain/org-ref.ts'
import type { Run } from '../../ledger/ledger.ts'
import { jobOf } from '../../runs/job.ts'
import type { ImportClient, ImportDeps } from '../ports.ts'
import { verify, type VerifyLedger } from '../verify/verify.ts'

/** Longer than the answers of a few dozen requests take; what is not settled by then stays in doubt, and is reported so. */
const WAIT_MAX_MS = 20_000

/**
 * Settles what a run has in flight. A service that does not answer leaves it in doubt. A run that never knew its destination has
 * nothing in flight.
 * @param drain ends when none of the run's writes can be sent any more
 */
export async function settleInFlight(
  deps: Omit<ImportDeps<VerifyLedger>, 'client'>,
  run: Run,
  drain: (run: Run) => Promise<void>,
  connect: (connection: string, home: OrgRef | null) => Promise<{ client: ImportClient }>,
): Promise<void> {
  if (run.kind === 'mirror' || run.destination === null) return
  await drain(run)
  const config = jobOf(run, 'import').sync.import
  const home = await deps.ledger.destinationOf(run.id)
  const connected = await connect(config.to, home).catch(() => null)
  if (connected === null) return
  const { id, schema } = run
  const signal = AbortSignal.any([deps.signal, AbortSignal.timeout(WAIT_MAX_MS)])
  try {
    const job = { run: id, config, schema, written: null, rows: null }
    const { read, equal } = await verify({ ...deps, client: connected.client, signal }, job)
    if (read > 0) deps.logger.info({ run: id, read, equal }, 'doubts_settled')
  } catch (error) {
    const code = error instanceof Error ? error.name : typeof error
    deps.logger.warn({ run: id, error: code }, 'doubts_not_settled')
  }
}
