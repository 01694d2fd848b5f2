// Section 2.1 to 2.10: the resources and their fields.

import { isJsonObject } from '../../core/json.ts'
import * as contract from '../../contract/index.ts'
import {
  broken,
  everyAnswer,
  expectSuccess,
  fault,
  isSuccess,
  valueKind,
  plainWord,
} from '../expect.ts'
import { filterDecimal } from '../filter-semantics.ts'
import { NotApplicable, Unchecked, type RuleFault } from '../verdict.ts'
import type { Rule } from '../rule.ts'
import { dataItems, bodyMember, shapeRule } from '../shapes.ts'
import type { ProbedProperty } from '../types.ts'
import { acceptedRule, answerRule, readRule, writeRule } from '../rule-kinds.ts'
import { dataOf, fieldsOf, problemOf, type WireExchange } from '../wire.ts'

const record = bodyMember('data')
const recordSources = {
  listRecords: dataItems,
  queryRecords: dataItems,
  readRecord: record,
  createRecord: record,
  updateRecord: record,
  upsertRecord: record,
} as const

export const section2: readonly Rule[] = [
  shapeRule(
    '2.1.record',
    'A record has id, object_type and properties.',
    contract.RecordRepresentation,
    recordSources,
  ),
  answerRule(
    '2.1.record-type',
    "object_type is the internal name of the record's object type.",
    (exchange) => {
      const partsOf = recordSources[exchange.operation as keyof typeof recordSources]
      if (!partsOf || !isSuccess(exchange) || exchange.objectType === null) return undefined
      const named = partsOf(exchange)
        .map(({ at, value }) => ({ at, name: fieldsOf(value)['object_type'] }))
        .filter(({ name }) => typeof name === 'string')
      const other = named.find(({ name }) => name !== exchange.objectType)
      if (!other) return named.length > 0 ? null : undefined
      return fault(`${other.at}/object_type`, exchange.objectType, plainWord(other.name))
    },
  ),
  valueRule(
    '2.1.multi-value',
    'A property of a multi-value type carries a list.',
    ({ isMulti }) => isMulti,
    (value) => (Array.isArray(value) ? null : 'a list or null'),
  ),
  valueRule(
    '2.1.currency-value',
    'A currency value is an object {amount, unit}.',
    ({ field, isMulti }) => field.units.length > 0 && !isMulti,
    (value) =>
      isJsonObject(value) &&
      filterDecimal(value['amount']) !== null &&
      typeof value['unit'] === 'string'
        ? null
        : 'an object with a decimal amount and a unit',
  ),
  valueRule(
    '2.1.date-value',
    'A date value is an ISO 8601 date.',
    ({ field, isMulti }) => field.name === 'date' && !isMulti,
    (value) =>
      typeof value === 'string' && /^\d{4}-\d\d-\d\d/.test(value) && !isNaN(Date.parse(value))
        ? null
        : 'an ISO 8601 date',
  ),
  acceptedRule('2.2.listed', 'The object types can be listed.', { operation: 'listObjectTypes' }),
  shapeRule(
    '2.2.object-summary',
    'An object type in a listing has name, labels, kinds, is_system, allows_custom_properties and writable_operations.',
    contract.ObjectSummary,
    { listObjectTypes: dataItems },
  ),
  shapeRule(
    '2.2.object-schema',
    'An object type that is read has the same, and its properties.',
    // Each property has a rule of its own.
    contract.ObjectSchema.omit({ properties: true }),
    { readObjectType: bodyMember('data') },
  ),
  readRule(
    '2.2.same-facts',
    'An object type says the same when it is read as in the listing.',
    async (kit) => {
      const summaries = await kit.probe.summaries()
      const [first] = summaries
      if (!first) throw new NotApplicable('the key sees no object type')
      await kit.probe.types()
      const facts = factsIn(kit.exchanges.find(isListOfTypes))
      return everyAnswer(kit.exchanges, (exchange): RuleFault | null | undefined => {
        if (exchange.operation !== 'readObjectType' || !isSuccess(exchange)) return undefined
        const data = dataOf(exchange)
        const listed = facts.get(exchange.objectType ?? '')
        if (!isJsonObject(data) || !listed) return undefined
        const names = ['name', 'label', 'label_plural', 'is_system', 'allows_custom_properties']
        const other = [...names, 'kinds', 'writable_operations'].find(
          (name) => JSON.stringify(data[name]) !== JSON.stringify(listed[name]),
        )
        if (other === undefined) return null
        return fault(`/data/${other}`, 'as in the listing of types', 'another value')
      })
    },
  ),
  shapeRule(
    '2.3.property',
    'A property has name, label, field_type, writability, operators, is_multi, is_unique and options.',
    contract.PropertyWire,
    { readObjectType: propertiesIn },
  ),
  writeRule('2.3.create-only', 'A create_only property is set once.', async (bench) => {
    const property = bench.usable.find(({ writability }) => writability === 'create_only')
    if (!property) throw new NotApplicable(`${bench.typeName} has no create_only property`)
    const { id, properties } = await bench.make(bench.values())
    const other = bench.values()[property.name]
    if (properties[property.name] == null || other === undefined) {
      throw new Unchecked(`no value of ${property.name} could be set`)
    }
    const answer = await bench.patch(id, { [property.name]: other })
    const after = valueIn(await bench.read(id), property.name)
    if (JSON.stringify(after) === JSON.stringify(properties[property.name])) return
    const at = `/data/properties/${property.name}`
    throw broken(answer, at, 'the value that was set first', 'another value')
  }),
  writeRule(
    '2.3.read-only',
    'A read_only property is not changed by a write.',
    async (bench, kit) => {
      const type = await kit.probe.type(bench.typeName)
      const property = type.properties.find(({ writability }) => writability === 'read_only')
      if (!property) throw new NotApplicable(`${bench.typeName} has no read_only property`)
      const [scratch] = bench.prepared
      const before = valueIn(await bench.read(scratch!.id), property.name)
      const answer = await bench.patch(scratch!.id, { [property.name]: null })
      const after = valueIn(await bench.read(scratch!.id), property.name)
      if ((before === null) === (after === null)) return
      const at = `/data/properties/${property.name}`
      throw broken(answer, at, 'the value before', valueKind(after))
    },
  ),
  acceptedRule('2.4.listed', 'The field types can be listed.', { operation: 'listFieldTypes' }),
  shapeRule(
    '2.4.field-type',
    'A field type has name, label, value_type, operators, aggregations, sortable and units.',
    contract.FieldTypeWire,
    { listFieldTypes: dataItems },
  ),
  readRule(
    '2.4.references',
    "A property's field_type is the name of a field type.",
    async (kit) => {
      const names = await kit.probe.fields()
      await kit.probe.types()
      return everyAnswer(kit.exchanges, (exchange) => {
        if (exchange.operation !== 'readObjectType' || !isSuccess(exchange)) return undefined
        for (const { at, value } of propertiesIn(exchange)) {
          const name = fieldsOf(value)['field_type']
          if (typeof name !== 'string' || names.has(name)) continue
          return fault(`${at}/field_type`, 'the name of a field type', plainWord(name))
        }
        return null
      })
    },
  ),
  shapeRule(
    '2.5.association',
    'An association definition has name, label, source, target and cardinality.',
    contract.AssociationWire,
    { listAssociations: dataItems },
  ),
  acceptedRule('2.5.listed', 'The association definitions can be listed.', {
    operation: 'listAssociations',
  }),
  readRule('2.6.listed', 'The association edges of a record can be listed.', async (kit) => {
    let count = 0
    for (const { type, records } of await kit.probe.samples()) {
      for (const { id } of records.slice(0, 2)) {
        if (count === 4) break
        count += 1
        const call = { operation: 'listAssociationEdges', objectType: type.name, id } as const
        expectSuccess(await kit.call(call), [200])
      }
    }
    if (count === 0) throw new Unchecked('there is no record: --write TYPE makes some')
  }),
  shapeRule(
    '2.6.edge',
    'An association edge has association_type, source_id, target_id and cardinality.',
    contract.AssociationEdgeWire,
    { listAssociationEdges: dataItems },
  ),
  acceptedRule('2.7.read', 'A key can be introspected.', { operation: 'readSelf' }),
  shapeRule(
    '2.7.self',
    'The introspection has org_id and reach; principal and permissions, where they are there, have their fields.',
    contract.Self,
    { readSelf: bodyMember('data') },
  ),
  paginationRule('2.8.has-more', 'Every page says has_more, a boolean.', ({ has_more }) =>
    typeof has_more === 'boolean'
      ? null
      : fault('/pagination/has_more', 'true or false', valueKind(has_more)),
  ),
  paginationRule(
    '2.8.next-cursor',
    'next_cursor is a text whenever has_more is true.',
    ({ has_more, next_cursor }) => {
      if (has_more !== true) return undefined
      if (typeof next_cursor === 'string' && next_cursor !== '') return null
      return fault('/pagination/next_cursor', 'a text', valueKind(next_cursor))
    },
  ),
  paginationRule(
    '2.8.last-page',
    'next_cursor is absent or null on the last page.',
    ({ has_more, next_cursor }) => {
      if (has_more !== false) return undefined
      if (next_cursor == null) return null
      return fault('/pagination/next_cursor', 'null or absent', valueKind(next_cursor))
    },
  ),
  shapeRule(
    '2.9.aggregate',
    'An aggregate has total_groups, results of {group_by, value}, and has_more.',
    contract.AggregateData,
    { aggregateRecords: bodyMember('data') },
  ),
]

