// From the configuration to the server: what differs, making it so, and removing what is configured no more.
// Promises kept here: a schedule whose configuration is unchanged is not touched, so what people edited stays; a pause, its
// note and a limit of actions survive every update; what records-sync did not make is never overwritten nor removed.

import {
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  type Client,
  type ScheduleDescription,
} from '@temporalio/client'
import { SyncError } from '../core/errors.ts'
import { inLanes } from '../core/lanes.ts'
import { scheduleText } from '../core/schedule.ts'
import type { SyncConfig } from '../core/sync.ts'
import {
  changesOf,
  isOurs,
  isScheduled,
  optionsOf,
  SCHEDULE_MEMO,
  scheduleId,
  type ScheduledSync,
} from './form.ts'
import { describeSchedule, refusalOf, strays } from './read.ts'
import { reconfigure } from './replace.ts'

/** What one schedule needs. */
export interface ScheduleStep {
  readonly sync: string
  /**
   * `foreign`: there is one of that id which records-sync did not make, and which it leaves alone. `prune`: it is configured
   * no more; only `pruneSchedules` removes it, and until then it goes on.
   */
  readonly what: 'create' | 'update' | 'same' | 'foreign' | 'prune'
  /** As configured; null for one that is configured no more. */
  readonly when: string | null
  /** Of an update: `every 15 minutes → every 5 minutes`. */
  readonly changes: readonly string[]
  /** Why the server would not have it: `time zone`. */
  readonly refused: string | null
}

const inFlight = 8
/** Somebody else may make, change or remove the same schedule meanwhile. */
const triesMax = 5

type Syncs = Readonly<Record<string, SyncConfig>>

/** What `applySchedules` would do, and what `pruneSchedules` would. Writes nothing. */
export async function planSchedules(client: Client, syncs: Syncs): Promise<ScheduleStep[]> {
  return await stepsOf(client, syncs, stepOf)
}

/**
 * Makes the schedules as they are configured.
 * @returns what was done; where the server refused a schedule, why. The others are made all the same.
 */
export async function applySchedules(client: Client, syncs: Syncs): Promise<ScheduleStep[]> {
  return await stepsOf(client, syncs, applyOne)
}

/** Removes the schedules that are configured no more; runs of theirs that are on go on. */
export async function pruneSchedules(client: Client, syncs: Syncs): Promise<ScheduleStep[]> {
  const steps = await strayStepsOf(client, Object.values(syncs).filter(isScheduled))
  await inLanes(steps, inFlight, async ({ sync }) => {
    try {
      await client.schedule.getHandle(scheduleId(sync)).delete()
    } catch (error) {
      if (error instanceof ScheduleNotFoundError) return
      const message = `The Temporal server did not remove the schedule ${scheduleId(sync)}: ${refusalOf(error)}`
      throw new SyncError('schedule_failed', message)
    }
  })
  return steps
}

async function stepsOf(
  client: Client,
  syncs: Syncs,
  work: (client: Client, sync: ScheduledSync) => Promise<ScheduleStep>,
): Promise<ScheduleStep[]> {
  const scheduled = Object.values(syncs).filter(isScheduled)
  const steps = new Map<string, ScheduleStep>()
  await inLanes(scheduled, inFlight, async (sync) => {
    steps.set(sync.name, await work(client, sync))
  })
  const inOrder = scheduled.map(({ name }) => steps.get(name)!)
  return [...inOrder, ...(await strayStepsOf(client, scheduled))]
}

async function strayStepsOf(
  client: Client,
  scheduled: readonly ScheduledSync[],
): Promise<ScheduleStep[]> {
  const found = await strays(client, new Set(scheduled.map(({ name }) => name)))
  return [...found.keys()].map((sync) => ({
    sync,
    what: 'prune',
    when: null,
    changes: [],
    refused: null,
  }))
}

async function stepOf(client: Client, sync: ScheduledSync): Promise<ScheduleStep> {
  return toward(await describeSchedule(client, scheduleId(sync.name)), sync)
}

/** What leads from the schedule that was found to the one that is configured. */
function toward(found: ScheduleDescription | null, sync: ScheduledSync): ScheduleStep {
  const step = { sync: sync.name, when: scheduleText(sync.schedule), changes: [], refused: null }
  if (found === null) return { ...step, what: 'create' }
  if (!isOurs(found)) return { ...step, what: 'foreign' }
  const changes = changesOf(found, sync)
  return { ...step, changes, what: changes.length > 0 ? 'update' : 'same' }
}

async function applyOne(client: Client, sync: ScheduledSync): Promise<ScheduleStep> {
  for (let attempt = 1; ; attempt++) {
    const found = await describeSchedule(client, scheduleId(sync.name))
    const step = toward(found, sync)
    try {
      if (step.what === 'create') {
        if (await create(client, sync)) return step
      } else if (step.what === 'update') {
        if (await reconfigure(client, found!, sync)) return step
      } else return step
    } catch (error) {
      return { ...step, refused: refusalOf(error) }
    }
    if (attempt === triesMax) return { ...step, refused: 'somebody else keeps changing it' }
  }
}

/** @returns false where somebody else was faster */
async function create(client: Client, sync: ScheduledSync): Promise<boolean> {
  try {
    const id = { scheduleId: scheduleId(sync.name), memo: SCHEDULE_MEMO }
    await client.schedule.create({ ...optionsOf(sync), ...id })
    return true
  } catch (error) {
    if (error instanceof ScheduleAlreadyRunning) return false
    throw error
  }
}
