// Reads schedules from the server: one by its sync, or all of ours. The server's errors in our words.

import {
  ScheduleNotFoundError,
  ServiceError,
  type Client,
  type ScheduleDescription,
} from '@temporalio/client'
import { SyncError } from '../core/errors.ts'

const pageSize = 1_000
const schedulesMax = 100_000
/** Answers that a server may owe before it counts as one that does not answer. */
const SLOW_ANSWERS_MAX = 3
export const UNREADABLE = 'schedule_unreadable'

/** The gRPC status that a call failed with, such as `PERMISSION_DENIED`; undefined for any other failure. */
export function statusName(error: unknown): string | undefined {
  return /^\d+ ([A-Z_]+)/.exec(messageOf(error))?.[1]
}

const messageOf = (error: unknown): string =>
  ((error instanceof ServiceError ? error.cause : error) as Error).message

/** Why the server refused something. Its own words may quote anything; ours are kept. */
export function serverRefusal(error: unknown): string {
  if (error instanceof SyncError) return error.message
  if (error instanceof TypeError || /invalid schedule spec/i.test(messageOf(error)))
    return 'it does not know the time zone, or the cron line'
  if (/no mapping defined for search attribute/i.test(messageOf(error)))
    return 'the namespace lacks the search attributes of records-sync; a worker registers them when it starts'
  return statusName(error) ?? (error as Error).name
}

/** @param what the server did not do, such as `remove the schedule sync:contacts` */
export const scheduleFailed = (what: string, error: unknown): SyncError =>
  new SyncError('schedule_failed', `The Temporal server did not ${what}: ${serverRefusal(error)}`)

/**
 * Reads from a server that may be busy: it needs an answer of the schedule's own workflow, and gives that one a few seconds. The SDK
 * repeats no call that has ended so, because it may be a write.
 */
async function readPatiently<Result>(read: () => Promise<Result>): Promise<Result> {
  for (let slow = 1; ; slow++) {
    try {
      return await read()
    } catch (error) {
      if (statusName(error) !== 'DEADLINE_EXCEEDED' || slow >= SLOW_ANSWERS_MAX) throw error
    }
  }
}

/**
 * The schedule of that id; null if there is none.
 * @throws SyncError `schedule_failed`, or `schedule_unreadable` if it was encrypted with a key that is not ours
 */
export async function describeSchedule(
  client: Client,
  id: string,
): Promise<ScheduleDescription | null> {
  try {
    return await readPatiently(() => client.schedule.getHandle(id).describe())
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return null
    if (error instanceof ServiceError) throw scheduleFailed(`describe the schedule ${id}`, error)
    throw new SyncError(
      UNREADABLE,
      `The schedule ${id} cannot be read: it was written by another program, or encrypted with a key that is not among \`encryption_keys\``,
    )
  }
}

/** What follows `start` in the ids of all schedules. By id alone: the content of other programs' schedules may be unreadable. */
export async function listScheduleIds(client: Client, start: string): Promise<string[]> {
  const syncs: string[] = []
  let nextPageToken: Uint8Array = new Uint8Array()
  let seen = 0
  do {
    const asked = { namespace: client.options.namespace, maximumPageSize: pageSize, nextPageToken }
    const page = await readPatiently(() => client.workflowService.listSchedules(asked)).catch(
      (error: unknown) => {
        throw scheduleFailed('list the schedules', error)
      },
    )
    const ids = (page.schedules ?? []).map(({ scheduleId: id }) => id ?? '')
    syncs.push(...ids.filter((id) => id.startsWith(start)).map((id) => id.slice(start.length)))
    nextPageToken = page.nextPageToken ?? new Uint8Array()
    seen += ids.length
    if (seen > schedulesMax)
      throw new SyncError(
        'too_many_schedules',
        `The namespace ${client.options.namespace} has more than ${schedulesMax} schedules; give records-sync one of its own`,
      )
  } while (nextPageToken.length > 0)
  return syncs
}
