// A batch of writes on a service that has none: one request for each item, in order, and one answer in the form of a batch's.
// Promises kept here: a failure that stops the work after some items were written says that the outcome is unknown, and is one
// that is not sent again if the operation may not be; where the time for sending is over, what was answered counts, and the other items
// may be sent again.

import { BATCH_ITEM_STATUSES, OPERATIONS, TITLES } from '../contract/index.ts'
import type {
  BatchItemResult,
  ProblemCode,
  Properties,
  RecordRepresentation,
} from '../contract/index.ts'
import type { ImportOperation } from '../core/domain/import-modes.ts'
import { QuotaWait, SendDeadlinePassed, ServiceFailure, SyncError } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import type { Permit } from '../core/ports.ts'
import { OutcomeUnknown, type Success } from './answers.ts'
import { batchBody, type BatchAnswer, type BatchInput } from './batch.ts'
import type { RequestOptions } from './call.ts'

export interface WriteItem {
  /** Of an update, and of a deletion. */
  readonly id?: string
  readonly properties?: Properties
}

type BatchOperation = ImportOperation | 'batchDelete'

/** One write, and the result that a batch would have for it. */
type WriteOne = (
  item: WriteItem,
  options: RequestOptions,
) => Promise<{
  readonly status: BatchItemResult['status']
  readonly record?: RecordRepresentation
  readonly requestId: string | null | undefined
}>

/** The result of a single write, as a batch has it: an upsert says whether it created, a create does not. */
export const written = (
  {
    body: { data: record, created = true },
    requestId,
  }: Success<{ readonly data: RecordRepresentation; readonly created?: boolean | undefined }>,
  isNew = created,
) => ({ status: isNew ? (201 as const) : (200 as const), record, requestId })

/** That of a single deletion. */
export const deleted = ({ requestId }: Success<unknown>) => ({ status: 204 as const, requestId })

/**
 * The quota may make each item wait this long: a batch that has begun is not left half done because of a wait, which is normal.
 */
const ITEM_WAIT_MAX_MS = 600_000

/** @throws ServiceFailure; before anything was sent also QuotaWait or the signal's reason */
export async function writeSingly(
  operation: BatchOperation,
  items: readonly WriteItem[],
  options: RequestOptions,
  write: WriteOne,
): Promise<BatchAnswer> {
  const { priority, sendBefore } = options
  const data: BatchItemResult[] = []
  let requestId: string | null = null
  for (const [index, item] of items.entries()) {
    try {
      // The signal and the passed permit are for the first item: after it, the batch is under way.
      const answer = await write(
        item,
        index === 0 ? options : { priority, sendBefore, maxWaitMs: ITEM_WAIT_MAX_MS },
      )
      const { status, record } = answer
      requestId = answer.requestId ?? null
      data.push({ index, status, ...(record && { record }) })
    } catch (error) {
      if (index > 0 && error instanceof SendDeadlinePassed) {
        // What was answered counts: all of it sent again would take as long, and never end.
        for (let at = index; at < items.length; at++) data.push(unsentItem(at, error.message))
        break
      }
      const refused = error instanceof ServiceFailure ? refusedItem(error, index) : null
      if (!refused) throw index === 0 ? error : halfDone(operation, error, index, items.length)
      requestId = refused.problem?.request_id ?? null
      data.push(refused)
    }
  }
  const succeeded = data.filter(({ problem }) => !problem).length
  const summary = { total: data.length, succeeded, failed: data.length - succeeded }
  return { data, summary, requestId }
}

/** The result of an item that was not sent: it may be sent again. */
const unsentItem = (index: number, detail: string): BatchItemResult => ({
  index,
  status: 503,
  problem: {
    type: 'about:blank',
    title: TITLES[503]!,
    status: 503,
    code: 'service_unavailable',
    detail,
    reason: null,
    field: null,
    errors: [],
    request_id: null,
  },
})

/** The items of a batch. @throws SyncError `batch_size`, `body_invalid`, after giving back the permit that the caller passed */
export function batchItems(input: BatchInput<WriteItem>, permit?: Permit): readonly WriteItem[] {
  const { body, count } = batchBody(input, permit)
  try {
    const { data } = parseJson(body) as unknown as { data: WriteItem[] }
    if (Array.isArray(data) && data.length === count) return data
  } catch {
    // Reported below.
  }
  permit?.unused()
  const expected = `the text of {"data":[…]} with ${count} items was expected`
  throw new SyncError('body_invalid', `Body: ${expected}`)
}

/** Reasons of a refusal that every item of the type would get. */
const ofTheType = new Set(['type_read_only', 'write_forbidden'])

/** The result that a batch would have for it, if the refusal concerns this item alone; else null. */
function refusedItem(failure: ServiceFailure, index: number): BatchItemResult | null {
  const { kind, disposition, problemCode: code, reason = null } = failure
  const isOfItem =
    disposition === 'reject' ||
    failure.status === 500 ||
    (failure.status === 403 && !ofTheType.has(reason ?? ''))
  if (kind !== 'problem' || !isOfItem) return null
  const status = BATCH_ITEM_STATUSES.find((known) => known === failure.status) ?? 422
  const pointer = (field: string) => field.replace(/^\/data(?=\/|$)/, `/data/${index}`)
  return {
    index,
    status,
    problem: {
      type: 'about:blank',
      title: TITLES[status] ?? '',
      status,
      code: code as ProblemCode,
      detail: failure.detail ?? '',
      reason,
      field: failure.field === undefined ? null : pointer(failure.field),
      errors: failure.errors.map((error) => ({ ...error, field: pointer(error.field) })),
      request_id: failure.requestId ?? null,
    },
  }
}

/** The same failure, for a batch that was partly carried out. */
function halfDone(operation: BatchOperation, error: unknown, done: number, count: number): unknown {
  const words = `${done} of ${count} items of the batch were answered before`
  if (error instanceof QuotaWait) {
    return unknownOutcome(operation, `${operation}: ${error.message}; ${words}`, {
      kind: 'no_answer',
      disposition: 'retry',
      block: 'service',
      outcomeUnknown: true,
      retryAfterMs: error.retryAfterMs,
    })
  }
  if (!(error instanceof ServiceFailure)) return error
  return unknownOutcome(operation, `${error.message}; ${words}`, { ...error, outcomeUnknown: true })
}

const unknownOutcome = (
  operation: BatchOperation,
  message: string,
  facts: ConstructorParameters<typeof ServiceFailure>[1],
): ServiceFailure =>
  OPERATIONS[operation].replay
    ? new ServiceFailure(message, facts)
    : new OutcomeUnknown(message, { ...facts, disposition: 'halt' })
