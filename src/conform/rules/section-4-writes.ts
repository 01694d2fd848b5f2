// Sections 4 and 4.3: writing one record. Every record that is written is a scratch record.

import { canonicalJson, isJsonObject } from '../../core/json.ts'
import type { Json } from '../../core/json.ts'
import { recordIn } from '../scratch-records.ts'
import type { ScratchRecords, ScratchRecord } from '../scratch-records.ts'
import { broken, expectRefusal, expectSuccess, valueKind, answerText } from '../expect.ts'
import { pageIn } from '../pages.ts'
import { Unchecked } from '../verdict.ts'
import type { Rule } from '../rule.ts'
import type { ProbedProperty } from '../types.ts'
import { valueFor } from '../values.ts'
import type { WireExchange } from '../wire.ts'

const same = (a: unknown, b: unknown) =>
  canonicalJson((a ?? null) as Json) === canonicalJson((b ?? null) as Json)

/** The properties of a record that is read again. @throws Unchecked if it cannot be read */
async function stored(
  bench: ScratchRecords,
  id: string,
): Promise<{ exchange: WireExchange; properties: Properties }> {
  const exchange = await bench.read(id)
  const record = exchange.status === 200 ? recordIn(exchange) : null
  if (record) return { exchange, properties: record.properties }
  throw new Unchecked(`${exchange.line} was answered ${answerText(exchange)}`)
}
type Properties = Readonly<Record<string, unknown>>

/** Properties of a scratch record that have a value and can be changed. @throws Unchecked if there are fewer than `count` */
function changeable(
  bench: ScratchRecords,
  { properties }: ScratchRecord,
  count: number,
): ProbedProperty[] {
  const found = bench.usable.filter(
    ({ name, writability }) => writability === 'writable' && properties[name] != null,
  )
  if (found.length >= count) return found
  throw new Unchecked(`${bench.typeName} has fewer than ${count} properties that can be changed`)
}

/** The write of a rule about null and absent properties: by PATCH or by upsert. */
type Write = (
  bench: ScratchRecords,
  scratch: ScratchRecord,
  properties: Record<string, Json>,
) => Promise<WireExchange>

const byPatch: Write = (bench, { id }, properties) => bench.patch(id, properties)
const byUpsert: Write = (bench, scratch, properties) =>
  bench.upsert(bench.key.name, { ...keyOf(bench, scratch), ...properties })

/** The value by which an upsert finds a scratch record. @throws Unchecked */
function keyOf(bench: ScratchRecords, { properties }: ScratchRecord): Record<string, Json> {
  const value = properties[bench.key.name]
  if (typeof value === 'string') return { [bench.key.name]: value }
  throw new Unchecked(`a scratch record has no value of ${bench.key.name}`)
}

function clearRules(how: 'patch' | 'upsert', words: string, write: Write): Rule[] {
  return [
    {
      id: `4.3.1.${how}-null`,
      text: `An explicit null clears a property, in ${words}.`,
      phase: 'writes',
      async check(kit) {
        const bench = kit.bench()
        const scratch = await bench.make(bench.values())
        const [property] = changeable(bench, scratch, 1)
        expectSuccess(await write(bench, scratch, { [property!.name]: null }), [200])
        const { exchange, properties } = await stored(bench, scratch.id)
        if (properties[property!.name] == null) return
        const at = `/data/properties/${property!.name}`
        throw broken(exchange, { at, expected: 'null', got: valueKind(properties[property!.name]) })
      },
    },
    {
      id: `4.3.1.${how}-absent`,
      text: `A property that is left out is unchanged, in ${words}.`,
      phase: 'writes',
      async check(kit) {
        const bench = kit.bench()
        const scratch = await bench.make(bench.values())
        const before = (await stored(bench, scratch.id)).properties
        const [property, ...others] = changeable(bench, scratch, 2)
        const changes = { [property!.name]: valueFor(property!, bench.marker, bench.next() + 100)! }
        expectSuccess(await write(bench, scratch, changes), [200])
        const { exchange, properties } = await stored(bench, scratch.id)
        const other = others.find(({ name }) => !same(before[name], properties[name]))
        if (!other) return
        const at = `/data/properties/${other.name}`
        throw broken(exchange, {
          at,
          expected: 'the value before',
          got: valueKind(properties[other.name]),
        })
      },
    },
  ]
}

/** @throws Broken if the answer's `created` or id differ */
function expectUpsert(exchange: WireExchange, created: boolean, id?: string): void {
  expectSuccess(exchange, [created ? 201 : 200])
  const body = isJsonObject(exchange.json) ? exchange.json : {}
  if (body['created'] !== created) {
    const got = valueKind(body['created'])
    throw broken(exchange, { at: '/created', expected: String(created), got })
  }
  if (id === undefined || recordIn(exchange)?.id === id) return
  throw broken(exchange, {
    at: '/data/id',
    expected: 'the record that was there',
    got: 'another id',
  })
}

