// What others do to the tables that queries read, and what people do to the queries.

import type { Dice } from '../scheduler.ts'
import { spread, type Action } from './actions.ts'
import type { QueryScene, Scene } from './plan.ts'

export type TableAction =
  /** Rows are committed now that were changed so long ago, ms. */
  | { readonly do: 'late'; readonly sync: string; readonly by: number; readonly count: number }
  /** The table is put back to how it was so long ago, ms. */
  | { readonly do: 'restoreTable'; readonly sync: string; readonly back: number }
  /** Somebody reads what has changed between two times, ms ago; null: all since then. */
  | {
      readonly do: 'window'
      readonly sync: string
      readonly from: number
      readonly to: number | null
    }
  | ({ readonly do: 'query'; readonly sync: string } & QueryScene)

/** Changes of tables, most of them around runs that are ended in the middle, and edits of the queries. */
export function drawTableActions(dice: Dice, scene: Scene, endsAt: number): Action[] {
  const { often, below, one } = dice
  const querying = scene.syncs.filter(({ query }) => query !== null)
  if (querying.length === 0) return []
  const actions: Action[] = []
  let at = 1_000 + below(20_000)
  for (let n = 0; at < endsAt && n < 5; n++) {
    const sync = one(...querying).name
    const before = Math.max(0, at - spread(dice, 10, 5_000))
    const what = one('edit', 'edit', 'late', 'late', 'restoreTable')
    if (what === 'edit') actions.push({ at: before, do: 'edit', sync, inPlace: false })
    if (what === 'late')
      actions.push({
        at: before,
        do: 'late',
        sync,
        by: spread(dice, 500, 100_000),
        count: 1 + below(4),
      })
    if (what === 'restoreTable')
      actions.push({ at: before, do: 'restoreTable', sync, back: spread(dice, 2_000, 200_000) })
    if (often(0.15))
      actions.push({
        at: before,
        do: 'query',
        sync,
        column: one('updated_at', 'version'),
        back: one(0, 5, 30),
      })
    const from = one(spread(dice, 5_000, 600_000), 24 * 3_600_000)
    actions.push({
      at,
      sync,
      ...one<object>(
        ...Array.from({ length: 8 }, () => ({ do: 'run' })),
        { do: 'run', task: one('backfill', 'retry') },
        { do: 'window', from, to: often(0.3) ? Math.round(from / 3) : null },
      ),
    } as Action)
    if (often(0.4))
      actions.push({
        at: at + spread(dice, 50, 20_000),
        ...one<object>(
          {
            do: 'killAtStatement',
            worker: below(scene.workers),
            in: spread(dice, 1, 300),
            backAfter: spread(dice, 100, 30_000),
          },
          { do: 'terminate', sync },
          { do: 'cancel', sync },
          { do: 'stop', worker: below(scene.workers), for: spread(dice, 1_000, 100_000) },
        ),
      } as Action)
    at += spread(dice, 5_000, endsAt / 3)
  }
  return actions.map((action) => ({ ...action, at: Math.min(endsAt, action.at) }))
}
