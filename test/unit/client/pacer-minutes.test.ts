// What the quota was used for in the last hour, by minute and priority.

import { expect, test } from 'vitest'
import { Minutes, MINUTES_KEPT } from '../../../src/client/pacer/minutes.ts'

const sums = (minutes: Minutes, t: number) =>
  minutes
    .view(t)
    .map(({ atMs, refused, ...used }) => [
      atMs / 60_000,
      Object.values(used).reduce((a, b) => a + b),
      refused,
    ])
    .filter(([, used, refused]) => used! + refused! > 0)

test('an hour is kept, each minute by priority, and no more', () => {
  const minutes = new Minutes()
  expect(minutes.view(6_000)).toEqual([])
  minutes.add('import', 6_000)
  minutes.add('import', 6_030)
  minutes.add('mirror', 6_059)
  minutes.add(null, 6_060)
  minutes.add('interactive', 6_300)
  const seen = minutes.view(6_300)
  expect(seen).toHaveLength(MINUTES_KEPT)
  expect(seen.at(-6)).toEqual({
    atMs: 6_000_000,
    interactive: 0,
    import: 2,
    mirror: 1,
    backfill: 0,
    refused: 0,
  })
  expect(sums(minutes, 6_300)).toEqual([
    [100, 3, 0],
    [101, 0, 1],
    [105, 1, 0],
  ])
  // It survives its text.
  const again = new Minutes(JSON.parse(JSON.stringify(minutes)) as never)
  expect(again.view(6_300)).toEqual(seen)
  expect(sums(again, 6_000 + 60 * 60)).toEqual([
    [101, 0, 1],
    [105, 1, 0],
  ])
  expect(sums(again, 6_000 + 65 * 60)).toEqual([])
  expect(again.view(6_000 + 65 * 60)).toEqual([])
})

test('its text is bounded, and a clock that goes back changes nothing before', () => {
  const minutes = new Minutes()
  for (let minute = 0; minute < 500; minute++)
    for (let each = 0; each < 3; each++) minutes.add('import', minute * 60)
  expect(JSON.stringify(minutes).length).toBeLessThan(1_000)
  minutes.add('import', 10 * 60)
  expect(sums(minutes, 499 * 60)).toHaveLength(MINUTES_KEPT)
  expect(sums(minutes, 499 * 60).at(-1)).toEqual([499, 4, 0])
})
