// Books and runs, as text and as JSON.

import { backfillText } from '../../core/domain/backfill.ts'
import { jobOf } from '../../runs/job.ts'
import { reconcileText, type ReconcileScope } from '../../core/domain/purpose.ts'
import type { Run } from '../../ledger/ledger.ts'
import { factsOf, type RunAccount } from '../../report/account.ts'
import { booksNotes } from '../../report/books-notes.ts'
import type { BooksReport } from '../../report/run-report.ts'
import { countText } from '../../core/format.ts'
import { printRunDifferences } from './differences.ts'
import { printStreams } from './streams.ts'
import { formatNumber, screenLines, type Terminal } from '../shared/terminal.ts'

/** An account in one sentence, then what its reasons mean. */
function printAccount(
  terminal: Terminal,
  { text, states }: BooksReport['rows'],
  style: 'green' | 'yellow' | null,
): void {
  for (const line of screenLines(`  ${text}`, 4))
    terminal.out(style === null ? line : terminal.style(style, line))
  const reasons = states.filter(({ outcome, state }) => outcome !== null && outcome !== state)
  const width = Math.max(...reasons.map(({ state }) => state.length))
  for (const { state, meaning } of reasons) {
    const head = `    ${state.padEnd(width)}  `
    for (const line of screenLines(head + meaning, head.length))
      terminal.out(terminal.style('dim', line))
  }
}

/** The books: rows, then deletions and links; those of a live run are open. */
function printBooks(terminal: Terminal, books: BooksReport): void {
  const { rows, links, deletions } = books
  printAccount(terminal, rows, books.balanced && books.read_to_end ? 'green' : 'yellow')
  const isShort = rows.read !== rows.sum
  if (!books.read_to_end || !books.balanced)
    terminal.out(
      terminal.style(
        'yellow',
        !books.read_to_end
          ? '  The source was not read to its end: the rows that were not read are in no book.'
          : isShort
            ? `  The books are open: ${countText(rows.sum, 'row has', 'rows have')} an outcome.`
            : '  The books are open: not every row has its outcome.',
      ),
    )
  for (const { name, rows: count, meaning } of books.read_back) {
    const head = `  ${name.padEnd(11)} ${formatNumber(count)}  `
    for (const line of screenLines(head + meaning, head.length))
      terminal.out(terminal.style(name === 'equal' ? 'dim' : 'yellow', line))
  }
  if (deletions) printAccount(terminal, deletions, null)
  if (links) printAccount(terminal, links, null)
  if (links && links.replaced > 0)
    terminal.out(
      terminal.style(
        'yellow',
        `  ${countText(links.replaced, 'new link')} took the place of another one, as the association has it.`,
      ),
    )
  for (const { text, warns } of booksNotes(books))
    terminal.out(warns ? terminal.style('yellow', `  ${text}`) : `  ${text}`)
}

export function printRunAccount(
  terminal: Terminal,
  { run, books, streams, differences }: RunAccount,
): void {
  if (books) printBooks(terminal, books)
  if (streams) printStreams(terminal, streams)
  if (!differences) return
  terminal.out()
  printRunDifferences(terminal, run, differences)
}

/** What a run is for, in one line; null for regular runs. */
export function runPurposeText(run: Run): string | null {
  const job = jobOf(run)
  switch (job.purpose) {
    case 'sync':
      return job.plan === undefined ? null : `applies plan ${job.plan}`
    case 'backfill':
      return `${backfillText(job.backfill)}: nothing else was read`
    case 'retry':
      return `retry of run ${job.retry.of}`
    case 'links':
      return 'links that earlier runs left: nothing was read'
    case 'undo':
      return `undo of run ${job.undo.of}`
    case 'reconcile': {
      const text = reconcileText(job.reconcile)
      return text === '' ? 'reconciliation' : `reconciliation: ${text}`
    }
  }
}

export const reconcileToJson = (scope: ReconcileScope | undefined) => {
  if (scope === undefined) return null
  const { deleteExtra, ...others } = scope
  return { ...others, delete_extra: deleteExtra }
}

/** A run for programs. */
export function runToJson(run: Run, account: RunAccount | null) {
  return {
    ...(account?.run ?? factsOf(run)),
    reconcile: reconcileToJson(jobOf(run).reconcile),
    ...(account?.differences && { differences: account.differences }),
    ...(account?.streams && { streams: account.streams }),
  }
}
