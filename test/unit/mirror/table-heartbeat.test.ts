// Whoever waits for the warehouse is alive: a merge that takes minutes says so.

import { expect, test } from 'vitest'
import type { Clock } from '../../../src/core/ports.ts'
import { withTableHeartbeat } from '../../../src/mirror/index.ts'
import type {
  MirrorBatch,
  MirrorStream,
  MirrorTables,
} from '../../../src/warehouses/mirror-tables.ts'

/** A clock whose sleeps end at once, and work that ends after some of them. */
function slow() {
  let beats = 0
  let release: (() => void) | undefined
  const clock: Clock = {
    now: () => 0,
    sleep: (_, signal) =>
      new Promise((resolve, reject) => {
        setImmediate(() => (signal?.aborted ? reject(signal.reason as Error) : resolve()))
      }),
  }
  const beat = () => {
    if (++beats % 5 === 0) release?.()
  }
  const work = <Result>(result: Result) =>
    new Promise<Result>((resolve) => {
      release = () => resolve(result)
    })
  return { pulse: { clock, beat }, work, beats: () => beats }
}

test('every call of the tables and their batches beats until it ends', async () => {
  const { pulse, work, beats } = slow()
  const counts = { inserted: 1, changed: 0, unchanged: 0, older: 0, reverted: 0 }
  class Batch {
    rows = 7
    readonly #counts = counts
    merge = () => work(this.#counts)
  }
  class Tables {
    readonly place = 'here'
    readonly #rows = 3
    count() {
      return work({ rows: this.#rows, misfits: 0 })
    }
    batch = async () => await work(new Batch() as unknown as MirrorBatch)
  }
  const tables = withTableHeartbeat(new Tables() as unknown as MirrorTables, pulse)
  const stream: MirrorStream = { name: 's', table: 's', columns: [] }
  expect(tables.place).toBe('here')
  expect(await tables.count(stream)).toEqual({ rows: 3, misfits: 0 })
  expect(beats()).toBeGreaterThanOrEqual(5)
  const batch = await tables.batch(stream)
  const before = beats()
  expect(batch.rows).toBe(7)
  expect(await batch.merge({ run: 1, fence: 1, position: '' })).toEqual(counts)
  expect(beats()).toBeGreaterThanOrEqual(before + 5)
})
