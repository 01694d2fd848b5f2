// The activities of an import: thin, over the modules of src/import.

import { countOf } from '../src/core/domain/outcome-counts.ts'
import { Context } from '@temporalio/activity'
import { sumOfDifferences, type DifferenceCounts } from '../src/core/domain/differences.ts'
import { countHeldBack, heldBackText } from '../src/core/domain/held-back.ts'
import type { RowVerdict } from '../src/core/domain/row-changes.ts'
import type { LimitExceeded, PlanToApprove } from '../src/core/domain/limit-exceeded.ts'
import { LIVE_STATES, countKnownDifferent } from '../src/core/domain/books.ts'
import { NotYet } from '../src/core/errors.ts'
import type { Window } from '../src/core/domain/watermark.ts'
import {
  appliedPlan,
  checkDrained,
  checkPlan,
  checkSingleWritesDrained,
  checkStaged,
  closeImport,
  DEFAULT_IMPORT_TUNING,
  finishImport,
  firstPlanned,
  hasLimits,
  linkRows,
  makesPlan,
  noteOtherKey,
  openLeftoverRows,
  openNoRows,
  push,
  removeMissing,
  rowErrors,
  settleInFlight,
  stage,
  stageUndo,
  syncsToLink,
  type CloseResult,
  type PushResult,
  type ReconcileFindings,
  type RowError,
  type StageResult,
} from '../src/import/index.ts'
import type { LinkCounters, Run, RunCounters, RunSegment } from '../src/ledger/ledger.ts'
import { withHeartbeat } from '../src/runs/heartbeat.ts'
import { jobOf } from '../src/runs/job.ts'
import type { RunOutcome } from '../src/runs/outcome.ts'
import { compareRows, planRows, reviewRows } from './import-review.ts'
import {
  ImportWork,
  type ImportActivityDeps,
  type ImportEnv,
  type ImportScope,
  type ImportStep,
} from './import-work.ts'
import { ownExecution, type OpenRunInput } from './open-run.ts'

export type SegmentRef = RunSegment

export interface ImportActivities {
  openImport(input: OpenRunInput): Promise<number>
  stageImport(input: ImportStep & { window?: Window | null }): Promise<
    Pick<StageResult, 'rows' | 'planned' | 'invalid'> & {
      segments: readonly SegmentRef[]
      /** So many of the segments, the first ones, have rows of earlier runs. Left out if none has. */
      older?: number
      errors: readonly RowError[]
      /** Whether a review is due. */
      hasLimits: boolean
      /** Whether all rows are looked up before the review. Left out if they are not. */
      makesPlan?: true
      /** Whether its rows have links. Left out if they have none. */
      hasLinks?: true
      /** Records to be removed, because their rows are gone or ask for it. */
      removals: number
    }
  >
  /** Compares what a reconciliation has staged, for a while. `planned`: rows that differ so far. */
  compareImport(input: ImportStep): Promise<{
    done: boolean
    planned: number
    found: DifferenceCounts
    /** Whether a review is due. */
    hasLimits: boolean
  }>
  /** Looks up what the staged rows change, for a while. `verdicts`: of those that were looked up so far. */
  planImport(
    input: ImportStep,
  ): Promise<{ done: boolean; verdicts: Readonly<Partial<Record<RowVerdict, number>>> }>
  /** What is above the limits of the sync; the run waits for a person then. `plan`: if its rows were looked up. */
  reviewImport(
    input: ImportStep,
  ): Promise<{ excesses: readonly LimitExceeded[]; plan?: PlanToApprove }>
  /** A person, or the time that ran out, has decided about a run that waited. */
  noteImportVerdict(input: { run: number; approved: boolean }): Promise<void>
  /** `refusedInRow`: as the slice before returned it. */
  pushSegment(input: ImportStep & { segment: SegmentRef; refusedInRow: number }): Promise<
    PushResult & {
      progress: RunCounters
      errors: readonly RowError[]
      /** Where the next slice of the segment begins; null if nothing is left. */
      next: number | null
    }
  >
  /** Sends the links of the run, for a while. */
  linkRows(input: ImportStep): Promise<{ done: boolean; requests: number; links: LinkCounters }>
  /** Removes what staging has planned to remove, for a while. `removed`: records that are gone, or changed, so far. */
  removeImport(input: ImportStep): Promise<{ done: boolean; removed: number; requests: number }>
  closeImport(input: ImportStep & { ending: RunOutcome }): Promise<
    CloseResult &
      Partial<Pick<ReconcileFindings, 'found' | 'left'>> & {
        manifest: string | null
        /** Requests that wrote. */
        requests: number
        /** Of a reconciliation: extra records that are gone now. */
        deleted?: number
        /** Other syncs with waiting links whose targets may exist now. Left out if there is none. */
        resolves?: readonly string[]
      }
  >
  /** A person has paused a run of any kind, or resumed it. Returns an import's counts. */
  noteParked(input: {
    run: number
    isParked: boolean
    reason: string | null
  }): Promise<RunCounters | null>
}

