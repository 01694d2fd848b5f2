// The simulator: the same seed is the same story, the kept stories are true, new histories break nothing, and planted bugs are seen.

import { readFileSync, readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HANG_MS } from '../hang.ts'
import { isSoak, rounds } from '../runs.ts'
import { playWith, readPlans } from './planted/play.ts'
import { PLANTED } from './planted/table.ts'
import type { Played } from './search/child.ts'
import { planOf } from './search/compact.ts'
import { Fleet } from './search/fleet.ts'
import { placeOf } from './search/places.ts'
import { drawPlan, type Plan } from './search/plan.ts'
import { prepareSimulator, type Prepared } from './search/prepare.ts'
import { search } from './search/search.ts'

const { RECORDS_SYNC_HISTORIES, RECORDS_SYNC_SEED } = process.env
const count = Number(RECORDS_SYNC_HISTORIES ?? rounds(20, 500))
const firstSeed = Number(RECORDS_SYNC_SEED ?? 80_000)
const long = { timeout: 6 * HANG_MS }

let simulator: Prepared
let fleet: Fleet
beforeAll(async () => {
  simulator = await prepareSimulator()
  fleet = new Fleet({ ...simulator, processes: Math.min(2, availableParallelism()) })
})
afterAll(() => {
  fleet.close()
  simulator.remove()
})

const failedText = (failed: readonly Played[]): string =>
  failed
    .map(({ seed, violations, story }) => `seed ${seed}: ${violations.join('\n')}\n${story}`)
    .join('\n')

test.each([
  { ledger: 'sqlite', seeds: [7, 80_013] },
  { ledger: 'postgres', seeds: [707, 706] },
  // A query of a file beside a mirror into PostgreSQL.
  { ledger: 'both', seeds: [80_018] },
] as const)(
  'the same seed is the same story, byte for byte, whatever the process has played before: $ledger',
  async ({ ledger, seeds }) => {
    const alone = new Fleet({ ...simulator, processes: 1 })
    const after = new Fleet({ ...simulator, processes: 1 })
    try {
      for (const seed of [3, 4]) await after.play({ seed })
      for (const seed of seeds) {
        const order = { plan: drawPlan(seed, ledger) }
        const [one, other] = await Promise.all([alone.play(order), after.play(order)])
        expect(one.story).toBe(other.story)
        expect(one.figures.events).toBe(other.figures.events)
        expect([...one.violations, ...other.violations]).toEqual([])
      }
    } finally {
      alone.close()
      after.close()
    }
  },
  long.timeout,
)

const stories = new URL('stories/', import.meta.url)
const kept = readdirSync(stories).filter((name) => name.endsWith('.json'))

test.each(kept)(
  'the story %s',
  async (name) => {
    const { plan } = JSON.parse(readFileSync(new URL(name, stories), 'utf8')) as { plan: Plan }
    expect(
      failedText([await fleet.play({ plan })].filter((one) => one.violations.length > 0)),
    ).toBe('')
  },
  long.timeout,
)

test.each([
  { ledger: 'sqlite', histories: count },
  { ledger: 'postgres', histories: Math.ceil(count / 7) },
] as const)(
  `$histories histories from seed ${firstSeed}: $ledger`,
  async ({ ledger, histories }) => {
    const failed: Played[] = []
    await search(fleet, {
      seed: firstSeed,
      histories,
      ms: Infinity,
      isSteered: false,
      ledger,
      played: (played) => {
        if (played.violations.length > 0) failed.push(played)
        return failed.length >= 3
      },
    })
    expect(failedText(failed)).toBe('')
  },
  20 * long.timeout,
)

test('each planted bug changes a place that is there', () => {
  for (const { name, patches } of PLANTED)
    for (const patch of patches) expect(() => placeOf(patch), name).not.toThrow()
})

test(
  'statements are watched: a worker is killed at one, and a full disk takes none',
  async () => {
    const run = { at: 500, do: 'run', sync: 'contacts' } as const
    const [killed, full] = await Promise.all(
      [
        { at: 600, do: 'killAtStatement', worker: 0, in: 5, backAfter: 1_000 } as const,
        { at: 400, do: 'diskFull', for: 10_000 } as const,
      ].map((action) => fleet.play({ plan: planOf({ actions: [action, run], restsAt: 60_000 }) })),
    )
    expect(killed!.story).toContain('worker-1 is killed at a statement')
    expect(killed!.violations).toEqual([])
    expect(full!.marks).toContain('log work_blocked')
    expect(full!.violations).toEqual([])
  },
  long.timeout,
)

test(
  'a power cut ends the workers of a ledger in PostgreSQL, and loses nothing of it',
  async () => {
    const played = await fleet.play({
      plan: planOf({
        scene: { ledger: 'postgres', latencyMs: 80, workers: 2 },
        actions: [
          { at: 500, do: 'run', sync: 'contacts' },
          { at: 700, do: 'powerCut', backAfter: 2_000 },
        ],
        restsAt: 30_000,
      }),
    })
    expect(played.violations).toEqual([])
    expect(played.story).toMatch(
      /the power fails[^]*worker-[34] starts[^]*contacts-1 ends: complete/,
    )
  },
  long.timeout,
)

/** Those of `npm test`; `npm run test:soak` and `npm run simulate -- --planted all --plans` plant each that has a plan. */
const ALWAYS = [
  'answers-in-another-order',
  'changed-records-are-deleted',
  'times-that-go-back-are-late',
  'postgres-old-attempts-stage',
]
const planted = PLANTED.filter(({ name }) =>
  isSoak ? readPlans()[name] !== undefined : ALWAYS.includes(name),
)

test.each(planted.map((bug) => [bug.name, bug] as const))(
  '%s is found by its plan, which finds nothing else',
  async (name, bug) => {
    const plan = readPlans()[name]!
    const [found, without] = await Promise.all([
      playWith(bug, plan, simulator.workflows),
      fleet.play({ plan: planOf(plan) }),
    ])
    expect(found.violations).not.toEqual([])
    expect(without.violations).toEqual([])
  },
  long.timeout,
)
