// Who works when: so many at a time, each for a slice of time, and never more slices than a history can hold.

import { failure } from './run.ts'

/** Lets `limit` pieces of work go on at a time, in the order in which they came. */
export function inTurn(limit: number) {
  let free = limit
  const queue: (() => void)[] = []
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (free > 0) free--
    else await new Promise<void>((go) => queue.push(go))
    try {
      return await work()
    } finally {
      // A place that somebody waits for is handed on; it is free only when nobody does.
      const next = queue.shift()
      if (next) next()
      else free++
    }
  }
}

/** A slice is 6 events, and a history holds 51,200. */
const SLICES_MAX = 8_000
const SLICES_PER_LENGTH = 300

/**
 * Length of a run's next slice after so many, ms: it grows by the first one's length every 300, so that a run may take
 * months. With 3 at a time and 10 minutes: 10 million records at 60 requests a minute, 28 hours, are 400 slices or 2,400
 * events; the edges of 10 million records at 600 requests a minute, 12 days, are 1,600 slices or 9,500 events.
 * @throws ApplicationFailure `TooManySlices`
 */
export function nextSliceMs(slices: number, firstMs: number): number {
  if (slices >= SLICES_MAX)
    throw failure(
      `Start it again: it goes on from where it is. ${SLICES_MAX} time slices of a run are used up`,
      'TooManySlices',
    )
  return firstMs * (1 + Math.floor(slices / SLICES_PER_LENGTH))
}
