import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RecordRepresentation } from '../../../src/contract/index.ts'
import { expectProblem, startApi } from './api.ts'
import type { Api } from './api.ts'
import { runs } from '../../runs.ts'

type Leaf = { property: string; op: string; value: unknown }
type Node = Leaf | { $and: Node[] } | { $or: Node[] }

const type = 'svc_contact'
const names = ['ada', 'Ada', 'bela', 'adabela', '']
const emails = ['a@example.com', 'b@example.com', 'ab@example.org']
const scores = [-1, 0, 0.5, 10, 9]
const days = ['2026-01-31', '2026-02-01', '1999-12-31']
const times = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.001Z', '2025-06-01T12:00:00.000Z']
const tags = ['vip', 'press', 'event']
const amounts = ['1', '0.92', '100', '-3']
const units = ['EUR', 'USD', 'JPY']

/** Value of a euro in each unit, written again so that the service's own table is not its judge. */
const euros: Record<string, number> = { EUR: 1, USD: 0.92, JPY: 0.0061 }

let api: Api
beforeAll(async () => {
  api = await startApi()
  const pick = <T>(list: T[], index: number) =>
    index % (list.length + 1) === 0 ? null : list[(index % (list.length + 1)) - 1]!
  const items = Array.from({ length: 90 }, (_, index) => ({
    svc_external_id: `id-${index}`,
    svc_first_name: pick(names, index),
    svc_email:
      index % 4 === 0
        ? null
        : index % 4 === 1
          ? emails.slice(1)
          : [emails[(index >> 2) % emails.length]!],
    svc_score: pick(scores, index * 5 + 1),
    svc_birthday: pick(days, index * 3),
    svc_last_contacted_at: pick(times, index * 7),
    svc_subscribed: pick([true, false], index),
    svc_tags: index % 3 === 0 ? tags.slice(index % 2) : null,
    svc_lifetime_value:
      index % 5 === 0 ? null : { amount: amounts[index % 4]!, unit: units[index % 3]! },
  }))
  await api.batch(type, 'svc_external_id', items.slice(0, 50))
  await api.batch(type, 'svc_external_id', items.slice(50))
})
afterAll(() => api.service.close())

const leaf = (
  property: string,
  op: fc.Arbitrary<string>,
  value: fc.Arbitrary<unknown>,
): fc.Arbitrary<Leaf> => fc.record({ property: fc.constant(property), op, value })
const equality = fc.constantFrom('eq', 'neq')
const lists = fc.constantFrom('in', 'not_in')
const order = fc.constantFrom('gt', 'gte', 'lt', 'lte')
const substring = fc.constantFrom('starts_with', 'ends_with', 'contains', 'not_contains')
const fragments = fc.constantFrom('contains_any', 'not_contains_any')
const some = <T>(values: T[]) => fc.constantFrom(...values)
const listOf = <T>(values: T[]) => fc.array(some(values), { maxLength: 3 })
const money = fc.record({ amount: some(amounts), unit: some(units) })
const parts = ['a', 'da', 'A', 'example', '.org', '']

const leaves = fc.oneof(
  leaf('svc_first_name', equality, some(names)),
  leaf('svc_first_name', lists, listOf(names)),
  leaf('svc_first_name', substring, some(parts)),
  leaf('svc_first_name', fragments, listOf(parts)),
  leaf('svc_email', equality, some(emails)),
  leaf('svc_email', lists, listOf(emails)),
  leaf('svc_email', substring, some(parts.filter((part) => part !== 'A'))),
  leaf('svc_email', fragments, listOf(parts.filter((part) => part !== 'A'))),
  leaf('svc_score', fc.oneof(equality, order), some(scores)),
  leaf('svc_score', lists, listOf(scores)),
  leaf('svc_birthday', fc.oneof(equality, order), some(days)),
  leaf('svc_last_contacted_at', fc.oneof(equality, order), some(times)),
  leaf('svc_subscribed', equality, fc.boolean()),
  leaf('svc_tags', equality, some(tags)),
  leaf('svc_tags', lists, listOf(tags)),
  leaf('svc_lifetime_value', fc.oneof(equality, order), money),
  leaf(
    'svc_external_id',
    lists,
    fc.array(
      fc.nat(95).map((n) => `id-${n}`),
      { maxLength: 40 },
    ),
  ),
  leaf('svc_tags', fc.constant('is_null'), fc.boolean()),
  leaf('svc_score', fc.constant('is_null'), fc.boolean()),
)
const trees = fc.letrec<{ node: Node }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'tree' },
    leaves,
    fc.record({
      $and: fc.array(tie('node'), { minLength: 1, maxLength: 3, depthIdentifier: 'tree' }),
    }),
    fc.record({
      $or: fc.array(tie('node'), { minLength: 1, maxLength: 3, depthIdentifier: 'tree' }),
    }),
  ),
})).node

