// Rows that the service answers with 500 or 503, noted in the ledger for people who watch a run that waits for them. Nothing else
// relies on it.

import { countText } from '../core/format.ts'
import type { StepStates } from '../ledger/ledger.ts'

export interface SentAgain {
  readonly rows: number
  readonly status: number
  readonly code: string | null
}

/** Next to the positions of the steps, under a name that no object type has. */
const NAME = '@sent_again'

/** Null where no row waits any more. */
export const noteSentAgain = (
  ledger: StepStates,
  run: number,
  note: SentAgain | null,
): Promise<void> => ledger.saveStepState(run, NAME, JSON.stringify(note))

export async function readSentAgain(ledger: StepStates, run: number): Promise<SentAgain | null> {
  const text = await ledger.loadStepState(run, NAME)
  return text === null ? null : (JSON.parse(text) as SentAgain | null)
}

/** `3 rows answered with 500 (internal_error), to be sent again` */
export function sentAgainText({ rows, status, code }: SentAgain): string {
  const why = code === null ? String(status) : `${status} (${code})`
  return `${countText(rows, 'row')} answered with ${why}, to be sent again`
}
