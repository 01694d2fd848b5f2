// The account of a run: its facts, and the books of an import or the streams of a mirror, as every command prints them.

import { sumOfDifferences } from '../core/domain/differences.ts'
import { countHeldBack } from '../core/domain/held-back.ts'
import { writesRecords } from '../core/domain/import-modes.ts'
import { maySetAside } from '../core/domain/protection.ts'
import { readBackCounts } from '../core/domain/read-back.ts'
import {
  needsLook,
  meaningOf,
  outcomeOf,
  statesOf,
  type Kind,
  type Outcome,
  type Scene,
} from '../core/domain/outcomes.ts'
import { countAll, equationText, tallyOf, type Counts } from '../core/domain/outcome-counts.ts'
import type { Purpose } from '../core/domain/purpose.ts'
import { countKnownDifferent, isBalanced, type Books } from '../core/domain/books.ts'
import type {
  Differences,
  Run,
  RunClosing,
  RunReports,
  Runs,
  StreamBooks,
  Streams,
} from '../ledger/ledger.ts'
import { jobOf } from '../runs/job.ts'
import { limitsText } from './limits.ts'
import type { BooksReport, RunDifferences, RunFacts, StreamReport } from './run-report.ts'

/** The part of the ledger that an account is read from. */
export type AccountLedger = Differences & RunClosing & RunReports & Runs & Streams

export interface RunAccount {
  readonly run: RunFacts
  /** Of an import. */
  readonly books: BooksReport | null
  /** Of a mirror. */
  readonly streams: readonly StreamReport[] | null
  /** Of a reconciliation. */
  readonly differences: RunDifferences | null
}

/** The account of a run without what only its items say. */
export interface RunOutline extends Omit<RunAccount, 'differences'> {
  readonly differences: Omit<RunDifferences, 'held'> | null
}

/** The outline of a run as it closed, or of a live mirror; null for an import whose books are still open. Reads no item. */
export async function readRunOutline(ledger: AccountLedger, run: Run): Promise<RunOutline | null> {
  return run.kind === 'import' && run.counts === null ? null : await outlineOf(ledger, run)
}

/** The account of a run as it closed, or of a live mirror; null for an import whose books are still open. */
export async function readRunAccount(ledger: AccountLedger, run: Run): Promise<RunAccount | null> {
  return run.kind === 'import' && run.counts === null ? null : await countRunAccount(ledger, run)
}

/** The account of a run as it is now: the items of a live import are counted. */
export async function countRunAccount(ledger: AccountLedger, run: Run): Promise<RunAccount> {
  const { differences, ...outline } = await outlineOf(ledger, run)
  const held = run.kind === 'import' && differences ? await countHeldBack(ledger, run.id) : 0
  return { ...outline, differences: differences && { ...differences, held } }
}

/** The items of a live import are counted. */
async function outlineOf(ledger: AccountLedger, run: Run): Promise<RunOutline> {
  const books = run.kind === 'import' ? (run.counts ?? (await ledger.books(run.id))) : null
  const streams = run.kind === 'mirror' ? await ledger.streams(run.id) : null
  const differences = await differencesOf(ledger, run)
  return {
    run: runFacts(run, { books, differences }),
    books: books && booksOf(run, books),
    streams: streams && streams.map(streamOf),
    differences,
  }
}

/** What is known of a run without its account. */
export const factsOf = (run: Run): RunFacts => runFacts(run, { books: null, differences: null })

async function differencesOf(ledger: AccountLedger, run: Run): Promise<RunOutline['differences']> {
  if (run.purpose !== 'reconcile') return null
  const counts = await ledger.differenceCounts(run.id)
  return { ...counts, groups: await ledger.differenceGroups(run.id) }
}

function runFacts(
  run: Run,
  { books, differences }: { books: Books | null; differences: RunOutline['differences'] },
): RunFacts {
  const job = jobOf(run)
  const isClosed = run.closedAt !== null
  const counted = differences
    ? sumOfDifferences(differences.left)
    : books && countKnownDifferent(books)
  return {
    run: run.id,
    sync: run.sync,
    kind: run.kind,
    mode: run.mode,
    purpose: run.purpose,
    retry_of: run.purpose === 'undo' ? null : run.of,
    undo_of: run.purpose === 'undo' ? run.of : null,
    limits: limitsText(job),
    backfill: job.backfill ?? null,
    state: run.state,
    reason: run.reason,
    message: run.message,
    opened_at: run.openedAt,
    closed_at: run.closedAt,
    rows_read: books?.read ?? run.rowsRead,
    rows: books && rowCounts(books),
    links: books?.links
      ? {
          read: books.links.read,
          ...tallyOf('link', books.links.states),
          replaced: books.links.replaced ?? 0,
        }
      : null,
    deletions: books && {
      due: countAll(books.removals),
      ...tallyOf('deletion', books.removals ?? {}),
    },
    balanced: books && isBalanced(books) && isClosed,
    read_to_end: books && isClosed ? books.readToEnd !== false : null,
    replayed: books?.replayed ?? null,
    maybe_created: books && maybeCreated(run, books),
    looked_up: books && (books.lookedUp ?? 0),
    in_doubt: books?.inDoubt ?? null,
    read_back: books?.readBack ?? null,
    rows_different: books && counted,
    deleted: books && differences ? differences.found.extra - differences.left.extra : null,
    kept: books?.kept ?? null,
    written_over: books?.writtenOver ?? null,
    workflow_id: run.workflowId,
    key_fingerprint: run.keyFingerprint,
    warnings: run.warnings,
    verified_through: run.verifiedThrough,
  }
}

