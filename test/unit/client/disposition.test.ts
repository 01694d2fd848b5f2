// Whose failure a failure is: the table of design section 6, row by row where rows differ.

import { expect, test } from 'vitest'
import { itemDisposition, requestDisposition } from '../../../src/client/disposition.ts'
import { OPERATIONS } from '../../../src/contract/index.ts'
import type { OperationId, ProblemCode } from '../../../src/contract/index.ts'

const rows: [OperationId, number, ProblemCode, string | null, string][] = [
  ['batchUpsert', 401, 'unauthenticated', null, 'halt auth'],
  ['batchUpsert', 403, 'permission_denied', null, 'halt permission'],
  ['batchUpsert', 403, 'permission_denied', 'type_read_only', 'halt permission'],
  ['batchUpsert', 403, 'permission_denied', 'write_forbidden', 'halt permission'],
  ['batchUpsert', 400, 'request_invalid', null, 'reject contract'],
  ['batchUpsert', 422, 'request_invalid', null, 'reject contract'],
  ['batchUpsert', 422, 'request_invalid', 'schema_invalid', 'reject contract'],
  ['batchUpsert', 422, 'request_invalid', 'brand_new_reason', 'reject contract'],
  ['batchUpsert', 422, 'request_invalid', 'constructor', 'reject contract'],
  ['batchUpsert', 422, 'request_invalid', 'invalid_matching_property', 'halt contract'],
  ['batchUpsert', 422, 'request_invalid', 'unknown_property', 'halt contract'],
  ['batchUpsert', 405, 'request_invalid', null, 'halt contract'],
  ['batchUpsert', 406, 'request_invalid', null, 'halt contract'],
  ['batchUpsert', 413, 'request_invalid', null, 'reject contract'],
  ['batchUpsert', 415, 'request_invalid', null, 'halt contract'],
  ['batchUpsert', 404, 'not_found', null, 'halt contract'],
  ['updateRecord', 404, 'not_found', null, 'reject contract'],
  ['readRecord', 404, 'not_found', null, 'reject contract'],
  ['readObjectType', 404, 'not_found', null, 'halt contract'],
  ['queryRecords', 422, 'request_invalid', null, 'halt contract'],
  ['queryRecords', 400, 'request_invalid', 'cursor_invalid', 'halt contract'],
  ['queryRecords', 503, 'service_unavailable', 'exchange_rate_unavailable', 'retry service'],
  ['upsertRecord', 409, 'conflict', 'ambiguous_match', 'reject contract'],
  ['batchUpsert', 409, 'conflict', null, 'reject contract'],
  ['batchUpsert', 429, 'rate_limited', null, 'retry service'],
  ['batchUpsert', 504, 'timeout', null, 'retry service'],
  ['batchUpsert', 503, 'service_unavailable', null, 'retry service'],
  ['batchUpsert', 500, 'internal_error', null, 'retry service'],
]

test.each(rows)('%s %i %s %s: %s', (id, status, code, reason, expected) => {
  const verdict = requestDisposition(OPERATIONS[id], status, { code, reason })
  expect(`${verdict.disposition} ${verdict.block}`).toBe(expected)
})

test('items of a batch', () => {
  const of = (statuses: Parameters<typeof itemDisposition>[0]['status'][]) =>
    new Set(statuses.map((status) => itemDisposition({ status })))
  expect(of([200, 201, 204])).toEqual(new Set(['accepted']))
  expect(of([403, 404, 409, 422])).toEqual(new Set(['rejected']))
  expect(of([500, 503])).toEqual(new Set(['retry']))
})
