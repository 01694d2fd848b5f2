// Validates the answer to a batch, by hand because every imported row passes here (several times as fast as the schema). Promise
// kept here: a batch answer is accepted only as a whole: one result per item, known statuses, counts that fit, and only records
// that the request asked for.

import { BATCH_ITEM_STATUSES, BATCH_ITEMS_MAX, ProblemWire } from '../contract/index.ts'
import type { BatchItemResult, BatchSummary } from '../contract/index.ts'
import { SyncError } from '../core/errors.ts'
import type { Permit } from '../core/ports.ts'
import { InvalidResponse } from './decode.ts'
import { checkRecordMatches } from './match-response.ts'
import { itemDisposition, withKnownCode } from './disposition.ts'
import { safeProblem } from './safe-problem.ts'
import { jsonText } from './json-text.ts'

export interface BatchAnswer {
  /** One per item, in the order of the request. */
  readonly data: readonly BatchItemResult[]
  readonly summary: BatchSummary
  /** The service's id of the request, for its support. */
  readonly requestId: string | null
}

/** Items to be written as JSON, or the exact bytes to send, already `{"data":[...]}`, with the number of items in them. */
export type BatchInput<Item> =
  | { readonly items: readonly Item[] }
  | { readonly body: string; readonly count: number }

/** The bytes of a batch. @throws SyncError `batch_size`, `body_invalid`, after giving back the permit that the caller passed */
export function batchBody<Item>(
  input: BatchInput<Item>,
  permit?: Permit,
): { body: string; count: number } {
  try {
    const count = 'items' in input ? input.items.length : input.count
    if (!Number.isInteger(count) || count < 1 || count > BATCH_ITEMS_MAX) throw sizeError(count)
    return { body: 'items' in input ? jsonText({ data: input.items }) : input.body, count }
  } catch (error) {
    permit?.unused()
    throw error
  }
}

const sizeError = (count: number) =>
  new SyncError('batch_size', `A batch of 1 to ${BATCH_ITEMS_MAX} items was expected, got ${count}`)

type Fields = Readonly<Record<string, unknown>>
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const statuses: ReadonlySet<unknown> = new Set(BATCH_ITEM_STATUSES)

/** What the request was about: the object type and, by item, the id of its record, if the item named one. */
export interface BatchRequest {
  readonly type?: string
  readonly ids?: readonly (string | undefined)[]
}

/** The results in request order, for a request of `count` items. @throws InvalidResponse */
export function readBatch(
  json: unknown,
  count: number,
  asked: BatchRequest = {},
): Omit<BatchAnswer, 'requestId'> {
  if (!isFields(json) || !Array.isArray(json['data']) || !isFields(json['summary'])) {
    throw new InvalidResponse('data and summary were expected')
  }
  if (json['data'].length !== count) {
    throw new InvalidResponse(`${count} results were expected, got ${json['data'].length}`)
  }
  const data: BatchItemResult[] = Array.from({ length: count })
  let succeeded = 0
  for (const item of json['data'] as unknown[]) {
    const result = readResult(item)
    if (!(result.index < count) || data[result.index] !== undefined) {
      throw new InvalidResponse(`its indexes are not 0 to ${count - 1}, each once`)
    }
    data[result.index] = result
    const id = asked.ids?.[result.index]
    if (result.record) checkRecordMatches(result.record, { type: asked.type, id })
    if (itemDisposition(result) === 'accepted') succeeded += 1
  }
  const { total, succeeded: reported, failed } = json['summary']
  if (total !== count || reported !== succeeded || failed !== count - succeeded) {
    throw new InvalidResponse('its summary does not fit its results')
  }
  return { data, summary: json['summary'] as BatchSummary }
}

function readResult(item: unknown): BatchItemResult {
  if (!isFields(item)) throw new InvalidResponse('a result is not an object')
  const { index, status, record, problem } = item
  if (!Number.isInteger(index) || (index as number) < 0) {
    throw new InvalidResponse('a result has no index')
  }
  if (!statuses.has(status)) throw new InvalidResponse('a result has an unknown status')
  if (record != null && !isRecord(record)) throw new InvalidResponse('a record has a wrong shape')
  const result = item as BatchItemResult
  if (itemDisposition(result) !== 'accepted') {
    const read = ProblemWire.safeParse(
      isFields(problem) ? withKnownCode(problem, result.status) : null,
    )
    if (!read.success) throw new InvalidResponse('a failed item has no problem')
    return { ...result, problem: safeProblem(read.data) }
  }
  // The contract has no member `error`, but its presence contradicts the status.
  if (problem != null || item['error'] != null)
    throw new InvalidResponse('an accepted item has a problem')
  return result
}

function isRecord(record: unknown): boolean {
  if (!isFields(record)) return false
  const { id, object_type: type, properties } = record
  return typeof id === 'string' && typeof type === 'string' && isFields(properties)
}
