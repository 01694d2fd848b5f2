// The job of a run: its sync as it was configured when the run was opened, and what the run is for. Promise kept here: the JSON
// that the ledger holds (`runs.config`, next to `runs.purpose`) is written and read in this file alone.

import type { BackfillLimits } from '../core/domain/backfill.ts'
import { SyncError } from '../core/errors.ts'
import type { Json } from '../core/json.ts'
import {
  WHOLE_SCOPE,
  type LinksTask,
  type Purpose,
  type ReconcileScope,
  type RetryTask,
  type Task,
  type UndoTask,
} from '../core/domain/purpose.ts'
import type { ImportSync, MirrorSync, SyncConfig } from '../../config/index.ts'

/** Tuning that outlives the run's workflow: it says how old the run's writes may be. */
interface StoredTuning {
  readonly heartbeat_timeout_ms?: number
}

interface Limits {
  readonly backfill: BackfillLimits
  readonly retry: RetryTask
  readonly reconcile: ReconcileScope
  readonly links: LinksTask
  readonly undo: UndoTask
}

/** The limits of that name, and no others. */
type Only<Name extends keyof Limits> = Pick<Limits, Name> & {
  readonly [Other in Exclude<keyof Limits, Name>]?: undefined
}

/** What a run does. Its purpose says which limits it has. */
export type RunJob<Sync extends SyncConfig = SyncConfig> = {
  readonly sync: Sync
  readonly tuned: StoredTuning
  /** The plan that a regular run applies. Left out if it has none. */
  readonly plan?: number
} & (
  | ({ readonly purpose: 'sync' } & Only<never>)
  | ({ readonly purpose: 'backfill' } & Only<'backfill'>)
  | ({ readonly purpose: 'retry' } & Only<'retry'>)
  | ({ readonly purpose: 'reconcile' } & Only<'reconcile'>)
  | ({ readonly purpose: 'links' } & Only<'links'>)
  | ({ readonly purpose: 'undo' } & Only<'undo'>)
)

/** A run as far as its job is concerned. */
interface StoredRun {
  readonly id: number
  readonly kind: SyncConfig['kind']
  readonly purpose: Purpose
  readonly of: number | null
  readonly config: Json
}

/** The job of a run. @throws SyncError `job_kind` if it is not of the kind that the caller works on */
export function jobOf(run: StoredRun): RunJob
export function jobOf(run: StoredRun, kind: 'import'): RunJob<ImportSync>
export function jobOf(run: StoredRun, kind: 'mirror'): RunJob<MirrorSync>
export function jobOf(run: StoredRun, kind = run.kind): RunJob {
  if (run.kind !== kind)
    throw new SyncError('job_kind', `Run ${run.id} is of kind ${run.kind}, not ${kind}`)
  const {
    backfill,
    retry,
    reconcile,
    links: _links,
    undo,
    tuned = {},
    plan,
    ...stored
  } = run.config as unknown as SyncConfig &
    Partial<Limits> & { readonly tuned?: StoredTuning; readonly plan?: number }
  const sync = withMode(stored)
  switch (run.purpose) {
    case 'sync':
      return { sync, tuned, purpose: 'sync', ...(plan !== undefined && { plan }) }
    case 'backfill':
      return {
        sync,
        tuned,
        purpose: 'backfill',
        backfill: { window: null, only: null, ...backfill },
      }
    case 'retry':
      return { sync, tuned, purpose: 'retry', retry: { of: run.of!, choice: {}, ...retry } }
    case 'reconcile':
      return { sync, tuned, purpose: 'reconcile', reconcile: { ...WHOLE_SCOPE, ...reconcile } }
    case 'links':
      return { sync, tuned, purpose: 'links', links: {} }
    case 'undo':
      return { sync, tuned, purpose: 'undo', undo: { of: run.of!, choice: {}, ...undo } }
  }
}

/** Imports of version 0.1.0 name no mode: they are upserts. */
const withMode = (sync: SyncConfig): SyncConfig =>
  'import' in sync
    ? { ...sync, import: { ...sync.import, mode: sync.import.mode ?? 'upsert' } }
    : sync

/** What the ledger keeps of a job, for `jobOf` to read. */
export function storedJob(
  sync: SyncConfig,
  job: {
    limits: BackfillLimits | null
    task: Task | null
    tuned: StoredTuning
    plan?: number | undefined
  },
): { config: Json; purpose: Purpose; of: number | null } {
  const { limits, task, tuned, plan } = job
  const config = {
    ...sync,
    ...(plan !== undefined && { plan }),
    ...(limits && { backfill: limits }),
    ...(Object.keys(tuned).length > 0 && { tuned }),
    ...task,
  }
  return {
    config: config as unknown as Json,
    purpose: task === null ? (limits ? 'backfill' : 'sync') : purposeOf(task),
    of: task === null ? null : ofTask(task),
  }
}

/** The run that a task is about. */
const ofTask = (task: Task): number | null =>
  'retry' in task ? task.retry.of : 'undo' in task ? task.undo.of : null

const purposeOf = (task: Task): Purpose =>
  'retry' in task ? 'retry' : 'undo' in task ? 'undo' : 'reconcile' in task ? 'reconcile' : 'links'
