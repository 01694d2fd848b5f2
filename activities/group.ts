// What a run of several syncs asks and writes down: their order, how a run ended that was at work before, and that a sync was left
// out. Only names, ids and counts.

import { Context } from '@temporalio/activity'
import type { GroupConfig, SyncConfig } from '../config/index.ts'
import { LIVE_STATES, type RunState } from '../src/core/domain/books.ts'
import type { GroupChoice } from '../src/core/domain/sync-order.ts'
import { AlreadyRunning, ConfigError, NotYet } from '../src/core/errors.ts'
import { DEFAULT_IMPORT_TUNING } from '../src/import/index.ts'
import { groupPlanOf, type GroupPlan } from '../src/runs/group-plan.ts'
import { NO_CHANGE } from '../src/runs/observers.ts'
import type { SharedDeps } from './deps.ts'
import { createSharedActivities } from './shared.ts'

export interface GroupActivityDeps extends SharedDeps {
  /** The syncs and groups of the configuration, as the file has them now. */
  loadGroups(): Promise<{
    readonly syncs: Readonly<Record<string, SyncConfig>>
    readonly groups: Readonly<Record<string, GroupConfig>>
  }>
}

/** What runs, and in which project: the ids of the runs have it. */
export type PlannedGroup = GroupPlan & { readonly project: string }

/** How a run ended. */
export interface EndedRun {
  readonly state: RunState
  readonly message: string | null
  /** Whether it did what a run of the group would have done. */
  readonly isRegular: boolean
}

export interface GroupActivities {
  /** Which syncs run, in their order; `problem`: why they cannot, in one sentence. */
  planGroup(input: {
    choice: GroupChoice
    label: string
  }): Promise<PlannedGroup | { readonly problem: string }>
  /** Waits for the end of a run that another workflow has begun. `of`: its number. */
  awaitRun(input: { sync: string; of: number }): Promise<EndedRun>
  /**
   * Writes down that a sync did not begin, as a run that is `skipped`.
   * @returns its number; null if the sync is at work all the same
   */
  noteSkipped(input: {
    sync: string
    kind: SyncConfig['kind']
    message: string
  }): Promise<{ skipped: number | null }>
}

/** Between two looks at a run of another workflow. */
const LOOK_EVERY_MS = 5_000
const MESSAGE_CHARS_MAX = 500

export function groupActivities(deps: GroupActivityDeps): GroupActivities {
  const { ledger, logger, watch } = deps
  const { activity, openRun, runOf, report } = createSharedActivities(deps)

  /** The run that this workflow has written down as skipped before, in an attempt that was not answered. */
  const skippedBefore = async (sync: string): Promise<number | null> => {
    const [last] = await ledger.runs({ sync, limit: 1 })
    const holder = Context.current().info.workflowExecution
    const isOurs = last?.workflowRunId === holder?.runId && last?.state === 'skipped'
    return isOurs ? last!.id : null
  }

  return {
    planGroup: ({ choice, label }) =>
      activity(null, DEFAULT_IMPORT_TUNING, async () => {
        try {
          const plan = groupPlanOf(await deps.loadGroups(), choice)
          return 'problem' in plan ? plan : { ...plan, project: await ledger.project() }
        } catch (error) {
          // None of its syncs begins, and none of them reports it.
          if (error instanceof ConfigError)
            await watch.changed({
              ...NO_CHANGE,
              run: null,
              sync: label,
              kind: 'group',
              purpose: 'sync',
              from: null,
              to: 'failed',
              message: error.message,
              workflowId: Context.current().info.workflowExecution?.workflowId ?? '',
            })
          throw error
        }
      }),

    awaitRun: ({ sync, of }) =>
      activity(null, DEFAULT_IMPORT_TUNING, async () => {
        const { state, message, purpose } = await runOf(of)
        if (LIVE_STATES.includes(state))
          throw new NotYet(`run ${of} of ${sync} is ${state}`, LOOK_EVERY_MS)
        return {
          state,
          message: message?.slice(0, MESSAGE_CHARS_MAX) ?? null,
          isRegular: purpose === 'sync',
        }
      }),

    noteSkipped: ({ sync, kind, message }) =>
      activity(null, DEFAULT_IMPORT_TUNING, async () => {
        const known = await skippedBefore(sync)
        if (known !== null) return { skipped: known }
        const run = await openRun(sync, kind, {}).catch((error: unknown) => {
          if (error instanceof AlreadyRunning) return null
          throw error
        })
        if (run === null) return { skipped: null }
        const row = await runOf(run)
        const books = kind === 'import' ? await ledger.books(run) : null
        await ledger.closeRun(run, { state: 'skipped', reason: null, message, books })
        await report(row, { to: 'skipped', message })
        logger.warn({ run, sync, message }, 'run_skipped')
        return { skipped: run }
      }),
  }
}
