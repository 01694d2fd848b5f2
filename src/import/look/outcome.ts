// From an answer to the books: how each item of a batch is settled, and whose failure a failure is.

import { BATCH_ITEM_OUTCOMES, type BatchItemResult } from '../../contract/index.ts'
import type { WrittenState } from '../../core/domain/outcomes.ts'
import type { ServiceFailure } from '../../core/errors.ts'
import { ITEM_ATTEMPTS_MAX } from '../../core/limits.ts'
import type { ItemOutcome, PlannedItem } from '../../ledger/ledger.ts'

const blank = {
  recordId: null,
  code: null,
  reason: null,
  field: null,
  detail: null,
  inDoubt: false,
  marks: null,
}

/** The outcome of an item without an answer of its own. */
export const blankOutcome = (
  { ordinal }: Pick<PlannedItem, 'ordinal'>,
  state: ItemOutcome['state'],
): ItemOutcome => ({ ...blank, ordinal, state, httpStatus: null })

/** The pointer below the item: `/data/3/properties/x` and `/properties/x` both become `/properties/x`. */
function pointerInItem(field: string | null | undefined): string | null {
  return field ? field.replace(/^\/data\/\d+(?=\/|$)/, '') || '/' : null
}

/** Whether the service took the item. */
export function isTaken({ status }: Pick<BatchItemResult, 'status'>): boolean {
  const outcome = BATCH_ITEM_OUTCOMES[status]
  return outcome === 'created' || outcome === 'updated'
}

/**
 * The outcome of an item that was answered. A 500 or 503 spends one of its attempts; after the last one it stays in doubt.
 * @param marks of an item that was taken: the baseline hashes of what was sent
 * @param state of an item that was taken. Default: what its status says
 */
export function itemOutcome(
  item: PlannedItem,
  result: BatchItemResult,
  marks: string | null = null,
  state?: WrittenState,
): ItemOutcome {
  const { ordinal } = item
  const { status, problem } = result
  const outcome = BATCH_ITEM_OUTCOMES[status]
  if (outcome === 'created' || outcome === 'updated')
    // Written out, because every row passes here: to spread the blank one takes a hundred times as long.
    return {
      ordinal,
      state: state ?? outcome,
      httpStatus: status,
      recordId: result.record?.id ?? null,
      code: null,
      reason: null,
      field: null,
      detail: null,
      inDoubt: false,
      marks,
    }
  const isSpent = item.attempts + 1 >= ITEM_ATTEMPTS_MAX
  const first = problem?.errors?.[0]
  return {
    ...blank,
    ordinal,
    state: outcome === 'retry' ? (isSpent ? 'in_flight' : 'pending') : 'refused',
    httpStatus: status,
    code: problem?.code ?? null,
    reason: problem?.reason ?? first?.reason ?? null,
    field: pointerInItem(problem?.field ?? first?.field),
    detail: first && !problem?.field ? first.detail : (problem?.detail ?? null),
    inDoubt: outcome === 'retry' && isSpent,
  }
}

/** The outcome of a single item whose whole request was refused. */
export function refusedOutcome(item: PlannedItem, failure: ServiceFailure): ItemOutcome {
  const first = failure.errors[0]
  return {
    ...blank,
    ordinal: item.ordinal,
    state: 'refused',
    httpStatus: failure.status ?? null,
    code: failure.problemCode ?? null,
    reason: failure.reason ?? first?.reason ?? null,
    field: pointerInItem(failure.field ?? first?.field),
    detail: failure.detail ?? first?.detail ?? null,
  }
}

/**
 * How a batch that was refused whole is taken apart: the items that the answer points at go alone, then the rest
 * together; without a usable pointer it is halved. Every part is smaller than the batch, so this ends. The items that are alone go
 * first, because their outcome is the progress that is kept where a few requests a minute are all that a slice has.
 */
export function splitRefusedBatch(
  items: readonly PlannedItem[],
  failure: ServiceFailure,
): readonly (readonly PlannedItem[])[] {
  const pointed = new Set<number>()
  for (const field of [failure.field, ...failure.errors.map((error) => error.field)]) {
    const index = /^\/data\/(\d+)(?:\/|$)/.exec(field ?? '')?.[1]
    if (index !== undefined && Number(index) < items.length) pointed.add(Number(index))
  }
  if (pointed.size > 0 && pointed.size < items.length) {
    const rest = items.filter((_, index) => !pointed.has(index))
    return [...[...pointed].toSorted((a, b) => a - b).map((index) => [items[index]!]), rest]
  }
  const half = Math.ceil(items.length / 2)
  return [items.slice(0, half), items.slice(half)]
}
