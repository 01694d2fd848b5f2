// Buttons: for each sync a schedule that is paused and has no times, so that Trigger in the Temporal UI begins a backfill of the
// sync, without a form. Promise kept here: a schedule that records-sync did not make, or made for another project, is neither
// changed nor removed.

import { ScheduleAlreadyRunning } from '@temporalio/client'
import { backfill } from '../../workflows/names.ts'
import { backfillId, taskQueueOf } from '../../workflows/queues.ts'
import { forEachConcurrent } from '../core/concurrency.ts'
import { scheduleIdOf, scheduledSyncs, type ScheduleScope } from './find.ts'
import { SCHEDULE_MEMO, isOurs } from './definition.ts'
import { describeSchedule, scheduleFailed } from './read.ts'
import { removeSchedule } from './update.ts'

const inFlight = 8

/** The state of the buttons of the configuration: the names of syncs. */
export interface BackfillButtons {
  /** Syncs that are configured and have no button. */
  readonly missing: readonly string[]
  /** Syncs that are no longer configured, and still have one of our buttons. */
  readonly strays: readonly string[]
}

export async function planButtons(
  { client, project }: ScheduleScope,
  syncs: readonly string[],
): Promise<BackfillButtons> {
  const listed = await scheduledSyncs(client, 'backfill:', project)
  const missing: string[] = []
  const strays: string[] = []
  // One by one: the server's list lags, and does not say which are ours.
  await forEachConcurrent([...new Set([...syncs, ...listed])], inFlight, async (sync) => {
    const found = await describeSchedule(client, scheduleIdOf('backfill:', sync, project))
    if (found === null && syncs.includes(sync)) missing.push(sync)
    if (!syncs.includes(sync) && found !== null && isOurs(found)) strays.push(sync)
  })
  return { missing: missing.toSorted(), strays: strays.toSorted() }
}

/** Makes the missing buttons. */
export async function makeButtons(place: ScheduleScope, missing: readonly string[]): Promise<void> {
  const { client, project } = place
  await forEachConcurrent(missing, inFlight, async (sync) => {
    try {
      await client.schedule.create({
        scheduleId: scheduleIdOf('backfill:', sync, project),
        memo: SCHEDULE_MEMO,
        spec: {},
        action: {
          type: 'startWorkflow',
          workflowType: backfill,
          taskQueue: taskQueueOf(project.id),
          workflowId: backfillId(sync, project.id),
          args: [{ sync }],
          staticSummary: `backfill ${sync}`,
          memo: SCHEDULE_MEMO,
        },
        policies: { overlap: 'SKIP', pauseOnFailure: false },
        state: { paused: true, note: `A button: Trigger begins a backfill of ${sync}.` },
      })
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning))
        throw scheduleFailed(`make the button ${sync}`, error)
    }
  })
}

/** Removes the buttons of syncs that are no longer configured. */
export async function removeButtons(
  place: ScheduleScope,
  strays: readonly string[],
): Promise<void> {
  await forEachConcurrent(strays, inFlight, async (sync) => {
    const id = scheduleIdOf('backfill:', sync, place.project)
    await removeSchedule(place.client, id, 'button')
  })
}
