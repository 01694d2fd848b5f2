// Brings the server's schedules in line with the configuration: finds what differs, applies it, and removes schedules that are no
// longer configured. Promises kept here: a schedule whose configuration is unchanged is not touched, so what people edited stays;
// a pause, its note and a limit of actions survive every update; a schedule that records-sync did not make, or made for another
// project, is never overwritten or removed.

import { ScheduleAlreadyRunning, type ScheduleDescription } from '@temporalio/client'
import { forEachConcurrent } from '../core/concurrency.ts'
import { scheduleText } from '../core/domain/schedule.ts'
import {
  findLegacySchedule,
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
import { describeSchedule, serverRefusal } from './read.ts'
import { copyLegacySchedule, removeSchedule, updateSchedule } from './update.ts'

/** What one schedule needs. */
export interface ScheduleStep {
  /** Name of the sync, or of the group. */
  readonly sync: string
  readonly isGroup: boolean
  /**
   * `move`: an older release made it, for all projects of the namespace; it becomes the project's own. `foreign`: records-sync
   * did not make the schedule with that id, and leaves it alone. `prune`: it is no longer configured; only `pruneSchedules`
   * removes it, and until then it keeps running.
   */
  readonly what: 'create' | 'move' | 'update' | 'same' | 'foreign' | 'prune'
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
    const { ours: old } = await findLegacySchedule(client, start, sync, project)
    await removeSchedule(client, scheduleIdOf(start, sync, project))
    if (old !== null) await removeSchedule(client, old.scheduleId)
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
async function found({ client, project }: ScheduleScope, job: ScheduledJob) {
  const start = prefixOf(job)
  const own = await describeSchedule(client, scheduleIdOf(start, job.name, project))
  const { ours: old } = await findLegacySchedule(client, start, job.name, project)
  return { own, old }
}

async function stepOf(place: ScheduleScope, job: ScheduledJob): Promise<ScheduleStep> {
  const { own, old } = await found(place, job)
  const step = toward(own ?? old, job)
  return old === null ? step : { ...step, what: 'move' }
}

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
  let isMoved = false
  let sent: ScheduleStep | null = null
  for (let attempt = 1; ; attempt++) {
    const { own, old } = await found(place, job)
    const next = toward(own, job)
    // A change whose answer was lost, and that the client repeated, is refused as an old one, and found carried out.
    const step = next.what === 'same' ? (sent ?? next) : next
    const done = (): ScheduleStep => (isMoved ? { ...step, what: 'move' } : step)
    try {
      if (old !== null) {
        // Nothing is lost if this ends between the two calls: the next time only the older one is left to remove.
        if (own === null) await copyLegacySchedule(client, old, job, project)
        await removeSchedule(client, old.scheduleId)
        isMoved = true
      } else if (next.what === 'create') {
        sent = next
        if (await create(place, job)) return done()
      } else if (next.what === 'update') {
        sent = next
        if (await updateSchedule(client, own!, job, project)) return done()
      } else return done()
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

/**
 * Ids of schedules that an older release left for these syncs, and whose owner cannot be determined: no run that they started is
 * in the ledger.
 */
export async function unclaimedSchedules(
  { client, project }: ScheduleScope,
  syncs: readonly string[],
): Promise<string[]> {
  const ids: string[] = []
  await forEachConcurrent(syncs, inFlight, async (sync) => {
    for (const start of ['sync:', 'backfill:'] as const) {
      const { unclaimed: id } = await findLegacySchedule(client, start, sync, project)
      if (id !== null) ids.push(id)
    }
  })
  return ids.toSorted()
}
