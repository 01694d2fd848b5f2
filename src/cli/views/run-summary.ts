// Books and runs, as text and as JSON.

import { backfillText } from '../../core/backfill.ts'
import { jobOf } from '../../runs/job.ts'
import { reconcileText } from '../../core/purpose.ts'
import { sumOfDifferences } from '../../core/differences.ts'
import { readBackCounts } from '../../core/read-back.ts'
import {
  countReadBackDifferent,
  isBalanced,
  ITEM_STATES,
  LIVE_STATES,
  meaningOf,
  sumOfStates,
  type Books,
} from '../../core/states.ts'
import type { Ledger, Run, StreamBooks } from '../../ledger/ledger.ts'
import {
  deletedOf,
  readRunDifferences,
  printRunDifferences,
  type RunDifferences,
} from './differences.ts'
import { printStreams, streamToJson } from './streams.ts'
import { formatNumber, type Terminal } from '../shared/terminal.ts'

/** The books of a run as lines: each state, then the sum, then whether it balances; those of a live run are open. */
function printBooks(terminal: Terminal, { state, purpose }: Run, books: Books): void {
  const isLive = LIVE_STATES.includes(state)
  const width = Math.max(
    formatNumber(books.read).length,
    ...ITEM_STATES.map((state) => formatNumber(books.states[state]).length),
  )
  const line = (name: string, value: number, meaning: string) =>
    `  ${name.padEnd(11)} ${formatNumber(value).padStart(width)}  ${terminal.style('dim', meaning)}`
  for (const state of ITEM_STATES)
    if (books.states[state] > 0)
      terminal.out(line(state, books.states[state], meaningOf(state, purpose)))
  const sum = sumOfStates(books.states)
  terminal.out(`  ${'─'.repeat(11 + 1 + width)}`)
  terminal.out(line('sum', sum, `rows read ${formatNumber(books.read)}`))
  terminal.out(
    books.readToEnd === false && !isLive
      ? terminal.style(
          'yellow',
          '  The source was not read to its end: the rows that were not read are in no book.',
        )
      : isBalanced(books) && !isLive
        ? terminal.style('green', '  The books balance: every row has exactly one outcome.')
        : terminal.style(
            'yellow',
            '  The books are open: rows are still planned, in flight, or being read.',
          ),
  )
  for (const { name, rows, meaning } of readBackCounts(books)) {
    const line = `  ${name.padEnd(11)} ${formatNumber(rows).padStart(width)}  ${meaning}`
    terminal.out(terminal.style(name === 'equal' ? 'dim' : 'yellow', line))
  }
  if (books.replayed > 0)
    terminal.out(
      `  ${formatNumber(books.replayed)} rows were sent again after a lost answer: "created" is a lower bound.`,
    )
  if (books.inDoubt > 0)
    terminal.out(`  ${formatNumber(books.inDoubt)} rows are in doubt: the service may hold them.`)
}

/** The books of an import, or the streams of a mirror. */
export type RunAccount = (
  | { readonly kind: 'import'; readonly books: Books }
  | { readonly kind: 'mirror'; readonly streams: readonly StreamBooks[] }
) & {
  /** Of a reconciliation. */
  readonly findings?: RunDifferences | null
}

/** The account of a run as the ledger holds it; null for an import whose books are still open. */
export async function readRunAccount(ledger: Ledger, run: Run): Promise<RunAccount | null> {
  const findings = await readRunDifferences(ledger, run)
  if (run.kind === 'mirror')
    return { kind: 'mirror', streams: await ledger.streams(run.id), findings }
  return run.counts && { kind: 'import', books: run.counts, findings }
}

export function printRunAccount(terminal: Terminal, run: Run, account: RunAccount): void {
  if (account.kind === 'import') printBooks(terminal, run, account.books)
  else printStreams(terminal, account.streams)
  if (!account.findings) return
  terminal.out()
  printRunDifferences(terminal, run, account.findings)
}

/** What a run is besides a regular one, in one line; null for those. */
export function runPurposeText(run: Run): string | null {
  const job = jobOf(run)
  switch (job.purpose) {
    case 'sync':
      return null
    case 'backfill':
      return `${backfillText(job.backfill)}: nothing else was read`
    case 'retry':
      return `retry of run ${job.retry.of}`
    case 'reconcile': {
      const text = reconcileText(job.reconcile)
      return text === '' ? 'reconciliation' : `reconciliation: ${text}`
    }
  }
}

/** Rows or records that a run knows to differ: of a reconciliation those that it left. Null for mirrors, whose streams say it. */
export const countKnownDifferent = (account: RunAccount | null): number | null =>
  account?.kind !== 'import'
    ? null
    : account.findings
      ? sumOfDifferences(account.findings.left)
      : countReadBackDifferent(account.books)

/** A run for programs. */
export function runToJson(run: Run, account: RunAccount | null) {
  const books = account?.kind === 'import' ? account.books : null
  const { reconcile = null, backfill = null } = jobOf(run)
  return {
    run: run.id,
    sync: run.sync,
    kind: run.kind,
    purpose: run.purpose,
    retry_of: run.of,
    reconcile,
    state: run.state,
    reason: run.reason,
    message: run.message,
    backfill,
    opened_at: run.openedAt,
    closed_at: run.closedAt,
    rows_read: books?.read ?? run.rowsRead,
    states: books?.states ?? null,
    balanced: books ? isBalanced(books) && !LIVE_STATES.includes(run.state) : null,
    read_to_end: books && !LIVE_STATES.includes(run.state) ? books.readToEnd !== false : null,
    replayed: books?.replayed ?? null,
    in_doubt: books?.inDoubt ?? null,
    read_back: books?.readBack ?? null,
    rows_different: countKnownDifferent(account),
    workflow_id: run.workflowId,
    key_fingerprint: run.keyFingerprint,
    warnings: run.warnings,
    verified_through: run.verifiedThrough,
    ...(account?.findings && { differences: account.findings }),
    ...(account?.findings &&
      run.kind === 'import' && { deleted: deletedOf(run, account.findings) }),
    ...(account?.kind === 'mirror' && { streams: account.streams.map(streamToJson) }),
  }
}
