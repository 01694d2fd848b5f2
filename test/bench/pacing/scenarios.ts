// What is simulated: the matrix of service kinds, limits, processes and foreign traffic, and what can happen to a sync on
// the way. The test and the table take their runs from here.

import type { Result, Scenario } from './engine.ts'
import type { ServerKind } from './servers.ts'

export const LIMITS = [60, 600, 6_000]
export const PROCESS_COUNTS = [1, 2, 8]
/** Shares of the limit; half of it comes in bursts. */
export const FOREIGN_SHARES = [0, 0.3, 0.6]

export interface Cell {
  readonly server: ServerKind
  readonly limit: number
  readonly processes: number
}

type Times = Pick<Scenario, 'seed' | 'warmUpS' | 'measuredS'>

/** A steady run: nothing happens but the others' traffic. */
export function steady(cell: Cell, share: number, times: Times): Scenario {
  return { ...cell, ...times, ...(share > 0 ? { foreign: { share, bursts: 0.5 } } : {}) }
}

/** A run with incidents: a part of a scenario for a limit of 600, measured from 120 s to 900 s at most. */
export interface Incident {
  readonly name: string
  readonly processes: number
  readonly scenario: Partial<Scenario>
  /** What the columns show, of one run. */
  readonly figures: readonly Figure[]
}

interface Figure {
  readonly name: string
  readonly of: (result: Result) => number
  readonly digits: number
}

export const INCIDENT_WARM_UP_S = 120

export const utilisation: Figure = {
  name: 'used %',
  of: (result) => 100 * result.utilisation,
  digits: 1,
}
export const refusedPerThousand: Figure = {
  name: '429 per 1,000',
  of: (result) => perThousand(result.refused, result),
  digits: 1,
}
export const avoidablePerThousand: Figure = {
  name: 'avoidable',
  of: (result) => perThousand(result.avoidable, result),
  digits: 1,
}
const refused: Figure = { name: '429s', of: (result) => result.refused, digits: 0 }
const foreignServed: Figure = {
  name: 'others get %',
  of: ({ foreignAsked, foreignRefused }) => 100 * (1 - foreignRefused / Math.max(1, foreignAsked)),
  digits: 1,
}
const interactiveWait: Figure = {
  name: 'interactive p99 s',
  of: (result) => result.interactiveP99Ms / 1_000,
  digits: 2,
}
const bulkWait: Figure = {
  name: 'bulk p99 s',
  of: (result) => result.bulkP99Ms / 1_000,
  digits: 1,
}
const unavailable: Figure = { name: '503s', of: (result) => result.unavailable, digits: 0 }

/** Seconds from `fromS` until 10 s pass in which at least 95 % of `limit` is served. */
function secondsToRate(fromS: number, limit: number): Figure {
  const of = ({ servedInSecond }: Result) => {
    const enough = 0.95 * (limit / 6)
    let waited = 0
    while (sum(servedInSecond, fromS + waited, fromS + waited + 10) < enough && waited < 200)
      waited += 1
    return waited
  }
  return { name: `s to full rate from ${fromS} s`, of, digits: 0 }
}

function refusedFrom(fromS: number, toS: number): Figure {
  const of = ({ refusedInSecond }: Result) => sum(refusedInSecond, fromS, toS)
  return { name: `429s from ${fromS} to ${toS} s`, of, digits: 1 }
}

/** Served between two times, of what the limit allows. */
function usedFrom(fromS: number, toS: number, limit: number): Figure {
  const of = ({ servedInSecond }: Result) =>
    (100 * sum(servedInSecond, fromS, toS)) / ((limit / 60) * (toS - fromS))
  return { name: `used % from ${fromS} to ${toS} s`, of, digits: 1 }
}