/** The filter's meaning, word for word from section 2.11, with no regard for speed. */
function naive(node: Node, { properties }: RecordRepresentation): boolean {
  if ('$and' in node)
    return node.$and.every((child) => naive(child, { properties } as RecordRepresentation))
  if ('$or' in node)
    return node.$or.some((child) => naive(child, { properties } as RecordRepresentation))
  const stored = properties[node.property]
  if (node.op === 'is_null') return (stored === null) === node.value
  if (node.op === 'neq')
    return !naive({ ...node, op: 'eq' }, { properties } as RecordRepresentation)
  if (node.op.startsWith('not_')) {
    return !naive({ ...node, op: node.op.slice(4) }, { properties } as RecordRepresentation)
  }
  const values = stored === null ? [] : [stored].flat()
  const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
  const rank = (value: unknown) => {
    if (typeof value !== 'object') return value as number
    const { amount, unit } = value as { amount: string; unit: string }
    return Math.round(Number(amount) * euros[unit]! * 1e8)
  }
  return values.some((value) => {
    const text = value as string
    const wanted = node.value as string
    switch (node.op) {
      case 'eq':
        return same(value, node.value)
      case 'in':
        return (node.value as unknown[]).some((each) => same(value, each))
      case 'gt':
        return rank(value) > rank(node.value)
      case 'gte':
        return rank(value) >= rank(node.value)
      case 'lt':
        return rank(value) < rank(node.value)
      case 'lte':
        return rank(value) <= rank(node.value)
      case 'starts_with':
        return text.slice(0, wanted.length) === wanted
      case 'ends_with':
        return wanted === '' || text.slice(-wanted.length) === wanted
      case 'contains':
        return text.indexOf(wanted) >= 0
      case 'contains_any':
        return (node.value as string[]).some((each) => text.indexOf(each) >= 0)
      default:
        throw new Error(`The evaluator does not know ${node.op}`)
    }
  })
}

describe('a filter', () => {
  it('finds what a naive evaluator finds', async () => {
    const all = [...api.service.records(type)]
    expect(all).toHaveLength(90)
    let found = 0
    await fc.assert(
      fc.asyncProperty(trees, async (filter) => {
        const answer = await api.query(type, { filter })
        expect(answer.status).toBe(200)
        const ids = answer.body.data.map((record: RecordRepresentation) => record.id)
        expect(ids).toEqual(all.filter((record) => naive(filter, record)).map(({ id }) => id))
        found += ids.length
      }),
      { numRuns: runs(300) },
    )
    expect(found).toBeGreaterThan(0)
  })

  it('normalises its values as a write does', async () => {
    for (const filter of [
      { property: 'svc_email', op: 'eq', value: ' A@Example.com' },
      { property: 'svc_email', op: 'contains', value: 'A@' },
      { property: 'svc_last_contacted_at', op: 'eq', value: '2026-01-01T01:00:00+01:00' },
      { property: 'svc_lifetime_value', op: 'eq', value: { amount: '0100.00', unit: 'JPY' } },
    ]) {
      const answer = await api.query(type, { filter })
      expect(answer.body.data.length, filter.property).toBeGreaterThan(0)
    }
  })
})

const nested = (levels: number): Node =>
  levels === 1
    ? { property: 'svc_score', op: 'is_null', value: true }
    : { $and: [nested(levels - 1)] }
const groups = (count: number): Node => ({
  $or: Array.from({ length: count - 1 }, () => nested(2)),
})

