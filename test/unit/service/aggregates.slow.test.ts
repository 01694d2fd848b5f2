// Aggregates over HTTP, against a naive evaluation of sections 2.9 and 4.2 that knows nothing but the values as they were
// written. The refusals and one example of each rule are golden exchanges.

import fc from 'fast-check'
import { Client } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AggregateData, FieldTypeWire } from '../../../src/contract/index.ts'
import { groupsOf } from '../../../src/service/query/aggregates.ts'
import type { Aggregation } from '../../../src/service/store/kept-groups.ts'
import { Steps } from '../../../src/service/store/scan.ts'
import type { StoredValues } from '../../../src/service/store/slots.ts'
import { SYSTEM_TYPES } from '../../../src/service/schema/system-types.ts'
import { expectProblem, startApi } from './api.ts'
import type { Answer, Api } from './api.ts'

const type = 'svc_contact'
const path = `/objects/${type}/records/aggregate/`
const ada = { id: 'usr_ada', displayName: 'Ada', admin: false, permissions: 'all' as const }

let api: Api
beforeAll(async () => {
  api = await startApi({ users: [ada] })
})
afterAll(() => api.service.close())

const ask = (body: unknown, key?: string): Promise<Answer> =>
  api.send('POST', path, { body, ...(key === undefined ? {} : { key }) })
async function asked(body: unknown, key?: string): Promise<AggregateData> {
  const answer = await ask(body, key)
  expect(answer.status).toBe(200)
  return answer.body.data
}

/** Every run of a property writes contacts of its own and looks at no others. */
let runs = 0
const ofRun = (run: string) => ({ property: 'svc_job_title', op: 'eq', value: run })
async function written(rows: Row[]): Promise<string> {
  const run = `run-${(runs += 1)}`
  for (let from = 0; from < rows.length; from += 50) {
    const items = rows.slice(from, from + 50).map((row, index) => ({
      svc_external_id: `${run}-${from + index}`,
      svc_job_title: run,
      svc_score: row.score && Number(textOf(row.score)),
      svc_lifetime_value: row.money && { amount: textOf(row.money.amount), unit: row.money.unit },
      svc_birthday: row.day,
      svc_lifecycle_stage: row.stage,
      svc_subscribed: row.subscribed,
      svc_tags: row.tags,
    }))
    const answer = await api.batch(type, 'svc_external_id', items)
    expect(answer.body.summary.failed).toBe(0)
  }
  return run
}

/** A decimal as it was drawn: `units` of 10^-`places`. */
interface Decimal {
  units: bigint
  places: number
}
interface Row {
  score: Decimal | null
  money: { amount: Decimal; unit: string } | null
  day: string | null
  stage: string | null
  subscribed: boolean | null
  tags: string[] | null
}

/** Plain text of a decimal without needless zeros. */
function textOf({ units, places }: Decimal): string {
  const digits = String(units < 0n ? -units : units).padStart(places + 1, '0')
  const point = digits.length - places
  const text = `${digits.slice(0, point)}.${digits.slice(point)}`.replace(/\.?0*$/, '')
  return units < 0n && text !== '0' ? `-${text}` : text
}

const decimal = (max: bigint, placesMax: number): fc.Arbitrary<Decimal> =>
  fc.record({
    units: fc.oneof(fc.bigInt(-9_999n, 9_999n), fc.bigInt(-max, max)),
    places: fc.integer({ min: 0, max: placesMax }),
  })
