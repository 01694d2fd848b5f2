// What the answer to a batch means for its items.

import { isWritten, type AnsweredState } from '../../core/domain/outcomes.ts'
import type { Answered, ItemOutcome } from '../roles/outbox.ts'

export interface Settlement {
  /** All items, by ordinal: the engines lock them in this order. */
  readonly booked: readonly ItemOutcome[]
  /** Items whose values the service accepted. */
  readonly written: readonly ItemOutcome[]
  /** Those of `written` whose answer shows something that differs from what was sent. */
  readonly answered: readonly (Answered & { readonly ordinal: number })[]
  /** Items for whose keys nothing counts as accepted until a later run: what the service holds is not known, or not the key's. */
  readonly doubted: readonly { readonly ordinal: number }[]
  /** What the segment's counters rise by. */
  readonly counts: Readonly<Record<SegmentCounter, number>>
}

type SegmentCounter = 'created' | 'updated' | 'skipped' | 'rejected'

/** The counter of the segment that an item adds to. One that stays in flight is in doubt, and counts as rejected. */
const COUNTERS: Readonly<Record<AnsweredState, SegmentCounter | null>> = {
  created: 'created',
  updated: 'updated',
  refused: 'rejected',
  conflict: 'rejected',
  exists: 'skipped',
  not_found: 'skipped',
  protected: 'skipped',
  pending: null,
  in_flight: 'rejected',
}

export function settlementOf(items: readonly ItemOutcome[]): Settlement {
  const booked = items.toSorted((a, b) => a.ordinal - b.ordinal)
  const written = booked.filter(({ state }) => isWritten(state))
  const counts = { created: 0, updated: 0, skipped: 0, rejected: 0 }
  for (const { state } of booked) {
    const counter = COUNTERS[state]
    if (counter !== null) counts[counter]++
  }
  const answered = written.flatMap(({ ordinal, answered: shown }) =>
    shown ? [{ ordinal, ...shown }] : [],
  )
  const absent = booked.filter(({ state }) => state === 'not_found')
  return { booked, written, answered, doubted: [...answered, ...absent], counts }
}

/** Whether the status shows what the record now is: earlier refusals of the item no longer count. */
export const isAcceptance = ({ state, httpStatus }: ItemOutcome): boolean =>
  isWritten(state) && (httpStatus === 200 || httpStatus === 201 || httpStatus === 204)

/**
 * Of an update of `items`: whether the outcome in the state and with the status given leaves it open whether the item was written.
 */
export const isMaybeWrittenSql = (state: string, status: string): string =>
  `${state} = 'pending' AND coalesce(${status}, 500) >= 500`

/**
 * Flags for items that wrote one record: each knows the other.
 * @param rows items of the batch, each with the last other item of its record as `twin`
 */
export const collisionFlags = (
  rows: readonly Readonly<Record<string, unknown>>[],
): readonly { readonly ordinal: number; readonly other: number }[] =>
  rows.flatMap((row) => {
    const [ordinal, other] = [Number(row['ordinal']), Number(row['twin'])]
    return [
      { ordinal, other },
      { ordinal: other, other: ordinal },
    ]
  })
