// Pauses the schedules of a sync whose key is refused, its own and those of its groups, with a note that says why and how to continue, and resumes it when the sync
// runs well again. Promises kept here: what a person paused is never resumed, because only our own note is removed; a run waits
// for this for 10 s at most, and never fails because of it.

import type { Client, ScheduleDescription } from '@temporalio/client'
import { SyncError } from '../core/errors.ts'
import { systemClock, type Logger } from '../core/ports.ts'
import { isComplete } from '../core/domain/books.ts'
import type { RunChange, RunObserver } from '../runs/observers.ts'
import type { Project } from '../runs/project.ts'
import { findSchedule, scheduleIdOf, type TimedPrefix } from './find.ts'
import { serverRefusal } from './read.ts'
import { setPaused } from './update.ts'

/** The client may be late: it checks its deadline between two attempts. */
const lateMs = 2_500
const messageMaxChars = 300
/** People change schedules too. */
const triesMax = 5
/** The prefix that identifies our notes. */
const OURS = 'Paused by records-sync:'

const WHY = {
  auth: (key: string) => `${key} is refused. Replace the key: all goes on by itself.`,
  permission: (key: string) => `${key} may not do this. Grant it: all goes on by itself.`,
} as const

/**
 * For `watchers`: what a run's changes mean for the schedule of its sync.
 * @param answerMaxMs how long the server may take
 */
export function pauseOnAuthFailure(
  client: Client,
  options: {
    logger: Logger
    project: Project
    answerMaxMs?: number
    /** Names of the groups with a schedule that a sync is of. Default: none. */
    groupsOf?(sync: string): Promise<readonly string[]>
  },
): RunObserver {
  const { logger, project, answerMaxMs = 7_000, groupsOf = async () => [] } = options
  return {
    async changed(change) {
      const work = keeping(client, change, { logger, project, groupsOf })
      if (work === null) return
      const done = new AbortController()
      const late = systemClock.sleep(answerMaxMs + lateMs, done.signal).then(
        () => 'no answer',
        () => null,
      )
      const kept = client
        .withDeadline(Date.now() + answerMaxMs, work)
        .then(() => null, serverRefusal)
      const why = await Promise.race([kept, late])
      done.abort()
      if (why !== null) {
        const { sync, run } = change
        const schedule = scheduleIdOf('sync:', sync, project)
        logger.warn({ schedule, sync, run, why }, 'schedule_not_kept')
      }
    },
  }
}

/** The action to take; null for none. */
function keeping(
  client: Client,
  change: RunChange,
  of: {
    readonly logger: Logger
    readonly project: Project
    groupsOf(sync: string): Promise<readonly string[]>
  },
): (() => Promise<void>) | null {
  const { sync, run, reason } = change
  const { logger, project, groupsOf } = of
  const judge = judgeOf(change)
  if (judge === null) return null
  const keep = async (name: string, start: TimedPrefix) => {
    for (let attempt = 1; attempt <= triesMax; attempt++) {
      const found = await findSchedule(client, name, project, start)
      const wanted = found && judge(found.state, name)
      if (!found || !wanted) return
      if (await setPaused(client, found, wanted)) {
        const fields = { schedule: found.scheduleId, sync, run }
        if (wanted.paused) logger.warn({ ...fields, reason }, 'schedule_paused')
        else logger.info(fields, 'schedule_resumed')
        return
      }
    }
    throw new SyncError('schedule_busy', 'another process keeps changing the schedule')
  }
  return async () => {
    await keep(sync, 'sync:')
    for (const group of await groupsOf(sync)) await keep(group, 'group:')
  }
}

type State = ScheduleDescription['state']
/** The state that the schedule of that name should get; null if it must be left alone. */
type Judge = (
  state: State,
  name: string,
) => { readonly paused: boolean; readonly note: string } | null

function judgeOf(change: RunChange): Judge | null {
  const { from, to, reason, sync } = change
  if (to === 'blocked' && (reason === 'auth' || reason === 'permission'))
    return (state, name) => {
      const note = noteOf(change, reason, name)
      // A person has paused it, or another sync of the group is the reason.
      const isOthers = state.paused && !isNoteFor(state.note, name, sync)
      return isOthers || (state.paused && state.note === note) ? null : { paused: true, note }
    }
  const isWell = (from === 'blocked' && to === 'running') || isComplete(to)
  if (!isWell) return null
  const note = `Resumed by records-sync: ${sync} is well again.`
  return (state, name) =>
    state.paused && isNoteFor(state.note, name, sync) ? { paused: false, note } : null
}

/** Whether the note of the schedule of that name is ours, and about that sync. */
const isNoteFor = (note: string | undefined, name: string, sync: string): boolean =>
  note?.startsWith(OURS) === true && (name === sync || note.includes(` of ${sync} `))

/** The first 100 characters contain what matters: lists show no more. At most 1,000 bytes, the server's limit. */
function noteOf(change: RunChange, reason: keyof typeof WHY, name: string): string {
  const { sync, run, workflowId } = change
  const holder =
    run === null ? `Workflow ${workflowId} of ${sync}` : `Run ${run} of ${sync} (${workflowId})`
  const said = (change.message ?? '').replaceAll(/[^\x20-\x7E]/g, '?').slice(0, messageMaxChars)
  return [
    `${OURS} ${WHY[reason](name === sync ? 'its key' : `the key of ${sync}`)}`,
    `${holder} waits, asks again every few minutes, and goes on once that is mended; then this schedule is resumed too.`,
    `Where that run was ended instead: records-sync schedules resume ${name}.`,
    ...(said === '' ? [] : [`It said: ${said}`]),
  ].join(' ')
}