const option = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 4 })
const row: fc.Arbitrary<Row> = fc.record({
  score: option(decimal(10n ** 15n - 1n, 25)),
  money: option(
    fc.record({
      amount: decimal(10n ** 28n, 27),
      unit: fc.constantFrom('EUR', 'USD', 'JPY'),
    }),
  ),
  day: option(fc.constantFrom('1999-12-31', '2026-01-31', '2026-02-01')),
  stage: option(fc.constantFrom('subscriber', 'lead', 'customer')),
  subscribed: option(fc.boolean()),
  tags: option(fc.subarray(['vip', 'press', 'event'], { minLength: 1 })),
})
const rows = fc.array(row, { maxLength: 50, size: 'max' })
const grouped = ['svc_lifecycle_stage', 'svc_subscribed', 'svc_tags', 'svc_birthday'] as const
const keysOf: Record<(typeof grouped)[number], (row: Row) => unknown> = {
  svc_lifecycle_stage: ({ stage }) => stage,
  svc_subscribed: ({ subscribed }) => subscribed,
  svc_tags: ({ tags }) => tags,
  svc_birthday: ({ day }) => day,
}
const aggregation = fc.constantFrom(
  { op: 'count' },
  { op: 'count', property: 'svc_score' },
  { op: 'count', property: 'svc_tags' },
  ...['svc_score', 'svc_lifetime_value'].flatMap((property) =>
    ['sum', 'avg', 'min', 'max'].map((op) => ({ op, property })),
  ),
  { op: 'min', property: 'svc_birthday' },
  { op: 'max', property: 'svc_birthday' },
)

const placesMax = 40
const atPlaces = ({ units, places }: Decimal) => units * 10n ** BigInt(placesMax - places)

function naiveNumber(op: string, decimals: Decimal[]): string | null {
  if (decimals.length === 0) return null
  const sizes = decimals.map(atPlaces)
  const total = sizes.reduce((sum, each) => sum + each, 0n)
  const least = sizes.reduce((a, b) => (b < a ? b : a))
  const greatest = sizes.reduce((a, b) => (b > a ? b : a))
  if (op === 'sum') return textOf({ units: total, places: placesMax })
  if (op === 'min') return textOf({ units: least, places: placesMax })
  if (op === 'max') return textOf({ units: greatest, places: placesMax })
  const places = Math.max(20, ...decimals.map((each) => textOf(each).split('.')[1]?.length ?? 0))
  const divisor = BigInt(sizes.length) * 10n ** BigInt(placesMax - places)
  const floor = total / divisor - (total % divisor < 0n ? 1n : 0n)
  const rest = 2n * (total - floor * divisor)
  const isUp = rest > divisor || (rest === divisor && floor % 2n !== 0n)
  return textOf({ units: isUp ? floor + 1n : floor, places })
}

function naiveValue({ op, property }: { op: string; property?: string }, rows: Row[]): unknown {
  if (op === 'count') {
    if (property === undefined) return rows.length
    const isScore = property === 'svc_score'
    return rows.filter(({ score, tags }) => (isScore ? score : tags) !== null).length
  }
  const has = <T>(value: T | null): value is T => value !== null
  if (property === 'svc_birthday') {
    const days = rows.map(({ day }) => day).filter(has)
    return days.toSorted().at(op === 'min' ? 0 : -1) ?? null
  }
  if (property === 'svc_score') return naiveNumber(op, rows.map(({ score }) => score).filter(has))
  const money = rows.map((each) => each.money).filter(has)
  const values = ['EUR', 'JPY', 'USD'].flatMap((unit) => {
    const amounts = money.filter((each) => each.unit === unit).map(({ amount }) => amount)
    const amount = naiveNumber(op, amounts)
    return amount === null ? [] : [{ amount, unit }]
  })
  return values.length === 0 ? null : values
}

/** A text whose order is that of the keys: false before true, a list before its continuation, no value last. */
function rank(key: unknown): string {
  if (key === null) return '~'
  if (typeof key === 'boolean') return key ? '1' : '0'
  return [key].flat().join(' ')
}

