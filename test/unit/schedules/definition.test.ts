// What a schedule is known by, and how it is said.

import type { ScheduleDescription, ScheduleSpecDescription } from '@temporalio/client'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ScheduleConfig } from '../../../src/core/domain/schedule.ts'
import {
  configurationChanges,
  configurationHash,
  isOurs,
  scheduleOptions,
  type ConfiguredSchedule,
  type ScheduledJob,
} from '../../../src/schedules/definition.ts'
import { scheduleTimesText } from '../../../src/schedules/text.ts'

const project = { id: '0badcafe' }
const hourly: ScheduleConfig = {
  every_ms: 3_600_000,
  time_zone: 'UTC',
  jitter_seconds: 0,
  catch_up_minutes: 60,
}
const { every_ms: _, ...noInterval } = hourly
const daily: ScheduleConfig = { ...noInterval, cron: '0 6 * * *', time_zone: 'Europe/Berlin' }

/** A sync of which only its schedule matters. */
const sync = (schedule: ScheduleConfig, kind: 'import' | 'mirror' = 'import') =>
  ({ name: 'contacts', kind, [kind]: {}, schedule }) as unknown as ScheduledJob

/** The schedule as the server gives it back: memo keys in an order of its own. */
function described(of: ScheduledJob, memo: object = {}): ScheduleDescription {
  const { action } = scheduleOptions(of, project)
  const { configuration, ...rest } = action.memo as { configuration: object }
  const turned = Object.fromEntries(Object.entries(configuration).toReversed())
  return { action: { memo: { configuration: turned, ...rest, ...memo } } } as never
}

const facts = fc.record({
  form: fc.integer({ min: 1, max: 3 }),
  kind: fc.constantFrom('import' as const, 'mirror' as const),
  every_ms: fc.integer({ min: 10_000, max: 10 ** 9 }),
  time_zone: fc.constantFrom('UTC', 'Europe/Berlin'),
  jitter_seconds: fc.integer({ min: 0, max: 100 }),
  catch_up_minutes: fc.integer({ min: 1, max: 100 }),
})

describe('the hash of a schedule', () => {
  it('does not depend on the order of what it is made from', () => {
    const orders = facts.chain((fact) =>
      fc.tuple(
        fc.constant(fact),
        fc.shuffledSubarray(Object.entries(fact), { minLength: Object.keys(fact).length }),
      ),
    )
    fc.assert(
      fc.property(orders, ([fact, entries]) => {
        expect(
          configurationHash(Object.fromEntries(entries) as unknown as ConfiguredSchedule),
        ).toBe(configurationHash(fact))
      }),
    )
  })

  it('is another one where a single thing differs', () => {
    const keys = fc.constantFrom(
      'form',
      'kind',
      'every_ms',
      'time_zone',
      'jitter_seconds',
      'catch_up_minutes',
    )
    fc.assert(
      fc.property(facts, facts, keys, (fact, other, key) => {
        const changed = { ...fact, [key]: other[key as keyof typeof other] }
        const isSame = fact[key as keyof typeof fact] === changed[key as keyof typeof changed]
        expect(configurationHash(changed) === configurationHash(fact)).toBe(isSame)
      }),
    )
    const { every_ms: every, ...rest } = { form: 1, kind: 'import', ...hourly } as const
    expect(configurationHash({ ...rest, cron: String(every) })).not.toBe(
      configurationHash({ ...rest, every_ms: every! }),
    )
  })

  it('stays what it was: another one would undo what people edited', () => {
    const hashes = [sync(hourly), sync(daily, 'mirror')].map(
      (each) => scheduleOptions(each, project).action.memo!['configHash'],
    )
    expect(hashes).toEqual(['8e0f0ebac41a06756de2e1e9a1b022be', '93fcc75c12bdabee123e0ba6941dd4e4'])
  })
})

