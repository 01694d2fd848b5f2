// In doubt is settled by asking: rows whose answer was lost are looked up by key before anyone is told that they failed. For runs
// that end before their time; one that comes to its end verifies anyway.

import type { Run, Runs, Verification } from '../../ledger/ledger.ts'
import { jobOf } from '../../runs/job.ts'
import type { ImportDeps } from '../ports.ts'
import { verify } from '../verify/verify.ts'

/** Longer than the answers of a few dozen requests take; what is not settled by then stays in doubt, and says so. */
const WAIT_MAX_MS = 20_000

/** Asks for what a run has in flight. A service that does not answer leaves it in doubt. */
export async function resolveInDoubt(
  deps: ImportDeps<Runs & Verification>,
  row: Run,
): Promise<void> {
  const { id: run } = row
  const signal = AbortSignal.any([deps.signal, AbortSignal.timeout(WAIT_MAX_MS)])
  try {
    const config = jobOf(row, 'import').sync.import
    const job = { run, config, schema: row.schema, written: null }
    const { read, equal } = await verify({ ...deps, signal }, job)
    if (read > 0) deps.logger.info({ run, read, equal }, 'doubts_settled')
  } catch (error) {
    const code = error instanceof Error ? error.name : typeof error
    deps.logger.warn({ run, error: code }, 'doubts_not_settled')
  }
}