type Result = AggregateData['results'][number]
function naive(body: { aggregation: { op: string }; group_by: string[] }, all: Row[]): Result[] {
  const keyOf = (each: Row) =>
    body.group_by.map((name) => keysOf[name as (typeof grouped)[number]](each))
  const groups = new Map<string, Row[]>(body.group_by.length === 0 ? [['', []]] : [])
  for (const each of all) {
    const group = keyOf(each).map(rank).join('\n')
    groups.set(group, [...(groups.get(group) ?? []), each])
  }
  return [...groups.keys()].toSorted().map((group) => {
    const members = groups.get(group)!
    const entries = body.group_by.map((name, index) => [name, keyOf(members[0]!)[index]])
    const value = naiveValue(body.aggregation, members) as Result['value']
    return { group_by: Object.fromEntries(entries), value }
  })
}

describe('an aggregate', () => {
  it('means what the specification says', async () => {
    const cases = fc.record({
      aggregation,
      group_by: fc.shuffledSubarray([...grouped], { maxLength: 3 }),
    })
    const some = { minLength: 5, maxLength: 5 }
    await fc.assert(
      fc.asyncProperty(rows, fc.array(cases, some), async (all, bodies) => {
        const run = await written(all)
        for (const body of bodies) {
          const data = await asked({
            aggregations: [body.aggregation],
            filter: ofRun(run),
            group_by: body.group_by,
          })
          const results = naive(body, all)
          expect(data).toEqual({ total_groups: results.length, results, has_more: false })
        }
      }),
    )
  })

  it('pages through its groups, each on one page, whatever the size of the pages', async () => {
    const rows = fc.sample(row, 50)
    const run = await written(rows)
    const body = {
      aggregations: [{ op: 'count' }],
      filter: ofRun(run),
      group_by: ['svc_lifetime_value', 'svc_score', 'svc_tags'],
    }
    const whole = await asked(body)
    expect(whole).toMatchObject({ total_groups: whole.results.length, has_more: false })
    for (const limit of [1, 7, whole.results.length - 1, whole.results.length]) {
      const results: Result[] = []
      for (let more = true; more;) {
        const page = await asked({ ...body, limit, offset: results.length })
        results.push(...page.results)
        more = page.has_more
        expect(page.total_groups).toBe(whole.total_groups)
        expect(page.results.length).toBe(more ? limit : whole.results.length % limit || limit)
      }
      expect(results).toEqual(whole.results)
    }
  })

  it('has at most 100 groups on a page, and that many where no limit is given', async () => {
    const empty = { money: null, day: null, stage: null, subscribed: null, tags: null }
    const all = Array.from({ length: 105 }, (_, index) => ({
      ...empty,
      score: { units: BigInt(index - 5), places: 0 },
    }))
    const body = {
      aggregations: [{ op: 'count' }],
      filter: ofRun(await written(all)),
      group_by: ['svc_score'],
    }
    const page = await asked(body)
    expect(page).toMatchObject({ total_groups: 105, has_more: true })
    expect(page.results.map(({ group_by }) => group_by['svc_score'])).toEqual(
      Array.from({ length: 100 }, (_, index) => index - 5),
    )
    const rest = await asked({ ...body, offset: 100 })
    expect(rest).toMatchObject({ total_groups: 105, has_more: false })
    expect(rest.results).toHaveLength(5)
    expect(await asked({ ...body, offset: Number.MAX_SAFE_INTEGER })).toEqual({
      total_groups: 105,
      results: [],
      has_more: false,
    })
  })

  it('keeps groups apart whose values look alike', async () => {
    const run = 'run-alike'
    const names = [
      ['a,b', 'c'],
      ['a', 'b,c'],
      ['a', null],
      ['a', 'null'],
      ['a', ''],
      ['"a"', '[]'],
    ]
    const items = names.map(([svc_first_name, svc_last_name], index) => {
      const svc_external_id = `${run}-${index}`
      return { svc_external_id, svc_job_title: run, svc_first_name, svc_last_name }
    })
    await api.batch(type, 'svc_external_id', items)
    const body = { aggregations: [{ op: 'count' }], filter: ofRun(run) }
    const both = await asked({ ...body, group_by: ['svc_first_name', 'svc_last_name'] })
    expect(both.total_groups).toBe(names.length)
    const last = await asked({ ...body, group_by: ['svc_last_name'] })
    expect(last.results.map(({ group_by }) => group_by['svc_last_name'])).toEqual([
      '',
      '[]',
      'b,c',
      'c',
      'null',
      null,
    ])
  })

  it('groups on currency by unit, then amount, needing no exchange rates', async () => {
    // In euros, 1 USD comes before 0.93 EUR, and 92 EUR is worth as much as 100 USD.
    const money = ['100 USD', '0.93 EUR', '10 EUR', '1 USD', '92 EUR', '9 EUR', '-1 EUR']
    const run = 'run-currency'
    const items = money.map((each, index) => {
      const [amount, unit] = each.split(' ')
      const svc_lifetime_value = { amount, unit }
      return { svc_external_id: `${run}-${index}`, svc_job_title: run, svc_lifetime_value }
    })
    await api.batch(type, 'svc_external_id', items)
    api.service.setExchangeRates(false)
    const body = { filter: ofRun(run), group_by: ['svc_lifetime_value'] }
    const { results } = await asked({ ...body, aggregations: [{ op: 'count' }] })
    api.service.setExchangeRates(true)
    expect(
      results.map(({ group_by }) => {
        const { amount, unit } = group_by['svc_lifetime_value'] as { amount: string; unit: string }
        return `${amount} ${unit}`
      }),
    ).toEqual(['-1 EUR', '0.93 EUR', '9 EUR', '10 EUR', '92 EUR', '1 USD', '100 USD'])
  })

  it('counts no private record of somebody else', async () => {
    const run = 'run-private'
    const item = (n: number, svc_private: boolean) => ({
      properties: { svc_external_id: `${run}-${n}`, svc_job_title: run, svc_score: n, svc_private },
    })
    await api.send('POST', `/objects/${type}/records/batch/create/`, {
      body: { data: [item(1, true), item(20, false), item(300, true)] },
    })
    const body = { aggregations: [{ op: 'sum', property: 'svc_score' }], filter: ofRun(run) }
    const group_by = ['svc_external_id']
    const user = api.service.mintKey({ userId: ada.id })
    expect((await asked(body, user)).results).toEqual([{ group_by: {}, value: '20' }])
    expect((await asked({ ...body, group_by }, user)).total_groups).toBe(1)
    expect((await asked(body)).results).toEqual([{ group_by: {}, value: '321' }])
    expect((await asked({ ...body, group_by })).total_groups).toBe(3)
  })
})

