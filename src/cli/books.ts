// Books and runs, as text and as JSON.

import { backfillOf } from '../core/backfill.ts'
import { isBalanced, ITEM_STATES, sumOfStates, type Books } from '../core/states.ts'
import type { Ledger, Run, StreamBooks } from '../ledger/ledger.ts'
import { printStreams, streamToJson } from './streams.ts'
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

/** The books of an import, or the streams of a mirror. */
export type Account =
  | { readonly kind: 'import'; readonly books: Books }
  | { readonly kind: 'mirror'; readonly streams: readonly StreamBooks[] }

/** The account of a run as the ledger holds it; null for an import whose books are still open. */
export async function accountOf(ledger: Ledger, run: Run): Promise<Account | null> {
  if (run.kind === 'mirror') return { kind: 'mirror', streams: await ledger.streams(run.id) }
  return run.counts && { kind: 'import', books: run.counts }
}

export function printAccount(terminal: Terminal, account: Account): void {
  if (account.kind === 'import') printBooks(terminal, account.books)
  else printStreams(terminal, account.streams)
}

/** A run for programs. */
export function runToJson(run: Run, account: Account | null) {
  const books = account?.kind === 'import' ? account.books : null
  return {
    run: run.id,
    sync: run.sync,
    kind: run.kind,
    state: run.state,
    reason: run.reason,
    message: run.message,
    backfill: backfillOf(run.config),
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
    ...(account?.kind === 'mirror' && { streams: account.streams.map(streamToJson) }),
  }
}
