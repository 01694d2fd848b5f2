// The pacer against services that do more, or tell less, than a quota a minute (test/bench/pacing/habits.ts), in virtual
// time: other limits, headers that are missing, headers that are untrue. Every run is exact: one seed, one result.

import { describe, expect, test } from 'vitest'
import { OrgQuota } from '../../../src/client/pacer/org-quota.ts'
import { simulate, type Scenario } from '../../bench/pacing/engine.ts'
import type { Habits } from '../../bench/pacing/habits.ts'
import { perThousand } from '../../bench/pacing/scenarios.ts'
import { SERVER_KINDS, type ServerKind } from '../../bench/pacing/servers.ts'

const run = (server: ServerKind, habits: Habits, more: Partial<Scenario> = {}) =>
  simulate(
    { server, limit: 600, processes: 2, seed: 1, warmUpS: 180, measuredS: 240, habits, ...more },
    OrgQuota,
  )
const servers = SERVER_KINDS.filter((server) => server !== 'GCRA')

describe.each(servers)('%s', (server) => {
  test.each(['all', 'nothing', 'zero'] as const)(
    'each hundredth request is refused for a second by another limit; its answer tells %s of the quota',
    (otherRefusalsTell) => {
      const result = run(server, { refuseEach: 100, otherRefusalsTell })
      expect(result.otherwise).toBeGreaterThan(15)
      expect(result.utilisation).toBeGreaterThanOrEqual(0.95)
      expect(perThousand(result.avoidable, result)).toBeLessThan(2)
    },
  )

  test('a limit a second, a half above the even pace, is found and kept', () => {
    const result = run(server, { perSecond: 15, otherRefusalsTell: 'nothing' })
    expect(result.utilisation).toBeGreaterThanOrEqual(0.95)
    expect(perThousand(result.otherwise, result)).toBeLessThan(10)
  })

  test.each(['limit', 'refusals'] as const)('the numbers told are: %s', (tells) => {
    const result = run(server, { tells })
    expect(result.utilisation).toBeGreaterThanOrEqual(0.95)
    expect(perThousand(result.refused, result)).toBeLessThan(8)
  })

  test.each([
    ['no number', { tells: 'nothing' }],
    ['no number and no wait', { tells: 'nothing', mute: true }],
    ['Remaining without a limit', { tells: 'remaining' }],
  ] as const)('%s is told: the limit is guessed from its refusals', (_, habits) => {
    const result = run(server, habits, { measuredS: 600 })
    expect(result.utilisation).toBeGreaterThanOrEqual(0.95)
    expect(perThousand(result.refused, result)).toBeLessThan(20)
  })

  test.each(['limit', 'zero'] as const)('Remaining always tells: %s', (remaining) => {
    const result = run(server, { remaining })
    expect(result.utilisation).toBeGreaterThanOrEqual(0.94)
    expect(perThousand(result.refused, result)).toBeLessThan(12)
  })

  test('Retry-After in milliseconds costs no minutes', () => {
    // Others take the quota by surprise, so that there are refusals.
    const foreign = { share: 0.3, bursts: 0.5 }
    const usual = run(server, {}, { foreign })
    const result = run(server, { milliseconds: true }, { foreign })
    expect(result.refused).toBeGreaterThan(0)
    expect(result.utilisation).toBeGreaterThanOrEqual(usual.utilisation - 0.03)
  })

  test('a date in Retry-After counts from the Date beside it', () => {
    const foreign = { share: 0.3, bursts: 0.5 }
    const usual = run(server, {}, { foreign })
    const result = run(server, { clockAheadS: 300 }, { foreign })
    expect(result.utilisation).toBeGreaterThanOrEqual(usual.utilisation - 0.03)
  })

  test('one Retry-After of thirty years closes the quota for five minutes', () => {
    const result = run(server, { oddRetryAfterAtS: 200 }, { measuredS: 600 })
    const first = result.servedInSecond.findIndex((served, second) => second > 205 && served > 0)
    expect(first).toBeGreaterThanOrEqual(495)
    expect(first).toBeLessThanOrEqual(510)
    const after = result.servedInSecond.slice(600, 780).reduce((sum, served) => sum + served, 0)
    expect(after).toBeGreaterThanOrEqual(0.95 * 3 * 600)
  })
})

test.each(['sliding log', 'bucket'] as const)(
  'others use a third evenly: few refusals, also without a reserve; %s',
  (server) => {
    const foreign = { share: 1 / 3, bursts: 0 }
    const runs = [1, 2, 3].map((seed) => run(server, {}, { foreign, seed, measuredS: 600 }))
    const of = (figure: (result: (typeof runs)[0]) => number) =>
      runs.reduce((sum, result) => sum + figure(result), 0) / runs.length
    expect(of(({ utilisation }) => utilisation)).toBeGreaterThanOrEqual(0.98)
    const avoidable = of((result) => perThousand(result.avoidable, result))
    // A bucket's saved tokens cost nothing; what is kept of a log is not used.
    expect(avoidable).toBeLessThan(server === 'bucket' ? 0.5 : 3)
  },
)

test('a reserve on a bucket: requests go evenly, and people do not wait behind it', () => {
  const result = run('bucket', {}, { reserve: 0.35, warmUpS: 60, measuredS: 540 })
  const quarters = Array.from({ length: 8 }, (_, index) =>
    result.servedInSecond
      .slice(480 + 15 * index, 495 + 15 * index)
      .reduce((sum, served) => sum + served, 0),
  )
  const even = (0.65 * 600) / 4
  for (const quarter of quarters) {
    expect(quarter).toBeGreaterThan(0.7 * even)
    expect(quarter).toBeLessThan(1.3 * even)
  }
  expect(result.interactiveP99Ms).toBeLessThanOrEqual(1_500)
})
