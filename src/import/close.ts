// Close: what is left over gets a terminal state, the books are balanced and kept, payloads of accepted items go. A run
// that does not balance is never complete, whatever else happened.

import { finalState, isBalanced, type Books, type RunState } from '../core/states.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Ending } from '../runs/ending.ts'

/** The closed run's state and books. */
export interface CloseResult {
  readonly state: RunState
  readonly books: Books
}

/** Closes a run. Safe to call again. */
export async function close(ledger: Ledger, run: number, ending: Ending): Promise<CloseResult> {
  await ledger.settleLeftovers(run)
  const books = await ledger.books(run)
  const state = ending.kind === 'finished' ? finalState(books) : ending.kind
  const unbalanced = ending.kind === 'finished' && !isBalanced(books)
  await ledger.closeRun(run, {
    state,
    reason: ending.kind === 'failed' ? (ending.reason ?? null) : null,
    message: unbalanced
      ? 'the books do not balance; run records-sync show for the figures'
      : ending.kind === 'finished'
        ? null
        : (ending.message ?? null),
    books,
  })
  return { state, books }
}
