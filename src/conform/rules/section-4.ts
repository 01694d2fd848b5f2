// Sections 4 and 4.1: listing, querying, sorting and searching.

import type { FilterNode } from '../../contract/index.ts'
import { broken, expectSuccess } from '../expect.ts'
import { leafEvidence, listCall, queryCall } from '../calls.ts'
import type { RuleContext } from '../rule-context.ts'
import { compareValues, matchesFilter, type FilterTruth } from '../filter-semantics.ts'
import { candidatesFor } from '../operands.ts'
import { pageIn, allPages, expectSameRecords } from '../pages.ts'
import { Unchecked } from '../verdict.ts'
import type { Rule } from '../rule.ts'
import type { ProbedProperty, RecordSample } from '../types.ts'
import { readRule, refusalRule } from '../rule-kinds.ts'
import { dataOf, fieldsOf, type WireExchange } from '../wire.ts'

const code = 'request_invalid'

/** @throws Broken if an answer holds other properties than those requested */
function expectOnly(exchange: WireExchange, names: readonly string[]): void {
  const { records } = pageIn(exchange)
  records.forEach(({ properties }, index) => {
    const got = Object.keys(properties)
    const extra = got.filter((name) => !names.includes(name)).length
    if (extra === 0) return
    throw broken(exchange, `/data/${index}/properties`, `only ${names.join(', ')}`, `${extra} more`)
  })
}

function twoNames({ type }: RecordSample): [string, string] {
  const [first, second] = type.properties
  if (first && second) return [first.name, second.name]
  throw new Unchecked(`${type.name} has fewer than two properties`)
}

function sortRule(direction: 'asc' | 'desc'): Rule {
  return readRule(
    `4.1.sort-${direction}`,
    `sorts orders the records by a property, ${direction === 'asc' ? 'ascending' : 'descending'}.`,
    async (kit) => {
      const [sample, property] = await sortable(kit)
      const body = { sorts: [{ property: property.name, direction }] }
      const { records, exchange } = await allPages(kit, queryCall(sample.type.name, body), 3)
      const values = records.map(({ properties }) => properties[property.name])
      const held = values.filter((value) => value != null)
      const sign = direction === 'asc' ? 1 : -1
      const wrong = held.findIndex(
        (value, index) => index > 0 && sign * (compareValues(held[index - 1], value) ?? 0) > 0,
      )
      if (wrong < 0) return `by ${property.name}`
      const got = 'a record before one that belongs before it'
      throw broken(exchange, '/data', `${direction} by ${property.name}`, got)
    },
  )
}

/** A property to sort by whose order is certain, with at least two values. @throws Unchecked */
async function sortable(kit: RuleContext): Promise<[RecordSample, ProbedProperty]> {
  for (const sample of await kit.probe.samples()) {
    for (const property of sample.type.properties) {
      if (!property.field.sortable || property.isMulti || property.field.units.length > 0) continue
      const values = sample.records
        .map(({ properties }) => properties[property.name])
        .filter((value) => value != null)
      if (values.some((value) => (compareValues(values[0], value) ?? 0) !== 0)) {
        return [sample, property]
      }
    }
  }
  throw new Unchecked('no sortable property has two values whose order is certain')
}

interface Searched {
  readonly sample: RecordSample
  readonly filter: FilterNode
  readonly search: string
}

/** A word and a filter to combine; if possible, the word also occurs in records outside the filter. @throws Unchecked */
async function searchable(kit: RuleContext): Promise<Searched> {
  const samples = await kit.probe.samples()
  let found: Searched | null = null
  const candidates = samples.flatMap((one) =>
    (['is_null', 'eq', 'gt'] as const).flatMap((op) => candidatesFor(op, [one])),
  )
  for (const { sample, filter, splits, property } of candidates) {
    if (!splits || !sample.whole || property.field.units.length > 0) continue
    const wordsWhere = (truth: FilterTruth) =>
      sample.records
        .filter(({ properties }) => matchesFilter(filter, properties) === truth)
        .flatMap(({ properties }) => Object.values(properties))
        .filter((value) => typeof value === 'string' && /^[A-Za-z]{3,40}$/.test(value))
        .map(String)
    const words = wordsWhere('yes')
    const others = new Set(wordsWhere('no'))
    const shared = words.find((word) => others.has(word))
    if (shared !== undefined) return { sample, filter, search: shared }
    if (words[0] !== undefined) found ??= { sample, filter, search: words[0] }
  }
  if (found) return found
  throw new Unchecked('no type is small enough and has a word that a filter tells apart')
}

