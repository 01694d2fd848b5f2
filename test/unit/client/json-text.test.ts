// What JSON cannot hold is refused with its place, and nothing is sent: a NaN would arrive as null, which clears a property.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonText } from '../../../src/client/json-text.ts'
import type { Properties } from '../../../src/contract/index.ts'
import { always, clientOf, oneRecord, startWire } from './wire.ts'

test('what JSON can hold goes as JSON.stringify writes it', () => {
  fc.assert(
    fc.property(fc.object({ values: [fc.jsonValue()] }), (value) => {
      expect(jsonText(value)).toBe(JSON.stringify(value))
    }),
  )
  expect(jsonText({ when: new Date(0), absent: undefined })).toBe(
    '{"when":"1970-01-01T00:00:00.000Z"}',
  )
})

const circle: unknown[] = []
circle.push(circle)

test.each([
  ['NaN', Number.NaN, 'Body: "svc_x": a finite number was expected, got NaN'],
  ['Infinity', [1, Infinity], 'Body: "1": a finite number was expected, got Infinity'],
  ['a bigint', 12n, 'Body: "svc_x": a number, or a text of digits, was expected, got bigint'],
  ['a function', () => 'secret', 'Body: "svc_x": a JSON value was expected, got function'],
  ['a symbol', Symbol('secret'), 'Body: "svc_x": a JSON value was expected, got symbol'],
  ['a hole in a list', [undefined], 'Body: "0": a value was expected, got undefined'],
  ['a circle', circle, 'Body: values that JSON can hold were expected, without circles'],
])('%s is refused in every kind of write', async (_, value, message) => {
  const wire = await startWire(always(oneRecord))
  const client = clientOf(wire.url)
  const properties = { svc_x: value } as Properties
  const refusal = { code: 'body_invalid', message }
  const permit = client.quota.permit()
  await expect(
    client.updateRecord('svc_contact', 'rec_1', properties, { permit }),
  ).rejects.toMatchObject(refusal)
  const batchPermit = client.quota.permit()
  await expect(
    client.batchUpsert('svc_contact', 'm', { items: [{ properties }] }, { permit: batchPermit }),
  ).rejects.toMatchObject(refusal)
  expect(client.quota.closed).toEqual(['unused', 'unused'])
  expect(wire.seen).toEqual([])
})
