// How the schedules stand, and what a person does with one of them.

import { ScheduleNotFoundError, type Client, type ScheduleDescription } from '@temporalio/client'
import { SyncError } from '../core/errors.ts'
import { scheduleText } from '../core/schedule.ts'
import type { SyncConfig } from '../core/sync.ts'
import { isOurs, isScheduled, scheduleId } from './form.ts'
import { describeSchedule, refusalOf, strays } from './read.ts'
import { whenText } from './words.ts'

export interface ScheduleView {
  readonly sync: string
  /** `missing`: not applied yet. `foreign`: records-sync did not make it. */
  readonly state: 'active' | 'paused' | 'missing' | 'foreign'
  /** Whether it is in the configuration. */
  readonly configured: boolean
  /** As the server has it, edits included; of a missing one, as configured. */
  readonly when: string
  /** What was said when it was paused or resumed last. */
  readonly note: string | null
  readonly lastRun: { readonly at: Date; readonly workflowId: string } | null
  /** Null while it is paused, and where its time never comes. */
  readonly next: Date | null
}

/** Those of the configuration in its order, then those of ours that are configured no more. */
export async function listSchedules(
  client: Client,
  syncs: Readonly<Record<string, SyncConfig>>,
): Promise<ScheduleView[]> {
  const views: ScheduleView[] = []
  const scheduled = Object.values(syncs).filter(isScheduled)
  for (const { name, schedule } of scheduled) {
    const found = await describeSchedule(client, scheduleId(name))
    const missing = { state: 'missing', note: null, lastRun: null, next: null } as const
    views.push({
      sync: name,
      configured: true,
      ...(found === null ? { ...missing, when: scheduleText(schedule) } : viewOf(found)),
    })
  }
  for (const [sync, found] of await strays(client, new Set(scheduled.map(({ name }) => name))))
    views.push({ sync, configured: false, ...viewOf(found) })
  return views
}

function viewOf(found: ScheduleDescription): Omit<ScheduleView, 'sync' | 'configured'> {
  const { paused, note } = found.state
  const last = found.info.recentActions.at(-1)
  const active = paused ? 'paused' : 'active'
  return {
    state: isOurs(found) ? active : 'foreign',
    when: whenText(found.spec),
    note: note || null,
    lastRun: last ? { at: last.takenAt, workflowId: last.action.workflow.workflowId } : null,
    next: paused ? null : (found.info.nextActionTimes[0] ?? null),
  }
}

/** `note`: 1 to 1,000 bytes. The server ignores a pause without one. */
export const pauseSchedule = (client: Client, sync: string, note: string): Promise<boolean> =>
  steered(client, sync, (handle) => handle.pause(note))

/** `note` as that of a pause. */
export const resumeSchedule = (client: Client, sync: string, note: string): Promise<boolean> =>
  steered(client, sync, (handle) => handle.unpause(note))

/** Asks for a run now, paused or not; it is left out where one that the schedule began is still on. */
export const triggerSchedule = (client: Client, sync: string): Promise<boolean> =>
  steered(client, sync, (handle) => handle.trigger('SKIP'))

/** @returns whether there is such a schedule */
async function steered(
  client: Client,
  sync: string,
  work: (handle: ReturnType<Client['schedule']['getHandle']>) => Promise<void>,
): Promise<boolean> {
  try {
    await work(client.schedule.getHandle(scheduleId(sync)))
    return true
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return false
    const message = `The Temporal server did not change the schedule ${scheduleId(sync)}: ${refusalOf(error)}`
    throw new SyncError('schedule_failed', message)
  }
}
