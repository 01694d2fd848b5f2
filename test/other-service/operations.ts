// The twenty operations: what each does with a request that has come through the door.

import type { Habits, Naming } from './habits.ts'
import { isObject } from './json.ts'
import type { Json, JsonObject } from './json.ts'
import { KINDS, UNITS, aggregationsOf, isSortable, namesOf, operatorsOf } from './kinds.ts'
import { aggregate, limitOf, representation } from './reads.ts'
import type { Pages } from './reads.ts'
import { Refusal, malformed, notFound } from './refusal.ts'
import { upsertTarget } from './store.ts'
import type { Org, Rec } from './store.ts'
import { WRITABLE } from './types.ts'
import type { Key, PropertyDef, TypeDef } from './types.ts'

export interface Call {
  readonly org: Org
  readonly key: Key
  readonly habits: Habits
  readonly naming: Naming
  readonly pages: Pages
  readonly random: () => number
  readonly docs: string
  /** What the names in braces of the path stand for. */
  readonly path: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly body: JsonObject
  /** Places of the items of a batch that a fault met. */
  readonly failed: number[]
}

export interface Answer {
  readonly status: number
  readonly body: JsonObject | null
  readonly headers?: Readonly<Record<string, string>>
}

type Operation = (call: Call) => Answer

const ok = (body: JsonObject | null, status = 200): Answer => ({ status, body })

export const sees = ({ grants, hidden }: Key, type: string): boolean =>
  !hidden.has(type) && (grants === null || grants[type] !== undefined)

function readable({ org, key, path }: Call): TypeDef {
  const type = org.type(path['object_type']!)
  if (!type || !sees(key, type.name)) throw notFound('there is no such object type')
  return type
}

/** Of a listing, which never answers 404. */
function listable(call: Call): TypeDef {
  const type = call.org.type(call.path['object_type']!)
  if (type && sees(call.key, type.name)) return type
  throw new Refusal(403, 'permission_denied', 'the key does not read this type')
}

/** The type's own rules, then the grants. */
function writable(call: Call, operation: string): TypeDef {
  const { org, key, path } = call
  const type = org.type(path['object_type']!)
  if (!type) throw notFound('there is no such object type')
  const refuse = (reason: string, detail: string): never => {
    throw new Refusal(403, 'permission_denied', detail, { reason })
  }
  if (!(type.writable ?? WRITABLE).includes(operation)) {
    refuse('type_read_only', `the type does not take ${operation}`)
  }
  const isGranted = key.grants === null || key.grants[type.name] === 'write'
  if (key.hidden.has(type.name) || !isGranted) refuse('write_forbidden', 'the key may not write it')
  return type
}

function theRecord({ org, path }: Call, type: TypeDef, id = path['id']!): Rec {
  const record = org.record(type.name, id)
  if (!record) throw notFound('there is no such record')
  return record
}

function onlyKeys(object: JsonObject, known: readonly string[], field = ''): void {
  const extra = Object.keys(object).find((name) => !known.includes(name))
  if (extra !== undefined) throw malformed('unknown field', `${field}/${extra}`)
}

function propertiesIn(data: Json | undefined, field = '/data', more: string[] = []): JsonObject {
  if (!isObject(data)) throw malformed('an object is expected', field)
  onlyKeys(data, ['properties', ...more], field)
  const { properties } = data
  if (!isObject(properties)) throw malformed('an object is expected', `${field}/properties`)
  return properties
}

function written({ body }: Call): JsonObject {
  onlyKeys(body, ['data'])
  return propertiesIn(body['data'])
}

function summary(type: TypeDef): JsonObject {
  return {
    name: type.name,
    label: type.name,
    label_plural: `${type.name}s`,
    kinds: [type.name],
    is_system: type.isSystem ?? false,
    allows_custom_properties: true,
    writable_operations: type.writable ?? WRITABLE,
    description: '',
    icon: '',
  }
}