describe('a body', () => {
  const count = { aggregations: [{ op: 'count' }] }
  it.each<[string, unknown, string]>([
    ['that is a list', [], ''],
    ['that is null', null, ''],
    ['of an aggregation that is a text', { aggregations: ['count'] }, '/aggregations/0'],
    ['without an op', { aggregations: [{ property: 'svc_score' }] }, '/aggregations/0/op'],
    [
      'of a property that is a number',
      { aggregations: [{ op: 'sum', property: 1 }] },
      '/aggregations/0/property',
    ],
    [
      'of a property that is null',
      { aggregations: [{ op: 'avg', property: null }] },
      '/aggregations/0/property',
    ],
    ['of a group_by that is null', { ...count, group_by: null }, '/group_by'],
    ['of a name that is a number', { ...count, group_by: ['svc_score', 1] }, '/group_by/1'],
    ['of half a group', { ...count, limit: 1.5 }, '/limit'],
    ['of a limit that is null', { ...count, limit: null }, '/limit'],
    ['of an offset that is a text', { ...count, offset: '1' }, '/offset'],
    ['of a filter that is a text', { ...count, filter: 'svc_score' }, '/filter'],
  ])('%s is malformed', async (_name, body, field) => {
    const answer = await ask(body)
    expectProblem(answer, 400, 'request_invalid')
    expect(answer.body.field).toBe(field)
  })

  it('that is not there is malformed', async () => {
    expectProblem(await ask(undefined), 400, 'request_invalid')
  })

  it.each<[string, unknown, string]>([
    [
      'unknown_property',
      { aggregations: [{ op: 'min', property: 'toString' }] },
      '/aggregations/0/property',
    ],
    [
      'unknown_property',
      { aggregations: [{ op: 'count', property: '' }] },
      '/aggregations/0/property',
    ],
    ['unknown_property', { ...count, group_by: ['__proto__'] }, '/group_by/0'],
    [
      'unsupported_aggregation',
      { aggregations: [{ op: 'min', property: 'svc_first_name' }] },
      '/aggregations/0/op',
    ],
    [
      'unsupported_aggregation',
      { aggregations: [{ op: 'sum', property: 'svc_created_at' }] },
      '/aggregations/0/op',
    ],
  ])('is wrong: %s', async (reason, body, field) => {
    const answer = await ask(body)
    expectProblem(answer, 422, 'request_invalid', reason)
    expect(answer.body.field).toBe(field)
  })

  it('may aggregate what the field type says', async () => {
    const { body: fields } = await api.send('GET', '/field_types/')
    for (const { name, field } of SYSTEM_TYPES.get(type)!.properties.values()) {
      const known = (fields.data as FieldTypeWire[]).find((each) => each.name === field.wire.name)!
      for (const op of ['count', 'sum', 'avg', 'min', 'max']) {
        const { status } = await ask({ aggregations: [{ op, property: name }] })
        expect({ name, op, status }).toEqual({
          name,
          op,
          status: known.aggregations.includes(op) ? 200 : 422,
        })
      }
    }
  })
})

