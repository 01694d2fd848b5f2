// Compares the books of a closed import with what can be counted again: its items, and the rows it read.

import { RETENTION_MS } from '../core/limits.ts'
import { isBalanced, READ_BACK_NAMES, type Books } from '../core/domain/books.ts'
import {
  ITEM_STATES,
  LINK_STATES,
  type LinkState,
  DELETION_STATES,
} from '../core/domain/outcomes.ts'
import { countAll } from '../core/domain/outcome-counts.ts'
import {
  BEFORE_LINKS,
  type LinkReports,
  type Run,
  type RunClosing,
  type RunReports,
} from '../ledger/ledger.ts'
import type { ReportProblem } from './finding.ts'

type BooksLedger = RunClosing & RunReports & LinkReports

/**
 * Whether the items agree, were removed in their time, or something is wrong.
 * @param nowMs decides whether the items of the run should still exist
 */
export async function checkBooks(
  ledger: BooksLedger,
  run: Run,
  nowMs: number,
  report: ReportProblem,
): Promise<'booked' | 'pruned' | 'wrong'> {
  const { counts } = run
  if (counts === null) {
    report('books_altered', 'it is closed and has no books: the counts of its states were removed')
    return 'wrong'
  }
  let isRight = true
  const complain: ReportProblem = (kind, message) => {
    isRight = false
    report(kind, message)
  }
  if (run.rowsRead !== null && run.rowsRead !== counts.read)
    complain(
      'books_altered',
      `its books have ${counts.read} rows read, its own row ${run.rowsRead}: one of the two was changed`,
    )
  if (!isBalanced(counts))
    complain(
      'books_unbalanced',
      `its books do not balance: ${counts.read} rows read, ${countAll(counts.states)} items, of which ${counts.states.pending + counts.states.in_flight} have no outcome; not every row has exactly one${unbalancedLinks(counts)}`,
    )
  const now = await ledger.books(run.id)
  const changes = changesOf(counts, now)
  if (changes.length === 0) return isRight ? 'booked' : 'wrong'
  const items = countAll(counts.states) - countAll(now.states)
  const gone = items + sumOfLinks(counts) - sumOfLinks(now)
  if (gone > 0 && (await isPruned(ledger, run, items, counts, now, nowMs)))
    return isRight ? 'pruned' : 'wrong'
  report(
    gone > 0 ? 'items_missing' : 'books_altered',
    gone > 0
      ? `${gone} of its items ${counts.links ? 'and links ' : ''}are gone, or in a state that there is not, before their time of ${RETENTION_MS / 86_400_000} days, or out of the middle (${changes.join('; ')}): the outcome of those rows was removed`
      : `its items were changed after it was closed: ${changes.join('; ')}`,
  )
  return 'wrong'
}

const linksIn = ({ links }: Books, state: LinkState): number => links?.states[state] ?? 0
const sumOfLinks = ({ links }: Books): number => (links ? countAll(links.states) : 0)

/** Of books with links: their figures too. */
const unbalancedLinks = ({ links }: Books): string =>
  links
    ? `; ${links.read} links read, ${countAll(links.states)} booked, of which ${links.states.pending + links.states.in_flight} have no outcome`
    : ''

/** Counts that differ from the books. */
function changesOf(booked: Books, now: Books): string[] {
  const figures: readonly (readonly [string, number, number])[] = [
    ...ITEM_STATES.map((state) => [state, booked.states[state], now.states[state]] as const),
    ['replayed', booked.replayed, now.replayed],
    ['looked up', booked.lookedUp ?? 0, now.lookedUp ?? 0],
    ['in doubt', booked.inDoubt, now.inDoubt],
    ...READ_BACK_NAMES.map(
      (name) => [`read back ${name}`, booked.readBack[name] ?? 0, now.readBack[name] ?? 0] as const,
    ),
    ...linkChanges(booked, now),
    ...DELETION_STATES.map(
      (state) =>
        [
          `records without a row, ${state}`,
          booked.removals?.[state] ?? 0,
          now.removals?.[state] ?? 0,
        ] as const,
    ),
  ]
  return figures
    .filter(([, before, after]) => before !== after)
    .map(([name, before, after]) => `${name}: booked ${before}, counted ${after}`)
}

function linkChanges(
  { links: booked }: Books,
  { links: now }: Books,
): (readonly [string, number, number])[] {
  if (booked === undefined && now === undefined) return []
  return [
    ['links read', booked?.read ?? 0, now?.read ?? 0] as const,
    ...LINK_STATES.map(
      (state) => [`links ${state}`, booked?.states[state] ?? 0, now?.states[state] ?? 0] as const,
    ),
    ['links replaced', booked?.replaced ?? 0, now?.replaced ?? 0] as const,
  ]
}

/** Whether items and links were removed as pruning does: in their time, from the first one on; the remaining ones are as booked. */
async function isPruned(
  ledger: BooksLedger,
  run: Run,
  gone: number,
  booked: Books,
  now: Books,
  nowMs: number,
): Promise<boolean> {
  if (run.closedAt === null || nowMs - Date.parse(run.closedAt) < RETENTION_MS) return false
  if (ITEM_STATES.some((state) => now.states[state] > booked.states[state])) return false
  if (LINK_STATES.some((state) => linksIn(now, state) > linksIn(booked, state))) return false
  if (gone > 0) {
    // Links go first: an item that is pruned has none any more.
    const page = await ledger.reportLinks(run.id, {
      states: LINK_STATES,
      after: BEFORE_LINKS,
      limit: 1,
    })
    if (page.links.length > 0 || page.next !== null) return false
  }
  const [first] = await ledger.report(run.id, { states: ITEM_STATES, after: 0, limit: 1 })
  return first === undefined || first.ordinal > gone
}
