// Reconciliations of a part of a source (`--where`), where several rows have one key, and rows that ask for the deletion of their records.

import type { Dice } from '../scheduler.ts'
import { spread, type Action } from './actions.ts'
import type { Scene, SyncScene } from './plan.ts'

/** The column whose cell asks for a deletion, and what it says then. */
export const GONE_COLUMN = 'gone'
export const GONE = 'yes'

/** In some histories only. Of a row that asks for it, no link is read. */
export function askingDeletionScene(
  { one, often }: Dice,
  { syncs }: Pick<Scene, 'syncs'>,
): readonly SyncScene[] {
  const able = syncs.filter(({ mode, query }) => mode === 'upsert' && query === null)
  const isLinked = syncs.some(({ links }) => links !== null)
  if (!often(0.1) || isLinked || able.length === 0) return syncs
  const asking = one(...able)
  return syncs.map((sync) => (sync === asking ? { ...sync, asksDeletion: true } : sync))
}

/** In some histories only: the file changes, and a part of it is compared before or after the whole is brought in. */
export function drawPartActions(dice: Dice, { syncs }: Scene, endsAt: number): Action[] {
  const { often, below, one } = dice
  const files = syncs.filter(({ query }) => query === null)
  if (!often(0.15) || files.length === 0) return []
  const actions: Action[] = []
  let at = 2_000 + below(30_000)
  for (let n = 0; at < endsAt && n < 4; n++) {
    const sync = one(...files).name
    for (let edits = 1 + below(4); edits > 0; edits--)
      actions.push({ at, do: 'edit', sync, inPlace: false })
    if (often(0.7)) actions.push({ at: at + 10, do: 'run', sync })
    const where = one('older' as const, 'older' as const, 'any' as const)
    const compared = at + spread(dice, 100, 40_000)
    actions.push({ at: compared, do: 'run', sync, task: 'reconcile', where })
    at = compared + spread(dice, 3_000, endsAt / 3)
  }
  return actions.map((action) => ({ ...action, at: Math.min(endsAt, action.at) }))
}