const property = (definition: PropertyDef, naming: Naming): JsonObject => ({
  name: definition.name,
  label: definition.name,
  field_type: namesOf(definition.kind, naming).name,
  writability: definition.writability ?? 'writable',
  operators: operatorsOf(definition.kind),
  is_multi: definition.multi ?? false,
  is_unique: definition.unique ?? false,
  options: (definition.options ?? []).map((value) => ({ value, label: value, description: '' })),
  description: '',
  default_value: null,
})

/** One answer for each item, in the order of the request. */
function batch(
  call: Call,
  keys: readonly string[],
  each: (
    item: JsonObject,
    index: number,
  ) => { status: 200 | 201 | 204; record: Rec | null; shown?: JsonObject },
): Answer {
  const { body, habits, random, docs, failed: met } = call
  onlyKeys(body, ['data'])
  const items = body['data']
  if (!Array.isArray(items)) throw malformed('a list is expected', '/data')
  if (items.length < 1 || items.length > 50) throw malformed('1 to 50 items', '/data')
  for (const [index, item] of items.entries()) {
    if (!isObject(item as Json)) throw malformed('an object is expected', `/data/${index}`)
    onlyKeys(item as JsonObject, keys, `/data/${index}`)
    if (keys.includes('id') && typeof (item as JsonObject)['id'] !== 'string') {
      throw malformed('a string is expected', `/data/${index}/id`)
    }
    if (keys.includes('properties')) {
      propertiesIn(item as JsonObject, `/data/${index}`, keys.includes('id') ? ['id'] : [])
    }
  }
  const refused = (items as JsonObject[]).findIndex(
    ({ properties }) =>
      habits.refusesText !== null &&
      Object.values((properties ?? {}) as JsonObject).includes(habits.refusesText),
  )
  if (habits.batchRefusals === 'whole' && refused >= 0)
    throw new Refusal(422, 'request_invalid', 'it is not taken', {
      reason: 'schema_invalid',
      field: `/data/${refused}/properties`,
    })
  const results = (items as JsonObject[]).map((item, index): JsonObject => {
    const fault = habits.itemFaults
    const isFault = fault !== null && random() < fault.rate
    try {
      const isApplied = !isFault || random() < fault.applied
      const written = isApplied ? each(item, index) : { status: 204, record: null }
      const { status, record } = written
      if (isFault) {
        met.push(index)
        throw failure(fault.status)
      }
      if (habits.batchItems === '204') return { index, status: 204 }
      const isBare = record === null || habits.batchItems === 'bare'
      return { index, status, ...(!isBare && { record: written.shown ?? representation(record) }) }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return { index, status: error.status, problem: atItem(error, index).body(docs, null) }
    }
  })
  const failed = results.filter(({ problem }) => problem !== undefined).length
  return ok(
    { data: results, summary: { total: items.length, succeeded: items.length - failed, failed } },
    habits.batchStatus,
  )
}

const failure = (status: 500 | 503): Refusal =>
  status === 500
    ? new Refusal(500, 'internal_error', 'the item failed')
    : new Refusal(503, 'service_unavailable', 'the item failed')

/** Pointers of one item begin at the batch. */
function atItem(error: Refusal, index: number): Refusal {
  const moved = (field: string) => field.replace(/^\/data/, `/data/${index}`)
  const { field, errors, ...more } = error.more
  return new Refusal(error.status, error.code, error.message, {
    ...more,
    ...(field !== undefined && { field: moved(field) }),
    ...(errors && { errors: errors.map((one) => ({ ...one, field: moved(one.field) })) }),
  })
}

function upsert({ org, query }: Call, type: TypeDef, values: JsonObject) {
  const record = upsertTarget(org, type, query.get('matching_property') ?? '', values)
  return record
    ? { status: 200 as const, record: org.update(type, record, values) }
    : { status: 201 as const, record: org.create(type, values) }
}

