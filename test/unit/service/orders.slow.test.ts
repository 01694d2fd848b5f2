// Ordered reads (sections 4.1 and 4.5), of which a bound may begin or end the walk: against a naive evaluator over all
// records, whatever was written before and between the pages.

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RecordPage } from '../../../src/contract/index.ts'
import type { RecordRepresentation } from '../../../src/contract/index.ts'
import { manualClock, startApi } from './api.ts'
import type { Api, Caller } from './api.ts'
import { runs } from '../../runs.ts'

const type = 'svc_contact'
let api: Api
let orgs = 1_000
beforeAll(async () => {
  api = await startApi({ clock: manualClock() })
})
afterAll(() => api.service.close())

type Value = string | number | { amount: string; unit: string }
type Op = 'gt' | 'gte' | 'lt' | 'lte'
type Leaf = { property: string; op: Op | 'is_null' | 'eq' | 'in'; value: unknown }
type Node = Leaf | { $and: Node[] } | { $or: Node[] }

/** The worth of a hundredth of each unit, written again so that the service's own table is not its judge. */
const worth: Record<string, number> = { EUR: 10_000, USD: 9_200, JPY: 61 }
const money = (amount: string, unit: string) => ({ amount, unit })

/** Sortable properties with few values, in ascending order; those in one list are worth the same. */
const values = {
  svc_score: [-1.5, 0, 2, 10],
  svc_first_name: ['', 'Ada', 'ada', 'adab', 'é'],
  svc_birthday: ['1999-12-31', '2026-01-31', '2026-02-01'],
  svc_last_contacted_at: ['2025-06-01T12:00:00.000Z', '2026-01-01T00:00:00.001Z'],
  svc_lifetime_value: [
    money('-3', 'USD'),
    money('0', 'EUR'),
    money('0.92', 'EUR'),
    money('1', 'USD'),
    money('1', 'EUR'),
    money('200', 'JPY'),
  ],
  svc_external_id: ['a', 'b', 'c', 'd', 'e', 'f'],
} satisfies Record<string, Value[]>
type Name = keyof typeof values
const bounded: Name[] = ['svc_score', 'svc_birthday', 'svc_last_contacted_at', 'svc_lifetime_value']
const sortable = Object.keys(values) as Name[]

/** A number or text that orders as the value does. */
const rank = (value: Value): number | string =>
  typeof value === 'object' ? Math.round(Number(value.amount) * 100) * worth[value.unit]! : value

const order = (a: number | string, b: number | string) => (a < b ? -1 : a > b ? 1 : 0)
const valueOf = ({ properties }: RecordRepresentation, name: string) =>
  properties[name] as Value | null

const passes: Record<Op, (order: number) => boolean> = {
  gt: (each) => each > 0,
  gte: (each) => each >= 0,
  lt: (each) => each < 0,
  lte: (each) => each <= 0,
}

function matches(record: RecordRepresentation, node: Node | null): boolean {
  if (node === null) return true
  if ('$and' in node) return node.$and.every((each) => matches(record, each))
  if ('$or' in node) return node.$or.some((each) => matches(record, each))
  const value = valueOf(record, node.property)
  if (node.op === 'is_null') return (value === null) === node.value
  if (value === null) return false
  const same = (other: unknown) => JSON.stringify(value) === JSON.stringify(other)
  if (node.op === 'eq') return same(node.value)
  if (node.op === 'in') return (node.value as unknown[]).some(same)
  return passes[node.op](order(rank(value), rank(node.value as Value)))
}

interface Ordered {
  filter: Node | null
  /** One; without any, pages.test.ts looks at it. */
  sorts: { property: Name; direction: 'asc' | 'desc' }[]
}

/** What a query has to find: no value comes last, equal values by creation, `desc` is the exact reverse. */
function expected(orgId: number, { filter, sorts }: Ordered): string[] {
  const { property, direction } = sorts[0]!
  const last = (value: Value | null) => Number(value === null)
  const ids = api.service
    .records(type, orgId)
    .filter((record) => matches(record, filter))
    .toSorted((first, second) => {
      const [a, b] = [valueOf(first, property), valueOf(second, property)]
      return a === null || b === null ? last(a) - last(b) : order(rank(a), rank(b))
    })
    .map(({ id }) => id)
  return direction === 'asc' ? ids : ids.toReversed()
}

/** All pages put together, each with no more than its limit and what follows from `has_more`. */
async function found(caller: Caller, query: Ordered, limits: number[], between = async () => {}) {
  const ids: string[] = []
  let cursor: string | null | undefined
  for (let page = 0; page < 200; page += 1) {
    const limit = limits[page % limits.length]!
    const answer = await caller.query(type, cursor ? { cursor, limit } : { ...query, limit })
    expect(answer.status).toBe(200)
    const { data, pagination } = RecordPage.parse(answer.body)
    expect(data.length).toBeLessThanOrEqual(limit)
    ids.push(...data.map(({ id }) => id))
    if (!pagination.has_more) return ids
    cursor = pagination.next_cursor
    await between()
  }
  throw new Error('The listing has no end')
}

const some = fc.constantFrom
/** Any value of a property, none one time in four. */
const valueFor = (name: Name) =>
  fc.option(some(...(values[name] as Value[])), { freq: name === 'svc_external_id' ? 2 : 4 })
const properties = fc.record(
  Object.fromEntries(sortable.map((name) => [name, valueFor(name)])) as Record<
    Name,
    fc.Arbitrary<Value | null>
  >,
  { requiredKeys: [] },
)

const bound = (name: Name): fc.Arbitrary<Leaf> =>
  fc.record({
    property: some(name),
    op: some<Op>('gt', 'gte', 'lt', 'lte'),
    value: some(...(values[name] as Value[])),
  })
