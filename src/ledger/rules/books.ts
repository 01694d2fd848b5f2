// The books of a run, counted from its items.

import { KEPT_REASONS } from '../../core/domain/protection.ts'
import { isWritten, type DeletionState, type ItemState } from '../../core/domain/outcomes.ts'
import {
  emptyStates,
  NOT_READ_BACK,
  type Books,
  type KeptCounts,
  type LinkBooks,
  type ReadBack,
} from '../../core/domain/books.ts'

/** Sums up items that were counted by state, by `verified` and by whether they are `normalised`. */
export function createBooksSum() {
  const states = emptyStates()
  const readBack = { ...NOT_READ_BACK }
  let replayed = 0
  let inDoubt = 0
  let lookedUp = 0
  let kept: KeptCounts = { values: 0, rows: 0 }
  let writtenOver: KeptCounts = { values: 0, rows: 0 }
  let thereBefore = 0
  const removals: { [State in DeletionState]?: number } = {}
  return {
    add(row: Readonly<Record<string, unknown>>): void {
      const state = row['state'] as ItemState
      const items = Number(row['items'])
      states[state] += items
      addReadBack(readBack, {
        state,
        verified: row['verified'],
        normalised: Number(row['normalised']) === 1,
        items,
      })
      replayed += Number(row['replayed'])
      inDoubt += Number(row['in_doubt'])
      lookedUp += Number(row['looked_up'])
    },
    /** Rows that kept values, and those that wrote over some without a base. */
    addKept(counted: { readonly kept: KeptCounts; readonly writtenOver: KeptCounts }): void {
      kept = sumOfKept(kept, counted.kept)
      writtenOver = sumOfKept(writtenOver, counted.writtenOver)
    },
    /** Whether a row was sent again, or settled by a look-up. */
    hasDoubted: () => replayed + lookedUp > 0,
    /** Such rows that updated records which were there before. */
    addThereBefore(row: Readonly<Record<string, unknown>> | undefined): void {
      thereBefore += Number(row?.['items'] ?? 0)
    },
    /** Removals that were counted by state. */
    addRemovals(row: Readonly<Record<string, unknown>>): void {
      removals[row['state'] as DeletionState] = Number(row['records'])
    },
    /** @param isPart whether the source was not read to its end */
    books: (read: unknown, isPart: boolean, links: LinkBooks | undefined): Books => ({
      read: Number(read ?? 0),
      states,
      replayed,
      ...(lookedUp > 0 && { lookedUp }),
      inDoubt,
      readBack,
      ...(isPart && { readToEnd: false as const }),
      ...(thereBefore > 0 && { thereBefore }),
      ...(kept.values > 0 && { kept }),
      ...(writtenOver.values > 0 && { writtenOver }),
      ...(links && { links }),
      ...(Object.keys(removals).length > 0 && { removals }),
    }),
  }
}

function sumOfKept(one: KeptCounts, other: KeptCounts): KeptCounts {
  const sums = KEPT_REASONS.map(
    (reason) => [reason, (one.reasons?.[reason] ?? 0) + (other.reasons?.[reason] ?? 0)] as const,
  )
  const reasons = Object.fromEntries(sums.filter(([, values]) => values > 0))
  return {
    values: one.values + other.values,
    rows: one.rows + other.rows,
    ...(Object.keys(reasons).length > 0 && { reasons }),
  }
}

/** Adds what reading back showed of items of a state to its counts. */
function addReadBack(
  counts: { -readonly [Name in keyof ReadBack]: number },
  row: { state: ItemState; verified: unknown; normalised: boolean; items: number },
): void {
  const { state, verified, normalised, items } = row
  if (normalised) counts.normalised += items
  // What an earlier run wrote, and this one has read back.
  else if (!isWritten(state) && (state !== 'unchanged' || verified === 'equal')) return
  else if (verified === 'overwritten') counts.overwritten = (counts.overwritten ?? 0) + items
  // What the answer showed counts until it is read.
  else if (verified === 'answered') counts.different += items
  else if (verified === 'equal' || verified === 'different' || verified === 'missing')
    counts[verified] += items
}
