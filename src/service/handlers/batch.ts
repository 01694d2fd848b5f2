// Batches (section 4.4). Promise kept here: one result per item, in the order of the request, and an item that is refused
// changes nothing and stops nobody else.

import { batchWriteBody } from '../envelopes.ts'
import { problemBody } from '../problems.ts'
import type { Facts } from '../problems.ts'
import { upsertRecord } from '../writes.ts'
import type { Outcome } from '../writes.ts'
import type { Call, Handler, Reply } from './handler.ts'
import { matchingProperty } from './writes.ts'

export const batchUpsert: Handler = (call) => {
  const { org, key, params, body } = call
  const type = org.writableType(key, params['object_type']!, ['create', 'update'])
  const items = batchWriteBody(body)
  const matching = matchingProperty(call, type)
  const context = org.writing(type)
  return batch(call, items, (properties, index) =>
    upsertRecord(context, matching, properties, `/data/${index}/properties`),
  )
}

const unavailable: Facts = {
  status: 503,
  code: 'service_unavailable',
  detail: 'This item was not stored: send it again',
}

function batch<Item>(
  call: Call,
  items: readonly Item[],
  write: (item: Item, index: number) => Outcome,
): Reply {
  const faults = call.fault === 'item_503' ? call.faults : null
  let failed = 0
  const data = items.map((item, index) => {
    const outcome = faults?.itemFails() ? { refused: unavailable } : write(item, index)
    if (!('refused' in outcome)) {
      return { index, status: outcome.created ? 201 : 200, record: outcome.record }
    }
    failed += 1
    const problem = problemBody(outcome.refused, call.site.docsUrl, call.requestId)
    return { index, status: problem.status, problem }
  })
  const summary = { total: items.length, succeeded: items.length - failed, failed }
  return { status: 200, body: { data, summary } }
}
