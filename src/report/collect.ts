// Collects what the ledger knows of one run into a report. Promise kept here: it never contains values of rows, keys or record
// ids. It asks for groups and counts, so the report of a run of any size is small.

import { sumOfDifferences } from '../core/domain/differences.ts'
import { isJsonObject, type Json } from '../core/json.ts'
import { runLink, type UiLocation } from '../core/temporal/temporal-ui.ts'
import { publicError } from '../contract/index.ts'
import type { Archive, Leftovers, RejectGroup, Run } from '../ledger/ledger.ts'
import { jobOf, type RunJob } from '../runs/job.ts'
import { sourceOf } from '../sources/index.ts'
import {
  countRunAccount,
  readBackDifferent,
  rejectedRows,
  streamTotals,
  type AccountLedger,
  type RunAccount,
  rowCounts,
} from './account.ts'
import { collectWork } from './collect-work.ts'
import { comparisonOf } from './comparison.ts'
import { secondsBetween } from './format.ts'
import { readRejectGroups } from './reject-groups.ts'
import { countBroughtIn, readLeftovers } from './leftovers.ts'
import { readUndos, verdictWithLaterRuns } from './later-runs.ts'
import type {
  ErrorsReport,
  ProvenanceReport,
  ReportComparison,
  ReportFigure,
  RunReport,
} from './run-report.ts'
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

/**
 * The report of a run from the ledger's present state; the run may be live.
 * @param groups its rejects, if the caller has them
 */
export async function collectReport(
  ledger: AccountLedger & Archive & Leftovers,
  run: Run,
  context: ReportContext,
  groups?: readonly RejectGroup[],
): Promise<RunReport> {
  const { madeAt, hint, ui, limitPerMinute } = context
  const account = await countRunAccount(ledger, run)
  const comparison = comparisonOf(run, account)
  const found = { ...account, comparison }
  const rejects = groups ?? (await readRejectGroups(ledger, run))
  const errors = errorsOf(run, account, rejects)
  const left = comparison ? null : await readLeftovers(ledger, run, errors.groups.length > 0)
  const undos = await readUndos(ledger, run.id)
  return {
    v: 1,
    made_at: madeAt,
    ...found,
    run: { ...account.run, seconds: secondsBetween(run.openedAt, run.closedAt ?? madeAt) },
    verdict: verdictWithLaterRuns(reportVerdict(run, found, hint), {
      isNothingLeft: left !== null && left.of > 0 && left.rows === 0,
      undos,
    }),
    figures: figuresOf(account, comparison),
    work: await collectWork(ledger, run, account.streams, limitPerMinute),
    errors,
    left,
    retry_of: account.run.retry_of,
    retries: (await ledger.laterRuns(run.id, 'retry')).map((retry) => ({
      run: retry.id,
      of: retry.of,
      state: retry.state,
      counts: retry.counts && rowCounts(retry.counts),
      opened_at: retry.openedAt,
      rows: retry.rowsRead,
      mended: retry.counts && countBroughtIn(retry.counts),
    })),
    undos: undos.map(({ id, state, openedAt, takenBackBy }) => ({
      run: id,
      state,
      opened_at: openedAt,
      taken_back_by: takenBackBy,
    })),
    provenance: await readProvenance(ledger, run, ui),
    commands: { rejects: hint(`rejects ${run.id}`), audit: hint('audit') },
  }
}

function figuresOf(
  { run, books, streams }: RunAccount,
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
  if (books) {
    const { created, updated, unchanged } = run.rows!
    return [
      { name: run.purpose === 'retry' ? 'rows taken again' : 'rows read', value: books.rows.read },
      { name: 'created', value: created },
      { name: 'updated', value: updated },
      ...(unchanged > 0 ? [{ name: 'unchanged', value: unchanged }] : []),
      { name: 'rejected', value: rejectedRows(books) },
    ]
  }
  const { read, inserted, changed, deleted } = streamTotals(streams ?? [])
  return [
    { name: 'records read', value: read },
    { name: 'inserted', value: inserted },
    { name: 'changed', value: changed },
    { name: 'deleted', value: deleted },
  ]
}

function errorsOf(run: Run, { books }: RunAccount, all: readonly RejectGroup[]): ErrorsReport {
  if (books === null) return { rows: 0, groups: [], omitted: 0 }
  const { sync, reconcile } = jobOf(run, 'import')
  // Rows that differ, and that a reconciliation without repair left as they are, are no errors.
  const isError = ({ state, reason }: RejectGroup): boolean =>
    reconcile?.repair !== false || state !== 'not_sent' || reason !== null
  const groups = all.filter(isError)
  const compared = all.filter((group) => !isError(group)).reduce((sum, { items }) => sum + items, 0)
  const different = readBackDifferent(books).reduce((sum, { rows }) => sum + rows, 0)
  return {
    rows: rejectedRows(books) + different - compared,
    groups: groups.slice(0, GROUPS_MAX).map((group) => ({
      rows: group.items,
      state: group.state,
      // The page may be passed on, and a word that the service made up could contain a value.
      ...publicError(group, (name) => Object.hasOwn(sync.import.properties, name)),
      column: group.column,
      example_row: group.example,
    })),
    omitted: Math.max(0, groups.length - GROUPS_MAX),
  }
}

/** Where the data of a run came from, and what proves it. */
export async function readProvenance(
  ledger: Archive,
  run: Run,
  ui: UiLocation | null,
): Promise<ProvenanceReport> {
  const [manifest] = await ledger.manifests(run.sync, { after: run.id - 1, limit: 1 })
  const sealed = manifest?.run === run.id ? manifest : null
  const body = sealed && (JSON.parse(sealed.body) as Json)
  const previous = isJsonObject(body) ? body['previous'] : null
  return {
    ...endsOf(jobOf(run).sync),
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
export function endsOf(sync: RunJob['sync']): { from: string; to: string } {
  if (sync.kind === 'mirror') {
    const { from, to, schema } = sync.mirror
    return { from: `connection ${from}`, to: `warehouse ${to}, schema ${schema}` }
  }
  const { from, to, object_type: type, matching_property: key } = sync.import
  return { from: sourceOf(from).describe(from), to: `${type} of connection ${to}, by ${key}` }
}
