// Changes a schedule on the server without losing concurrent changes. Promise kept here: a decision that rests on an old state is
// not carried out. The server applies an update and a pause in an order of its own, so an update without the token of the state
// that it rests on can undo a pause that came after it (observed in one of six).

import { ScheduleNotFoundError, type Client, type ScheduleDescription } from '@temporalio/client'
import {
  encodeScheduleAction,
  encodeSchedulePolicies,
  encodeScheduleSpec,
} from '@temporalio/client/lib/schedule-helpers.js'
import { randomUUID } from 'node:crypto'
import { systemClock } from '../core/ports.ts'
import type { Project } from '../runs/project.ts'
import { scheduleOptions, type ScheduledJob } from './definition.ts'
import { describeSchedule, scheduleFailed, statusName } from './read.ts'

/** A schedule in the form that the server takes. */
type Raw = NonNullable<ScheduleDescription['raw']['schedule']>

const pollsMax = 60
const pollEveryMs = { first: 10, most: 200 }

/** Applies the configuration; its state stays. @returns false if another process changed it meanwhile */
export async function updateSchedule(
  client: Client,
  found: ScheduleDescription,
  job: ScheduledJob,
  project: Project,
): Promise<boolean> {
  const { spec, action, policies } = scheduleOptions(job, project)
  const { namespace, loadedDataConverter } = client.options
  const headers = found.raw.schedule?.action?.startWorkflow?.header?.fields ?? {}
  // Ours names its workflow by a string and has arguments, and that is everything a compiled action contains.
  const compiled = action as Parameters<typeof encodeScheduleAction>[2]
  const schedule: Raw = {
    spec: encodeScheduleSpec(spec),
    action: await encodeScheduleAction(loadedDataConverter, namespace, compiled, headers),
    policies: encodeSchedulePolicies(policies),
    state: found.raw.schedule?.state ?? null,
  }
  const { configHash } = action.memo!
  return await replace(client, found, {
    schedule,
    isDone: (now) => now.action.memo?.['configHash'] === configHash,
  })
}

/** Pauses or resumes it; everything else stays. @returns false if another process changed it meanwhile */
export async function setPaused(
  client: Client,
  found: ScheduleDescription,
  wanted: { readonly paused: boolean; readonly note: string },
): Promise<boolean> {
  const { paused, note } = wanted
  const { schedule } = found.raw
  return await replace(client, found, {
    schedule: { ...schedule, state: { ...schedule?.state, paused, notes: note } },
    isDone: ({ state }) => state.paused === paused && state.note === note,
  })
}

/** Removes a schedule, if it is still there. @throws SyncError `schedule_failed` */
export async function removeSchedule(
  client: Client,
  id: string,
  kind: 'schedule' | 'button' = 'schedule',
): Promise<void> {
  try {
    await client.schedule.getHandle(id).delete()
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError))
      throw scheduleFailed(`remove the ${kind} ${id}`, error)
  }
}

async function replace(
  client: Client,
  found: ScheduleDescription,
  wanted: {
    readonly schedule: Raw
    isDone(now: ScheduleDescription): boolean
  },
): Promise<boolean> {
  const { namespace, identity } = client.options
  const { scheduleId } = found
  const { conflictToken } = found.raw
  try {
    await client.workflowService.updateSchedule({
      namespace,
      scheduleId,
      schedule: wanted.schedule,
      conflictToken: conflictToken ?? null,
      identity,
      requestId: randomUUID(),
    })
  } catch (error) {
    // Newer servers report that the token is old; older ones skip the update silently.
    if (statusName(error) === 'FAILED_PRECONDITION' || statusName(error) === 'NOT_FOUND')
      return false
    throw error
  }
  const before = Buffer.from(conflictToken ?? [])
  for (let look = 1; look <= pollsMax; look++) {
    const now = await describeSchedule(client, scheduleId)
    if (now === null) return false
    if (wanted.isDone(now)) return true
    if (!before.equals(Buffer.from(now.raw.conflictToken ?? []))) return false
    await systemClock.sleep(Math.min(look * pollEveryMs.first, pollEveryMs.most))
  }
  return false
}
