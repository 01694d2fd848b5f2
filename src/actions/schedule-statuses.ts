// The state of the schedules on the Temporal server. A server that does not answer is not waited for.

import type { Config } from '../../config/index.ts'
import { SyncError } from '../core/errors.ts'
import { NO_PROJECT } from '../runs/project.ts'
import type { ScheduleView } from '../schedules/control.ts'
import { isScheduled, scheduleJobs } from '../schedules/definition.ts'
import { temporalOf } from './connect.ts'
import type { ActionPlace } from './place.ts'
import { findProject } from './project.ts'

const answerMaxMs = 5_000

export interface ScheduleStatuses {
  /** By the name of the sync, or of the group; those that have none, and are configured with none, are not in it. Null if the server does not answer. */
  readonly views: ReadonlyMap<string, ScheduleView> | null
  /** Why it is not known. */
  readonly unknown: string | null
}

/** Asks the server only if a schedule is configured. */
export async function readScheduleStatuses(
  context: ActionPlace,
  config: Config,
): Promise<ScheduleStatuses> {
  const jobs = scheduleJobs(config)
  if (!Object.values(jobs).some(isScheduled)) return { views: new Map(), unknown: null }
  try {
    const { connectClient } = await import('../temporal/client.ts')
    const { listSchedules } = await import('../schedules/control.ts')
    const project = (await findProject(context)) ?? NO_PROJECT
    const { client, close } = await connectClient(temporalOf(config, context.env))
    try {
      const views = await client.withDeadline(Date.now() + answerMaxMs, () =>
        listSchedules(client, jobs, project),
      )
      return { views: new Map(views.map((view) => [view.sync, view])), unknown: null }
    } finally {
      await close()
    }
  } catch (error) {
    // Our own words only: foreign ones may quote anything.
    const unknown =
      error instanceof SyncError ? error.message : 'the Temporal server did not answer'
    return { views: null, unknown }
  }
}