export type { ImportActivityDeps } from './import-work.ts'

/** Those of a run whose ledger counts none. */
const NO_LINKS: LinkCounters = {
  read: 0,
  planned: 0,
  unchanged: 0,
  linked: 0,
  target_missing: 0,
  not_wanted: 0,
  refused: 0,
  outcome_unknown: 0,
  not_sent: 0,
  requests: 0,
}

type Input<Name extends keyof ImportActivities> = Parameters<ImportActivities[Name]>[0]

export function importActivities(deps: ImportActivityDeps): ImportActivities {
  const { ledger, logger, clock } = deps
  const work = new ImportWork(deps)
  const { activity, runOf, liveRun, openRun, setState, park } = work.shared
  return {
    openImport: ({ sync, ...opening }) =>
      work.step({ run: null, tuning: {} }, async (env) => {
        if (opening.plan !== undefined)
          await checkPlan(ledger, opening.plan, {
            sync,
            now: clock.now(),
            own: ownExecution().workflowRunId,
          })
        const abandoning = (gone: Run) => settle(work, gone, env)
        const run = await openRun(sync, 'import', { ...opening, abandoning })
        await checkSingleWritesDrained({ ledger, clock, waits: work.waits }, sync, run)
        return run
      }),
    stageImport: work.connected((scope, input) => stageRun(work, scope, input)),
    compareImport: work.connected((scope, input) => compareRows(work, scope, input)),
    planImport: work.connected(planRows),
    reviewImport: work.connected((scope) => reviewRows(work, scope)),
    pushSegment: work.connected(pushRows),
    linkRows: work.connected(sendLinks),
    removeImport: work.connected(remove),
    closeImport: (input) => work.step(input, (env) => close(work, env, input)),

    noteImportVerdict: ({ run, approved }) =>
      activity(run, DEFAULT_IMPORT_TUNING, async () => {
        const { reason } = await liveRun(run)
        if (reason === 'approval') await setState(run, 'running')
        logger.info({ run, approved }, 'run_verdict')
      }),

    noteParked: ({ run, isParked, reason }) =>
      activity(run, DEFAULT_IMPORT_TUNING, async () => {
        await park(run, isParked, reason)
        return (await runOf(run)).kind === 'import' ? await ledger.progress(run) : null
      }),
  }
}

/**
 * A worker that stood still may begin an attempt long after the next one has staged the run. Asked after the run was read: what another
 * one stages from then on raises the run's fence.
 * @throws NotYet
 */
async function checkNewestAttempt({ isLive }: ImportActivityDeps): Promise<void> {
  const { activityId, attempt } = Context.current().info
  if (!(await isLive(ownExecution(), { activityId, attempt })))
    throw new NotYet('a newer attempt stages this run', NOT_NEWEST_MS)
}

/** When an attempt is tried again that the server does not know as the newest: it hardly ever is. */
const NOT_NEWEST_MS = 5_000

