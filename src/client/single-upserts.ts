// A batch upsert on a service that has none: one upsert for each item, in order, and one answer in the form of a batch's.
// Promises kept here: a failure that stops the work after some items were written says that the outcome is unknown; sending the
// batch again is safe, because upserts are.

import { BATCH_ITEM_STATUSES, TITLES } from '../contract/index.ts'
import type { BatchItemResult, ProblemCode, Properties } from '../contract/index.ts'
import { QuotaWait, ServiceFailure, SyncError } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import type { Permit } from '../core/ports.ts'
import type { Success } from './answers.ts'
import { batchBody, type BatchAnswer, type BatchInput } from './batch.ts'
import type { BodyOf } from './decode.ts'
import type { RequestOptions } from './call.ts'

export interface UpsertItem {
  readonly properties: Properties
}

export type UpsertOne = (
  item: UpsertItem,
  options: RequestOptions,
) => Promise<Success<BodyOf<'upsertRecord'>>>

/**
 * The quota may make each item wait this long: a batch that has begun is not left half done because of a wait, which is normal.
 */
const ITEM_WAIT_MAX_MS = 600_000

/** @throws ServiceFailure; before anything was sent also QuotaWait or the signal's reason */
export async function upsertSingly(
  items: readonly UpsertItem[],
  options: RequestOptions,
  upsert: UpsertOne,
): Promise<BatchAnswer> {
  const { priority, sendBefore } = options
  const data: BatchItemResult[] = []
  let requestId: string | null = null
  for (const [index, item] of items.entries()) {
    try {
      // The signal and the passed permit are for the first item: after it, the batch is under way.
      const answer = await upsert(
        item,
        index === 0 ? options : { priority, sendBefore, maxWaitMs: ITEM_WAIT_MAX_MS },
      )
      requestId = answer.requestId ?? null
      data.push({ index, status: answer.body.created ? 201 : 200, record: answer.body.data })
    } catch (error) {
      const refused = error instanceof ServiceFailure ? refusedItem(error, index) : null
      if (!refused) throw index === 0 ? error : halfDone(error, index, items.length)
      requestId = refused.problem?.request_id ?? null
      data.push(refused)
    }
  }
  const succeeded = data.filter(({ problem }) => !problem).length
  const summary = { total: data.length, succeeded, failed: data.length - succeeded }
  return { data, summary, requestId }
}

/** The items of a batch. @throws SyncError `batch_size`, `body_invalid`, after giving back the permit that the caller passed */
export function batchItems(input: BatchInput<UpsertItem>, permit?: Permit): readonly UpsertItem[] {
  const { body, count } = batchBody(input, permit)
  try {
    const { data } = parseJson(body) as unknown as { data: UpsertItem[] }
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
function halfDone(error: unknown, done: number, count: number): unknown {
  const words = `${done} of ${count} items of the batch were answered before`
  if (error instanceof QuotaWait) {
    return new ServiceFailure(`batchUpsert: ${error.message}; ${words}`, {
      kind: 'no_answer',
      disposition: 'retry',
      block: 'service',
      outcomeUnknown: true,
      retryAfterMs: error.retryAfterMs,
    })
  }
  if (!(error instanceof ServiceFailure)) return error
  return new ServiceFailure(`${error.message}; ${words}`, { ...error, outcomeUnknown: true })
}
