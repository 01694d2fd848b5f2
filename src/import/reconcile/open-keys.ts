// Keys of rows whose record is not known: at a service that folds case, a record without a row may be theirs.

import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { OPEN_STATES, REJECT_STATES, type ItemState } from '../../core/domain/books.ts'
import type { RunReports } from '../../ledger/ledger.ts'
import { foldCase } from '../mapping/key.ts'

/** States of rows whose record is not known, or not by an answer. */
const UNSETTLED_STATES: readonly ItemState[] = [...REJECT_STATES, ...OPEN_STATES]

/** Those keys in small letters. */
export async function keysOfOpenRows(
  ledger: RunReports,
  run: number,
): Promise<ReadonlySet<string>> {
  const keys = new Set<string>()
  // Bounded by the rows of the run: every page goes on after the one before it.
  for (let after = 0; ;) {
    const page = { states: UNSETTLED_STATES, after, limit: LEDGER_ROWS_MAX }
    const items = await ledger.report(run, page)
    for (const { key } of items) if (key !== null) keys.add(foldCase(key))
    if (items.length === 0) return keys
    after = items.at(-1)!.ordinal
  }
}
