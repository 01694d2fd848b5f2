// Updates of the workers: one after the other ends, and is back with the next version of the workflows, while the others go on with the old
// one.

import type { Dice } from '../scheduler.ts'
import { spread, type Action } from './actions.ts'
import type { Scene } from './plan.ts'

/** A worker ends, and is back with the next version. */
export interface UpgradeAction {
  readonly do: 'upgrade'
  readonly worker: number
  readonly backAfter: number
}

/** Most of them begin in the middle of a run. All are over before the adversary rests. */
export function drawUpgrades(
  dice: Dice,
  scene: Scene,
  { actions, endsAt }: { readonly actions: readonly Action[]; readonly endsAt: number },
): Action[] {
  const { often, below, one } = dice
  if (!often(0.1)) return []
  const runs = actions.filter((action) => action.do === 'run')
  let at = often(0.8) && runs.length > 0 ? one(...runs).at : below(endsAt / 2)
  return Array.from({ length: scene.workers }, (_, worker): Action => {
    at += spread(dice, 50, 60_000)
    return {
      at: Math.min(endsAt - 1, at),
      do: 'upgrade',
      worker,
      backAfter: spread(dice, 100, 30_000),
    }
  })
}
