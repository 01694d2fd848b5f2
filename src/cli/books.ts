// Books and runs, as text and as JSON.

import { isBalanced, ITEM_STATES, sumOfStates, type Books } from '../core/states.ts'
import type { Run } from '../ledger/ledger.ts'
import { figure, type Terminal } from './terminal.ts'

const meanings: Readonly<Record<string, string>> = {
  created: 'new records',
  updated: 'changed records',
  unchanged: 'accepted before, not sent',
  superseded: 'a later row has the same key',
  invalid: 'did not map; never sent',
  rejected: 'the service refused the item',
  failed: 'no known outcome, or retries spent',
  unsent: 'cancelled or stopped before sending',
  planned: 'waiting to be sent',
  sent: 'in flight',
}

/** The books as lines: each state, then the sum, then whether it balances. */
export function printBooks(terminal: Terminal, books: Books): void {
  const width = Math.max(
    figure(books.read).length,
    ...ITEM_STATES.map((state) => figure(books.states[state]).length),
  )
  const line = (name: string, value: number, meaning: string) =>
    `  ${name.padEnd(11)} ${figure(value).padStart(width)}  ${terminal.style('dim', meaning)}`
  for (const state of ITEM_STATES)
    if (books.states[state] > 0)
      terminal.out(line(state, books.states[state], meanings[state] ?? ''))
  const sum = sumOfStates(books.states)
  terminal.out(`  ${'─'.repeat(11 + 1 + width)}`)
  terminal.out(line('sum', sum, `rows read ${figure(books.read)}`))
  terminal.out(
    isBalanced(books)
      ? terminal.style('green', '  The books balance: every row has exactly one outcome.')
      : terminal.style(
          'yellow',
          '  The books are open: rows are still planned, in flight, or being read.',
        ),
  )
  if (books.replayed > 0)
    terminal.out(
      `  ${figure(books.replayed)} rows were sent again after a lost answer: "created" is a lower bound.`,
    )
  if (books.inDoubt > 0)
    terminal.out(`  ${figure(books.inDoubt)} rows are in doubt: the service may hold them.`)
}

/** A run for programs. */
export function runToJson(run: Run, books: Books | null) {
  return {
    run: run.id,
    sync: run.sync,
    state: run.state,
    reason: run.reason,
    message: run.message,
    opened_at: run.openedAt,
    closed_at: run.closedAt,
    rows_read: books?.read ?? run.rowsRead,
    states: books?.states ?? null,
    balanced: books ? isBalanced(books) : null,
    replayed: books?.replayed ?? null,
    in_doubt: books?.inDoubt ?? null,
    workflow_id: run.workflowId,
    key_fingerprint: run.keyFingerprint,
    warnings: run.warnings,
  }
}
