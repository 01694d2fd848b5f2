// An answer to another request is well-formed and wrong: it is not believed, whichever operation it poses as.

import { expect, test } from 'vitest'
import type { RecordsClient } from '../../../src/client/index.ts'
import { always, batchBody, clientOf, failureOf, record, startWire } from './wire.ts'

const last = { has_more: false, next_cursor: null }
const company = { ...record(), object_type: 'svc_company' }
const other = record('rec_2')
const edge = {
  association_type: 'employer',
  source_id: 'rec_1',
  target_id: 'rec_9',
  cardinality: 'many_to_one',
}
const objectType = {
  name: 'svc_company',
  label: 'Company',
  label_plural: 'Companies',
  kinds: [],
  is_system: true,
  allows_custom_properties: true,
  writable_operations: [],
  properties: [],
}
const batchOf = (each: object) => ({
  ...batchBody(2),
  data: [0, 1].map((index) => ({ index, status: 200, record: index === 0 ? record() : each })),
})
const two = { items: [{ properties: {} }, { properties: {} }] }
const ids = { items: [{ id: 'rec_1' }, { id: 'rec_1' }] }
const changes = { items: ids.items.map((item) => ({ ...item, properties: {} })) }

const anotherType = 'a record of an object type'
type Foreign = [string, object, string, (client: RecordsClient) => Promise<unknown>]
const foreign: Foreign[] = [
  ['another record', { data: other }, 'a record', (c) => c.readRecord('svc_contact', 'rec_1')],
  ['another type', { data: company }, anotherType, (c) => c.readRecord('svc_contact', 'rec_1')],
  [
    'another type in a list',
    { data: [record(), company], pagination: last },
    anotherType,
    (c) => c.listRecords('svc_contact'),
  ],
  [
    'another type in a query',
    { data: [record(), company], pagination: last },
    anotherType,
    (c) => c.queryRecords('svc_contact'),
  ],
  [
    'another record after a change',
    { data: other },
    'a record',
    (c) => c.updateRecord('svc_contact', 'rec_1', {}),
  ],
  [
    'another type after an upsert',
    { data: company, created: false },
    anotherType,
    (c) => c.upsertRecord('svc_contact', 'svc_email', {}),
  ],
  [
    'another schema',
    { data: objectType },
    'an object type',
    (c) => c.readObjectType('svc_contact'),
  ],
  [
    "another record's edge",
    { data: [edge, { ...edge, source_id: 'rec_2' }], pagination: last },
    'an association edge from a record',
    (c) => c.listAssociationEdges('svc_contact', 'rec_1'),
  ],
  [
    'a link to another target',
    { data: edge },
    'an association edge to a record',
    (c) => c.associateRecords('svc_contact', 'rec_1', 'employer', 'rec_8'),
  ],
  [
    'a link of another type',
    { data: edge },
    'an association edge of a type',
    (c) => c.associateRecords('svc_contact', 'rec_1', 'owner', 'rec_9'),
  ],
  [
    'another type in a batch',
    batchOf(company),
    anotherType,
    (c) => c.batchUpsert('svc_contact', 'svc_email', two),
  ],
  [
    'another type in a batch of bytes',
    batchOf(company),
    anotherType,
    (c) => c.batchUpsert('svc_contact', 'svc_email', { body: '{"data":[]}', count: 2 }),
  ],
  [
    'another record in a batch',
    batchOf(other),
    'a record',
    (c) => c.batchUpdate('svc_contact', changes),
  ],
  ['another record deleted', batchOf(other), 'a record', (c) => c.batchDelete('svc_contact', ids)],
]

test.each(foreign)('%s is not believed', async (_, body, what, request) => {
  const wire = await startWire(always({ body }))
  const failure = await failureOf(request(clientOf(wire.url)))
  expect(failure).toMatchObject({ kind: 'distrusted', disposition: 'retry', block: 'contract' })
  expect(failure.message).toContain(`it holds ${what} that was not asked for`)
  // The names are the service's: they stay out of what is logged.
  expect(failure.message).not.toMatch(/rec_|svc_/)
})

test('a record of another type after a create: it may exist', async () => {
  const wire = await startWire(always({ status: 201, body: { data: company } }))
  const failure = await failureOf(clientOf(wire.url).createRecord('svc_contact', {}))
  expect(failure).toMatchObject({ name: 'OutcomeUnknown', outcomeUnknown: true })
})

test('what belongs is believed', async () => {
  const wire = await startWire(
    always({ body: { data: edge } }, { body: batchBody(2) }, { body: { data: record() } }),
  )
  const client = clientOf(wire.url)
  expect(await client.associateRecords('svc_contact', 'rec_1', 'employer', 'rec_9')).toEqual(edge)
  expect((await client.batchUpdate('svc_contact', changes)).data).toHaveLength(2)
  expect(await client.readRecord('svc_contact', 'rec_1')).toEqual(record())
})