/** The same with what the service makes of it: see `Habits.writes` and `Habits.answers`. */
function upsertItem(call: Call, type: TypeDef, values: JsonObject) {
  const { org, query, habits } = call
  const key = query.get('matching_property') ?? ''
  const before = upsertTarget(org, type, key, values)
  const { status, record } = upsert(call, type, otherwise(values, key, habits.writes))
  const { properties } = representation(record) as { properties: JsonObject }
  const shown = {
    held: properties,
    before: before?.properties ?? properties,
    otherkey: otherwise(properties, key, 'otherkey'),
    otherval: otherwise(properties, key, 'otherval'),
    partial: { [key]: properties[key] ?? null },
  }[habits.answers]
  return { status, record, shown: { ...representation(record), properties: shown } }
}

/** With another key, or with another value of each text that is no key. */
function otherwise(values: JsonObject, key: string, how: Habits['writes']): JsonObject {
  if (how === 'otherkey') return { ...values, [key]: `zzz-${String(values[key])}` }
  if (how === 'sent') return values
  const isText = (name: string, value: Json) =>
    name !== key && (name === 'name' || name.endsWith('first_name')) && value
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, isText(name, value) ? 'WRONG' : value]),
  )
}

function link(call: Call): Answer {
  const { org, key, path, body } = call
  const type = writable(call, 'associate')
  const record = theRecord(call, type)
  const definition = org.associations.find(
    ({ name, source }) => name === path['association_type'] && source === type.name,
  )
  if (!definition) throw notFound('there is no such association')
  const id = path['target_id'] ?? body['target_id']
  if (path['target_id'] === undefined) onlyKeys(body, ['target_id'])
  if (typeof id !== 'string') throw malformed('a string is expected', '/target_id')
  const target = sees(key, definition.target) ? org.record(definition.target, id) : undefined
  if (!target) {
    throw new Refusal(422, 'request_invalid', 'the target cannot be linked', {
      field: '/target_id',
    })
  }
  const { name, cardinality } = definition
  const isOther = (edge: { name: string; source: string; target: string }) =>
    edge.name !== name ||
    !(
      (edge.source === record.id && edge.target === target.id) ||
      (edge.source === record.id && cardinality.endsWith('_to_one')) ||
      (edge.target === target.id && cardinality.startsWith('one_'))
    )
  org.edges = [...org.edges.filter(isOther), { name, source: record.id, target: target.id }]
  return ok({
    data: { association_type: name, source_id: record.id, target_id: target.id, cardinality },
  })
}

function edges(call: Call): Answer {
  const { org, key, path, query, habits } = call
  const record = theRecord(call, readable(call))
  const cursor = query.get('cursor')
  const found = org.edges
    .filter(({ source }) => source === path['id'])
    .flatMap(({ name, target }) => {
      const definition = org.associations.find((one) => one.name === name)!
      return sees(key, definition.target)
        ? [
            {
              association_type: name,
              source_id: record.id,
              target_id: target,
              cardinality: definition.cardinality,
            },
          ]
        : []
    })
  const size = habits.pages === 'full' ? 100 : 2
  const start = cursor === null ? 0 : Number(/^edge-(\d+)$/.exec(cursor)?.[1] ?? Number.NaN)
  if (Number.isNaN(start)) {
    throw new Refusal(400, 'request_invalid', 'no such cursor', { reason: 'cursor_invalid' })
  }
  const isMore = start + size < found.length
  return ok({
    data: found.slice(start, start + size),
    pagination: { has_more: isMore, next_cursor: isMore ? `edge-${start + size}` : null },
  })
}

const single = ({ habits }: Call, record: Rec, status: number): Answer =>
  habits.singleWrites === 'record'
    ? ok({ data: representation(record) }, status)
    : ok(null, status === 201 ? 201 : 204)

