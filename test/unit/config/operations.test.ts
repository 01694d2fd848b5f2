// `operations` of a connection: requests that the configuration gives, checked where they stand.

import { expect, test } from 'vitest'
import { EVERY_OPERATION } from '../../../src/contract/index.ts'
import { issuesOf, load } from './project.ts'

const config = (operations: string) => `connections:
  crm:
    service: https://api.example.com
    key: "\${RECORDS_API_KEY}"
    operations: ${operations}
syncs: {}
`

test('arrive as they are written', async () => {
  const short = 'PUT /objects/{object_type}/records/batch/'
  const text = `{ batchUpsert: "${short}", upsertRecord: { request: "POST {base_url}/x/{object_type}", matching_property: body } }`
  expect((await load(config(text))).connections['crm']).toMatchObject({
    operations: {
      batchUpsert: short,
      upsertRecord: { request: 'POST {base_url}/x/{object_type}', matching_property: 'body' },
    },
  })
  const none = config('{}').replace(/ {4}operations.*\n/, '')
  expect((await load(none)).connections['crm']).not.toHaveProperty('operations')
})

test('an address with the path that every request adds is refused where it stands', async () => {
  const text = config('{}').replace(/ {4}operations.*\n/, '')
  expect(await issuesOf(text.replace('example.com', 'example.com/crm/rest/v1/'))).toEqual([
    '3:14: expected the URL before `/rest/v1`, which every request adds',
  ])
  expect(await issuesOf(text.replace('example.com', 'example.com/crm'))).toEqual([])
})

test.each([
  [
    '{ batchUpsrt: "PUT /x/" }',
    `5:19: unknown key; valid keys: ${EVERY_OPERATION.map((id) => `\`${id}\``).join(', ')}`,
  ],
  [
    '{ batchUpsert: "PUT /x/" }',
    '5:32: `connections.crm.operations.batchUpsert` is not valid; {object_type} is missing; ours is `POST /objects/{object_type}/records/batch/upsert/`',
  ],
  [
    '{ readSelf: "https://api.example.com/self/" }',
    '5:29: `connections.crm.operations.readSelf` is not valid; expected a method and a path, such as `GET /self/`',
  ],
  [
    '{ readSelf: { matching_property: body } }',
    '5:19: missing key `request` in `connections.crm.operations.readSelf`',
  ],
  [
    '{ readSelf: { request: GET /me, target_id: header } }',
    '5:60: `connections.crm.operations.readSelf.target_id` is not valid; expected one of `query`, `body`, `item`',
  ],
  ['GET /self/', '5:17: `connections.crm.operations` is not valid; expected a mapping'],
])('%s is refused, and what was expected is said', async (operations, issue) => {
  expect(await issuesOf(config(operations))).toEqual([issue])
})
