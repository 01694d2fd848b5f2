// How a worker checks the schedules of its project: whether the configured ones are on the server.

import type { Logger } from '../core/ports.ts'
import { scheduleText } from '../core/domain/schedule.ts'
import { findSchedule, prefixOf, scheduleIdOf, type ScheduleScope } from './find.ts'
import { isScheduled, type ScheduledJob, type ScheduleJobs } from './definition.ts'
import { listScheduleIds } from './read.ts'

export interface MissingDeps extends ScheduleScope {
  /** The syncs and groups of the configuration. */
  loadJobs(): Promise<ScheduleJobs>
  readonly logger: Logger
  /** Called after each check with whether the schedule of each sync and group is missing; null if the server did not answer. */
  note(isMissing: ReadonlyMap<string, boolean> | null): void
}

/** Checks once; logs each missing schedule, and logs it again only if it was there in between. */
export function missingSchedules(deps: MissingDeps) {
  const reported = new Set<string>()
  return async (): Promise<void> => {
    const isMissing = new Map<string, boolean>()
    try {
      const scheduled = Object.values(await deps.loadJobs()).filter(isScheduled)
      const listed = new Set(scheduled.length > 0 ? await listScheduleIds(deps.client, '') : [])
      // Only what is not listed is asked for by name: the list lags a second behind, and hundreds of questions would take too long.
      const isThere = async (job: ScheduledJob) =>
        listed.has(scheduleIdOf(prefixOf(job), job.name, deps.project)) ||
        (await findSchedule(deps.client, job.name, deps.project, prefixOf(job))) !== null
      for (const job of scheduled) {
        const { name: sync, schedule } = job
        isMissing.set(sync, !(await isThere(job)))
        if (isMissing.get(sync) === false) reported.delete(sync)
        else if (!reported.has(sync)) {
          reported.add(sync)
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
