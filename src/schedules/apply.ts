// Brings the server's schedules in line with the configuration: finds what differs, applies it, and removes schedules that are no
// longer configured. Promises kept here: a schedule whose configuration is unchanged is not touched, so what people edited stays;
// a pause, its note and a limit of actions survive every update; a schedule that records-sync did not make, or made for another
// project, is never overwritten or removed.

import { ScheduleAlreadyRunning, type ScheduleDescription } from '@temporalio/client'
import { forEachConcurrent } from '../core/concurrency.ts'
import { scheduleText } from '../core/domain/schedule.ts'
import type { SyncConfig } from '../../config/index.ts'
import { findLegacySchedule, orphanedSchedules, scheduleIdOf, type ScheduleScope } from './find.ts'
import {
  configurationChanges,
  isOurs,
  isScheduled,
  scheduleOptions,
  SCHEDULE_MEMO,
  type ScheduledSync,
} from './definition.ts'
import { describeSchedule, serverRefusal } from './read.ts'
import { copyLegacySchedule, removeSchedule, updateSchedule } from './update.ts'

/** What one schedule needs. */
export interface ScheduleStep {
  readonly sync: string
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

type Syncs = Readonly<Record<string, SyncConfig>>

/** What `applySchedules` would do, and what `pruneSchedules` would. Changes nothing. */
export async function planSchedules(place: ScheduleScope, syncs: Syncs): Promise<ScheduleStep[]> {
  return await stepsOf(place, syncs, stepOf)
}

/**
 * Applies the configured schedules.
 * @returns what was done; if the server refused a schedule, why. The others are applied anyway.
 */
export async function applySchedules(place: ScheduleScope, syncs: Syncs): Promise<ScheduleStep[]> {
  return await stepsOf(place, syncs, applyOne)
}

/** Removes the schedules that are no longer configured; their live runs continue. */
export async function pruneSchedules(place: ScheduleScope, syncs: Syncs): Promise<ScheduleStep[]> {
  const { client, project } = place
  const steps = await orphanSteps(place, Object.values(syncs).filter(isScheduled))
  await forEachConcurrent(steps, inFlight, async ({ sync }) => {
    const { ours: old } = await findLegacySchedule(client, 'sync:', sync, project)
    await removeSchedule(client, scheduleIdOf('sync:', sync, project))
    if (old !== null) await removeSchedule(client, old.scheduleId)
  })
  return steps
}

async function stepsOf(
  place: ScheduleScope,
  syncs: Syncs,
  work: (place: ScheduleScope, sync: ScheduledSync) => Promise<ScheduleStep>,
): Promise<ScheduleStep[]> {
  const scheduled = Object.values(syncs).filter(isScheduled)
  const steps = new Map<string, ScheduleStep>()
  await forEachConcurrent(scheduled, inFlight, async (sync) => {
    steps.set(sync.name, await work(place, sync))
  })
  const inOrder = scheduled.map(({ name }) => steps.get(name)!)
  return [...inOrder, ...(await orphanSteps(place, scheduled))]
}

async function orphanSteps(
  place: ScheduleScope,
  scheduled: readonly ScheduledSync[],
): Promise<ScheduleStep[]> {
  const orphans = await orphanedSchedules(place, scheduled)
  const step = { what: 'prune', when: null, changes: [], refused: null } as const
  return orphans.map(({ sync }) => ({ ...step, sync }))
}

/** What exists on the server for a sync. */
async function found({ client, project }: ScheduleScope, { name }: ScheduledSync) {
  const own = await describeSchedule(client, scheduleIdOf('sync:', name, project))
  const { ours: old } = await findLegacySchedule(client, 'sync:', name, project)
  return { own, old }
}

async function stepOf(place: ScheduleScope, sync: ScheduledSync): Promise<ScheduleStep> {
  const { own, old } = await found(place, sync)
  const step = toward(own ?? old, sync)
  return old === null ? step : { ...step, what: 'move' }
}

/** The step from the existing schedule to the configured one. */
function toward(found: ScheduleDescription | null, sync: ScheduledSync): ScheduleStep {
  const step = { sync: sync.name, when: scheduleText(sync.schedule), changes: [], refused: null }
  if (found === null) return { ...step, what: 'create' }
  if (!isOurs(found)) return { ...step, what: 'foreign' }
  const changes = configurationChanges(found, sync)
  return { ...step, changes, what: changes.length > 0 ? 'update' : 'same' }
}

async function applyOne(place: ScheduleScope, sync: ScheduledSync): Promise<ScheduleStep> {
  const { client, project } = place
  let isMoved = false
  for (let attempt = 1; ; attempt++) {
    const { own, old } = await found(place, sync)
    const step = toward(own, sync)
    const done = (): ScheduleStep => (isMoved ? { ...step, what: 'move' } : step)
    try {
      if (old !== null) {
        // Nothing is lost if this ends between the two calls: the next time only the older one is left to remove.
        if (own === null) await copyLegacySchedule(client, old, sync, project)
        await removeSchedule(client, old.scheduleId)
        isMoved = true
      } else if (step.what === 'create') {
        if (await create(place, sync)) return done()
      } else if (step.what === 'update') {
        if (await updateSchedule(client, own!, sync, project)) return done()
      } else return done()
    } catch (error) {
      return { ...step, refused: serverRefusal(error) }
    }
    if (attempt === triesMax) return { ...step, refused: 'another process keeps changing it' }
  }
}

/** @returns false if another process was faster */
async function create({ client, project }: ScheduleScope, sync: ScheduledSync): Promise<boolean> {
  try {
    const id = { scheduleId: scheduleIdOf('sync:', sync.name, project), memo: SCHEDULE_MEMO }
    await client.schedule.create({ ...scheduleOptions(sync, project), ...id })
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
