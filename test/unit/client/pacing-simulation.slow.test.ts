// The pacer against six kinds of service in virtual time (test/bench/pacing): how much of a quota it uses, how often it is
// refused though it need not be, and what incidents cost. Every run is exact: one seed, one result.
//
// Bounds are those of the design: at limits of 600 and more, 98.5 % and less than 1 avoidable refusal per 1,000 requests.

import { describe, expect, test } from 'vitest'
import { OrgQuota } from '../../../src/client/pacer/org-quota.ts'
import { simulate, type Scenario } from '../../bench/pacing/engine.ts'
import {
  incidentScenario,
  limitChange,
  oneKilled,
  perThousand,
  reserved,
  restarted,
  steady,
  storeAway,
  sum,
} from '../../bench/pacing/scenarios.ts'
import { SERVER_KINDS, type ServerKind } from '../../bench/pacing/servers.ts'
import { isSoak } from '../../runs.ts'

const times = { seed: 1, warmUpS: 120, measuredS: 180 }
/** `npm test` looks at half of 6,000, and at a minute of it, which has as many requests as five at 600. */
const HIGH = isSoak ? 6_000 : 3_000
const timesAt = (limit: number) =>
  limit < HIGH ? times : { ...times, measuredS: isSoak ? 180 : 60 }
/** Of what happens several times in a quarter of an hour, `npm test` looks at less, and at as much time for each. */
const brief = (incident: Partial<Scenario>, less: Partial<Scenario>) =>
  isSoak ? incident : { ...incident, ...less }
const eachServer = describe.each(SERVER_KINDS)
const incident = (server: ServerKind, scenario: Partial<Scenario>, processes = 8) =>
  simulate(incidentScenario(server, { processes, scenario }, 1), OrgQuota)

eachServer('%s', (server) => {
  test.each([
    [600, 1, true],
    [600, 1, false],
    [600, 8, false],
    [HIGH, 1, true],
    [HIGH, 1, false],
    [HIGH, 8, false],
  ])(
    'a limit of %i, %i processes, in memory: %s; nearly all of it is used',
    (limit, processes, inMemory) => {
      const scenario = { ...steady({ server, limit, processes }, 0, timesAt(limit)), inMemory }
      const result = simulate(scenario, OrgQuota)
      expect(result.utilisation).toBeGreaterThanOrEqual(0.985)
      expect(perThousand(result.avoidable, result)).toBeLessThan(1)
      expect(result.interactiveP99Ms).toBeLessThanOrEqual(1_500)
    },
  )

  // One request is 1.7 % of the quota, and a second passes until the next look at Remaining.
  test.each([1, 8])('a limit of 60, %i processes', (processes) => {
    const result = simulate(steady({ server, limit: 60, processes }, 0, times), OrgQuota)
    expect(result.utilisation).toBeGreaterThanOrEqual(0.95)
    expect(perThousand(result.avoidable, result)).toBeLessThan(25)
  })

  test('the row as text comes to the same as the quota kept in memory', () => {
    const minute = { ...times, warmUpS: 30, measuredS: 60 }
    const scenario = steady({ server, limit: 600, processes: 8 }, 0.3, minute)
    const asObject = simulate(scenario, OrgQuota)
    const asText = simulate({ ...scenario, asText: true }, OrgQuota)
    expect(asText.longestState).toBeGreaterThan(0)
    expect({ ...asText, longestState: 0 }).toEqual(asObject)
  })

  test('a limit that is cut and raised is followed within seconds', () => {
    const result = incident(server, limitChange)
    // A sliding counter takes the minute before the cut for evenly spread, and refuses until it is over.
    expect(result.refused).toBeLessThanOrEqual(server === 'sliding counter' ? 50 : 12)
    const tenSeconds = sum(result.servedInSecond, 632, 642)
    expect(tenSeconds).toBeGreaterThanOrEqual(0.95 * 200)
    const threeMinutes = sum(result.servedInSecond, 720, 900)
    expect(threeMinutes).toBeGreaterThanOrEqual(0.95 * 3_600)
  })

  test('a killed process takes its permits with it, and little more', () => {
    const result = incident(server, oneKilled)
    expect(result.utilisation).toBeGreaterThanOrEqual(0.985)
    expect(result.refused).toBeLessThanOrEqual(5)
  })

  const kept = restarted('kept')
  test.each([1, 8])('all of %i processes are killed, and the row is kept', (processes) => {
    const result = incident(
      server,
      brief(kept, { measuredS: 300, restarts: kept.restarts!.slice(0, 2) }),
      processes,
    )
    // Four times 4 s away are 2.7 %, which only some of the limiters give back.
    const givesBack = server !== 'GCRA' && server !== 'sliding counter'
    expect(result.utilisation).toBeGreaterThanOrEqual(givesBack ? 0.98 : 0.965)
    expect(perThousand(result.refused, result)).toBeLessThan(2)
  })

  test('the store is away: each process goes on with its share, and the quota is whole again afterwards', () => {
    const result = incident(server, brief(storeAway, { measuredS: 360 }))
    const requests = sum(result.servedInSecond, 300, 360)
    expect(requests).toBeGreaterThanOrEqual(0.9 * 600)
    expect(sum(result.refusedInSecond, 300, 360)).toBeLessThanOrEqual(0.2 * 600)
    expect(sum(result.refusedInSecond, 360, 420)).toBeLessThanOrEqual(5)
    expect(result.utilisation).toBeGreaterThanOrEqual(0.985)
  })

  test.each([0, 1])('others ask for no more than the reserve, %i of it in bursts', (bursts) => {
    const result = incident(server, { ...reserved(bursts), measuredS: 300 })
    const got = 1 - result.foreignRefused / result.foreignAsked
    if (server === 'sliding counter') expect(got).toBeGreaterThanOrEqual(0.95)
    // A GCRA of one second's burst refuses a burst that exceeds it, whoever else sends or does not.
    else if (server === 'GCRA') expect(got).toBeGreaterThanOrEqual(bursts === 0 ? 0.98 : 0.3)
    else expect(got).toBeGreaterThanOrEqual(0.998)
  })
})

test('the same seed gives the same run, another one another', () => {
  const scenario = steady({ server: 'sliding log', limit: 600, processes: 2 }, 0.3, times)
  const result = simulate(scenario, OrgQuota)
  expect(simulate(scenario, OrgQuota)).toEqual(result)
  expect(simulate({ ...scenario, seed: 2 }, OrgQuota)).not.toEqual(result)
})