export const section4: readonly Rule[] = [
  readRule(
    '4.list-properties',
    'properties, comma-separated, names the properties that a listing returns.',
    async (kit) => {
      const sample = await kit.probe.sampleOf(1)
      const names = twoNames(sample)
      expectOnly(
        await kit.call({ ...listCall(sample.type.name), query: { properties: names.join() } }),
        names,
      )
    },
  ),
  readRule('4.read-record', 'A listed record can be read.', async (kit) => {
    const { type, records } = await kit.probe.sampleOf(1)
    const { id } = records[0]!
    const exchange = await kit.call({ operation: 'readRecord', objectType: type.name, id })
    expectSuccess(exchange, [200])
    if (fieldsOf(dataOf(exchange))['id'] === id) return
    throw broken(exchange, '/data/id', 'the id asked for', 'another one')
  }),
  readRule(
    '4.1.optional',
    'All fields of a query are optional; without a filter it matches every record.',
    async (kit) => {
      const some = await kit.probe.sampleOf(1, { whole: true })
      await expectSameRecords(async () => {
        const { records: due } = await kit.probe.sampleAgain(some)
        const { records: found, exchange } = await allPages(kit, queryCall(some.type.name, {}), 4)
        return { due, found, exchange }
      }, 'the records of the listing')
    },
  ),
  readRule('4.1.nulls', 'cursor, filter, search and properties may be null.', async (kit) => {
    const body = { cursor: null, filter: null, search: null, properties: null }
    expectSuccess(await kit.query(await kit.anyType(), body), [200])
  }),
  readRule('4.1.limit', 'A page holds at most limit records.', async (kit) => {
    const sample = await kit.probe.sampleOf(2)
    const exchange = await kit.query(sample.type.name, { limit: 1 })
    const { records } = pageIn(exchange)
    if (records.length <= 1) return
    throw broken(exchange, '/data', 'at most 1 record', `${records.length} records`)
  }),
  readRule(
    '4.1.properties',
    'properties names the properties that a query returns.',
    async (kit) => {
      const sample = await kit.probe.sampleOf(1)
      const names = twoNames(sample)
      expectOnly(await kit.query(sample.type.name, { properties: names, limit: 5 }), names)
    },
  ),
  sortRule('asc'),
  sortRule('desc'),
  readRule('4.1.sort-all', 'A sort leaves no record out.', async (kit) => {
    const [{ type }, property] = await sortable(kit)
    const some = await kit.probe.sample(type.name)
    if (!some.whole) throw new Unchecked(`${type.name} has too many records to read them all`)
    const body = { sorts: [{ property: property.name, direction: 'asc' }] }
    await expectSameRecords(async () => {
      const { records: due } = await kit.probe.sampleAgain(some)
      const { records: found, exchange } = await allPages(kit, queryCall(some.type.name, body), 4)
      return { due, found, exchange }
    }, 'the records of the listing')
  }),
  refusalRule({
    id: '4.1.sort-direction',
    text: 'The direction of a sort is asc or desc.',
    of: sortable,
    refused: ([{ type }, { name }]) =>
      queryCall(type.name, { sorts: [{ property: name, direction: 'upwards' }] }),
    refusal: { code },
  }),
  readRule(
    '4.1.search-none',
    'search matches text: a word that no record has finds nothing.',
    async (kit) => {
      const { type } = await kit.probe.sampleOf(1)
      const exchange = await kit.query(type.name, { search: 'zqxjkvbzqxjkvb' })
      const { records } = pageIn(exchange)
      if (records.length === 0) return
      throw broken(exchange, '/data', 'no record', `${records.length} records`)
    },
  ),
  readRule('4.1.search-and-filter', 'search combines with the filter.', async (kit) => {
    const { sample, filter, search } = await searchable(kit)
    const sent = `a word, and ${leafEvidence(filter)}`
    await expectSameRecords(async () => {
      const all = await allPages(kit, queryCall(sample.type.name, { search }, 'search: a word'), 4)
      const both = await allPages(kit, queryCall(sample.type.name, { search, filter }, sent), 4)
      const due = all.records.filter(
        ({ properties }) => matchesFilter(filter, properties) === 'yes',
      )
      return { due, found: both.records, exchange: both.exchange }
    }, 'what the search finds, as far as the filter matches')
  }),
  refusalRule({
    id: '4.6.sort-unsupported',
    text: 'A sort by a property that cannot be sorted on is 422, reason unsupported_sort.',
    of: (kit) =>
      kit.probe.propertyWhere(
        ({ field }) => field.valueType !== '' && !field.sortable,
        'every property can be sorted on',
      ),
    refused: ({ type, property }) =>
      queryCall(type, { sorts: [{ property: property.name, direction: 'asc' }] }),
    refusal: { statuses: [422], code, reason: 'unsupported_sort' },
  }),
]
