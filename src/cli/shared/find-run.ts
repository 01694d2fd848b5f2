// The run that a command is about.

import { ConfigError } from '../../core/errors.ts'
import type { Run, Runs } from '../../ledger/ledger.ts'
import { safeText } from './terminal.ts'

/**
 * A run by its number, the latest of a sync by the sync's name, or the latest of all where `text` is undefined.
 * @throws ConfigError that names the latest run
 */
export async function findRun(ledger: Runs, text: string | undefined): Promise<Run> {
  const id = text !== undefined && /^\d+$/.test(text) ? Number(text) : NaN
  const byNumber = Number.isSafeInteger(id) ? await ledger.run(id) : null
  if (byNumber) return byNumber
  const [bySync] = await ledger.runs(text === undefined ? { limit: 1 } : { sync: text, limit: 1 })
  if (bySync) return bySync
  const [latest] = await ledger.runs({ limit: 1 })
  const known = latest ? `the latest is run ${latest.id} of ${latest.sync}` : 'no sync has run yet'
  const isName = text !== undefined && Number.isNaN(id)
  const unknown = `there is no run "${safeText(text ?? '', 40)}"${isName ? ', and no sync of that name has run' : ''}`
  const message = text === undefined ? known : `${unknown}; ${known}`
  throw new ConfigError('RUN', message)
}
