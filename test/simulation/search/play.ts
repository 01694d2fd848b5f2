// Plays one history: the world, its adversary until it rests, then what must become of everything.

import { Judge } from '../model/judge.ts'
import { judgeEnd, judgeProgress } from '../model/at-the-end.ts'
import { Operators } from '../world/operators.ts'
import { World, type Bundles } from '../world/world.ts'
import type { RealServer } from '../postgres/thread.ts'
import type { Played } from './child.ts'
import type { Plan } from './plan.ts'

/** What has come of it. */
type Outcome = Omit<Played, 'plan' | 'seed'>

/** @param server real PostgreSQL, if the plan needs one */
export async function play(
  plan: Plan,
  bundles: Bundles,
  server: RealServer | null,
): Promise<Outcome> {
  const began = process.cpuUsage()
  const judge = new Judge()
  const world = new World(plan, bundles, judge, server)
  const { loop } = world
  const beginMs = loop.now()
  try {
    await world.begin()
    judge.watch(world)
    const operators = new Operators(world)
    for (const action of plan.actions)
      loop.plan(beginMs + action.at, action.do, () => operators.act(action), null)
    await loop.run(() => false, beginMs + plan.restsAt)
    judgeProgress(world, judge)
    await operators.rest()
    await judgeEnd(world, judge)
    for (const error of loop.uncaught)
      judge.violate(`an error that nobody caught: ${String(error)}`)
  } catch (error) {
    judge.violate(`the history does not end: ${String((error as Error).stack)}`)
  } finally {
    await world.end()
  }
  const { user, system } = process.cpuUsage(began)
  const ms = Math.round((user + system) / 1_000)
  return {
    story: world.story.text,
    violations: judge.violations,
    figures: { events: loop.events, ms, virtualMs: loop.now() - beginMs },
    marks: [...judge.marks],
  }
}