describe('a malformed tree', () => {
  const ok = { property: 'svc_score', op: 'eq', value: 1 }
  it.each([
    ['no object', [ok], '/filter'],
    ['an empty $and', { $and: [] }, '/filter/$and'],
    ['an $or that is no list', { $or: ok }, '/filter/$or'],
    ['an unknown key', { ...ok, note: 1 }, '/filter'],
    ['a key beside $and', { $and: [ok], property: 'x' }, '/filter'],
    ['two groups in one node', { $and: [ok], $or: [ok] }, '/filter'],
    ['a missing value', { property: 'svc_score', op: 'eq' }, '/filter/value'],
    ['a missing property', { op: 'eq', value: 1 }, '/filter/property'],
    ['an operator outside the vocabulary', { ...ok, op: 'like' }, '/filter/op'],
    ['the key operator', { property: 'svc_score', operator: 'eq', value: 1 }, '/filter'],
    ['a child that is null', { $and: [ok, { $or: [null] }] }, '/filter/$and/1/$or/0'],
  ])('is refused: %s', async (_name, filter, field) => {
    const answer = await api.query(type, { filter })
    expectProblem(answer, 400, 'request_invalid')
    expect(answer.body.field).toBe(field)
  })
})

describe('a tree that is wrong', () => {
  const all = Array.from({ length: 101 }, (_, index) => index)
  it.each([
    ['unknown_property', { property: 'nope', op: 'eq', value: 1 }, '/filter/property'],
    ['unknown_property', { property: 'toString', op: 'eq', value: 1 }, '/filter/property'],
    ['operator_not_supported', { property: 'svc_score', op: 'contains', value: '1' }, '/filter/op'],
    ['operator_not_supported', { property: 'svc_notes', op: 'eq', value: '1' }, '/filter/op'],
    ['invalid_filter', { property: 'svc_score', op: 'eq', value: '1' }, '/filter/value'],
    ['invalid_filter', { property: 'svc_score', op: 'eq', value: null }, '/filter/value'],
    ['invalid_filter', { property: 'svc_score', op: 'is_null', value: 'yes' }, '/filter/value'],
    ['invalid_filter', { property: 'svc_score', op: 'in', value: 1 }, '/filter/value'],
    ['invalid_filter', { property: 'svc_score', op: 'in', value: [1, '2'] }, '/filter/value/1'],
    ['invalid_filter', { property: 'svc_score', op: 'not_in', value: all }, '/filter/value'],
    [
      'invalid_filter',
      { property: 'svc_birthday', op: 'gt', value: '2026-02-30' },
      '/filter/value',
    ],
    ['invalid_filter', { property: 'svc_lifetime_value', op: 'gt', value: '1' }, '/filter/value'],
    [
      'invalid_filter',
      { property: 'svc_first_name', op: 'contains_any', value: 'a' },
      '/filter/value',
    ],
    [
      'invalid_filter',
      { $and: [{ property: 'svc_tags', op: 'eq', value: ['vip'] }] },
      '/filter/$and/0/value',
    ],
    ['filter_too_deep', nested(9), `/filter${'/$and/0'.repeat(8)}`],
    ['too_many_filter_groups', groups(51), '/filter'],
  ])('is refused: %s', async (reason, filter, field) => {
    const answer = await api.query(type, { filter })
    expectProblem(answer, 422, 'request_invalid', reason)
    expect(answer.body.field).toBe(field)
  })

  it('is none at the bounds', async () => {
    const list = { property: 'svc_score', op: 'in', value: all.slice(1) }
    for (const filter of [nested(8), groups(50), list]) {
      expect((await api.query(type, { filter })).status).toBe(200)
    }
  })
})

describe('a currency property', () => {
  it('cannot be filtered or sorted without exchange rates', async () => {
    const filter = { property: 'svc_lifetime_value', op: 'gt', value: { amount: '1', unit: 'EUR' } }
    const sorts = [{ property: 'svc_lifetime_value', direction: 'asc' }]
    api.service.setExchangeRates(false)
    for (const body of [{ filter }, { sorts }]) {
      const answer = await api.query(type, body)
      expectProblem(answer, 503, 'service_unavailable', 'exchange_rate_unavailable')
      expect(answer.headers.get('retry-after')).toMatch(/^\d+$/)
    }
    expect((await api.query(type, {})).status).toBe(200)
    api.service.setExchangeRates(true)
    expect((await api.query(type, { sorts })).status).toBe(200)
  })
})
