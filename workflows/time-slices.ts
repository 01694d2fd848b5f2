// Who works when: a limited number at a time, each for a slice of time, and never more slices than a history can hold.

import { stacklessFailure } from './run.ts'

/** Lets at most `limit` pieces of work run at a time, in the order in which they came. */
export function createSemaphore(limit: number) {
  let free = limit
  const queue: (() => void)[] = []
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (free > 0) free--
    else await new Promise<void>((go) => queue.push(go))
    try {
      return await work()
    } finally {
      // A slot that another piece of work waits for is handed on; it becomes free only if none waits.
      const next = queue.shift()
      if (next) next()
      else free++
    }
  }
}

/** A slice is 6 events, and a history holds 51,200. */
const SLICES_MAX = 8_000
const SLICES_PER_LENGTH = 300

function checkSlices(slices: number): void {
  if (slices >= SLICES_MAX)
    throw stacklessFailure(
      `Start it again: it goes on from where it is. ${SLICES_MAX} time slices of a run are used up`,
      'TooManySlices',
    )
}

/**
 * Length of a run's next slice after `slices` of them, ms: it grows by the first one's length every 300, so that a run may take
 * months. With 3 at a time and 10 minutes: 10 million records at 60 requests a minute, 28 hours, are 400 slices or 2,400
 * events; the edges of 10 million records at 600 requests a minute, 12 days, are 1,600 slices or 9,500 events.
 * @throws ApplicationFailure `TooManySlices`
 */
export function nextSliceMs(slices: number, firstMs: number): number {
  checkSlices(slices)
  return firstMs * (1 + Math.floor(slices / SLICES_PER_LENGTH))
}

/** Length of the first slices of an import, ms, */
const PUSH_FIRST_MS = 15_000
/** by which they grow every so many slices, */
const PUSH_GROWS_EVERY = 4
/** up to this. */
const PUSH_MAX_MS = 600_000

/**
 * Length of an import's next slice, ms: short at first, so that a person who watches sees progress. The first 14 hours are 160
 * slices or 1,000 events; a history has room for 2 months.
 * @throws ApplicationFailure `TooManySlices`
 */
export function nextPushMs(slices: number, maxMs = PUSH_MAX_MS): number {
  checkSlices(slices)
  return Math.min(maxMs, PUSH_FIRST_MS * (1 + Math.floor(slices / PUSH_GROWS_EVERY)))
}
