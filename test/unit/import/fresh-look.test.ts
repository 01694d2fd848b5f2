// Rows are looked up until that is young enough to send them; where the quota is slow, a slice sends what it has looked up all the same.

import { expect, test } from 'vitest'
import { withFreshLook } from '../../../src/import/outbox/fresh-look.ts'
import type { Permit } from '../../../src/core/ports.ts'
import type { PlannedItem } from '../../../src/ledger/ledger.ts'

const SLICE_MS = 30_000

/** A slice in which each request waits so long for its turn; a permit that was not used is free for the next one. */
async function slice(turnMs: number, { signal = new AbortController().signal } = {}) {
  let now = 0
  let lookedAt = 0
  let looks = 0
  let free = 0
  const turn = () => {
    if (free > 0) free--
    else now += turnMs
  }
  const look = () => {
    turn()
    lookedAt = now
    looks++
  }
  const acquire = async (): Promise<Permit> => {
    turn()
    return { unused: () => void free++ } as unknown as Permit
  }
  look()
  const ready = await withFreshLook(
    {
      choose: async (items) => {
        look()
        return items
      },
      lookedAt: () => lookedAt,
      acquire,
      mustStop: () => now >= SLICE_MS,
      deps: { clock: { now: () => now }, signal },
    },
    [{ ordinal: 1 } as PlannedItem],
    await acquire(),
  )
  return { isReady: ready !== null, isYoung: ready?.until != null, looks, age: now - lookedAt }
}

test('a look-up that is young is used at once', async () => {
  expect(await slice(1_000)).toEqual({ isReady: true, isYoung: true, looks: 1, age: 1_000 })
})

test.each([6_000, 8_000, 10_000, 12_000, 14_000])(
  'a slice sends its rows where a request waits %d ms for its turn',
  async (turnMs) => {
    const { isReady, isYoung, looks, age } = await slice(turnMs)
    expect({ isReady, isYoung }).toEqual({ isReady: true, isYoung: false })
    expect(looks).toBeGreaterThan(1)
    expect(age).toBeLessThanOrEqual(60_000)
  },
)

test('nothing is sent once the work is cancelled, nor by a look-up that was not repeated', async () => {
  expect(await slice(31_000)).toMatchObject({ isReady: false, looks: 1 })
  expect(await slice(12_000, { signal: AbortSignal.abort() })).toMatchObject({ isReady: false })
})
