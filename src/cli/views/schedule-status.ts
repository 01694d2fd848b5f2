// The state of the schedules on the Temporal server, for `status`. A server that does not answer is not waited for.

import type { Config, GroupConfig } from '../../../config/index.ts'
import { SyncError } from '../../core/errors.ts'
import { NO_PROJECT } from '../../runs/project.ts'
import type { ScheduleView } from '../../schedules/control.ts'
import { isScheduled, scheduleJobs } from '../../schedules/definition.ts'
import { temporalOf, type CommandContext } from '../shared/context.ts'
import { findProject } from '../../actions/project.ts'
import { safeText } from '../shared/terminal.ts'

const answerMaxMs = 5_000

export interface ScheduleStatuses {
  /** By the name of the sync, or of the group; those that have none, and are configured with none, are not in it. Null if the server does not answer. */
  readonly views: ReadonlyMap<string, ScheduleView> | null
  /** Why it is not known. */
  readonly unknown: string | null
}

/** Asks the server only if a schedule is configured. */
export async function readScheduleStatuses(
  context: CommandContext,
  config: Config,
): Promise<ScheduleStatuses> {
  const jobs = scheduleJobs(config)
  if (!Object.values(jobs).some(isScheduled)) return { views: new Map(), unknown: null }
  try {
    const { connectClient } = await import('../../temporal/client.ts')
    const { listSchedules } = await import('../../schedules/control.ts')
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

/** For programs: what begins runs of a sync, its own schedule or that of its group; null for one that is not scheduled. */
export function scheduleToJson(config: Config, sync: string, { views }: ScheduleStatuses) {
  const own = config.syncs[sync]?.schedule !== undefined
  const isOf = ({ syncs, schedule }: GroupConfig) => schedule !== undefined && syncs.includes(sync)
  const group = own ? undefined : Object.values(config.groups).find(isOf)?.name
  const of = group === undefined ? {} : { group }
  if (views === null)
    return own || group !== undefined ? { state: 'unknown', next: null, ...of } : null
  const view = views.get(group ?? sync)
  return view ? { state: view.state, next: view.next?.toISOString() ?? null, ...of } : null
}

/** What keeps a sync or a group from running by itself, a line each. */
export function scheduleLines(
  { hint }: Pick<CommandContext, 'hint'>,
  { views, unknown }: ScheduleStatuses,
): string[] {
  if (views === null)
    return [
      `Whether the schedules are on the Temporal server is not known: ${safeText(unknown!, 1_000)}`,
    ]
  return [...views.values()].flatMap(({ sync, state, when, note, configured }) => {
    if (!configured || state === 'active') return []
    const of = `${safeText(sync, 60)} does not run by itself`
    if (state === 'missing')
      return [
        `${of}: its schedule (${safeText(when, 80)}) is not on the Temporal server; put it there: ${hint('schedules apply')}`,
      ]
    if (state === 'foreign')
      return [
        `${of}: the schedule of its name on the Temporal server is not ours; see ${hint('schedules plan')}`,
      ]
    return [`${of}: its schedule is paused: ${safeText(note ?? 'no reason given', 1_000)}`]
  })
}
