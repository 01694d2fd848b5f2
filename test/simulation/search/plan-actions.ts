// People make plans of imports, and apply them: right away or late, once or twice, with changes of the world in between.

import type { Dice } from '../scheduler.ts'
import { spread, type Action } from './actions.ts'
import type { Scene } from './plan.ts'

export type PlanAction =
  /** Somebody makes a plan. */
  | { readonly do: 'plan'; readonly sync: string }
  /** Somebody applies the newest plan of the sync, or the one before it. */
  | { readonly do: 'apply'; readonly sync: string; readonly isOlder: boolean }

/** In some histories only. */
export function drawPlanActions(dice: Dice, scene: Scene, endsAt: number): Action[] {
  const { often, below, one } = dice
  // A command opens warehouses by itself, and would wait for the machine's threads.
  const syncs = scene.syncs.filter(({ query }) => query === null)
  // What a service writes that was not sent is in no plan.
  if (!often(0.12) || syncs.length === 0 || scene.service.writes !== 'sent') return []
  const actions: Action[] = []
  let at = 1_000 + below(20_000)
  for (let n = 0; at < endsAt && n < 4; n++) {
    const sync = one(...syncs).name
    if (often(0.5)) actions.push({ at: Math.max(0, at - 2_000), do: 'edit', sync, inPlace: false })
    actions.push({ at, do: 'plan', sync })
    const length = spread(dice, 3_000, 60_000)
    const within = () => at + 500 + below(length)
    if (often(0.15)) actions.push({ at: within(), do: 'edit', sync, inPlace: often(0.3) })
    if (often(0.15)) actions.push({ at: within(), do: 'run', sync })
    if (often(0.1))
      actions.push({
        at: within(),
        do: 'config',
        sync,
        drops: one({ verify: 'all' }, { rows_min: 2 }),
      })
    if (often(0.4))
      actions.push({ at: within(), do: 'overwrite', sync, with: one('text', 'nothing'), count: 3 })
    if (often(0.25))
      actions.push({ at: within(), do: 'others', what: one('remove', 'edit', 'add'), count: 2 })
    const applied = at + length
    actions.push({ at: applied, do: 'apply', sync, isOlder: often(0.15) })
    if (often(0.3))
      actions.push({
        at: applied + spread(dice, 50, 10_000),
        ...one<object>(
          {
            do: 'killAtStatement',
            worker: below(scene.workers),
            in: spread(dice, 1, 300),
            backAfter: spread(dice, 100, 30_000),
          },
          { do: 'stop', worker: below(scene.workers), for: spread(dice, 1_000, 100_000) },
          { do: 'terminate', sync },
          { do: 'overwrite', sync, with: 'text', count: 3 },
        ),
      } as Action)
    // The same plan once more: at once, or when it has been applied.
    if (often(0.5))
      actions.push({ at: applied + spread(dice, 10, 60_000), do: 'apply', sync, isOlder: false })
    at = applied + spread(dice, 5_000, endsAt / 3)
  }
  return actions.map((action) => ({ ...action, at: Math.min(endsAt, action.at) }))
}
