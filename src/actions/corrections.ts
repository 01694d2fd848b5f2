// Rows as a person corrected them, kept in the ledger for a retry. Promises kept here: each row comes once; a correction that a retry has
// taken is not changed any more.

import {
  rawRows,
  readCorrections,
  rejectsDelimiter,
  type CorrectionsAccount,
  type SpreadsheetFile,
  type SpreadsheetRow,
} from '../corrections/index.ts'
import type { Ledger, Run } from '../ledger/ledger.ts'
import { jobOf } from '../runs/job.ts'
import type { ActionPlace } from './place.ts'

type Place = Pick<ActionPlace, 'openLedger'>

export interface KeptCorrections {
  /** Null if the files have no row. */
  readonly correction: number | null
  readonly account: CorrectionsAccount
}

/**
 * Keeps the rows of files that `rejects` wrote and a person corrected.
 * @throws SourceError with file, line and what was expected; nothing is sent then
 */
export async function keepCorrectionFiles(
  place: Place,
  run: Run,
  files: readonly SpreadsheetFile[],
): Promise<KeptCorrections> {
  return await writing(place, async (ledger) => {
    const corrections = readCorrections(files, {
      run: run.id,
      columns: run.sourceColumns ?? [],
      delimiter: rejectsDelimiter(run),
      rawOf: (ordinals) => rawRows(ledger, run.id, ordinals),
    })
    let correction: number | null = null
    for await (const rows of corrections.pages())
      if (rows.length > 0) correction = await ledger.addCorrections(run.id, correction, rows)
    return { correction, account: corrections.account() }
  })
}

/**
 * Keeps at most 1,000 rows, with those of an earlier correction; a new one is begun where that has been sent.
 * @returns the number of the correction
 */
export async function keepCorrectedRows(
  place: Place,
  run: Run,
  earlier: number | null,
  rows: readonly SpreadsheetRow[],
): Promise<number> {
  return await writing(place, async (ledger) => {
    const isOpen = earlier !== null && !(await isSent(ledger, run, earlier))
    return await ledger.addCorrections(run.id, isOpen ? earlier : null, rows)
  })
}

/** Whether a retry has taken it. */
async function isSent(ledger: Ledger, run: Run, correction: number): Promise<boolean> {
  const retries = await ledger.laterRuns(run.id, 'retry')
  return retries.some((retry) => jobOf(retry).retry?.choice.correction === correction)
}

async function writing<Result>(
  place: Place,
  work: (ledger: Ledger) => Promise<Result>,
): Promise<Result> {
  const ledger = await place.openLedger({ readOnly: false })
  try {
    return await work(ledger)
  } finally {
    await ledger.close()
  }
}