export const OPERATIONS: Readonly<Record<string, Operation>> = {
  readSelf: ({ org, key, habits }) =>
    ok({
      data: {
        org_id: org.id,
        ...(habits.self === 'prose'
          ? { principal_id: 'usr_1' }
          : { principal: { entity_id: 'usr_1', entity_type: null, display_name: null } }),
        permissions: org
          .types()
          .filter(({ name }) => sees(key, name))
          .map(({ name }) => ({
            entity_type: name,
            read: true,
            write: key.grants === null || key.grants[name] === 'write',
          })),
        reach: key.reach,
      },
    }),
  listObjectTypes: ({ org, key }) =>
    ok({
      data: org
        .types()
        .filter(({ name }) => sees(key, name))
        .map(summary),
    }),
  readObjectType: (call) => {
    const type = readable(call)
    const properties = call.org.propertiesOf(type).map((one) => property(one, call.naming))
    return ok({ data: { ...summary(type), properties } })
  },
  listFieldTypes: ({ naming }) =>
    ok({
      data: KINDS.map((kind) => ({
        name: namesOf(kind, naming).name,
        label: namesOf(kind, naming).name,
        value_type: namesOf(kind, naming).value,
        operators: operatorsOf(kind),
        aggregations: aggregationsOf(kind),
        sortable: isSortable(kind),
        units: kind === 'currency' ? UNITS : [],
        description: '',
      })),
    }),
  readRecord: (call) => ok({ data: representation(theRecord(call, readable(call))) }),
  listRecords: (call) => {
    const { org, query, pages } = call
    const type = listable(call)
    const names = query.get('properties')
    const cursor = query.get('cursor') ?? undefined
    const selection: JsonObject = names === null ? {} : { properties: names.split(',') }
    return ok(pages.page(org, type, `list ${org.id} ${type.name}`, selection, cursor))
  },
  queryRecords: (call) => {
    const { org, pages, body } = call
    const type = listable(call)
    onlyKeys(body, ['cursor', 'filter', 'limit', 'properties', 'search', 'sorts'])
    limitOf(body)
    const { cursor, ...query } = body
    return ok(pages.page(org, type, `query ${org.id} ${type.name}`, query, cursor))
  },
  aggregateRecords: (call) => ok(aggregate(call.org, listable(call), call.body, call.habits)),
  createRecord: (call) => {
    const type = writable(call, 'create')
    const record = call.org.create(type, written(call))
    const headers = { location: `/rest/v1/objects/${type.name}/records/${record.id}/` }
    return { ...single(call, record, 201), headers }
  },
  updateRecord: (call) => {
    const type = writable(call, 'update')
    return single(call, call.org.update(type, theRecord(call, type), written(call)), 200)
  },
  upsertRecord: (call) => {
    const type = writable(call, 'update')
    writable(call, 'create')
    const { status, record } = upsert(call, type, written(call))
    return ok({ data: representation(record), created: status === 201 }, status)
  },
  deleteRecord: (call) => {
    call.org.remove(theRecord(call, writable(call, 'delete')).id)
    return ok(null, 204)
  },
  batchCreate: (call) => {
    const type = writable(call, 'create')
    return batch(call, ['properties'], (item) => ({
      status: 201,
      record: call.org.create(type, item['properties'] as JsonObject),
    }))
  },
  batchUpdate: (call) => {
    const type = writable(call, 'update')
    return batch(call, ['id', 'properties'], (item) => ({
      status: 200,
      record: call.org.update(
        type,
        theRecord(call, type, item['id'] as string),
        item['properties'] as JsonObject,
      ),
    }))
  },
  batchUpsert: (call) => {
    const type = writable(call, 'update')
    writable(call, 'create')
    return batch(call, ['properties'], (item) =>
      upsertItem(call, type, item['properties'] as JsonObject),
    )
  },
  batchDelete: (call) => {
    const type = writable(call, 'delete')
    return batch(call, ['id'], (item) => {
      call.org.remove(theRecord(call, type, item['id'] as string).id)
      return { status: 204, record: null }
    })
  },
  listAssociations: ({ org, key }) =>
    ok({
      data: org.associations
        .filter(({ source, target }) => sees(key, source) && sees(key, target))
        .map((one) => ({ ...one, label: one.name, description: '' })),
    }),
  listAssociationEdges: edges,
  associateRecords: link,
}
