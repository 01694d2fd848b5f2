// Schedules of a server that is busy.

import { ServiceError, type Client } from '@temporalio/client'
import { expect, test } from 'vitest'
import { describeSchedule, listScheduleIds } from '../../../src/schedules/read.ts'

const late = new Error('4 DEADLINE_EXCEEDED: context deadline exceeded')

/** A server that owes so many answers before it gives one. */
function busyServer(owed: number) {
  let asked = 0
  const answer = <Given>(given: Given, error: Error) => {
    asked++
    return asked <= owed ? Promise.reject<Given>(error) : Promise.resolve(given)
  }
  const client = {
    options: { namespace: 'default' },
    schedule: {
      getHandle: (scheduleId: string) => ({
        describe: () =>
          answer({ scheduleId }, new ServiceError('Failed to describe', { cause: late })),
      }),
    },
    workflowService: {
      listSchedules: () => answer({ schedules: [{ scheduleId: 'sync:contacts' }] }, late),
    },
  } as unknown as Client
  return { client, asked: () => asked }
}

test('a schedule whose server is too busy to answer is read again', async () => {
  const { client, asked } = busyServer(2)
  expect(await describeSchedule(client, 'sync:contacts')).toEqual({ scheduleId: 'sync:contacts' })
  expect(asked()).toBe(3)
  expect(await listScheduleIds(busyServer(2).client, 'sync:')).toEqual(['contacts'])
})

test('a server that never answers in time is asked three times', async () => {
  const { client, asked } = busyServer(100)
  await expect(describeSchedule(client, 'sync:contacts')).rejects.toMatchObject({
    code: 'schedule_failed',
    message: 'The Temporal server did not describe the schedule sync:contacts: DEADLINE_EXCEEDED',
  })
  expect(asked()).toBe(3)
})
