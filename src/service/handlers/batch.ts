// Batches (section 4.4). Promise kept here: one result per item, in the order of the request; a refused item
// changes nothing and does not stop the others.

import type { WritableOperation } from '../../contract/index.ts'
import { batchDeleteBody, batchUpdateBody, batchWriteBody } from './envelopes.ts'
import type { FaultKind } from '../limits/faults.ts'
import type { ObjectType } from '../schema/object-types.ts'
import { BATCH_ANSWER_BYTES_MAX, inMiB } from '../limits/sizes.ts'
import { noRecord, problemBody, type RefusalFacts } from '../problems.ts'
import type { Slot, StoredRecord } from '../store/slots.ts'
import type { VisibleRecords } from '../store/visible-records.ts'
import { writeRecord, writeRecordUpsert, type WriteOutcome } from '../store/writes.ts'
import type { HandlerCall, Handler, Reply } from './handler.ts'
import { matchingProperty } from './writes.ts'

export const batchCreate: Handler = (call) => {
  const type = writable(call, ['create'])
  const items = batchWriteBody(call.body)
  const context = call.org.writing(call.key, type)
  return batch(call, items, (properties, index) =>
    written(writeRecord(context, null, properties, `/data/${index}/properties`)),
  )
}

export const batchUpdate: Handler = (call) => {
  const type = writable(call, ['update'])
  const items = batchUpdateBody(call.body)
  const context = call.org.writing(call.key, type)
  return batch(call, items, ({ id, properties }, index) => {
    const slot = context.view.get(id)
    if (!slot) return missing(id, type, index)
    return written(writeRecord(context, slot, properties, `/data/${index}/properties`))
  })
}

export const batchUpsert: Handler = (call) => {
  const type = writable(call, ['create', 'update'])
  const items = batchWriteBody(call.body)
  const matching = matchingProperty(call, type)
  const context = call.org.writing(call.key, type)
  return batch(call, items, (properties, index) =>
    written(writeRecordUpsert(context, matching, properties, `/data/${index}/properties`)),
  )
}

export const batchDelete: Handler = (call) => {
  const type = writable(call, ['delete'])
  const items = batchDeleteBody(call.body)
  const view = call.org.view(call.key, type)
  return batch(call, items, (id, index) => {
    const slot = view.get(id)
    if (!slot) return missing(id, type, index)
    return removed(call, view, slot)
  })
}

type Result =
  | { status: 200 | 201; record: StoredRecord }
  | { status: 204 }
  | { refused: RefusalFacts }

function writable({ org, key, params }: HandlerCall, operations: WritableOperation[]): ObjectType {
  return org.writableType(key, params['object_type']!, operations)
}

function written(outcome: WriteOutcome): Result {
  if ('refused' in outcome) return outcome
  return { status: outcome.created ? 201 : 200, record: outcome.record }
}

function removed({ org }: HandlerCall, view: VisibleRecords, slot: Slot): Result {
  org.delete(view.store, slot)
  return { status: 204 }
}

function missing(id: string, type: ObjectType, index: number): Result {
  return { refused: { ...noRecord(id, type.name), field: `/data/${index}/id` } }
}

/** How items fail under a planned fault. */
const itemFaults: Readonly<Partial<Record<FaultKind, RefusalFacts>>> = {
  item_503: {
    status: 503,
    code: 'service_unavailable',
    detail: 'This item was not stored: send it again',
  },
  item_500: {
    status: 500,
    code: 'internal_error',
    detail: 'The service failed: this item was not stored',
  },
}

/** The item of a batch whose answer is as large as one may be: it was not written. */
const answerFull: RefusalFacts = {
  status: 503,
  code: 'service_unavailable',
  detail: `The records of the items before have ${inMiB(BATCH_ANSWER_BYTES_MAX)}, as much as one answer holds: this item was not stored, send it again`,
}

function batch<Item>(
  call: HandlerCall,
  items: readonly Item[],
  write: (item: Item, index: number) => Result,
): Reply {
  const fault = call.fault && itemFaults[call.fault]
  let failed = 0
  let bytes = 0
  const resultOf = (item: Item, index: number): Result => {
    if (fault && call.faults!.itemFails()) return { refused: fault }
    return bytes > BATCH_ANSWER_BYTES_MAX ? { refused: answerFull } : write(item, index)
  }
  const answerTo = (item: Item, index: number): object => {
    const result = resultOf(item, index)
    if (!('refused' in result)) return { index, ...result }
    failed += 1
    const problem = problemBody(result.refused, call.site.docsUrl, call.requestId)
    return { index, status: problem.status, problem }
  }
  const data = items.map((item, index) => {
    const text = JSON.stringify(answerTo(item, index))
    bytes += Buffer.byteLength(text)
    return text
  })
  const summary = JSON.stringify({ total: items.length, succeeded: items.length - failed, failed })
  return { status: 200, body: `{"data":[${data.join()}],"summary":${summary}}` }
}