export const limitChange: Partial<Scenario> = {
  measuredS: 780,
  limitChanges: [
    { atS: 330, limit: 120 },
    { atS: 630, limit: 1_200 },
  ],
}
export const oneKilled: Partial<Scenario> = {
  measuredS: 600,
  kills: [240, 400, 560].map((atS) => ({ atS, awayS: 30 })),
}
export const storeAway: Partial<Scenario> = {
  measuredS: 600,
  storeAway: [{ fromS: 300, toS: 360 }],
}
export function restarted(state: 'kept' | 'lost', awayS = 4): Partial<Scenario> {
  const restarts = [200, 350, 500, 650].map((atS) => ({ atS, awayS, state }))
  return { measuredS: 600, restarts }
}
/** Others ask for no more than the reserve in any 60 s, and for about as much. */
export function reserved(bursts: number): Partial<Scenario> {
  return { measuredS: 600, reserve: 0.2, foreign: { share: 0.2, bursts, most: 0.2 } }
}

export const INCIDENTS: readonly Incident[] = [
  ...[1, 8].map((processes): Incident => ({
    name: `limit 600, 120 from 330 s, 1,200 from 630 s; ${processes} processes`,
    processes,
    scenario: limitChange,
    figures: [refused, secondsToRate(630, 1_200), usedFrom(720, 900, 1_200)],
  })),
  ...[1, 8].map((processes): Incident => ({
    name: `503 for 20 s (Retry-After 5) and for 60 s (30); ${processes} processes`,
    processes,
    scenario: {
      measuredS: 600,
      outages: [
        { fromS: 330, toS: 350, retryAfterS: 5 },
        { fromS: 500, toS: 560, retryAfterS: 30 },
      ],
    },
    figures: [unavailable, refused, secondsToRate(350, 600), secondsToRate(560, 600)],
  })),
  ...[1, 8].flatMap((processes) =>
    (['kept', 'lost'] as const).map((state): Incident => ({
      name: `all ${processes} killed four times, back after 4 s, state ${state}`,
      processes,
      scenario: restarted(state),
      figures: [utilisation, refusedPerThousand],
    })),
  ),
  {
    name: 'all 8 killed four times, back at once, state kept',
    processes: 8,
    scenario: restarted('kept', 0),
    figures: [utilisation, refusedPerThousand],
  },
  {
    name: '1 of 8 killed three times, another after 30 s',
    processes: 8,
    scenario: oneKilled,
    figures: [utilisation, refused],
  },
  ...[2, 8].map((processes): Incident => ({
    name: `store away from 300 to 360 s; ${processes} processes`,
    processes,
    scenario: storeAway,
    figures: [utilisation, usedFrom(300, 360, 600), refusedFrom(300, 360), refusedFrom(360, 420)],
  })),
  ...[
    { bursts: 0, name: 'evenly' },
    { bursts: 0.5, name: 'half in bursts' },
    { bursts: 1, name: 'in bursts only' },
  ].map(({ bursts, name }): Incident => ({
    name: `reserve 0.2, others ask for up to 0.2 ${name}`,
    processes: 8,
    scenario: reserved(bursts),
    figures: [foreignServed, utilisation, refusedPerThousand],
  })),
  {
    name: 'no reserve, others ask for up to 0.2 half in bursts',
    processes: 8,
    scenario: { ...reserved(0.5), reserve: 0 },
    figures: [foreignServed, utilisation, refusedPerThousand, interactiveWait],
  },
  ...[0.5, 0.9].map((demand): Incident => ({
    name: `own demand ${demand} of the limit`,
    processes: 8,
    scenario: { measuredS: 600, demand },
    figures: [refusedPerThousand, bulkWait, interactiveWait],
  })),
  {
    name: 'latency four times as long',
    processes: 8,
    scenario: { measuredS: 600, latencyFactor: 4 },
    figures: [utilisation, refusedPerThousand],
  },
]

export function incidentScenario(
  server: ServerKind,
  { processes, scenario }: Pick<Incident, 'processes' | 'scenario'>,
  seed: number,
): Scenario {
  return {
    server,
    limit: 600,
    processes,
    seed,
    warmUpS: INCIDENT_WARM_UP_S,
    measuredS: 600,
    ...scenario,
  }
}

export function perThousand(count: number, { sent }: Result): number {
  return sent === 0 ? 0 : (1_000 * count) / sent
}

export function sum(values: readonly number[], from: number, to: number): number {
  return values.slice(from, to).reduce((total, value) => total + value, 0)
}
