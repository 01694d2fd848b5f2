// A service that works on a few requests at a time, and refuses the others with 429 and without any number: the pacer finds out how
// many, and keeps to it.

import { expect, test } from 'vitest'
import { OrgQuota } from '../../../src/client/pacer/org-quota.ts'
import { simulate, type Scenario } from '../../bench/pacing/engine.ts'

const crowded: Scenario = {
  server: 'fixed',
  limit: 60_000,
  processes: 1,
  inMemory: true,
  seed: 1,
  warmUpS: 30,
  measuredS: 60,
}
/** What one request after the other makes of a second: they take 170 ms on average. */
const EACH_PER_S = 5.7

test.each([2, 4, 8, 32])(
  '%i at a time are nearly all used, and few are refused',
  (inFlightMost) => {
    const { served, otherwise } = simulate({ ...crowded, inFlightMost }, OrgQuota)
    expect(served / crowded.measuredS).toBeGreaterThan(0.85 * EACH_PER_S * inFlightMost)
    expect(otherwise).toBeLessThan(0.01 * served)
  },
)

test.each([2, 8, 32])('%i at a time, shared by processes', (inFlightMost) => {
  const shared = { ...crowded, inMemory: false, processes: 4 }
  const { served, otherwise } = simulate({ ...shared, inFlightMost }, OrgQuota)
  // A permit is out for up to a quarter of a second before it is used.
  expect(served / crowded.measuredS).toBeGreaterThan(0.3 * EACH_PER_S * inFlightMost)
  expect(otherwise).toBeLessThan(0.01 * served)
})

test('a quota a minute that is refused without any number is found as before', () => {
  const habits = { tells: 'nothing', mute: true } as const
  const scenario = { ...crowded, limit: 600, habits, warmUpS: 120, measuredS: 180 }
  const { utilisation } = simulate(scenario, OrgQuota)
  expect(utilisation).toBeGreaterThan(0.8)
})
