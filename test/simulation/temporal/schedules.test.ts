// Schedules of the engine, with the code of the project that makes, changes and pauses them.

import { beforeEach, expect, test } from 'vitest'
import { silentLogger } from '../../../src/core/ports.ts'
import { applySchedules } from '../../../src/schedules/apply.ts'
import { pauseSchedule, triggerSchedule } from '../../../src/schedules/control.ts'
import type { ScheduleJobs } from '../../../src/schedules/definition.ts'
import { scheduleIdOf } from '../../../src/schedules/find.ts'
import { missingSchedules } from '../../../src/schedules/missing.ts'
import { SimulatedTemporal } from './index.ts'
import { nextTime, withCalendars } from './schedule-times.ts'
import { seeded, VirtualTime } from './virtual-time.ts'
import { wireTime } from './wire.ts'

let time: VirtualTime
let temporal: SimulatedTemporal
beforeEach(() => {
  time = new VirtualTime()
  temporal = new SimulatedTemporal({ scheduler: time, dice: seeded(1), bundle: { code: '' } })
})

const HOUR = 3_600_000
const begun = () => [...temporal.server.runs.keys()]
const create = async (overlap: 'SKIP' | 'BUFFER_ONE' | 'ALLOW_ALL', every = '1h') =>
  await time.until(
    temporal.client('test').schedule.create({
      scheduleId: 's',
      spec: { intervals: [{ every }] },
      policies: { overlap },
      action: {
        type: 'startWorkflow',
        workflowType: 'w',
        workflowId: 'w',
        taskQueue: 'q',
        args: [1],
      },
    }),
  )

test('runs begin at their times, with the time in their ids', async () => {
  await create('ALLOW_ALL')
  await time.pass(2.5 * HOUR)
  expect(begun()).toEqual(['w-2026-01-01T01:00:00Z', 'w-2026-01-01T02:00:00Z'])
})

test('one at a time, or one that waits', async () => {
  await create('SKIP')
  await time.pass(3.5 * HOUR)
  expect(begun()).toHaveLength(1)
  const waiting = temporal.client('test').schedule.getHandle('s')
  await time.until(
    waiting.update((now) => ({ ...now, policies: { ...now.policies, overlap: 'BUFFER_ONE' } })),
  )
  await time.pass(3 * HOUR)
  expect(begun()).toHaveLength(1)
  const { workflow } = temporal.client('test')
  await time.until(workflow.getHandle(begun()[0]!).terminate())
  await time.pass(10)
  expect(begun()).toHaveLength(2)
})

test('pause, trigger, backfill', async () => {
  const handle = await create('ALLOW_ALL')
  await time.until(handle.pause('by hand'))
  await time.pass(2.5 * HOUR)
  expect(begun()).toEqual([])
  await time.until(handle.trigger())
  expect(begun()).toHaveLength(1)
  const start = new Date(time.now() - 2 * HOUR)
  await time.until(handle.backfill({ start, end: new Date(time.now()), overlap: 'ALLOW_ALL' }))
  expect(begun()).toHaveLength(3)
  const { state, info } = await time.until(handle.describe())
  expect(state).toMatchObject({ paused: true, note: 'by hand' })
  expect(info.numActionsTaken).toBe(begun().length)
  await time.until(handle.delete())
  await expect(time.until(handle.describe())).rejects.toMatchObject({
    name: 'ScheduleNotFoundError',
  })
})

test('a server that was away takes up what is not too old', async () => {
  await create('ALLOW_ALL')
  temporal.down()
  await time.pass(2.5 * HOUR)
  expect(begun()).toEqual([])
  temporal.up()
  await time.pass(1)
  expect(begun()).toHaveLength(2)
})

const at = (spec: Parameters<typeof nextTime>[0], after: string): string | null => {
  const next = nextTime(withCalendars(spec), Date.parse(after))
  return next === null ? null : new Date(next).toISOString()
}

test.each([
  ['*/15 * * * *', 'UTC', '2026-01-01T00:01:00Z', '2026-01-01T00:15:00.000Z'],
  ['0 6 * * 1-5', 'UTC', '2026-01-02T06:00:00Z', '2026-01-05T06:00:00.000Z'],
  ['30 2 1 * *', 'Europe/Berlin', '2026-01-01T12:00:00Z', '2026-02-01T01:30:00.000Z'],
  ['0 0 29 2 *', 'UTC', '2026-01-01T00:00:00Z', '2028-02-29T00:00:00.000Z'],
  ['0 0 31 2 *', 'UTC', '2026-01-01T00:00:00Z', null],
])('%s in %s after %s: %s', (cron, timezoneName, after, next) => {
  expect(at({ cronString: [cron], timezoneName }, after)).toBe(next)
})

test('an interval with a phase', () => {
  const interval = [{ interval: wireTime(HOUR), phase: wireTime(60_000) }]
  expect(at({ interval }, '2026-01-01T00:01:00Z')).toBe('2026-01-01T01:01:00.000Z')
  expect(() => withCalendars({ cronString: ['nonsense'] })).toThrow('Invalid schedule spec')
})

test('the project makes its schedules, changes them, and keeps what people do to them', async () => {
  const client = temporal.client('test')
  const project = { id: '3f9ac2b1' }
  const jobs = (every_ms: number): ScheduleJobs => ({
    contacts: {
      name: 'contacts',
      kind: 'import',
      schedule: { every_ms, time_zone: 'UTC', jitter_seconds: 0, catch_up_minutes: 60 },
    },
  })
  const place = { client, project }
  const apply = async (every_ms: number) => {
    const [step] = await time.until(applySchedules(place, jobs(every_ms)))
    return step?.what
  }
  expect(await apply(HOUR)).toBe('create')
  expect(await apply(HOUR)).toBe('same')
  await time.until(pauseSchedule(client, { sync: 'contacts', project }, 'lunch'))
  expect(await apply(2 * HOUR)).toBe('update')
  const id = scheduleIdOf('sync:', 'contacts', project)
  const { state, spec } = await time.until(client.schedule.getHandle(id).describe())
  expect(state).toMatchObject({ paused: true, note: 'lunch' })
  expect(spec.intervals).toMatchObject([{ every: 2 * HOUR }])
  const missing: boolean[] = []
  const look = missingSchedules({
    ...place,
    loadJobs: async () => jobs(HOUR),
    logger: silentLogger,
    note: (isMissing) => missing.push(isMissing?.get('contacts') ?? true),
  })
  await time.until(look())
  await time.until(triggerSchedule(client, { sync: 'contacts', project }))
  const [run] = begun()
  expect(run).toMatch(/^import-contacts-3f9ac2b1-2026-01-01T/)
  const { memo, searchAttributes } = await time.until(client.workflow.getHandle(run!).describe())
  expect(memo).toMatchObject({ managedBy: 'records-sync' })
  expect(searchAttributes).toMatchObject({ SyncName: ['contacts'], TemporalScheduledById: [id] })
  temporal.wipe()
  await time.until(look())
  expect(missing).toEqual([false, true])
})
