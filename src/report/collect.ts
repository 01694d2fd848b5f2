// Collects what the ledger knows of one run into a report. Promise kept here: it never contains values of rows, keys or record
// ids. It asks for groups and counts, so the report of a run of any size is small.

import { backfillText } from '../core/backfill.ts'
import { sumOfDifferences } from '../core/differences.ts'
import { jobOf } from '../runs/job.ts'
import { isJsonObject, type Json } from '../core/json.ts'
import { reconcileText, type RetryTask } from '../core/purpose.ts'
import { readBackCounts } from '../core/read-back.ts'
import {
  isBalanced,
  ITEM_STATES,
  countReadBackDifferent,
  meaningOf,
  REJECT_STATES,
  sumOfStates,
  type Books,
  type ItemState,
} from '../core/states.ts'
import type { ImportConfig } from '../../config/index.ts'
import { runLink, type UiLocation } from '../core/temporal-ui.ts'
import { publicError } from '../contract/index.ts'
import type {
  Archive,
  Differences,
  Leftovers,
  Run,
  RunClosing,
  RunReports,
  Runs,
  StreamBooks,
  Streams,
} from '../ledger/ledger.ts'
import { collectComparison } from './collect-comparison.ts'
import { collectWork } from './collect-work.ts'
import { secondsBetween } from './format.ts'
import type {
  BooksData,
  ReportComparison,
  ErrorsData,
  ReportFigure,
  ProvenanceData,
  ReportData,
  StreamData,
} from './report-data.ts'
import { countBroughtIn, readLeftovers } from './leftovers.ts'
import { reportVerdict, type Hint } from './verdict.ts'

/** What a report needs from outside the ledger. */
export interface ReportContext {
  /** ISO 8601 in UTC. */
  readonly madeAt: string
  readonly hint: Hint
  /** Null if the address of the Temporal UI is not known. */
  readonly ui: UiLocation | null
  /** Requests a minute that the service allows; null if it is not known, or nothing limits. */
  readonly limitPerMinute: number | null
}

const GROUPS_MAX = 200
const RANGES_SHOWN_MAX = 8

/** The report of a run from the ledger's present state; the run may be live. */
export async function collectReport(
  ledger: Archive & Differences & Leftovers & RunClosing & RunReports & Runs & Streams,
  run: Run,
  surroundings: ReportContext,
): Promise<ReportData> {
  const { madeAt, hint, ui, limitPerMinute } = surroundings
  const ended = run.closedAt ?? madeAt
  const books = run.kind === 'import' ? (run.counts ?? (await ledger.books(run.id))) : null
  const streams = run.kind === 'mirror' ? await ledger.streams(run.id) : null
  const comparison = await collectComparison(ledger, run, books, streams)
  const found = {
    books: books && booksOf(run, books),
    streams: streams && streams.map(streamOf),
    comparison,
  }
  const errors = await errorsOf(ledger, run, books)
  const left = comparison ? null : await readLeftovers(ledger, run, errors.groups.length > 0)
  return {
    v: 1,
    made_at: madeAt,
    run: {
      run: run.id,
      sync: run.sync,
      kind: run.kind,
      mode: run.mode,
      purpose: run.purpose,
      limits: limitsOf(run),
      state: run.state,
      reason: run.reason,
      message: run.message,
      opened_at: run.openedAt,
      closed_at: run.closedAt,
      seconds: secondsBetween(run.openedAt, ended),
    },
    verdict: reportVerdict(run, found, hint),
    figures: figuresOf(run, books, streams, comparison),
    ...found,
    work: await collectWork(ledger, run, streams, limitPerMinute),
    errors,
    left: left && { rows: left.rows, of: left.of, by_run: left.byRun },
    retry_of: run.of,
    retries: (await ledger.retries(run.id)).map((retry) => ({
      run: retry.id,
      of: retry.of,
      state: retry.state,
      opened_at: retry.openedAt,
      rows: retry.rowsRead,
      mended: retry.counts && countBroughtIn(retry.counts),
    })),
    provenance: await provenanceOf(ledger, run, ui),
    commands: { rejects: hint(`rejects ${run.id}`), audit: hint('audit') },
  }
}

const rowsIn = (books: Books, states: readonly ItemState[]): number =>
  states.reduce((sum, state) => sum + books.states[state], 0)

function booksOf(run: Run, books: Books): BooksData {
  return {
    read: books.read,
    sum: sumOfStates(books.states),
    balanced: isBalanced(books) && run.closedAt !== null,
    read_to_end: books.readToEnd !== false || run.closedAt === null,
    states: ITEM_STATES.filter((state) => books.states[state] > 0).map((state) => ({
      state,
      rows: books.states[state],
      meaning: meaningOf(state, run.purpose),
    })),
    replayed: books.replayed,
    in_doubt: books.inDoubt,
    read_back: readBackCounts(books),
  }
}

const streamOf = (stream: StreamBooks): StreamData => ({
  stream: stream.stream,
  table: stream.table,
  state: stream.state,
  mode: stream.mode,
  read: stream.read,
  inserted: stream.inserted,
  changed: stream.changed,
  deleted: stream.deleted,
  requests: stream.requests,
  misfits: stream.misfits,
  service_count: stream.serviceCount,
  ...(stream.reverted !== undefined && { reverted: stream.reverted }),
  ...(stream.differs !== undefined && { differs: stream.differs }),
  table_count: stream.tableCount,
  message: stream.message,
})

