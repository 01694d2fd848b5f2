// Corrections that are kept and not sent yet. Promise kept here: a run without any costs one look into an index.

import type { Ledger, Run } from '../../ledger/ledger.ts'
import { jobOf } from '../../runs/job.ts'

/** Corrections of a run that are looked at. */
const CORRECTIONS_MAX = 20

/** The corrections of a run that no retry has taken, the newest first, with all their rows. */
export async function openCorrections(
  ledger: Ledger,
  run: Run,
): ReturnType<Ledger['correctionsOf']> {
  const all = await ledger.correctionsOf(run.id, CORRECTIONS_MAX)
  if (all.length === 0) return []
  const sent = (await ledger.laterRuns(run.id, 'retry')).map(
    (retry) => jobOf(retry).retry?.choice.correction,
  )
  return all.filter(({ correction }) => !sent.includes(correction))
}

/** Whether a retry would take a row of it. */
export const isRowLeft = async (ledger: Ledger, run: number, correction: number) =>
  (await ledger.retryRows(run, { correction }, { after: 0, limit: 1 })).length > 0

/** How many rows are kept of a run, and would be sent: where its corrections are shown, and one waits. */
export async function countKept(ledger: Ledger, run: Run): Promise<number> {
  for (const { correction, rows } of await openCorrections(ledger, run))
    if (await isRowLeft(ledger, run.id, correction)) return rows
  return 0
}
