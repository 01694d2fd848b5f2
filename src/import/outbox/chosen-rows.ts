// Planned rows of a round, and those of them that are to be sent: lanes look rows up side by side, and what they choose makes full
// batches.

import { IN_VALUES_MAX } from '../../contract/index.ts'
import type { PlannedItem } from '../../ledger/ledger.ts'
import { itemsOfBody } from './body-room.ts'

/** Hands out the rows of a round, each once, to whichever lane asks. */
export interface RoundRows {
  isEmpty(): boolean
  /** Aborts when the last row is handed out, and with the slice. */
  readonly signal: AbortSignal
  /** Before a permit is asked for: what takes requests of its own. */
  prepare(): Promise<void>
  /** Rows in ordinal order, as many as one body may have; none if another lane was faster. */
  take(limit?: number): Promise<readonly PlannedItem[]>
}

/**
 * @param choose settles what is not to be sent
 * @param mustStop whether nothing more is looked up
 */
export function chosenRows(
  rows: RoundRows,
  choose: (items: readonly PlannedItem[]) => Promise<readonly PlannedItem[]>,
  { limit, mustStop, slice }: { limit: number; mustStop: () => boolean; slice: AbortSignal },
): RoundRows {
  let ready: readonly PlannedItem[] = []
  const choosing = new Set<Promise<void>>()
  const empty = new AbortController()
  const isEmpty = () => rows.isEmpty() && choosing.size === 0 && ready.length === 0
  const chooseNext = async () => {
    const chosen = await choose(await rows.take(IN_VALUES_MAX))
    ready = [...ready, ...chosen].toSorted((a, b) => a.ordinal - b.ordinal)
  }
  const noteEnd = () => {
    if (isEmpty()) empty.abort()
  }
  return {
    isEmpty,
    signal: AbortSignal.any([empty.signal, slice]),
    async prepare() {
      // Bounded by the rows: each turn takes some, or waits for a lane that has.
      while (itemsOfBody(ready, limit) === ready.length && ready.length < limit && !mustStop()) {
        if (!rows.isEmpty()) {
          const next = chooseNext()
          choosing.add(next)
          try {
            await next
          } finally {
            choosing.delete(next)
          }
        } else if (choosing.size > 0)
          await Promise.race([...choosing].map((one) => one.catch(() => {})))
        else break
      }
      noteEnd()
    },
    async take() {
      const count = itemsOfBody(ready, limit)
      const taken = ready.slice(0, count)
      ready = ready.slice(count)
      noteEnd()
      return taken
    },
  }
}
