// Mirrors of the other service, without Temporal: the table is compared with its records, cell by cell, whatever the run says.

import { describe, expect, it } from 'vitest'
import type { MirrorPlace } from '../mirror-oracle.ts'
import { postgresPlaces } from '../unit/mirror/postgres-place.ts'
import { mirrorSceneOn } from '../unit/mirror/scene.ts'
import type { MirrorConfig } from '../../config/index.ts'
import { startOtherService, Num } from './index.ts'
import type { OtherServiceOptions, Values } from './index.ts'
import { tableDifferences } from './table.ts'

const DAY = 86_400_000

const newPlace = postgresPlaces()

/** In a DuckDB file, where no other place is given. */
async function scene(
  options: OtherServiceOptions = {},
  config: Partial<MirrorConfig> = {},
  place?: MirrorPlace,
) {
  const contact = `${options.prefix ?? 'acme_'}contact`
  const made = await mirrorSceneOn(() => startOtherService({ ...options, retryAfter: '0' }), {
    config: { object_types: [contact], ...config },
    ...(place && { place }),
  })
  const own = (values: Values) =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [made.service.name(name), value]),
    )
  return {
    ...made,
    contact,
    own,
    /** Contacts that were changed last some days ago, a second apart. */
    fill: (count: number, from = 0, since = Date.now() - 3 * DAY) =>
      Array.from({ length: count }, (_, index) => {
        const n = from + index + 1
        return made.service.org.put(
          contact,
          own({
            external_id: `m-${n}`,
            email: [`Person${n}@Example.org`, `p${n}@x.org`],
            first_name: n % 5 === 0 ? 'Zoë\n"x"' : `Name ${n}`,
            score: n / 8,
            visits: n * 3,
            subscribed: n % 2 === 0,
            birth_date: '1999-12-31',
            last_seen: '2024-02-29T23:59:59.123Z',
            revenue: { amount: `${n}.10`, unit: n % 3 === 0 ? 'USD' : 'EUR' },
            stage: 'open',
            tags: ['red', 'blue'],
            homepage: 'https://Example.org/',
            extra: { deep: [1, 'two', null] },
          }),
          { updated: since + index * 1_000 },
        )
      }),
    differences: (type = contact) => tableDifferences(made.service, made.sql, type),
  }
}

/** For what is alike in any warehouse. */
const cheaper = async (options?: OtherServiceOptions, config?: Partial<MirrorConfig>) =>
  await scene(options, config, await newPlace())

const stream = ({ streams }: { streams: Readonly<Record<string, unknown>> }, name: string) =>
  Object.entries(streams).find(([key]) => key.endsWith(name))![1] as {
    readonly serviceCount: number
    readonly tableCount: number
    readonly message: string | null
  }

describe.each<[string, OtherServiceOptions]>([
  ['a plain service', {}],
  ['other names and paths', { prefix: 'q_', fieldTypes: 'other', paths: 'other' }],
  ['short and empty pages', { pages: 'empty', seed: 9 }],
  ['times with an offset', { times: 'offset', clockAhead: -7_200_000 }],
])('%s', (_, options) => {
  it('is mirrored whole, and then by its changes', async () => {
    const made = await scene(options)
    const records = made.fill(260)
    expect(await made.run()).toMatchObject({ state: 'complete' })
    expect(await made.differences()).toEqual([])
    for (const { id } of records.slice(0, 7)) made.service.org.change(id, made.own({ score: -1.5 }))
    made.service.org.remove(records[20]!.id)
    made.fill(3, 900, Date.now() + (options.clockAhead ?? 0))
    expect(await made.run()).toMatchObject({ state: 'complete' })
    expect(await made.differences()).toEqual([])
    expect(await made.run({ full: true })).toMatchObject({ state: 'complete' })
    expect(await made.differences()).toEqual([])
  })
})

it('changes of a large type are seen, whatever the prefix of its times', async () => {
  const made = await cheaper({ prefix: 'zz_' })
  const records = made.fill(1_300)
  await made.run()
  made.service.org.change(records[500]!.id, made.own({ first_name: 'changed' }))
  const run = await made.run()
  expect(run.state).toBe('complete')
  expect(run.requests).toBeLessThan(20)
  expect(await made.differences()).toEqual([])
})

describe('numbers', () => {
  const NUMBERS = [
    '9007199254740993',
    '12345678901234567890',
    '123456789012345.123456789',
    '4503599627370497.5',
    '-90071992547409931',
    '0.1000000000000000055',
    '99999999999999999999999999999.999999999',
    '1e30',
    '1e400',
    '-1e-400',
    '1e21',
    '0.30000000000000004',
    '7',
  ]

  it('of any length arrive as they are written', async () => {
    const made = await cheaper()
    for (const text of NUMBERS) {
      const number = new Num(text)
      made.service.org.put(
        made.contact,
        made.own({
          score: number,
          visits: number,
          revenue: { amount: number, unit: 'EUR' },
          extra: { n: number, list: [number] },
        }),
      )
    }
    expect(await made.run()).toMatchObject({ state: 'complete' })
    expect(stream(await made.run({ full: true }), made.contact)).toMatchObject({
      serviceCount: NUMBERS.length,
      tableCount: NUMBERS.length,
    })
    expect(await made.differences()).toEqual([])
    expect((await made.reconcile()).told).toEqual([])
  })

  it('that differ in their last digit are seen by a reconciliation', async () => {
    const made = await cheaper()
    const record = made.service.org.put(made.contact, { acme_score: new Num('9007199254740993') })
    await made.run()
    // The service changes the value and keeps the time.
    made.service.org.change(record.id, { acme_score: new Num('9007199254740995') }, record.updated)
    const { told } = await made.reconcile({ scope: { repair: true } })
    expect(told.join()).toContain(`${record.id} acme_score`)
    expect(await made.differences()).toEqual([])
  })
})

