// The definition of the schedule of a sync or a group for Temporal, and how it is recognised later. Promise kept here: what the configuration
// decides has one hash, in whatever order it was written. The hash is kept in the memo of the schedule's action, which an edit in
// the UI leaves alone; the server's own form of a schedule cannot be compared.

import { createHash } from 'node:crypto'
import type { ScheduleDescription, ScheduleUpdateOptions } from '@temporalio/client'
import { defineSearchAttributeKey } from '@temporalio/common'
import { groupSync, importSync, mirrorSync } from '../../workflows/names.ts'
import { groupId, taskQueueOf } from '../../workflows/queues.ts'
import { canonicalJson, isJsonObject, type Json } from '../core/json.ts'
import { scheduleText, type ScheduleConfig } from '../core/domain/schedule.ts'
import { SYNC_KIND, SYNC_NAME } from '../core/temporal/search-attributes.ts'
import type { Config, SyncConfig } from '../../config/index.ts'
import type { Project } from '../runs/project.ts'

/** What a schedule may be for: a sync, or a group. No group has the name of a sync. */
export interface ScheduleJob {
  readonly name: string
  readonly kind: SyncConfig['kind'] | 'group'
  readonly schedule?: ScheduleConfig
}
export type ScheduleJobs = Readonly<Record<string, ScheduleJob>>

/** The syncs of a configuration, then its groups. */
export const scheduleJobs = ({
  syncs,
  groups,
}: Pick<Config, 'syncs' | 'groups'>): ScheduleJobs => ({
  ...syncs,
  ...Object.fromEntries(
    Object.entries(groups).map(([name, group]) => [name, { ...group, kind: 'group' as const }]),
  ),
})

export type ScheduledJob = ScheduleJob & { readonly schedule: ScheduleConfig }

export function isScheduled(job: ScheduleJob): job is ScheduledJob {
  return job.schedule !== undefined
}

/** Version of the function below: another number makes `apply` update every schedule, and overwrite what people edited. */
const FORM = 1
const MANAGED_BY = 'records-sync'
const SYNC_NAME_KEY = defineSearchAttributeKey(SYNC_NAME, 'KEYWORD')
const SYNC_KIND_KEY = defineSearchAttributeKey(SYNC_KIND, 'KEYWORD')

/** The memo of every schedule that records-sync makes; a list of schedules shows it. */
export const SCHEDULE_MEMO = { managedBy: MANAGED_BY }

/** What the configuration decides of a schedule. */
export interface ConfiguredSchedule extends ScheduleConfig {
  readonly form: number
  readonly kind: ScheduleJob['kind']
}

const decidedOf = ({ kind, schedule }: ScheduledJob): ConfiguredSchedule => ({
  form: FORM,
  kind,
  ...schedule,
})

/** Hash of what the configuration decides, 32 hexadecimal digits. */
export function configurationHash(decided: ConfiguredSchedule): string {
  const text = canonicalJson(decided as unknown as Json)
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

const WORKFLOWS: Readonly<Record<ScheduleJob['kind'], string>> = {
  import: importSync,
  mirror: mirrorSync,
  group: groupSync,
}

/** The schedule of a job, without its state: the configuration does not decide whether it is paused. */
export function scheduleOptions(
  job: ScheduledJob,
  project: Pick<Project, 'id'>,
): Omit<ScheduleUpdateOptions, 'state'> {
  const { name, kind, schedule } = job
  const decided = decidedOf(job)
  return {
    spec: {
      ...(schedule.every_ms === undefined
        ? { cronExpressions: [schedule.cron!], timezone: schedule.time_zone }
        : { intervals: [{ every: schedule.every_ms }] }),
      jitter: Math.round(schedule.jitter_seconds * 1_000),
    },
    action: {
      type: 'startWorkflow',
      workflowType: WORKFLOWS[kind],
      taskQueue: taskQueueOf(project.id),
      // The server appends the time.
      workflowId: workflowIdOf(job, project),
      args: [kind === 'group' ? { group: name } : { sync: name }],
      staticSummary: `${kind} ${name}`,
      staticDetails: detailsOf(job),
      memo: { ...SCHEDULE_MEMO, configHash: configurationHash(decided), configuration: decided },
      typedSearchAttributes: [
        { key: SYNC_NAME_KEY, value: name },
        { key: SYNC_KIND_KEY, value: kind },
      ],
    },
    policies: {
      overlap: 'SKIP',
      // The server's default is a year.
      catchupWindow: Math.round(schedule.catch_up_minutes * 60_000),
      pauseOnFailure: false,
    },
  }
}

/** The prefix of the ids of the runs that a schedule begins. */
export const workflowIdOf = ({ kind, name }: ScheduleJob, { id }: Pick<Project, 'id'>): string =>
  kind === 'group' ? groupId(name, id) : `${kind}-${name}-${id}`

const detailsOf = ({ name, kind, schedule }: ScheduledJob): string =>
  [
    `The ${kind} **${name}**, begun by its schedule: \`${scheduleText(schedule)}\`.`,
    '',
    'The schedule comes from the configuration: change it there, then `records-sync schedules apply`. A pause and its note stay.',
  ].join('\n')

/** Whether records-sync made it. An edit in the UI keeps both memos, an edit with the Temporal CLI only the schedule's own. */
export function isOurs({ action, memo }: Pick<ScheduleDescription, 'action' | 'memo'>): boolean {
  return [action.memo, memo].some((each) => each?.['managedBy'] === MANAGED_BY)
}

/** What `apply` would change, such as `every 15 minutes → every 5 minutes`; nothing if the configuration is the same. */
export function configurationChanges(
  { action }: Pick<ScheduleDescription, 'action'>,
  job: ScheduledJob,
): string[] {
  const decided = decidedOf(job)
  if (action.memo?.['configHash'] === configurationHash(decided)) return []
  const before = textsOf(action.memo?.['configuration'])
  if (before === null) return ['it was edited with another tool, which took its configuration away']
  const after = textsOf(decided)!
  const changes = Object.keys(after)
    .filter((what) => before[what] !== after[what])
    .map((what) => `${before[what]} → ${after[what]}`)
  return changes.length > 0 ? changes : ['another release of records-sync wrote it']
}

/** In words; null if it is not the configuration of a schedule. */
function textsOf(configuration: unknown): Record<string, string> | null {
  if (!isJsonObject(configuration)) return null
  const { kind, every_ms: every, cron, time_zone: zone } = configuration
  const isWhen = typeof every === 'number' || typeof cron === 'string'
  if (!isWhen || typeof zone !== 'string') return null
  return {
    kind: String(kind),
    when: scheduleText(configuration as unknown as ScheduleConfig),
    jitter: `jitter of ${String(configuration['jitter_seconds'])} s`,
    catchUp: `catch-up of ${String(configuration['catch_up_minutes'])} min`,
  }
}
