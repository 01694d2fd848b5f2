// Sections 4 and 4.3: writing one record. Every record that is written is a scratch record.

import { canonicalJson, type Json } from '../../core/json.ts'
import { recordIn, type ScratchRecords, type ScratchRecord } from '../scratch-records.ts'
import { broken, expectRefusal, expectSuccess, valueKind, answerText } from '../expect.ts'
import { pageIn } from '../pages.ts'
import { Unchecked } from '../verdict.ts'
import type { Rule } from '../rule.ts'
import { writeRule } from '../rule-kinds.ts'
import type { ProbedProperty } from '../types.ts'
import { valueFor } from '../values.ts'
import { problemOf, type WireExchange } from '../wire.ts'

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
    writeRule(
      `4.3.1.${how}-null`,
      `An explicit null clears a property, in ${words}.`,
      async (bench) => {
        const scratch = await bench.make(bench.values())
        const [property] = changeable(bench, scratch, 1)
        expectSuccess(await write(bench, scratch, { [property!.name]: null }), [200])
        const { exchange, properties } = await stored(bench, scratch.id)
        if (properties[property!.name] == null) return
        const at = `/data/properties/${property!.name}`
        throw broken(exchange, at, 'null', valueKind(properties[property!.name]))
      },
    ),
    writeRule(
      `4.3.1.${how}-absent`,
      `A property that is left out is unchanged, in ${words}.`,
      async (bench) => {
        const scratch = await bench.make(bench.values())
        const before = (await stored(bench, scratch.id)).properties
        const [property, ...others] = changeable(bench, scratch, 2)
        const changes = { [property!.name]: valueFor(property!, bench.marker, bench.next() + 100)! }
        expectSuccess(await write(bench, scratch, changes), [200])
        const { exchange, properties } = await stored(bench, scratch.id)
        const other = others.find(({ name }) => !same(before[name], properties[name]))
        if (!other) return
        const at = `/data/properties/${other.name}`
        throw broken(exchange, at, 'the value before', valueKind(properties[other.name]))
      },
    ),
  ]
}

/** @throws Broken if the answer's `created` or id differ */
function expectUpsert(exchange: WireExchange, created: boolean, id?: string): void {
  expectSuccess(exchange, [created ? 201 : 200])
  const said = problemOf(exchange)['created']
  if (said !== created) {
    throw broken(exchange, '/created', String(created), valueKind(said))
  }
  if (id === undefined || recordIn(exchange)?.id === id) return
  throw broken(exchange, '/data/id', 'the record that was there', 'another id')
}

export const section4Writes: readonly Rule[] = [
  writeRule('4.create', 'A create is 201 with a Location header.', async (bench) => {
    const exchange = await bench.create(bench.values())
    expectSuccess(exchange, [201])
    if (exchange.headers['location']) return
    throw broken(exchange, 'location', 'an address', 'no such header')
  }),
  writeRule('4.create-location', 'Location is the address of the new record.', async (bench) => {
    const { id, exchange } = await bench.make(bench.identity())
    const { location } = exchange.headers
    if (!location) throw new Unchecked('there is no Location')
    const { pathname } = new URL(location, 'http://localhost/')
    if (pathname.split('/').some((part) => decoded(part) === id)) return
    throw broken(exchange, 'location', 'an address that holds the id', 'an address without it')
  }),
  writeRule('4.create-stored', 'What was created can be read.', async (bench) => {
    const values = bench.values()
    const { id } = await bench.make(values)
    const exchange = await bench.read(id)
    expectSuccess(exchange, [200])
    const { mark } = bench
    if (recordIn(exchange)?.properties[mark.name] === values[mark.name]) return
    const at = `/data/properties/${mark.name}`
    throw broken(exchange, at, 'the text that was written', 'something else')
  }),
  writeRule('4.update', 'PATCH changes the record and returns it.', async (bench) => {
    const { id } = await bench.make(bench.identity())
    const text = `${bench.marker}-changed-${bench.next()}`
    const exchange = await bench.patch(id, { [bench.mark.name]: text })
    expectSuccess(exchange, [200])
    const record = recordIn(exchange)
    const at = `/data/properties/${bench.mark.name}`
    const found = [at, 'the text that was written', 'something else'] as const
    if (record?.id !== id || record.properties[bench.mark.name] !== text) {
      throw broken(exchange, ...found)
    }
    const after = await stored(bench, id)
    if (after.properties[bench.mark.name] !== text) throw broken(after.exchange, ...found)
  }),
  writeRule(
    '4.upsert-created',
    'An upsert that finds no record creates one: 201, created is true.',
    async (bench) => {
      expectUpsert(await bench.upsert(bench.key.name, bench.identity()), true)
    },
  ),
  writeRule(
    '4.upsert-updated',
    'An upsert that finds a record updates it: 200, created is false.',
    async (bench) => {
      const scratch = await bench.make(bench.identity())
      expectUpsert(await byUpsert(bench, scratch, {}), false, scratch.id)
    },
  ),
  writeRule('4.delete', 'A delete succeeds, and the record is gone.', async (bench, kit) => {
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
    throw broken(exchange, '/data', 'no deleted record', 'the deleted record')
  }),
  ...clearRules('patch', 'PATCH', byPatch),
  ...clearRules('upsert', 'an upsert', byUpsert),
  writeRule(
    '4.3.2.patch',
    'A PATCH with the values that are stored succeeds and returns the record.',
    async (bench) => {
      const scratch = await bench.make(bench.values())
      const changes = { [bench.mark.name]: `${bench.marker}-again` }
      expectSuccess(await bench.patch(scratch.id, changes), [200])
      const exchange = await bench.patch(scratch.id, changes)
      expectSuccess(exchange, [200])
      if (recordIn(exchange)?.id === scratch.id) return
      throw broken(exchange, '/data', 'the current record', 'something else')
    },
  ),
  writeRule('4.3.2.upsert', 'A replayed upsert succeeds and returns the record.', async (bench) => {
    const values = bench.values()
    const first = await bench.upsert(bench.key.name, values)
    expectSuccess(first, [200, 201])
    const id = recordIn(first)?.id
    expectUpsert(await bench.upsert(bench.key.name, values), false, id)
  }),
]

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