/** What a run was limited to. */
function limitsOf(run: Run): string | null {
  const job = jobOf(run)
  switch (job.purpose) {
    case 'sync':
      return null
    case 'backfill':
      return backfillText(job.backfill)
    case 'retry':
      return retryText(job.retry)
    case 'reconcile':
      return reconcileText(job.reconcile) || null
  }
}

function retryText({ of, choice }: RetryTask): string {
  const { codes, reasons, rows, correction } = choice
  const ranges = (rows ?? [])
    .slice(0, RANGES_SHOWN_MAX)
    .map(([first, last]) => (first === last ? first : `${first}–${last}`))
  const more = rows && rows.length > RANGES_SHOWN_MAX ? ' and more' : ''
  const parts = [
    ...(codes ? [`code ${codes.join(' or ')}`] : []),
    ...(reasons ? [`reason ${reasons.join(' or ')}`] : []),
    ...(rows ? [`rows ${ranges.join(', ')}${more}`] : []),
    ...(correction === undefined ? [] : ['as a person corrected them']),
  ]
  return `rows left over by run ${of}${parts.length > 0 ? `: ${parts.join('; ')}` : ''}`
}

function figuresOf(
  run: Run,
  books: Books | null,
  streams: readonly StreamBooks[] | null,
  comparison: ReportComparison | null,
): ReportFigure[] {
  if (comparison) {
    const found = sumOfDifferences(comparison.found)
    return [
      ...(comparison.compared === null
        ? []
        : [
            { name: 'compared', value: comparison.compared },
            { name: 'equal', value: comparison.equal! },
          ]),
      { name: 'differ', value: found },
      ...(comparison.repair
        ? [{ name: 'mended', value: found - sumOfDifferences(comparison.left) }]
        : []),
    ]
  }
  if (books)
    return [
      { name: run.purpose === 'retry' ? 'rows taken again' : 'rows read', value: books.read },
      { name: 'created', value: books.states.created },
      { name: 'updated', value: books.states.updated },
      ...(books.states.unchanged > 0 ? [{ name: 'unchanged', value: books.states.unchanged }] : []),
      { name: 'not accepted', value: rowsIn(books, REJECT_STATES) },
    ]
  const sum = (of: (stream: StreamBooks) => number) =>
    (streams ?? []).reduce((total, stream) => total + of(stream), 0)
  return [
    { name: 'records read', value: sum(({ read }) => read) },
    { name: 'inserted', value: sum(({ inserted }) => inserted) },
    { name: 'changed', value: sum(({ changed }) => changed) },
    { name: 'deleted', value: sum(({ deleted }) => deleted) },
  ]
}

async function errorsOf(ledger: RunReports, run: Run, books: Books | null): Promise<ErrorsData> {
  if (books === null) return { rows: 0, groups: [], omitted: 0 }
  const { sync, reconcile } = jobOf(run, 'import')
  const mapped = sync.import.properties
  const all = await ledger.rejectGroups(run.id)
  // What a reconciliation compared and left unchanged differs, and is not an error.
  const isLookedAt = ({ state, reason }: (typeof all)[number]): boolean =>
    reconcile?.repair === false && state === 'unsent' && reason === null
  const groups = all.filter((group) => !isLookedAt(group))
  const lookedAt = all.filter(isLookedAt).reduce((sum, { items }) => sum + items, 0)
  return {
    rows: rowsIn(books, REJECT_STATES) + countReadBackDifferent(books) - lookedAt,
    groups: groups.slice(0, GROUPS_MAX).map((group) => ({
      rows: group.items,
      state: group.state,
      // The page may be passed on, and a word that the service made up could contain a value.
      ...publicError(group, (name) => Object.hasOwn(mapped, name)),
      column: group.column,
      example_row: group.example,
    })),
    omitted: Math.max(0, groups.length - GROUPS_MAX),
  }
}

async function provenanceOf(
  ledger: Archive,
  run: Run,
  ui: UiLocation | null,
): Promise<ProvenanceData> {
  const [manifest] = await ledger.manifests(run.sync, { after: run.id - 1, limit: 1 })
  const sealed = manifest?.run === run.id ? manifest : null
  const body = sealed && (JSON.parse(sealed.body) as Json)
  const previous = isJsonObject(body) ? body['previous'] : null
  return {
    ...endsOf(run),
    source_digest: run.sourceDigest,
    key_fingerprint: run.keyFingerprint,
    warnings: run.warnings,
    workflow_id: run.workflowId,
    workflow_run_id: run.workflowRunId,
    workflow_url: ui && runLink(ui, run.workflowId, run.workflowRunId),
    manifest: sealed && {
      digest: sealed.digest,
      signed: sealed.signature !== null,
      previous: typeof previous === 'string' ? previous : null,
    },
  }
}

/** Where the rows come from and go to. The text of a query, or of a filter, may contain values. */
function endsOf(run: Run): { from: string; to: string } {
  const { sync } = jobOf(run)
  if (sync.kind === 'mirror') {
    const { from, to, schema } = sync.mirror
    return { from: `connection ${from}`, to: `warehouse ${to}, schema ${schema}` }
  }
  const { from, to, object_type: type, matching_property: key } = sync.import
  return { from: sourceText(from), to: `${type} of connection ${to}, by ${key}` }
}

function sourceText(from: ImportConfig['from']): string {
  if ('csv' in from) return `file ${from.csv.split(/[/\\]/).at(-1)}`
  if ('query' in from) return `a query of warehouse ${from.warehouse}`
  return `${from.records.object_type} of connection ${from.records.connection}`
}
