// Brings the server's schedules in line with the configuration: finds what differs, applies it, and removes schedules that are no
// longer configured. Promises kept here: a schedule whose configuration is unchanged is not touched, so what people edited stays;
// a pause, its note and a limit of actions survive every update; a schedule that records-sync did not make, or made for another
// project, is never overwritten or removed.

import { ScheduleAlreadyRunning, type ScheduleDescription } from '@temporalio/client'
import { forEachConcurrent } from '../core/concurrency.ts'
import { scheduleText } from '../core/domain/schedule.ts'
import {
  findSchedule,
  orphanedSchedules,
  prefixOf,
  scheduleIdOf,
  type ScheduleScope,
  type TimedPrefix,
} from './find.ts'
import {
  configurationChanges,
  isOurs,
  isScheduled,
  scheduleOptions,
  SCHEDULE_MEMO,
  type ScheduledJob,
  type ScheduleJobs,
} from './definition.ts'
import { serverRefusal } from './read.ts'
import { removeSchedule, updateSchedule } from './update.ts'

/** What one schedule needs. */
export interface ScheduleStep {
  /** Name of the sync, or of the group. */
  readonly sync: string
  readonly isGroup: boolean
  /**
   * `foreign`: records-sync did not make the schedule with that id, and leaves it alone. `prune`: it is no longer configured; only `pruneSchedules`
   * removes it, and until then it keeps running.
   */
  readonly what: 'create' | 'update' | 'same' | 'foreign' | 'prune'
  /** As configured; null if it is no longer configured. */
  readonly when: string | null
  /** For an update: `every 15 minutes → every 5 minutes`. */
  readonly changes: readonly string[]
  /** Why the server refused it: `time zone`. */
  readonly refused: string | null
}

const inFlight = 8
/** Another process may make, change or remove the same schedule meanwhile. */
const triesMax = 5

/** What `applySchedules` would do, and what `pruneSchedules` would. Changes nothing. */
export async function planSchedules(
  place: ScheduleScope,
  jobs: ScheduleJobs,
): Promise<ScheduleStep[]> {
  return await stepsOf(place, jobs, stepOf)
}

/**
 * Applies the configured schedules.
 * @returns what was done; if the server refused a schedule, why. The others are applied anyway.
 */
export async function applySchedules(
  place: ScheduleScope,
  jobs: ScheduleJobs,
): Promise<ScheduleStep[]> {
  return await stepsOf(place, jobs, applyOne)
}

/** Removes the schedules that are no longer configured; their live runs continue. */
export async function pruneSchedules(
  place: ScheduleScope,
  jobs: ScheduleJobs,
): Promise<ScheduleStep[]> {
  const { client, project } = place
  const steps = await orphanSteps(place, Object.values(jobs).filter(isScheduled))
  await forEachConcurrent(steps, inFlight, async ({ sync, isGroup }) => {
    const start: TimedPrefix = isGroup ? 'group:' : 'sync:'
    await removeSchedule(client, scheduleIdOf(start, sync, project))
  })
  return steps
}

async function stepsOf(
  place: ScheduleScope,
  jobs: ScheduleJobs,
  work: (place: ScheduleScope, job: ScheduledJob) => Promise<ScheduleStep>,
): Promise<ScheduleStep[]> {
  const scheduled = Object.values(jobs).filter(isScheduled)
  const steps = new Map<string, ScheduleStep>()
  await forEachConcurrent(scheduled, inFlight, async (job) => {
    steps.set(job.name, await work(place, job))
  })
  const inOrder = scheduled.map(({ name }) => steps.get(name)!)
  return [...inOrder, ...(await orphanSteps(place, scheduled))]
}

async function orphanSteps(
  place: ScheduleScope,
  scheduled: readonly ScheduledJob[],
): Promise<ScheduleStep[]> {
  const orphans = await orphanedSchedules(place, scheduled)
  const step = { what: 'prune', when: null, changes: [], refused: null } as const
  return orphans.map(({ name: sync, start }) => ({ ...step, sync, isGroup: start === 'group:' }))
}

/** What exists on the server for a sync or a group. */
const found = async ({ client, project }: ScheduleScope, job: ScheduledJob) =>
  await findSchedule(client, job.name, project, prefixOf(job))

const stepOf = async (place: ScheduleScope, job: ScheduledJob): Promise<ScheduleStep> =>
  toward(await found(place, job), job)

/** The step from the existing schedule to the configured one. */
function toward(found: ScheduleDescription | null, job: ScheduledJob): ScheduleStep {
  const { name: sync, kind, schedule } = job
  const when = scheduleText(schedule)
  const step = { sync, isGroup: kind === 'group', when, changes: [], refused: null }
  if (found === null) return { ...step, what: 'create' }
  if (!isOurs(found)) return { ...step, what: 'foreign' }
  const changes = configurationChanges(found, job)
  return { ...step, changes, what: changes.length > 0 ? 'update' : 'same' }
}

async function applyOne(place: ScheduleScope, job: ScheduledJob): Promise<ScheduleStep> {
  const { client, project } = place
  let sent: ScheduleStep | null = null
  for (let attempt = 1; ; attempt++) {
    const own = await found(place, job)
    const next = toward(own, job)
    // A change whose answer was lost, and that the client repeated, is refused as an old one, and found carried out.
    const step = next.what === 'same' ? (sent ?? next) : next
    try {
      if (next.what === 'create') {
        sent = next
        if (await create(place, job)) return step
      } else if (next.what === 'update') {
        sent = next
        if (await updateSchedule(client, own!, job, project)) return step
      } else return step
    } catch (error) {
      return { ...step, refused: serverRefusal(error) }
    }
    if (attempt === triesMax) return { ...step, refused: 'another process keeps changing it' }
  }
}

/** @returns false if another process was faster */
async function create({ client, project }: ScheduleScope, job: ScheduledJob): Promise<boolean> {
  try {
    const id = { scheduleId: scheduleIdOf(prefixOf(job), job.name, project), memo: SCHEDULE_MEMO }
    await client.schedule.create({ ...scheduleOptions(job, project), ...id })
    return true
  } catch (error) {
    if (error instanceof ScheduleAlreadyRunning) return false
    throw error
  }
}