/** What an index knows, where there is one: of a unique property always, of others once an upsert matched by them. */
const lookup = (name: Name): fc.Arbitrary<Leaf> =>
  fc.oneof(
    fc.record({
      property: some(name),
      op: some('eq' as const),
      value: some(...(values[name] as Value[])),
    }),
    fc.record({
      property: some(name),
      op: some('in' as const),
      value: fc.subarray(values[name] as Value[], { minLength: 1 }),
    }),
  )
const absence = (name: Name): fc.Arbitrary<Leaf> =>
  fc.record({ property: some(name), op: some('is_null' as const), value: fc.boolean() })

/** Bounds on the property that is sorted by, several and contradictory ones among them, and other leaves beside them. */
function filterOn(name: Name): fc.Arbitrary<Node | null> {
  const own = bounded.includes(name) ? bound(name) : absence(name)
  const other = some(...bounded).chain(bound)
  const known = some(...sortable).chain(lookup)
  const group = (leaves: fc.Arbitrary<Node>[]): fc.Arbitrary<Node> => {
    const children = fc.array(fc.oneof(...leaves), { minLength: 1, maxLength: 4 })
    return fc.oneof(
      { arbitrary: children.map(($and) => ({ $and })), weight: 3 },
      { arbitrary: children.map(($or) => ({ $or })), weight: 1 },
    )
  }
  const flat = group([own, own, own, absence(name), other, known])
  return fc.oneof(fc.constant(null), own, known, flat, flat, group([own, flat]))
}

const query: fc.Arbitrary<Ordered> = fc
  .record({ property: some(...sortable), direction: some('asc' as const, 'desc' as const) })
  .chain((sort) => fc.record({ filter: filterOn(sort.property), sorts: fc.constant([sort]) }))
const limits = fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 3 })

const anyWrite = fc.record({
  kind: some('create', 'create', 'update', 'update', 'delete', 'upsert'),
  matching: some(...sortable),
  at: fc.nat(99),
  properties,
})
type Write = typeof anyWrite extends fc.Arbitrary<infer Each> ? Each : never

interface World {
  orgId: number
  caller: Caller
}

/** A new org, with records. */
async function newWorld(records: object[]): Promise<World> {
  const orgId = (orgs += 1)
  api.service.addOrg(orgId)
  const caller = api.as(api.service.mintKey({ orgId, reach: 'org' }))
  for (const each of records) await caller.create(type, each)
  return { orgId, caller }
}

/** Does a write, or has it refused where another record holds the value. */
async function perform({ orgId, caller }: World, write: Write) {
  const { kind, at, matching, properties: values } = write
  const live = api.service.records(type, orgId)
  const { id } = live[at % Math.max(1, live.length)] ?? { id: 'none' }
  if (kind === 'update') await caller.update(type, id, values)
  else if (kind === 'delete') await caller.remove(type, id)
  else if (kind === 'upsert') await caller.upsert(type, matching, values)
  else await caller.create(type, values)
}

const start = fc.array(properties, { minLength: 5, maxLength: 25, size: 'max' })

/** Leaves time to report what shrinking has come to. */
const patience = { interruptAfterTimeLimit: 45_000 }

describe('an ordered read', () => {
  it('finds what a naive evaluator finds, in its order, after any writes', async () => {
    let read = 0
    let bounds = 0
    await fc.assert(
      fc.asyncProperty(
        start,
        fc.array(fc.tuple(fc.array(anyWrite, { maxLength: 4 }), query, limits), {
          minLength: 2,
          maxLength: 8,
          size: 'max',
        }),
        async (records, rounds) => {
          const world = await newWorld(records)
          for (const [writes, each, sizes] of rounds) {
            for (const one of writes) await perform(world, one)
            const ids = expected(world.orgId, each)
            expect(await found(world.caller, each, [100])).toEqual(ids)
            expect(await found(world.caller, each, sizes)).toEqual(ids)
            read += ids.length
            if (ids.length > 0 && each.filter !== null) bounds += 1
          }
        },
      ),
      { numRuns: runs(60), ...patience },
    )
    // Most of the queries find something.
    expect(read).toBeGreaterThan(runs(300))
    expect(bounds).toBeGreaterThan(runs(30))
  })

  it('shows what stays as it is exactly once, whatever is written between its pages', async () => {
    let kept = 0
    await fc.assert(
      fc.asyncProperty(
        start,
        query,
        limits,
        fc.array(anyWrite, { minLength: 5, maxLength: 40, size: 'max' }),
        async (records, each, sizes, writes) => {
          const world = await newWorld(records)
          const all = () => api.service.records(type, world.orgId)
          const { property } = each.sorts[0]!
          const place = (record: RecordRepresentation) => JSON.stringify(valueOf(record, property))
          /** The places of those that have matched, and stayed where they were, since the start. */
          const staying = new Map(
            all()
              .filter((record) => matches(record, each.filter))
              .map((record) => [record.id, place(record)]),
          )
          const ahead = [...writes]
          const ids = await found(world.caller, each, sizes, async () => {
            for (const one of ahead.splice(0, 3)) {
              await perform(world, one)
              const now = new Map(all().map((record) => [record.id, record]))
              for (const [id, before] of staying) {
                const record = now.get(id)
                const isSame = record && matches(record, each.filter) && place(record) === before
                if (!isSame) staying.delete(id)
              }
            }
          })
          const shown = ids.filter((id) => staying.has(id))
          expect(shown).toEqual(expected(world.orgId, each).filter((id) => staying.has(id)))
          kept += shown.length
        },
      ),
      { numRuns: runs(120), ...patience },
    )
    expect(kept).toBeGreaterThan(runs(100))
  })
})