export const section4Writes: readonly Rule[] = [
  {
    id: '4.create',
    text: 'A create is 201 with a Location header.',
    phase: 'writes',
    async check(kit) {
      const bench = kit.bench()
      const exchange = await bench.create(bench.values())
      expectSuccess(exchange, [201])
      if (exchange.headers['location']) return
      throw broken(exchange, { at: 'location', expected: 'an address', got: 'no such header' })
    },
  },
  {
    id: '4.create-location',
    text: 'Location is the address of the new record.',
    phase: 'writes',
    async check(kit) {
      const bench = kit.bench()
      const { id, exchange } = await bench.make(bench.identity())
      const { location } = exchange.headers
      if (!location) throw new Unchecked('there is no Location')
      const { pathname } = new URL(location, 'http://localhost/')
      if (pathname.split('/').some((part) => decoded(part) === id)) return
      const got = 'an address without it'
      throw broken(exchange, { at: 'location', expected: 'an address that holds the id', got })
    },
  },
  {
    id: '4.create-stored',
    text: 'What was created can be read.',
    phase: 'writes',
    async check(kit) {
      const bench = kit.bench()
      const values = bench.values()
      const { id } = await bench.make(values)
      const exchange = await bench.read(id)
      expectSuccess(exchange, [200])
      const { mark } = bench
      if (recordIn(exchange)?.properties[mark.name] === values[mark.name]) return
      const at = `/data/properties/${mark.name}`
      throw broken(exchange, { at, expected: 'the text that was written', got: 'something else' })
    },
  },
  {
    id: '4.update',
    text: 'PATCH changes the record and returns it.',
    phase: 'writes',
    async check(kit) {
      const bench = kit.bench()
      const { id } = await bench.make(bench.identity())
      const text = `${bench.marker}-changed-${bench.next()}`
      const exchange = await bench.patch(id, { [bench.mark.name]: text })
      expectSuccess(exchange, [200])
      const record = recordIn(exchange)
      const at = `/data/properties/${bench.mark.name}`
      const fault = { at, expected: 'the text that was written', got: 'something else' }
      if (record?.id !== id || record.properties[bench.mark.name] !== text) {
        throw broken(exchange, fault)
      }
      const after = await stored(bench, id)
      if (after.properties[bench.mark.name] !== text) throw broken(after.exchange, fault)
    },
  },
  {
    id: '4.upsert-created',
    text: 'An upsert that finds no record creates one: 201, created is true.',
    phase: 'writes',
    async check(kit) {
      const bench = kit.bench()
      expectUpsert(await bench.upsert(bench.key.name, bench.identity()), true)
    },
  },
  {
    id: '4.upsert-updated',
    text: 'An upsert that finds a record updates it: 200, created is false.',
    phase: 'writes',
    async check(kit) {
      const bench = kit.bench()
      const scratch = await bench.make(bench.identity())
      expectUpsert(await byUpsert(bench, scratch, {}), false, scratch.id)
    },
  },
  {
    id: '4.delete',
    text: 'A delete succeeds, and the record is gone.',
    phase: 'writes',
    async check(kit) {
      const bench = kit.bench()
      const { id, properties } = await bench.make(bench.identity())
      const objectType = bench.typeName
      expectSuccess(await kit.call({ operation: 'deleteRecord', objectType, id }))
      expectRefusal(await bench.read(id), { code: 'not_found' })
      const value = properties[bench.mark.name]
      if (!bench.mark.operators.includes('eq') || typeof value !== 'string') return
      const filter = { property: bench.mark.name, op: 'eq', value }
      const exchange = await kit.query(objectType, { filter })
      const isThere = pageIn(exchange).records.some((record) => record.id === id)
      if (!isThere) return
      throw broken(exchange, {
        at: '/data',
        expected: 'no deleted record',
        got: 'the deleted record',
      })
    },
  },
  ...clearRules('patch', 'PATCH', byPatch),
  ...clearRules('upsert', 'an upsert', byUpsert),
  {
    id: '4.3.2.patch',
    text: 'A PATCH with the values that are stored succeeds and returns the record.',
    phase: 'writes',
    async check(kit) {
      const bench = kit.bench()
      const scratch = await bench.make(bench.values())
      const changes = { [bench.mark.name]: `${bench.marker}-again` }
      expectSuccess(await bench.patch(scratch.id, changes), [200])
      const exchange = await bench.patch(scratch.id, changes)
      expectSuccess(exchange, [200])
      if (recordIn(exchange)?.id === scratch.id) return
      throw broken(exchange, { at: '/data', expected: 'the current record', got: 'something else' })
    },
  },
  {
    id: '4.3.2.upsert',
    text: 'A replayed upsert succeeds and returns the record.',
    phase: 'writes',
    async check(kit) {
      const bench = kit.bench()
      const values = bench.values()
      const first = await bench.upsert(bench.key.name, values)
      expectSuccess(first, [200, 201])
      const id = recordIn(first)?.id
      expectUpsert(await bench.upsert(bench.key.name, values), false, id)
    },
  },
]

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
