// Finds the project's own schedules in a namespace. Promise kept here: a schedule of another project is neither changed nor
// removed, and is not shown as ours. The schedules of releases without projects name none: such a schedule is ours if one of its
// latest runs is in our ledger.

import type { Client, ScheduleDescription } from '@temporalio/client'
import { SyncError } from '../core/errors.ts'
import type { Project } from '../runs/project.ts'
import { isOurs, type ScheduledSync } from './definition.ts'
import { describeSchedule, listScheduleIds, UNREADABLE } from './read.ts'

/** A connection, and the project whose schedules are meant. */
export interface ScheduleScope {
  readonly client: Client
  readonly project: Project
}

/** What a schedule is for, and the prefix of its id: a sync that runs on a schedule, or the button of a backfill. */
export type ScheduleIdPrefix = 'sync:' | 'backfill:'

/** `sync:contacts:3f9ac2b1` */
export const scheduleIdOf = (
  start: ScheduleIdPrefix,
  sync: string,
  project: Pick<Project, 'id'>,
): string => `${start}${sync}:${project.id}`

/** The project's schedule; or that of an older release, which keeps running until `schedules apply` moves it. */
export async function findSchedule(
  client: Client,
  sync: string,
  project: Project,
): Promise<ScheduleDescription | null> {
  const own = await describeSchedule(client, scheduleIdOf('sync:', sync, project))
  return own ?? (await findLegacySchedule(client, 'sync:', sync, project)).ours
}

/** What an older release has left for a sync: `ours`, or the id of a schedule whose owner cannot be determined. */
export async function findLegacySchedule(
  client: Client,
  start: ScheduleIdPrefix,
  sync: string,
  project: Project,
) {
  // The id in releases without projects.
  const found = await describeSchedule(client, `${start}${sync}`).catch(unreadableSchedule)
  if (found === null || !isOurs(found)) return { ours: null, unclaimed: null }
  const { recentActions } = found.info
  const begun = recentActions.map(({ action }) => action.workflow.workflowId)
  return (await project.began(sync, begun))
    ? { ours: found, unclaimed: null }
    : { ours: null, unclaimed: found.scheduleId }
}

/** Syncs that have a schedule of the project on the server, including those of older releases. */
export async function scheduledSyncs(
  client: Client,
  start: ScheduleIdPrefix,
  project: Project,
): Promise<string[]> {
  const end = `:${project.id}`
  const syncs = new Set<string>()
  for (const rest of await listScheduleIds(client, start))
    if (rest.endsWith(end)) syncs.add(rest.slice(0, -end.length))
    else if (
      !rest.includes(':') &&
      (await findLegacySchedule(client, start, rest, project)).ours !== null
    )
      syncs.add(rest)
  return [...syncs].toSorted()
}

/** The project's schedules of syncs that are not configured with one. One made in the last second may be missing: the server's list lags. */
export async function orphanedSchedules(
  { client, project }: ScheduleScope,
  scheduled: readonly ScheduledSync[],
): Promise<{ readonly sync: string; readonly found: ScheduleDescription }[]> {
  const configured = new Set(scheduled.map(({ name }) => name))
  const orphans = []
  for (const sync of await scheduledSyncs(client, 'sync:', project)) {
    if (configured.has(sync)) continue
    const found = await findSchedule(client, sync, project).catch(unreadableSchedule)
    if (found !== null && isOurs(found)) orphans.push({ sync, found })
  }
  return orphans
}

/** A schedule that cannot be read is not known to be ours. */
function unreadableSchedule(error: unknown): null {
  if (error instanceof SyncError && error.code === UNREADABLE) return null
  throw error
}
