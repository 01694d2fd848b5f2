// Keys of rows of a run in some states. Of those whose record is not known: at a service that folds case, a record without a row may be
// theirs.

import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { OPEN_STATES, REJECT_STATES, type ItemState } from '../../core/domain/outcomes.ts'
import type { RunReports } from '../../ledger/ledger.ts'
import { seenText } from '../../core/look.ts'
import { foldCase } from '../mapping/key.ts'

/** States of rows whose record is not known, or not by an answer. */
const UNSETTLED_STATES: readonly ItemState[] = [...REJECT_STATES, ...OPEN_STATES]

/** The form in which a key of a row may be that of a record: a service may have written it otherwise. */
export const openForm = (key: string): string => foldCase(seenText(key))

/** Keys of rows whose record is not known, in their open form. */
export async function keysOfOpenRows(
  ledger: RunReports,
  run: number,
): Promise<ReadonlySet<string>> {
  return new Set([...(await keysOfRows(ledger, run, UNSETTLED_STATES))].map(openForm))
}

/** Keys of the rows of a run in these states. */
export async function keysOfRows(
  ledger: RunReports,
  run: number,
  states: readonly ItemState[],
): Promise<ReadonlySet<string>> {
  const keys = new Set<string>()
  // Bounded by the rows of the run: every page goes on after the one before it.
  for (let after = 0; ;) {
    const items = await ledger.report(run, { states, after, limit: LEDGER_ROWS_MAX })
    for (const { key } of items) if (key !== null) keys.add(key)
    if (items.length === 0) return keys
    after = items.at(-1)!.ordinal
  }
}