describe('a service that was restored', () => {
  it('is taken over by the next listing, and that is told', async () => {
    const made = await cheaper()
    const records = made.fill(300)
    const then = made.service.org.snapshot()
    await made.run()
    for (const { id } of records.slice(0, 50)) made.service.org.change(id, made.own({ score: 5 }))
    await made.run()
    made.service.org.restore(then)
    const run = await made.run({ full: true })
    expect(await made.differences()).toEqual([])
    expect(stream(run, made.contact).message).toMatch(/\b50\b/)
    const again = await made.run({ full: true })
    expect(again.requests).toBeLessThanOrEqual(run.requests)
    expect(again.state).toBe('complete')
  })

  it('loses no record of a table, however many went back', async () => {
    // More than 200 records, and less than the share that may be deleted without a person.
    const made = await cheaper({ prefix: 'svc_' }, { object_types: ['thing'] })
    const since = Date.now() - 3 * DAY
    const records = Array.from({ length: 1_000 }, (_, index) =>
      made.service.org.put('thing', { weight: index }, { updated: since + index * 1_000 }),
    )
    const then = made.service.org.snapshot()
    const tuning = { rows_per_range: 10_000, rows_per_merge: 10_000 }
    await made.run({ tuning })
    for (const { id } of records.slice(0, 203)) made.service.org.change(id, { weight: -1 })
    await made.run({ tuning })
    expect(await made.differences('thing')).toEqual([])
    made.service.org.restore(then)
    const run = await made.run({
      full: true,
      tuning,
      config: { deletions_max_percent: 50 },
    })
    expect(stream(run, 'thing')).toMatchObject({ serviceCount: 1_000, tableCount: 1_000 })
    expect(await made.differences('thing')).toEqual([])
  })
})

describe('what a mirror knows to be missing', () => {
  it('of records that appear with old times, is mended or told', async () => {
    const made = await cheaper()
    made.fill(1_500)
    await made.run()
    made.fill(300, 5_000, Date.now() - 30 * DAY)
    const run = await made.run()
    const wrong = await made.differences()
    if (wrong.length === 0) expect(run.state).toBe('complete')
    else {
      expect(run.state).toBe('complete_with_differences')
      expect(stream(run, made.contact).message).toMatch(/\b300\b|1,800/)
    }
    const full = await made.run({ full: true })
    expect(full.state).toBe('complete')
    expect(await made.differences()).toEqual([])
  })

  it('of rows that were deleted from the table, is mended or told', async () => {
    const made = await scene()
    made.fill(1_200)
    await made.run()
    await made.alter(`DELETE FROM crm."${made.contact}" WHERE "acme_visits" < 800`)
    const run = await made.run()
    if ((await made.differences()).length > 0) expect(run.state).toBe('complete_with_differences')
    await made.run({ full: true })
    expect(await made.differences()).toEqual([])
  })

  it.each(['all', 'named'] as const)('of a type that the key lost, is told: %s', async (which) => {
    const types = which === 'all' ? 'all' : ['acme_contact', 'thing']
    const made = await cheaper({}, { object_types: types })
    made.fill(30)
    made.service.fill('thing', [{ code: 'a' }, { code: 'b' }])
    await made.run()
    made.service.hideType(made.service.key, 'thing')
    made.fill(1, 700, Date.now())
    const run = await made.run()
    expect(run.state).not.toBe('complete')
    expect(stream(run, 'thing').message).toMatch(/thing|listed|not there/)
    expect(await made.differences()).toEqual([])
    expect(await made.sql('SELECT count(*) FROM crm.thing WHERE _deleted_at IS NULL')).toEqual([
      ['2'],
    ])
    made.service.showType(made.service.key, 'thing')
    made.service.fill('thing', [{ code: 'c' }])
    expect(await made.run()).toMatchObject({ state: 'complete' })
    expect(await made.differences('thing')).toEqual([])
  })
})

it('a listing that stands still ends', async () => {
  const made = await cheaper()
  made.fill(450)
  made.service.set({ standsStill: { type: made.contact, from: 3 } })
  const run = await made.run({ full: true }).catch((error: unknown) => error)
  expect(String(run instanceof Error ? run.message : JSON.stringify(run))).toMatch(
    /circle|again|same|new|repeat/,
  )
  expect(made.service.stats().requests).toBeLessThan(250)
  made.service.set({ standsStill: null })
  await made.run({ full: true })
  expect(await made.differences()).toEqual([])
})

it('faults of reads leave no gap', async () => {
  const made = await cheaper({ seed: 21, pages: 'short' })
  const records = made.fill(600)
  made.service.set({
    faults: [{ rate: 0.05, kinds: ['drop_before', 'drop_after', 'torn', '500', '503', '429'] }],
  })
  await made.run({ retry: true })
  for (const { id } of records.slice(0, 30)) made.service.org.change(id, made.own({ score: 0 }))
  made.service.org.remove(records[99]!.id)
  await made.run({ retry: true })
  made.service.set({ faults: [] })
  expect(await made.differences()).toEqual([])
})
