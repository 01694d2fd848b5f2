// Buttons: for each sync a schedule that is paused and has no times, so that Trigger in the Temporal UI begins a backfill of
// the sync, without a form. Promise kept here: what records-sync did not make is neither changed nor removed.

import { ScheduleAlreadyRunning, ScheduleNotFoundError, type Client } from '@temporalio/client'
import { backfill } from '../../workflows/names.ts'
import { TASK_QUEUE } from '../../workflows/queues.ts'
import { SyncError } from '../core/errors.ts'
import { inLanes } from '../core/lanes.ts'
import { SCHEDULE_MEMO, isOurs } from './form.ts'
import { describeSchedule, idsOf, refusalOf } from './read.ts'

const ID_START = 'backfill:'
const inFlight = 8

/** How the buttons of the configuration stand: the names of syncs. */
export interface Buttons {
  /** Those that are configured and have none. */
  readonly missing: readonly string[]
  /** Those that are configured no more, and have one of ours. */
  readonly strays: readonly string[]
}

export async function planButtons(client: Client, syncs: readonly string[]): Promise<Buttons> {
  const listed = await idsOf(client, ID_START)
  const missing: string[] = []
  const strays: string[] = []
  // One by one: the server's list lags, and does not say whose they are.
  await inLanes([...new Set([...syncs, ...listed])], inFlight, async (sync) => {
    const found = await describeSchedule(client, `${ID_START}${sync}`)
    if (found === null && syncs.includes(sync)) missing.push(sync)
    if (found !== null && isOurs(found) && !syncs.includes(sync)) strays.push(sync)
  })
  return { missing: missing.toSorted(), strays: strays.toSorted() }
}

/** Makes those that are missing. */
export async function makeButtons(client: Client, missing: readonly string[]): Promise<void> {
  await inLanes(missing, inFlight, async (sync) => {
    try {
      await client.schedule.create({
        scheduleId: `${ID_START}${sync}`,
        memo: SCHEDULE_MEMO,
        spec: {},
        action: {
          type: 'startWorkflow',
          workflowType: backfill,
          taskQueue: TASK_QUEUE,
          workflowId: `backfill-${sync}`,
          args: [{ sync }],
          staticSummary: `backfill ${sync}`,
          memo: SCHEDULE_MEMO,
        },
        policies: { overlap: 'SKIP', pauseOnFailure: false },
        state: { paused: true, note: `A button: Trigger begins a backfill of ${sync}.` },
      })
    } catch (error) {
      if (error instanceof ScheduleAlreadyRunning) return
      throw failed('make', sync, error)
    }
  })
}

/** Removes those that are configured no more. */
export async function removeButtons(client: Client, strays: readonly string[]): Promise<void> {
  await inLanes(strays, inFlight, async (sync) => {
    try {
      await client.schedule.getHandle(`${ID_START}${sync}`).delete()
    } catch (error) {
      if (error instanceof ScheduleNotFoundError) return
      throw failed('remove', sync, error)
    }
  })
}

const failed = (what: string, sync: string, error: unknown) =>
  new SyncError(
    'schedule_failed',
    `The Temporal server did not ${what} the schedule ${ID_START}${sync}: ${refusalOf(error)}`,
  )
