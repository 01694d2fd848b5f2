// The run that a command is about.

import { withLedger, type ActionPlace } from '../../actions/place.ts'
import { runEnded } from '../../actions/run-messenger.ts'
import { ConfigError } from '../../core/errors.ts'
import { LIVE_STATES } from '../../core/domain/run-states.ts'
import type { Run, Runs } from '../../ledger/ledger.ts'
import { safeText, type Terminal } from './terminal.ts'

/** Runs that are searched for one that has rows. */
const SEARCHED_MAX = 100

/**
 * As `findRun`, for commands about rows: of a sync, or of all, the newest run that reads rows, because one of links has none. Where
 * that is not the newest one, and no number was given, a line says which run it is, and which is newer.
 * @param kind of the runs that the command is about; default: all
 */
export async function findRunWithRows(
  ledger: Runs,
  text: string | undefined,
  { terminal, kind }: { readonly terminal: Pick<Terminal, 'err'>; readonly kind?: Run['kind'] },
): Promise<Run> {
  const found = await findRun(ledger, text)
  if (text === String(found.id)) return found
  // What is at work is looked at.
  if (kind === undefined && LIVE_STATES.includes(found.state)) return found
  const of = text === undefined ? {} : { sync: text }
  const runs = await ledger.runs({ ...of, limit: SEARCHED_MAX })
  const run = runs.find(
    (one) => one.purpose !== 'links' && (kind === undefined || one.kind === kind),
  )
  if (run === undefined || run.id === found.id) return found
  const newer = found.kind === run.kind ? found.purpose : found.kind
  terminal.err(
    `This is run ${run.id} of ${safeText(run.sync, 60)} (${run.purpose}); run ${found.id} of ${safeText(found.sync, 60)} (${newer}) is newer`,
  )
  return run
}

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

/**
 * A run by its number, or the live one of a sync by its name.
 * @throws ConfigError if there is none; SyncError `run_ended`
 */
export async function liveRunNamed(
  context: Pick<ActionPlace, 'openLedger'>,
  text: string,
): Promise<Run> {
  return await withLedger(context, async (ledger) => {
    const run = await findRun(ledger, text)
    if (!LIVE_STATES.includes(run.state)) throw runEnded(run)
    return run
  })
}