describe('more groups than one map holds', () => {
  const property = (name: string) => SYSTEM_TYPES.get(type)!.properties.get(name)!
  const groups = 40_000
  // Each group twice or three times, far from each other, so that its records meet different maps.
  const values = Array.from({ length: 100_000 }, (_, index) => ({
    svc_external_id: `g-${(index * 7_919) % groups}`,
    svc_score: index % 3 === 0 ? null : index / 4,
  }))
  async function* pieces() {
    for (let at = 0; at < values.length; at += 10_000) yield values.slice(at, at + 10_000)
  }

  it.each<[Aggregation['op'], (scores: number[]) => unknown]>([
    ['count', (scores) => scores.length],
    ['sum', (scores) => String(scores.reduce((sum, each) => sum + each, 0))],
    ['max', (scores) => String(Math.max(...scores))],
  ])('have the %s of all their records, and come once, in order', async (op, naive) => {
    const groupBy = [property('svc_external_id')]
    const query = { op, property: property('svc_score'), groupBy }
    const computed = await groupsOf(pieces(), query, new Steps())
    const scores = new Map<string, number[]>()
    for (const each of values) {
      const known = scores.get(each.svc_external_id) ?? []
      scores.set(each.svc_external_id, each.svc_score === null ? known : [...known, each.svc_score])
    }
    const none = op === 'count' ? 0 : null
    const expected = [...scores]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, of]) => ({
        group_by: { svc_external_id: key },
        value: of.length === 0 ? none : naive(of),
      }))
    expect(computed.total).toBe(groups)
    expect(computed.page(groups, 0).results).toEqual(expected)
    expect(computed.page(100, 39_950)).toEqual({
      total_groups: groups,
      results: expected.slice(39_950),
      has_more: false,
    })
  })
})

