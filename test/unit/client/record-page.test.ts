// A page that passes the quick check is one that the contract's schema passes unchanged.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeBySchema } from '../../../src/client/decode.ts'
import { isRecordPage } from '../../../src/client/record-page.ts'
import { OPERATIONS } from '../../../src/contract/index.ts'
import { RecordPage } from '../../../src/contract/schemas/index.ts'
import { runs } from '../../runs.ts'

const record = fc.record(
  {
    id: fc.oneof({ weight: 9, arbitrary: fc.string() }, fc.jsonValue()),
    object_type: fc.oneof({ weight: 9, arbitrary: fc.string() }, fc.jsonValue()),
    properties: fc.oneof(
      { weight: 9, arbitrary: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })) },
      fc.jsonValue(),
    ),
    more: fc.jsonValue(),
  },
  { requiredKeys: ['id', 'object_type', 'properties'] },
)
const page = fc.record(
  {
    data: fc.oneof({ weight: 9, arbitrary: fc.array(record, { maxLength: 4 }) }, fc.jsonValue()),
    pagination: fc.record(
      {
        has_more: fc.oneof({ weight: 9, arbitrary: fc.boolean() }, fc.jsonValue()),
        next_cursor: fc.oneof(fc.string(), fc.constant(null), fc.jsonValue()),
      },
      { requiredKeys: ['has_more'] },
    ),
    more: fc.jsonValue(),
  },
  { requiredKeys: ['data', 'pagination'] },
)

/** As it comes off the wire. */
const parsed = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

test('what passes here passes the schema, unchanged', () => {
  let passed = 0
  fc.assert(
    fc.property(page, (made) => {
      const json = parsed(made)
      if (!isRecordPage(json)) return
      passed++
      const plain = JSON.parse(JSON.stringify(json).replaceAll('__proto__', 'proto')) as unknown
      expect(RecordPage.parse(plain)).toEqual(plain)
    }),
    { numRuns: runs(2_000) },
  )
  expect(passed).toBeGreaterThan(runs(200))
})

const good = {
  data: [{ id: 'r', object_type: 't', properties: { a: 1, b: [null, { c: 'x' }], d: true } }],
  pagination: { has_more: true, next_cursor: 'c' },
}

test('pages as services send them pass', () => {
  expect(isRecordPage(good)).toBe(true)
  expect(isRecordPage({ ...good, pagination: { has_more: false } })).toBe(true)
  expect(isRecordPage({ ...good, pagination: { has_more: false, next_cursor: null } })).toBe(true)
})

test('a property may have any name, in a page and alone', () => {
  const text =
    '{"id":"r","object_type":"t","properties":{"__proto__":{"__proto__":[1]},"toString":2}}'
  const page = `{"data":[${text}],"pagination":{"has_more":false}}`
  expect(isRecordPage(JSON.parse(page))).toBe(true)
  const one = decodeBySchema(OPERATIONS.readRecord)(200, JSON.parse(`{"data":${text}}`))
  expect(JSON.stringify(one)).toBe(`{"data":${text}}`)
})

test.each([
  ['no cursor where there are more', '{"data":[],"pagination":{"has_more":true}}'],
  ['a cursor that is no text', '{"data":[],"pagination":{"has_more":false,"next_cursor":1}}'],
  ['a record that is a list', '{"data":[[]],"pagination":{"has_more":false}}'],
  [
    'properties that are a list',
    '{"data":[{"id":"r","object_type":"t","properties":[]}],"pagination":{"has_more":false}}',
  ],
  [
    'a number without end',
    '{"data":[{"id":"r","object_type":"t","properties":{"a":[1e999]}}],"pagination":{"has_more":false}}',
  ],
  ['nothing', 'null'],
])('%s does not', (_, text) => {
  expect(isRecordPage(JSON.parse(text))).toBe(false)
})
