// The state of the schedules, and what a person can do with one.

import { ScheduleNotFoundError, type Client, type ScheduleDescription } from '@temporalio/client'
import { scheduleText } from '../core/domain/schedule.ts'
import { countText, formatNumber } from '../core/format.ts'
import type { Project } from '../runs/project.ts'
import { findNamedSchedule, findSchedule, orphanedSchedules, prefixOf } from './find.ts'
import { isOurs, isScheduled, type ScheduleJobs } from './definition.ts'
import { scheduleFailed } from './read.ts'
import { scheduleTimesText } from './text.ts'

export interface ScheduleView {
  /** Name of the sync, or of the group. */
  readonly sync: string
  readonly isGroup: boolean
  /** `missing`: not applied yet. `foreign`: records-sync did not make it. */
  readonly state: 'active' | 'paused' | 'missing' | 'foreign'
  /** Whether it is in the configuration. */
  readonly configured: boolean
  /** As the server has it, edits included; if it is missing, as configured. */
  readonly when: string
  /** The note of the last pause or resume. */
  readonly note: string | null
  readonly lastRun: { readonly at: Date; readonly workflowId: string } | null
  /** Null while it is paused, and if its time never comes. */
  readonly next: Date | null
  /** The next times, the first of them `next`; none while it is paused. */
  readonly times: readonly Date[]
  /** How its times ended since it was made, by the server's count; null if it is missing. */
  readonly taken: TimesTaken | null
}

export interface TimesTaken {
  readonly began: number
  /** No run began, because the previous run was still at work. */
  readonly overlapped: number
  /** No run began, because the server was away for longer than `catch_up`. */
  readonly missed: number
}

/** `4 of 7 times were skipped: the previous run was still at work`; null if a run began each time. */
export function skippedTimesText({ began, overlapped, missed }: TimesTaken): string | null {
  const all = began + overlapped + missed
  const of = (skipped: number, why: string) =>
    skipped === 0
      ? []
      : [`${formatNumber(skipped)} of ${countText(all, 'time was', 'times were')} skipped: ${why}`]
  const texts = [
    ...of(overlapped, 'the previous run was still at work, so its interval is too short'),
    ...of(missed, 'the Temporal server was away for too long'),
  ]
  return texts.length === 0 ? null : texts.join('; ')
}

/** Times that people look ahead. */
const TIMES_MAX = 5

/** The configured schedules in the configuration's order, then ours that are no longer configured. */
export async function listSchedules(
  client: Client,
  jobs: ScheduleJobs,
  project: Project,
): Promise<ScheduleView[]> {
  const views: ScheduleView[] = []
  const scheduled = Object.values(jobs).filter(isScheduled)
  for (const job of scheduled) {
    const { name, kind, schedule } = job
    const found = await findSchedule(client, name, project, prefixOf(job))
    const missing = {
      state: 'missing',
      note: null,
      lastRun: null,
      next: null,
      times: [],
      taken: null,
    } as const
    views.push({
      sync: name,
      isGroup: kind === 'group',
      configured: true,
      ...(found === null ? { ...missing, when: scheduleText(schedule) } : viewOf(found)),
    })
  }
  for (const { name, start, found } of await orphanedSchedules({ client, project }, scheduled))
    views.push({ sync: name, isGroup: start === 'group:', configured: false, ...viewOf(found) })
  return views
}

function viewOf(found: ScheduleDescription): Omit<ScheduleView, 'sync' | 'isGroup' | 'configured'> {
  const { paused, note } = found.state
  const last = found.info.recentActions.at(-1)
  const active = paused ? 'paused' : 'active'
  const times = paused ? [] : found.info.nextActionTimes.slice(0, TIMES_MAX)
  return {
    state: isOurs(found) ? active : 'foreign',
    when: scheduleTimesText(found.spec),
    note: note || null,
    lastRun: last ? { at: last.takenAt, workflowId: last.action.workflow.workflowId } : null,
    next: times[0] ?? null,
    times,
    taken: {
      began: found.info.numActionsTaken,
      overlapped: found.info.numActionsSkippedOverlap,
      missed: found.info.numActionsMissedCatchupWindow,
    },
  }
}

/** A schedule is controlled by the name of its sync, or of its group. */
type ScheduleChange = { readonly sync: string; readonly project: Project }

/** `note`: 1 to 1,000 bytes. The server ignores a pause without one. */
export const pauseSchedule = (client: Client, of: ScheduleChange, note: string): Promise<boolean> =>
  applyScheduleChange(client, of, (handle) => handle.pause(note))

/** `note`: as for a pause. */
export const resumeSchedule = (
  client: Client,
  of: ScheduleChange,
  note: string,
): Promise<boolean> => applyScheduleChange(client, of, (handle) => handle.unpause(note))

/** Asks for a run now, paused or not; skipped if a run that the schedule began is still live. */
export const triggerSchedule = (client: Client, of: ScheduleChange): Promise<boolean> =>
  applyScheduleChange(client, of, (handle) => handle.trigger('SKIP'))

/** @returns whether there is such a schedule */
async function applyScheduleChange(
  client: Client,
  { sync, project }: ScheduleChange,
  work: (handle: ReturnType<Client['schedule']['getHandle']>) => Promise<void>,
): Promise<boolean> {
  const found = await findNamedSchedule(client, sync, project)
  if (found === null) return false
  try {
    await work(client.schedule.getHandle(found.scheduleId))
    return true
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return false
    throw scheduleFailed(`change the schedule ${found.scheduleId}`, error)
  }
}