describe('pages of groups while others write', () => {
  const names = async (run: string, page: { limit?: number; offset?: number }, key?: string) => {
    const body = { aggregations: [{ op: 'count' }], group_by: ['svc_external_id'], ...page }
    const { results, total_groups } = await asked({ ...body, filter: ofRun(run) }, key)
    return [total_groups, ...results.map(({ group_by }) => group_by['svc_external_id'])]
  }
  const create = async (run: string, id: string, more: object = {}) =>
    await api.create(type, { svc_job_title: run, svc_external_id: `${run}-${id}`, ...more })
  const delimited = (run: string, ids: string[]) => ids.map((id) => `${run}-${id}`)

  it('go on with the groups of the page before; any other page has those of now', async () => {
    const run = 'paged'
    for (const id of ['b', 'd', 'f', 'h']) await create(run, id)
    expect(await names(run, { limit: 2 })).toEqual([4, ...delimited(run, ['b', 'd'])])
    await create(run, 'a')
    // It begins where the first page ended: else d would come twice.
    expect(await names(run, { limit: 1, offset: 2 })).toEqual([4, ...delimited(run, ['f'])])
    expect(await names(run, { limit: 1, offset: 3 })).toEqual([4, ...delimited(run, ['h'])])
    // Each end is continued once; and a first page is always of now.
    expect(await names(run, { limit: 1, offset: 2 })).toEqual([5, ...delimited(run, ['d'])])
    expect(await names(run, { limit: 2 })).toEqual([5, ...delimited(run, ['a', 'b'])])
    await create(run, 'c')
    expect(await names(run, { limit: 2 })).toEqual([6, ...delimited(run, ['a', 'b'])])
    expect(await names(run, { limit: 2, offset: 1 })).toEqual([6, ...delimited(run, ['b', 'c'])])
  })

  it('show each change in the first page after it', async () => {
    const run = 'changed'
    const made = await create(run, 'a')
    const one = `/objects/${type}/records/${made.body.data.id}/`
    expect(await names(run, {})).toEqual([1, `${run}-a`])
    await api.send('PATCH', one, { body: { data: { properties: { svc_external_id: 'x' } } } })
    expect(await names(run, {})).toEqual([1, 'x'])
    await api.send('DELETE', one)
    expect(await names(run, {})).toEqual([0])
  })

  it('are of now where the properties have changed', async () => {
    const run = 'typed'
    for (const id of ['a', 'b']) await create(run, id)
    expect(await names(run, { limit: 1 })).toEqual([2, `${run}-a`])
    await create(run, 'c')
    api.service.changeType(type, { add: [{ name: 'size', field_type: 'text' }] })
    expect(await names(run, { limit: 1, offset: 1 })).toEqual([3, `${run}-b`])
    api.service.changeType(type, { remove: ['size'] })
  })

  it('are kept for those who see the same records only', async () => {
    const run = 'private'
    const keyOf = (user: string) => api.service.mintKey({ userId: user })
    const [own, other] = [keyOf(ada.id), keyOf('usr_admin')]
    await api.as(own).create(type, { svc_job_title: run, svc_external_id: 'p-1' })
    await api
      .as(own)
      .create(type, { svc_job_title: run, svc_external_id: 'p-2', svc_private: true })
    expect(await names(run, { limit: 1 }, own)).toEqual([2, 'p-1'])
    expect(await names(run, { limit: 1 }, other)).toEqual([1, 'p-1'])
    expect(await names(run, { limit: 1, offset: 1 }, other)).toEqual([1])
    expect(await names(run, { limit: 1, offset: 1 }, own)).toEqual([2, 'p-2'])
    expect(await names(run, {})).toEqual([2, 'p-1', 'p-2'])
  })
})

