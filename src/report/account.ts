// The account of a run: its facts, and the books of an import or the streams of a mirror, as every command prints them.

import { sumOfDifferences } from '../core/domain/differences.ts'
import { countHeldBack } from '../core/domain/held-back.ts'
import { writesRecords } from '../core/domain/import-modes.ts'
import { maySetAside } from '../core/domain/protection.ts'
import { readBackCounts } from '../core/domain/read-back.ts'
import { NOTED_REMOVALS, REMOVAL_STATES, removalMeaning } from '../core/domain/removals.ts'
import {
  countKnownDifferent,
  isBalanced,
  ITEM_STATES,
  LINK_REJECT_STATES,
  LINK_STATES,
  linkMeaningOf,
  meaningOf,
  REJECT_STATES,
  sumOfLinkStates,
  sumOfStates,
  type Books,
  type LinkBooks,
  type LinkState,
} from '../core/domain/books.ts'
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
    states: books?.states ?? null,
    links: books?.links ? { ...books.links, replaced: books.links.replaced ?? 0 } : null,
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
    removals: books && (books.removals ?? {}),
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

const countSpared = ({ states: { exists, absent } }: Books): number => exists + absent

function booksOf(run: Run, books: Books): BooksReport {
  const job = jobOf(run, 'import')
  const { import: config } = job.sync
  const scene = {
    onlyLinks: countSpared(books) > 0 && !writesRecords(config.mode),
    hasPlan: job.plan !== undefined,
    setsAside: books.states.rejected > 0 && maySetAside(config),
  }
  return {
    read: books.read,
    sum: sumOfStates(books.states),
    balanced: isBalanced(books) && run.closedAt !== null,
    read_to_end: books.readToEnd !== false || run.closedAt === null,
    states: ITEM_STATES.filter((state) => books.states[state] > 0).map((state) => ({
      state,
      rows: books.states[state],
      meaning: meaningOf(state, run.purpose, scene),
    })),
    replayed: books.replayed,
    maybe_created: maybeCreated(run, books),
    looked_up: books.lookedUp ?? 0,
    in_doubt: books.inDoubt,
    read_back: readBackCounts(books),
    kept: books.kept ?? null,
    written_over: books.writtenOver ?? null,
    links: books.links ? linksOf(run, books.links) : null,
    removals: REMOVAL_STATES.flatMap((state) => {
      const records = books.removals?.[state] ?? 0
      return records === 0 ? [] : [{ state, records, meaning: removalMeaning(state) }]
    }),
  }
}

const linksOf = ({ purpose }: Run, { read, states, replaced = 0 }: LinkBooks) => ({
  read,
  sum: sumOfLinkStates(states),
  states: LINK_STATES.filter((state) => states[state] > 0).map((state) => ({
    state,
    links: states[state],
    meaning: linkMeaningOf(state, purpose),
  })),
  replaced,
})

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

/** Rows that were not accepted. */
export const rejectedRows = ({ states }: BooksReport): number =>
  states.reduce((sum, { state, rows }) => sum + (REJECT_STATES.includes(state) ? rows : 0), 0)

/** Links of a run in some states. */
const linksIn = ({ links }: BooksReport, states: readonly LinkState[]): number =>
  (links?.states ?? []).reduce(
    (sum, { state, links: count }) => sum + (states.includes(state) ? count : 0),
    0,
  )

/** Links that were not accepted. */
export const rejectedLinks = (books: BooksReport): number => linksIn(books, LINK_REJECT_STATES)

/** Links that the service answered as made, and that are not there. */
export const notKeptLinks = (books: BooksReport): number => linksIn(books, ['not_kept'])

/** Links whose targets do not exist yet. */
export const parkedLinks = (books: BooksReport): number => linksIn(books, ['parked'])

/** Rows that were accepted, and that the service does not hold as they were sent. */
export const readBackDifferent = ({ read_back }: BooksReport): BooksReport['read_back'] =>
  read_back.filter(({ name }) => name !== 'normalised' && name !== 'equal')

/** Records without a row that a person has to look at: those that were not removed, and those that are left as they are. */
export const notedRemovals = ({ removals }: BooksReport): BooksReport['removals'] =>
  removals.filter(({ state }) => NOTED_REMOVALS.includes(state))

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
