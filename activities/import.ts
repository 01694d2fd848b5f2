// The activities of an import: thin, over the modules of src/import.

import type { Ledger } from '../src/ledger/ledger.ts'
import type { BackfillLimits } from '../src/core/backfill.ts'
import type { Priority } from '../src/core/ports.ts'
import { sumOfDifferences, type DifferenceCounts } from '../src/core/differences.ts'
import { SyncError } from '../src/core/errors.ts'
import { ITEM_ATTEMPTS_MAX } from '../src/core/limits.ts'
import { approvalText, type LimitExceeded } from '../src/core/limit-exceeded.ts'
import type { OrgRef } from '../src/core/org-ref.ts'
import { isWholeScope, type Task } from '../src/core/purpose.ts'
import { jobOf } from '../src/runs/job.ts'
import { LIVE_STATES, countReadBackDifferent } from '../src/core/states.ts'
import type { ImportSync } from '../config/index.ts'
import type { Window } from '../src/core/watermark.ts'
import { closeImport, type CloseResult, type ReconcileFindings } from '../src/import/close.ts'
import { deleteExtra, notDeletedTexts } from '../src/import/reconcile/delete-extra.ts'
import { openLeftoverRows } from '../src/import/stage/leftover-rows.ts'
import {
  DEFAULT_IMPORT_TUNING,
  type ImportClient,
  type ImportDeps,
  type ImportTuning,
} from '../src/import/ports.ts'
import { push, type PushResult } from '../src/import/push/push.ts'
import { compareRun } from '../src/import/reconcile/reconcile.ts'
import { hasLimits, readsAll, reviewLimits } from '../src/import/review.ts'
import { rowErrors, type RowError } from '../src/import/row-errors.ts'
import { checkDrained, checkSingleWritesDrained } from '../src/import/push/drain.ts'
import { resolveInDoubt } from '../src/import/push/resolve-in-doubt.ts'
import { stage, type StageResult } from '../src/import/stage/stage.ts'
import { resolveCollisions } from '../src/import/push/record-collisions.ts'
import { verify } from '../src/import/verify/verify.ts'
import { withHeartbeat } from '../src/runs/heartbeat.ts'
import type { RunOutcome } from '../src/runs/outcome.ts'
import type { Extent, Source } from '../src/sources/source.ts'
import { countHeldBack, heldBackText } from '../src/core/held-back.ts'
import type { RunCounters, Run } from '../src/ledger/ledger.ts'
import {
  createSharedActivities,
  withDefaults,
  type PartialTuning,
  type SharedDeps,
} from './shared.ts'

/** What an import needs besides. */
export interface ImportActivityDeps extends SharedDeps {
  /**
   * The client of a service's connection, and the fingerprint of the key in use. With a home it sends nothing to another org,
   * whatever becomes of the connection and its key.
   */
  connect(
    connection: string,
    home: OrgRef | null,
  ): Promise<{ client: ImportClient; keyFingerprint: string }>
  /** Ends with `signal`. */
  openSource(sync: ImportSync, signal: AbortSignal, extent: Extent): Promise<Source>
}

export interface SegmentRef {
  readonly first: number
  readonly last: number
}

type Step = {
  readonly run: number
  readonly tuning: PartialTuning<ImportTuning>
  /** Default `import`. */
  readonly priority?: Priority
}

export interface ImportActivities {
  openImport(input: {
    sync: string
    limits?: BackfillLimits | null
    task?: Task | null
    /** What the run was tuned to. */
    tuning?: object
  }): Promise<number>
  stageImport(input: Step & { window?: Window | null }): Promise<
    Pick<StageResult, 'rows' | 'planned' | 'invalid'> & {
      segments: readonly SegmentRef[]
      errors: readonly RowError[]
      /** Whether a review is due. */
      hasLimits: boolean
    }
  >
  /** Compares what a reconciliation has staged, for a while. `planned`: rows that differ so far. */
  compareImport(input: Step): Promise<{
    done: boolean
    planned: number
    found: DifferenceCounts
    /** Whether a review is due. */
    hasLimits: boolean
  }>
  /** What is above the limits of the sync; the run waits for a person then. */
  reviewImport(input: Step): Promise<{ excesses: readonly LimitExceeded[] }>
  /** A person, or the time that ran out, has decided about a run that waited. */
  noteImportVerdict(input: { run: number; approved: boolean }): Promise<void>
  pushSegment(input: Step & { segment: SegmentRef }): Promise<
    PushResult & {
      progress: RunCounters
      errors: readonly RowError[]
      /** Where the next slice of the segment begins; null where nothing is left, or in results of older releases. */
      next?: number | null
    }
  >
  closeImport(input: Step & { ending: RunOutcome }): Promise<
    CloseResult &
      Partial<Pick<ReconcileFindings, 'found' | 'left'>> & {
        manifest: string | null
        /** Requests that wrote. Not in results of older releases. */
        requests?: number
        /** Of a reconciliation: extra records that are gone now. */
        deleted?: number
      }
  >
  /** A run of any kind was stopped by a person, or goes on. Gives an import's counts. */
  noteParked(input: {
    run: number
    isParked: boolean
    reason: string | null
  }): Promise<RunCounters | null>
}