describe('two readers who page the same groups while others write', () => {
  const ids = Array.from({ length: 60 }, (_, index) => `two-${100 + index}`)
  type Read = (offset: number) => Promise<unknown[]>
  const reader = (run: string, more: { key?: string; dispatcher?: Client }): Read => {
    const body = {
      aggregations: [{ op: 'count' }],
      filter: { property: 'svc_job_title', op: 'eq', value: run },
      group_by: ['svc_external_id'],
      limit: 10,
    }
    return async (offset) => {
      const answer = await api.send('POST', path, { body: { ...body, offset }, ...more })
      const { results } = answer.body.data as AggregateData
      return results.map(({ group_by }) => group_by['svc_external_id'])
    }
  }

  /** The first of them begins; a page of groups is deleted; then both take turns. */
  async function expectAll(run: string, [first, second]: [Read, Read]): Promise<void> {
    const items = ids.map((svc_external_id) => ({ svc_external_id, svc_job_title: run }))
    for (const part of [items.slice(0, 50), items.slice(50)])
      await api.batch(type, 'svc_external_id', part)
    const seen = { first: await first(0), second: [] as unknown[] }
    for (const { id } of (await api.query(type, { filter: ofRun(run), limit: 7 })).body.data)
      await api.remove(type, id)
    for (let offset = 0; offset < 60; offset += 10) {
      seen.second.push(...(await second(offset)))
      if (offset > 0) seen.first.push(...(await first(offset)))
    }
    expect(seen).toEqual({ first: ids, second: ids.slice(7) })
    for (const { id } of (await api.query(type, { filter: ofRun(run), limit: 100 })).body.data)
      await api.remove(type, id)
  }

  it('each see every group, by keys of their own', async () => {
    const key = api.service.mintKey({ userId: 'usr_admin', reach: 'org' })
    await expectAll('own-keys', [reader('own-keys', {}), reader('own-keys', { key })])
  })

  it('each see every group, by one key over connections of their own', async () => {
    const clients = [new Client(api.service.url), new Client(api.service.url)]
    const [first, second] = clients.map((dispatcher) => reader('one-key', { dispatcher }))
    await expectAll('one-key', [first!, second!])
    await Promise.all(clients.map(async (each) => await each.close()))
  })
})

// No built-in type has a property of several numbers, dates or amounts.
describe('a property of several values', () => {
  const single = (name: string) => SYSTEM_TYPES.get(type)!.properties.get(name)!
  const several = (name: string) => ({
    ...single(name),
    wire: { ...single(name).wire, is_multi: true },
  })
  const whole = { groupBy: [] }
  async function* piecesOf(values: StoredValues[]) {
    yield values.slice(0, 1)
    yield values.slice(1)
  }
  const computed = async (values: StoredValues[], aggregation: Aggregation) =>
    (await groupsOf(piecesOf(values), aggregation, new Steps())).page(100, 0)
  const records = [
    { svc_score: [3, 1], svc_lifetime_value: [{ amount: '3', unit: 'EUR' }] },
    { svc_score: null, svc_lifetime_value: null },
    {
      svc_score: [0.5],
      svc_lifetime_value: [
        { amount: '1', unit: 'USD' },
        { amount: '2', unit: 'EUR' },
      ],
    },
  ]

  it.each<[Aggregation['op'], string, unknown]>([
    ['count', 'svc_score', 2],
    ['sum', 'svc_score', '4.5'],
    ['avg', 'svc_score', '1.5'],
    ['min', 'svc_score', '0.5'],
    ['max', 'svc_score', '3'],
    [
      'avg',
      'svc_lifetime_value',
      [
        { amount: '2.5', unit: 'EUR' },
        { amount: '1', unit: 'USD' },
      ],
    ],
  ])('has the %s of all values: %s', async (op, name, expected) => {
    const data = await computed(records, { ...whole, op, property: several(name) })
    expect(data.results).toEqual([{ group_by: {}, value: expected }])
  })

  it('groups by the list, in the order of its items', async () => {
    const lists = [[2, 1], [10], null, [2], [2, 1], [1, 2]]
    const { results } = await computed(
      lists.map((svc_score) => ({ svc_score })),
      { op: 'count', property: null, groupBy: [several('svc_score')] },
    )
    expect(results.map(({ group_by, value }) => [group_by['svc_score'], value])).toEqual([
      [[1, 2], 1],
      [[2], 1],
      [[2, 1], 2],
      [[10], 1],
      [null, 1],
    ])
  })
})