async function stageRun(
  { deps, shared }: ImportWork,
  { row, job, sync, keyFingerprint, importDeps }: ImportScope,
  { run, window = null }: Input<'stageImport'>,
) {
  const { ledger, logger } = deps
  const { stageFence } = row
  await withHeartbeat(importDeps, checkNewestAttempt(deps))
  const { retry, links, undo, reconcile = null } = job
  if (undo !== undefined)
    return await stageUndone(
      deps,
      { run, sync, keyFingerprint, stageFence, task: undo },
      importDeps,
    )
  const old = retry && (await shared.runOf(retry.of))
  const kind = { isRetry: retry !== undefined, isOfLinks: links !== undefined }
  const overwritesNewer = await overwrites(shared.runOf, row)
  const more = { window, reconcile, overwritesNewer }
  const staging = { run, sync, keyFingerprint, stageFence, ...more, ...kind }
  const { fence, rows, carried, planned, invalid, warnings, removals } = await stage(
    importDeps,
    staging,
    async (extent) =>
      links
        ? openNoRows(sync.import)
        : retry && old
          ? openLeftoverRows(ledger, retry, old)
          : await deps.openSource(sync, importDeps.signal, extent),
  )
  if (job.plan !== undefined)
    await checkStaged(importDeps, { run, sync: sync.name, plan: job.plan })
  const held = retry ? await countHeldBack(ledger, retry.of) : 0
  if (held > 0) await ledger.addWarnings(run, [heldBackText(held, retry!.of)])
  for (const warning of warnings) logger.info({ run, warning }, 'mapping_warning')
  const toRemove = removals.pending ?? 0
  logger.info({ run, rows, planned, ...(toRemove > 0 && { removals: toRemove }) }, 'run_staged')
  const choice = { run, config: sync.import, states: ['invalid'], after: 0 } as const
  const segments = await ledger.openSegments(run, fence)
  const older = segments.filter(({ first }) => first > rows - carried)
  return {
    rows,
    planned,
    invalid,
    segments: [...older, ...segments.filter(({ first }) => first <= rows - carried)],
    ...(older.length > 0 && { older: older.length }),
    errors: invalid === 0 ? [] : await rowErrors(ledger, choice),
    // Who applies a plan has seen what it does.
    ...(makesPlan(sync.import, job) && { makesPlan: true as const }),
    hasLimits: job.plan === undefined && (hasLimits(sync.import) || toRemove > 0),
    ...(sync.import.links && { hasLinks: true as const }),
    removals: toRemove,
  }
}

/** Whether a backfill was asked to write over newer rows; a retry of its rows does so too. */
async function overwrites(runOf: (run: number) => Promise<Run>, row: Run): Promise<boolean> {
  // Bounded: what a run is a retry of has a smaller number.
  for (let run = row; ; run = await runOf(run.of)) {
    const { backfill, retry } = jobOf(run, 'import')
    if (retry === undefined || run.of === null) return backfill?.overwriteNewer === true
  }
}

/** Of an undo: its rows are those of the run that it undoes. */
async function stageUndone(
  { ledger, logger }: ImportActivityDeps,
  undoing: Parameters<typeof stageUndo>[1],
  importDeps: ImportScope['importDeps'],
) {
  const { run, sync } = undoing
  const { fence, rows, planned, invalid, findings, removals } = await stageUndo(importDeps, undoing)
  logger.info({ run, rows, planned, ...findings }, 'run_staged')
  const toRemove = removals.pending ?? 0
  return {
    rows,
    planned,
    invalid,
    segments: await ledger.openSegments(run, fence),
    errors: [],
    hasLimits: hasLimits(sync.import) || toRemove > 0,
    removals: toRemove,
  }
}

async function pushRows(
  { row, job, sync, keyFingerprint, importDeps }: ImportScope,
  { run, segment, refusedInRow }: Input<'pushSegment'>,
) {
  const { ledger } = importDeps
  await noteOtherKey(ledger, row, keyFingerprint)
  const config = sync.import
  const { schema } = row
  const plan = await appliedPlan(ledger, row)
  const undoes = job.undo?.of
  const sent = { run, config, schema, segment, refusedInRow, plan, undoes }
  const pushed = await push(importDeps, sent)
  const progress = await ledger.progress(run)
  const next = pushed.done ? null : await firstPlanned(ledger, { run, segment })
  const hasErrors = progress.rejected > 0
  const states = ['refused', 'conflict', 'outcome_unknown'] as const
  const choice = { run, config, states, after: segment.first - 1 }
  const errors = hasErrors ? await rowErrors(ledger, choice) : []
  return { ...pushed, next: next?.ordinal ?? null, progress, errors }
}