export function importActivities(deps: ImportActivityDeps): ImportActivities {
  const { ledger, logger, clock } = deps
  const { activity, runOf, liveRun, openRun, setState, tell, park, manifestOf } =
    createSharedActivities(deps)

  const step = <Result>(
    {
      run,
      tuning: given,
      priority = 'import',
    }: Omit<Step, 'run'> & { readonly run: number | null },
    body: (env: Omit<ImportDeps<Ledger>, 'client'>) => Promise<Result>,
  ): Promise<Result> => {
    const tuning = withDefaults(DEFAULT_IMPORT_TUNING, given)
    return activity(run, tuning, async ({ signal, beat: heartbeat }) => {
      let rows = 0
      // What people see beside the activity: rows that were read, or sent.
      const beat = (more = 0) => {
        rows += more
        heartbeat({ rows })
      }
      return await body({ ledger, clock, logger, tuning, priority, signal, beat })
    })
  }

  /** Where a run writes to; before it is staged, that of the run whose rows it takes. */
  const homeOf = async (run: Run): Promise<OrgRef | null> => {
    const { retry } = jobOf(run)
    const home = await ledger.destinationOf(run.id)
    return home ?? (retry ? await ledger.destinationOf(retry.of) : null)
  }

  /** The client of a run, for its org alone; a run that was blocked asks `/self/` before it goes on. */
  const clientOf = async (id: number, env: Omit<ImportDeps<Ledger>, 'client'>) => {
    const run = await liveRun(id)
    const job = jobOf(run, 'import')
    const { sync } = job
    const { client, keyFingerprint } = await deps.connect(sync.import.to, await homeOf(run))
    if (run.state === 'blocked') {
      await withHeartbeat(env, client.readSelf({ signal: env.signal, priority: 'interactive' }))
      await setState(id, 'running')
    }
    return { row: run, job, sync, keyFingerprint, importDeps: { ...env, client } }
  }

  /** What comes before the books of a run are closed that came to its end. Gives what a reconciliation found. */
  const finish = async (
    row: Run,
    env: Omit<ImportDeps<Ledger>, 'client'>,
  ): Promise<ReconcileFindings | null> => {
    const run = row.id
    const { job, sync, importDeps } = await clientOf(run, env)
    const scope = job.reconcile
    const isRepair = scope?.repair === true
    const keyless = isRepair && scope.deleteExtra ? (await ledger.keyCounts(run)).keyless : 0
    if (keyless > 0) {
      const rows = `${keyless} ${keyless === 1 ? 'row has' : 'rows have'}`
      await ledger.addWarnings(run, [
        `nothing was deleted: ${rows} no key that can be read, so a record that seems extra may be theirs`,
      ])
      logger.warn({ run, keyless }, 'deletions_left')
    } else if (isRepair && scope.deleteExtra) {
      const { import: config } = sync
      const result = await deleteExtra(importDeps, {
        run,
        config,
        schema: row.schema,
      })
      const { refused, remaining } = result
      if (refused > 0) logger.warn({ run, refused }, 'deletions_refused')
      if (remaining > 0) logger.warn({ run, remaining }, 'deletions_not_carried_out')
      await ledger.addWarnings(run, notDeletedTexts(result))
    }
    const progress = await ledger.progress(run)
    await resolveCollisions(importDeps, { run, config: sync.import, schema: row.schema })
    const config = isRepair ? ({ ...sync.import, verify: 'all' } as const) : sync.import
    const written = progress.created + progress.updated
    const verified = await verify(importDeps, { run, config, schema: row.schema, written })
    if (verified.read > 0) logger.info({ run, ...verified }, 'run_verified')
    if (scope === undefined) return null
    await ledger.settleDifferences(run)
    const counts = await ledger.differenceCounts(run)
    return { ...counts, isLook: !isRepair, wholeSince: isWholeScope(scope) ? row.openedAt : null }
  }

  /** A run that ends before its time asks for what is in flight; one that never knew its destination has nothing there. */
  const settleInFlight = async (
    run: Run,
    env: Omit<ImportDeps<Ledger>, 'client'>,
  ): Promise<void> => {
    if (run.kind === 'mirror' || run.destination === null) return
    await checkDrained({ ledger, clock }, run)
    const { to } = jobOf(run, 'import').sync.import
    const connected = await deps.connect(to, await homeOf(run)).catch(() => null)
    if (connected !== null) await resolveInDoubt({ ...env, client: connected.client }, run)
  }

  return {
    openImport: ({ sync, limits, task, tuning }) =>
      step({ run: null, tuning: {} }, async (env) => {
        const run = await openRun(sync, 'import', {
          limits,
          task,
          tuning,
          abandoning: (gone) => settleInFlight(gone, env),
        })
        await checkSingleWritesDrained({ ledger, clock }, sync, run)
        return run
      }),

    stageImport: (input) =>
      step(input, async (env) => {
        const { run } = input
        const { job, sync, keyFingerprint, importDeps } = await clientOf(run, env)
        const { window = null } = input
        const { retry, reconcile = null } = job
        const old = retry && (await runOf(retry.of))
        const staged = {
          run,
          sync,
          keyFingerprint,
          window,
          reconcile,
          isRetry: retry !== undefined,
        }
        const result = await stage(importDeps, staged, async (extent) =>
          retry && old
            ? openLeftoverRows(ledger, retry, old)
            : await deps.openSource(sync, env.signal, extent),
        )
        const held = retry ? await countHeldBack(ledger, retry.of) : 0
        if (held > 0) await ledger.addWarnings(run, [heldBackText(held, retry!.of)])
        for (const warning of result.warnings) logger.info({ run, warning }, 'mapping_warning')
        logger.info({ run, rows: result.rows, planned: result.planned }, 'run_staged')
        return {
          rows: result.rows,
          planned: result.planned,
          invalid: result.invalid,
          segments: await ledger.openSegments(run),
          errors:
            result.invalid === 0
              ? []
              : await rowErrors(ledger, {
                  run,
                  config: sync.import,
                  states: ['invalid'],
                  after: 0,
                }),
          hasLimits: hasLimits(sync.import),
        }
      }),

    compareImport: (input) =>
      step(input, async (env) => {
        const { run } = input
        const { row, job, sync, importDeps } = await clientOf(run, env)
        const scope = job.reconcile
        if (scope === undefined || row.schema === null)
          throw new SyncError('not_a_reconcile', `Run ${run} is no reconciliation, or not staged`)
        const compared = { run, config: sync.import, schema: row.schema, scope }
        const done = await compareRun(importDeps, compared)
        const { found } = await ledger.differenceCounts(run)
        const { planned } = await ledger.progress(run)
        logger.info({ run, done, ...found }, 'run_compared')
        const isReviewed = hasLimits(sync.import) || scope.deleteExtra
        return { done, planned, found, hasLimits: scope.repair && isReviewed }
      }),

    reviewImport: (input) =>
      step(input, async (env) => {
        const { run } = input
        const { row, job, sync, importDeps } = await clientOf(run, env)
        const { planned } = await ledger.progress(run)
        // Where a key is not known nothing is deleted, so nobody is asked.
        const deletes =
          job.reconcile?.deleteExtra === true && (await ledger.keyCounts(run)).keyless === 0
        const excesses = await reviewLimits(importDeps, {
          run,
          config: sync.import,
          schema: row.schema,
          planned,
          deletes,
          isRegular: readsAll(row),
        })
        if (excesses.length > 0) {
          await setState(run, 'blocked', 'approval', approvalText(planned, excesses))
          logger.warn({ run, excesses }, 'run_waits_for_approval')
        }
        return { excesses }
      }),

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

    pushSegment: (input) =>
      step(input, async (env) => {
        const { run, segment } = input
        const { row, sync, importDeps } = await clientOf(run, env)
        const job = { run, config: sync.import, schema: row.schema, segment }
        const pushed = await push(importDeps, job)
        const progress = await ledger.progress(run)
        const hasErrors = progress.rejected + progress.failed > 0
        const [left] = pushed.done
          ? []
          : await ledger.nextPlanned(run, segment, {
              after: segment.first - 1,
              attemptsBelow: ITEM_ATTEMPTS_MAX,
              limit: 1,
            })
        return {
          ...pushed,
          next: left?.ordinal ?? null,
          progress,
          errors: hasErrors
            ? await rowErrors(ledger, {
                run,
                config: sync.import,
                states: ['rejected', 'failed'],
                after: segment.first - 1,
              })
            : [],
        }
      }),

    closeImport: (input) =>
      step(input, async (env) => {
        const { run, ending } = input
        const row = await runOf(run)
        // A retry of a close that was already written down.
        if (!LIVE_STATES.includes(row.state) && row.counts)
          return {
            state: row.state,
            books: row.counts,
            message: row.message,
            manifest: await manifestOf(row),
          }
        const isFinished = ending.kind === 'finished'
        const findings = isFinished ? await finish(row, env) : null
        if (!isFinished) await settleInFlight(row, env)
        const closed = await closeImport(ledger, run, ending, findings)
        const differences = findings
          ? sumOfDifferences(findings.left)
          : countReadBackDifferent(closed.books) || null
        await tell(row, { ...closed, differences })
        const manifest = await manifestOf(row)
        logger.info({ run, state: closed.state, ...closed.books.states, manifest }, 'run_closed')
        const found = findings && {
          found: findings.found,
          left: findings.left,
          deleted: findings.found.extra - findings.left.extra,
        }
        const { requests } = await ledger.progress(run)
        return { ...closed, ...found, requests, manifest }
      }),
  }
}
