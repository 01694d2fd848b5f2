// Finds the project's own schedules in a namespace. Promise kept here: a schedule of another project is neither changed nor
// removed, and is not shown as ours.

import type { Client, ScheduleDescription } from '@temporalio/client'
import { SyncError } from '../core/errors.ts'
import type { Project } from '../runs/project.ts'
import { isOurs, type ScheduledJob, type ScheduleJob } from './definition.ts'
import { describeSchedule, listScheduleIds, UNREADABLE } from './read.ts'

/** A connection, and the project whose schedules are meant. */
export interface ScheduleScope {
  readonly client: Client
  readonly project: Project
}

/** What a schedule is for, and the prefix of its id: a sync or a group that runs on a schedule, or the button of a backfill. */
export type ScheduleIdPrefix = 'sync:' | 'group:' | 'backfill:'
/** Those that run by themselves. */
const TIMED = ['sync:', 'group:'] as const
export type TimedPrefix = (typeof TIMED)[number]

export const prefixOf = ({ kind }: Pick<ScheduleJob, 'kind'>): TimedPrefix =>
  kind === 'group' ? 'group:' : 'sync:'

/** `sync:contacts:3f9ac2b1` */
export const scheduleIdOf = (
  start: ScheduleIdPrefix,
  sync: string,
  project: Pick<Project, 'id'>,
): string => `${start}${sync}:${project.id}`

/** The project's schedule. */
export async function findSchedule(
  client: Client,
  name: string,
  project: Project,
  start: TimedPrefix = 'sync:',
): Promise<ScheduleDescription | null> {
  return await describeSchedule(client, scheduleIdOf(start, name, project))
}

/** That of the sync, or else of the group of that name. */
export const findNamedSchedule = async (
  client: Client,
  name: string,
  project: Project,
): Promise<ScheduleDescription | null> =>
  (await findSchedule(client, name, project)) ??
  (await findSchedule(client, name, project, 'group:'))

/** Syncs that have a schedule of the project on the server. */
export async function scheduledSyncs(
  client: Client,
  start: ScheduleIdPrefix,
  project: Project,
): Promise<string[]> {
  const end = `:${project.id}`
  const syncs = new Set<string>()
  for (const rest of await listScheduleIds(client, start))
    if (rest.endsWith(end)) syncs.add(rest.slice(0, -end.length))
  return [...syncs].toSorted()
}

/** The project's schedules of syncs and groups that are not configured with one. One made in the last second may be missing: the server's list lags. */
export async function orphanedSchedules(
  { client, project }: ScheduleScope,
  scheduled: readonly ScheduledJob[],
): Promise<{ readonly name: string; start: TimedPrefix; readonly found: ScheduleDescription }[]> {
  const configured = new Set(scheduled.map((job) => prefixOf(job) + job.name))
  const orphans = []
  for (const start of TIMED)
    for (const name of await scheduledSyncs(client, start, project)) {
      if (configured.has(start + name)) continue
      const found = await findSchedule(client, name, project, start).catch(unreadableSchedule)
      if (found !== null && isOurs(found)) orphans.push({ name, start, found })
    }
  return orphans
}

/** A schedule that cannot be read is not known to be ours. */
function unreadableSchedule(error: unknown): null {
  if (error instanceof SyncError && error.code === UNREADABLE) return null
  throw error
}