describe('what would change', () => {
  it('is nothing where the configuration is the same', () => {
    for (const each of [sync(hourly), sync(daily, 'mirror')])
      expect(configurationChanges(described(each), each)).toEqual([])
  })

  it('is said in words', () => {
    const changes = (before: ScheduledJob, after: ScheduledJob) =>
      configurationChanges(described(before), after)
    expect(changes(sync(hourly), sync({ ...hourly, every_ms: 300_000 }))).toEqual([
      'every hour → every 5 minutes',
    ])
    expect(
      changes(sync(hourly), sync({ ...daily, jitter_seconds: 30, catch_up_minutes: 5 }, 'mirror')),
    ).toEqual([
      'import → mirror',
      'every hour → cron 0 6 * * * in Europe/Berlin',
      'jitter of 0 s → jitter of 30 s',
      'catch-up of 60 min → catch-up of 5 min',
    ])
    expect(changes(sync(daily), sync({ ...daily, time_zone: 'Asia/Tokyo' }))).toEqual([
      'cron 0 6 * * * in Europe/Berlin → cron 0 6 * * * in Asia/Tokyo',
    ])
  })

  it('is not known of what another tool, or another release, has written', () => {
    const each = sync(hourly)
    const other = { configHash: 'other' }
    expect(configurationChanges(described(each, other), each)).toEqual([
      'another release of records-sync wrote it',
    ])
    for (const configuration of [undefined, null, 'hourly', [], {}, { every_ms: '1' }])
      expect(configurationChanges(described(each, { ...other, configuration }), each)).toEqual([
        'it was edited with another tool, which took its configuration away',
      ])
  })
})

it('a schedule is ours by its own memo, or by that of its action', () => {
  const ours = { managedBy: 'records-sync' }
  const of = (action: object | undefined, memo: object | undefined) =>
    isOurs({ action: { memo: action }, memo } as never)
  expect([of(ours, undefined), of(undefined, ours), of(ours, ours)]).toEqual([true, true, true])
  expect([of(undefined, undefined), of({ managedBy: 'us' }, {})]).toEqual([false, false])
})

it('no run overlaps another, none is made up for a year later, and a failure pauses nothing', () => {
  expect(scheduleOptions(sync({ ...hourly, catch_up_minutes: 5 }), project).policies).toEqual({
    overlap: 'SKIP',
    catchupWindow: 300_000,
    pauseOnFailure: false,
  })
})

describe('times as the server has them', () => {
  const all = {
    second: [{ start: 0, end: 0, step: 1 }],
    minute: [{ start: 0, end: 59, step: 1 }],
    hour: [{ start: 0, end: 23, step: 1 }],
    dayOfMonth: [{ start: 1, end: 31, step: 1 }],
    month: [{ start: 'JANUARY', end: 'DECEMBER', step: 1 }],
    year: [],
    dayOfWeek: [{ start: 'SUNDAY', end: 'SATURDAY', step: 1 }],
  }
  const at = (times: object): ScheduleSpecDescription =>
    ({ calendars: [{ ...all, ...times }], timezone: 'Asia/Tokyo' }) as never
  const more = ' (and more, see the Temporal UI)'

  it.each<[string, ScheduleSpecDescription]>([
    ['never', {}],
    ['every 45 seconds', { intervals: [{ every: 45_000, offset: 0 }] }],
    [
      'every hour, 90 s later and every day',
      {
        intervals: [
          { every: 3_600_000, offset: 90_000 },
          { every: 86_400_000, offset: 0 },
        ],
      },
    ],
    ['cron * * * * * in Asia/Tokyo', at({})],
    ['cron * * * * * in UTC', { ...at({}), timezone: '' }],
    [
      'cron 0,30 8-18/2 1 1-3 0,5-6 in Asia/Tokyo',
      at({
        minute: [
          { start: 0, end: 0, step: 1 },
          { start: 30, end: 30, step: 1 },
        ],
        hour: [{ start: 8, end: 18, step: 2 }],
        dayOfMonth: [{ start: 1, end: 1, step: 1 }],
        month: [{ start: 'JANUARY', end: 'MARCH', step: 1 }],
        dayOfWeek: [
          { start: 'SUNDAY', end: 'SUNDAY', step: 1 },
          { start: 'FRIDAY', end: 'SATURDAY', step: 1 },
        ],
      }),
    ],
    ['cron */15 * * * * in Asia/Tokyo', at({ minute: [{ start: 0, end: 59, step: 15 }] })],
    [`cron * * * * * in Asia/Tokyo${more}`, at({ year: [{ start: 2030, end: 2030, step: 1 }] })],
    [`cron * * * * * in Asia/Tokyo${more}`, at({ second: [{ start: 5, end: 5, step: 1 }] })],
    [`cron * * * * * in Asia/Tokyo${more}`, { ...at({}), endAt: new Date(0) }],
    [`cron * * * * * in Asia/Tokyo${more}`, { ...at({}), skip: at({}).calendars! }],
  ])('%s', (text, spec) => {
    expect(scheduleTimesText(spec)).toBe(text)
  })
})