async function sendLinks(
  { row, keyFingerprint, importDeps }: ImportScope,
  { run }: Input<'linkRows'>,
) {
  const { ledger, logger } = importDeps
  await noteOtherKey(ledger, row, keyFingerprint)
  const done = await linkRows(importDeps, row)
  const { requests, links = NO_LINKS } = await ledger.progress(run)
  logger.info({ run, done, ...links }, 'run_linked')
  return { done, requests, links }
}

async function remove(
  { row, job, sync, keyFingerprint, importDeps }: ImportScope,
  { run }: ImportStep,
) {
  const { ledger, logger } = importDeps
  await noteOtherKey(ledger, row, keyFingerprint)
  const { schema } = row
  const undoes = job.undo?.of
  const done = await removeMissing(importDeps, { run, config: sync.import, schema, undoes })
  const counts = await ledger.removalCounts(run)
  const { requests } = await ledger.progress(run)
  logger.info({ run, done, ...counts }, 'run_removed')
  return { done, removed: countOf(counts, 'deleted'), requests }
}

/** A run that ends before its time asks for what is in flight. */
const settle = ({ deps, waits }: ImportWork, run: Run, env: ImportEnv): Promise<void> =>
  settleInFlight(
    env,
    run,
    (row) => checkDrained({ ...deps, waits }, row),
    (connection, home) => deps.connect(connection, home),
  )

async function close(work: ImportWork, env: ImportEnv, { run, ending }: Input<'closeImport'>) {
  const { ledger, logger } = work.deps
  const { runOf, report, manifestOf, noteAnnounced } = work.shared
  const row = await runOf(run)
  // A retry of a close that was already recorded.
  if (!LIVE_STATES.includes(row.state) && row.counts) {
    const { state, counts: books, message } = row
    const closed = { state, books, message, requests: (await ledger.progress(run)).requests }
    return { ...closed, manifest: await manifestOf(row), ...(await resolved(work, row, closed)) }
  }
  const isFinished = ending.kind === 'finished'
  const findings = isFinished
    ? await finishImport((await work.scopeOf(run, env)).importDeps, row)
    : await settle(work, row, env).then(() => null)
  const announced = await noteAnnounced(row)
  // Minutes for millions of rows.
  const { mode } = jobOf(row, 'import').sync.import
  const closed = await withHeartbeat(env, closeImport(ledger, run, ending, findings, { mode }))
  const differences = findings
    ? sumOfDifferences(findings.left)
    : countKnownDifferent(closed.books) || null
  const { state: to, books, message } = closed
  await report(row, { to, books, message, differences, announced })
  const manifest = await manifestOf(row)
  logger.info({ run, state: closed.state, ...closed.books.states, manifest }, 'run_closed')
  const found = findings && {
    found: findings.found,
    left: findings.left,
    deleted: findings.found.extra - findings.left.extra,
  }
  const { requests } = await ledger.progress(run)
  return { ...closed, ...found, requests, manifest, ...(await resolved(work, row, closed)) }
}

/** What other syncs may link now. The run is closed: nothing of it fails for their sake. */
async function resolved(
  { deps }: ImportWork,
  row: Run,
  closed: CloseResult,
): Promise<{ readonly resolves?: readonly string[] }> {
  try {
    const syncs = (await deps.loadSyncs?.()) ?? []
    const resolves = await syncsToLink(deps.ledger, { row, ...closed }, syncs)
    return resolves.length > 0 ? { resolves } : {}
  } catch (error) {
    const name = error instanceof Error ? error.name : typeof error
    deps.logger.warn({ run: row.id, error: name }, 'links_not_tried')
    return {}
  }
}