/** The answer to an upsert that is sent again says `updated` of a record that the first one created; so does a look-up that finds it. */
function maybeCreated(
  run: Run,
  { replayed, lookedUp = 0, thereBefore = 0, states: { updated } }: Books,
): number {
  const rows = replayed + lookedUp - thereBefore
  const isUpsert = rows > 0 && jobOf(run, 'import').sync.import.mode === 'upsert'
  return isUpsert ? Math.min(rows, updated - thereBefore) : 0
}

/** Rows of a run by outcome. */
export const rowCounts = ({ read, states }: Books) => ({ read, ...tallyOf('row', states) })

const countSpared = ({ states: { exists, not_found: absent } }: Books): number => exists + absent

/** The books of one kind: every state that occurs, and their sum. */
function accountOf(
  kind: Kind,
  { read, counts }: { readonly read: number; readonly counts: Counts },
  purpose: Purpose,
  scene: Scene = {},
): BooksReport['rows'] {
  const states = statesOf(kind).flatMap((state) => {
    const count = counts[state] ?? 0
    const meaning = meaningOf(kind, state, purpose, scene)
    return count === 0 ? [] : [{ outcome: outcomeOf(state), state, count, meaning }]
  })
  return { read, sum: countAll(counts), text: equationText(kind, read, counts), states }
}

function booksOf(run: Run, books: Books): BooksReport {
  const job = jobOf(run, 'import')
  const { import: config } = job.sync
  const { purpose } = run
  const { states, links, removals = {} } = books
  const scene = {
    onlyLinks: countSpared(books) > 0 && !writesRecords(config.mode),
    hasPlan: job.plan !== undefined,
    setsAside: states.refused > 0 && maySetAside(config),
  }
  const due = countAll(removals)
  return {
    rows: accountOf('row', { read: books.read, counts: states }, purpose, scene),
    links: links
      ? {
          ...accountOf('link', { read: links.read, counts: links.states }, purpose),
          replaced: links.replaced ?? 0,
        }
      : null,
    deletions: due === 0 ? null : accountOf('deletion', { read: due, counts: removals }, purpose),
    balanced: isBalanced(books) && run.closedAt !== null,
    read_to_end: books.readToEnd !== false || run.closedAt === null,
    replayed: books.replayed,
    maybe_created: maybeCreated(run, books),
    looked_up: books.lookedUp ?? 0,
    in_doubt: books.inDoubt,
    read_back: readBackCounts(books),
    kept: books.kept ?? null,
    written_over: books.writtenOver ?? null,
  }
}

const streamOf = (stream: StreamBooks): StreamReport => ({
  stream: stream.stream,
  table: stream.table,
  state: stream.state,
  mode: stream.mode,
  requests: stream.requests,
  read: stream.read,
  inserted: stream.inserted,
  changed: stream.changed,
  unchanged: stream.unchanged,
  deleted: stream.deleted,
  older: stream.older ?? null,
  reverted: stream.reverted ?? null,
  differs: stream.differs ?? null,
  misfits: stream.misfits,
  service_count: stream.serviceCount,
  table_count: stream.tableCount,
  message: stream.message,
})

/** How many of an account have this outcome. */
const countIn = (account: BooksReport['rows'] | null, outcome: Outcome): number =>
  (account?.states ?? []).reduce((sum, one) => sum + (one.outcome === outcome ? one.count : 0), 0)

export const rejectedRows = ({ rows }: BooksReport): number => countIn(rows, 'rejected')
export const rejectedLinks = ({ links }: BooksReport): number => countIn(links, 'rejected')

/** Links that the service answered as made, and that are not there. */
export const vanishedLinks = ({ links }: BooksReport): number =>
  links?.states.find(({ state }) => state === 'vanished')?.count ?? 0

/** Links whose targets do not exist yet. */
export const waitingLinks = (books: BooksReport): number =>
  countIn(books.links, 'waiting') - vanishedLinks(books)

/** Rows that were accepted, and that the service does not hold as they were sent. */
export const readBackDifferent = ({ read_back }: BooksReport): BooksReport['read_back'] =>
  read_back.filter(({ name }) => name !== 'normalised' && name !== 'equal')

/** Deletions that a person has to look at: those that were rejected, and records that are left as they are. */
export const notedDeletions = ({ deletions }: BooksReport): BooksReport['rows']['states'] =>
  (deletions?.states ?? []).filter(({ state }) => needsLook(state))

/** Whether the service counts otherwise than the table; false if one of them is not counted. */
export const countsDiffer = ({ service_count: theirs, table_count: ours }: StreamReport): boolean =>
  theirs !== null && ours !== null && theirs !== ours

/** Sums over all streams of a run. */
export function streamTotals(
  streams: readonly Pick<
    StreamReport,
    'state' | 'read' | 'inserted' | 'changed' | 'deleted' | 'requests'
  >[],
) {
  const sum = (of: (stream: (typeof streams)[number]) => number) =>
    streams.reduce((total, stream) => total + of(stream), 0)
  return {
    ended: streams.filter(({ state }) => state === 'complete' || state === 'failed').length,
    read: sum(({ read }) => read),
    inserted: sum(({ inserted }) => inserted),
    changed: sum(({ changed }) => changed),
    deleted: sum(({ deleted }) => deleted),
    requests: sum(({ requests }) => requests),
  }
}
