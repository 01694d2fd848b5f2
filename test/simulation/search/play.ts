// Plays one history: the world, its adversary until it rests, then what must become of everything.

import { World } from '../world/world.ts'
import type { Bundle } from '../temporal/index.ts'
import type { Plan } from './plan.ts'

export interface Played {
  readonly plan: Plan
  readonly story: string
  /** What must never be, and was. */
  readonly violations: readonly string[]
  readonly figures: { readonly events: number; readonly ms: number; readonly virtualMs: number }
}

const HOUR = 3_600_000

export async function play(plan: Plan, bundle: Bundle): Promise<Played> {
  const began = performance.now()
  const violations: string[] = []
  const world = new World(plan, bundle, () => {})
  const { loop } = world
  const beginMs = loop.now()
  try {
    await world.begin()
    for (const action of plan.actions)
      if (action.do === 'run') loop.at(beginMs + action.at, 'run', () => void world.start(action.sync, 'importSync', { sync: action.sync }))
    await loop.run(() => false, beginMs + plan.restsAt)
    world.weather.rest()
    world.services.crm.set({ faults: [], itemFaults: null })
    const isOver = await loop.run(() => world.runs.every(({ ended }) => ended !== null), loop.now() + 6 * HOUR)
    if (!isOver) violations.push('a run does not end')
  } finally {
    await world.end()
  }
  const ms = performance.now() - began
  return {
    plan,
    story: world.story.text,
    violations,
    figures: { events: loop.events, ms, virtualMs: loop.now() - beginMs },
  }
}