const isListOfTypes = (exchange: WireExchange) =>
  exchange.operation === 'listObjectTypes' && isSuccess(exchange)

/** What the listing of types says about each type, by name. */
function factsIn(
  exchange: WireExchange | undefined,
): Map<string, Readonly<Record<string, unknown>>> {
  const facts = new Map<string, Readonly<Record<string, unknown>>>()
  for (const { value } of exchange ? dataItems(exchange) : []) {
    if (isJsonObject(value)) facts.set(String(value['name']), value)
  }
  return facts
}

function propertiesIn(exchange: WireExchange) {
  const list = fieldsOf(dataOf(exchange))['properties']
  if (!Array.isArray(list)) return [{ at: '/data/properties', value: undefined }]
  return list.map((value: unknown, index) => ({ at: `/data/properties/${index}`, value }))
}

/** The value of a property in an answer that holds one record. @throws Unchecked if it holds none */
function valueIn(exchange: WireExchange, name: string): unknown {
  const properties = fieldsOf(dataOf(exchange))['properties']
  if (exchange.status === 200 && isJsonObject(properties)) return properties[name] ?? null
  throw new Unchecked(`${exchange.line} was answered ${exchange.status} without a record`)
}

/** A rule about the values of some properties, in the records of all samples. */
function valueRule(
  id: string,
  text: string,
  speaksOf: (property: ProbedProperty) => boolean,
  expectedOf: (value: unknown) => string | null,
): Rule {
  return readRule(id, text, async (kit) => {
    const properties = new Map<string, ProbedProperty[]>()
    for (const { type } of await kit.probe.samples()) {
      properties.set(type.name, type.properties.filter(speaksOf))
    }
    if ([...properties.values()].flat().length === 0) {
      throw new NotApplicable('no property that the key sees is of this kind')
    }
    let values = 0
    everyAnswer(kit.exchanges, (exchange) => {
      if (!['listRecords', 'queryRecords'].includes(exchange.operation ?? '')) return undefined
      if (!isSuccess(exchange)) return undefined
      for (const { at, value: found } of dataItems(exchange)) {
        const of = fieldsOf(fieldsOf(found)['properties'])
        for (const { name } of properties.get(exchange.objectType ?? '') ?? []) {
          const value = of[name]
          if (value == null) continue
          values += 1
          const expected = expectedOf(value)
          if (expected !== null)
            return fault(`${at}/properties/${name}`, expected, valueKind(value))
        }
      }
      return null
    })
    if (values === 0) throw new Unchecked('no record has such a value: --write TYPE makes some')
    return `${values} values`
  })
}

function paginationRule(
  id: string,
  text: string,
  faultOf: (pagination: Readonly<Record<string, unknown>>) => RuleFault | null | undefined,
): Rule {
  const paged = new Set(['listRecords', 'queryRecords', 'listAssociationEdges'])
  const faultIn = (exchange: WireExchange) =>
    paged.has(exchange.operation ?? '') && isSuccess(exchange)
      ? faultOf(fieldsOf(problemOf(exchange)['pagination']))
      : undefined
  return answerRule(id, text, faultIn, new Unchecked('no such page was seen'))
}
