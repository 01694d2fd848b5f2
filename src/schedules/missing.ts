// How a worker looks at the schedules of its project: whether those that are configured are on the server, and whether an older
// release has left some.

import type { Logger } from '../core/ports.ts'
import { scheduleText } from '../core/schedule.ts'
import type { SyncConfig } from '../core/sync.ts'
import {
  findLegacySchedule,
  findSchedule,
  type ScheduleIdPrefix,
  type ScheduleScope,
} from './find.ts'
import { isScheduled } from './definition.ts'

export interface WatchDeps extends ScheduleScope {
  loadSyncs(): Promise<readonly SyncConfig[]>
}

const STARTS: readonly ScheduleIdPrefix[] = ['sync:', 'backfill:']

export interface MissingDeps extends WatchDeps {
  readonly logger: Logger
  /** Told after each look: whether the schedule of a sync is missing, by sync; null where the server did not tell. */
  note(isMissing: ReadonlyMap<string, boolean> | null): void
}

/** Looks once; tells of each schedule that is not there, in the log again only after it was there. */
export function missingSchedules(deps: MissingDeps) {
  const told = new Set<string>()
  return async (): Promise<void> => {
    const isMissing = new Map<string, boolean>()
    try {
      for (const { name: sync, schedule } of (await deps.loadSyncs()).filter(isScheduled)) {
        isMissing.set(sync, (await findSchedule(deps.client, sync, deps.project)) === null)
        if (isMissing.get(sync) === false) told.delete(sync)
        else if (!told.has(sync)) {
          told.add(sync)
          const when = scheduleText(schedule)
          deps.logger.warn({ sync, when, mend: 'records-sync schedules apply' }, 'schedule_missing')
        }
      }
    } catch (error) {
      deps.note(null)
      throw error
    }
    deps.note(isMissing)
  }
}

/** Whether an older release has left a schedule or a button of a configured sync, which is ours. */
export async function hasLegacySchedule({
  client,
  project,
  loadSyncs,
}: WatchDeps): Promise<boolean> {
  for (const { name } of await loadSyncs())
    for (const start of STARTS)
      if ((await findLegacySchedule(client, start, name, project)).ours !== null) return true
  return false
}

/** Whether an older release made the schedule of that id for this project. */
export async function isOwnLegacySchedule(
  { client, project }: ScheduleScope,
  id: string,
): Promise<boolean> {
  const start = STARTS.find((each) => id.startsWith(each))
  if (start === undefined) return false
  return (await findLegacySchedule(client, start, id.slice(start.length), project)).ours !== null
}
