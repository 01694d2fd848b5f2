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
import { printRemovals } from './removals.ts'
import { printStreams } from './streams.ts'
import { formatNumber, screenLines, type Terminal } from '../shared/terminal.ts'

/** The books as lines: each state, then the sum, then whether it balances; those of a live run are open. */
function printBooks(terminal: Terminal, books: BooksReport, purpose: Run['purpose']): void {
  const width = Math.max(
    ...[books.read, ...books.states.map(({ rows }) => rows)].map(
      (rows) => formatNumber(rows).length,
    ),
  )
  const head = (name: string, rows: number) =>
    `  ${name.padEnd(11)} ${formatNumber(rows).padStart(width)}  `
  const print = (name: string, rows: number, meaning: string) =>
    terminal.out(head(name, rows) + terminal.style('dim', meaning))
  for (const { state, rows, meaning } of books.states) print(state, rows, meaning)
  terminal.out(`  ${'─'.repeat(11 + 1 + width)}`)
  print('sum', books.sum, `rows read ${formatNumber(books.read)}`)
  terminal.out(
    !books.read_to_end
      ? terminal.style(
          'yellow',
          '  The source was not read to its end: the rows that were not read are in no book.',
        )
      : books.balanced
        ? terminal.style('green', '  The books balance: every row has exactly one outcome.')
        : terminal.style(
            'yellow',
            '  The books are open: rows are still planned, in flight, or being read.',
          ),
  )
  for (const { name, rows, meaning } of books.read_back)
    for (const line of screenLines(head(name, rows) + meaning, head(name, rows).length))
      terminal.out(terminal.style(name === 'equal' ? 'dim' : 'yellow', line))
  printRemovals(terminal, books.removals, purpose)
  if (books.links) printLinks(terminal, books.links)
  for (const { text, warns } of booksNotes(books))
    terminal.out(warns ? terminal.style('yellow', `  ${text}`) : `  ${text}`)
}

/** The books of links, as those of rows. */
function printLinks(terminal: Terminal, links: NonNullable<BooksReport['links']>): void {
  const width = Math.max(
    ...[links.read, links.sum, ...links.states.map((each) => each.links)].map(
      (count) => formatNumber(count).length,
    ),
  )
  const head = (name: string, count: number) =>
    `  ${name.padEnd(11)} ${formatNumber(count).padStart(width)}  `
  terminal.out()
  terminal.out('  Links')
  for (const { state, links: count, meaning } of links.states)
    for (const line of screenLines(head(state, count) + meaning, head(state, count).length))
      terminal.out(line)
  terminal.out(`${head('sum', links.sum)}links read ${formatNumber(links.read)}`)
  if (links.replaced > 0)
    terminal.out(
      terminal.style(
        'yellow',
        `  ${countText(links.replaced, 'new link')} took the place of another one, as the association has it.`,
      ),
    )
}

export function printRunAccount(
  terminal: Terminal,
  { run, books, streams, differences }: RunAccount,
): void {
  if (books) printBooks(terminal, books, run.purpose)
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
