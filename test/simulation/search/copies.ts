// Histories in which records of the service are the source of another type: those that pass a filter on a property that others change.

import type { Dice } from '../scheduler.ts'
import { spread, type Action } from './actions.ts'
import type { Scene } from './plan.ts'

export interface CopyScene {
  /** What a record becomes that leaves the filter, in the configuration: nothing is deleted, or what is gone. */
  readonly missingRows: 'ignore' | 'delete'
}

export type CopyAction =
  /** A run that copies, or a comparison with the copies. */
  | { readonly do: 'copy'; readonly how: 'run' | 'compare' | 'repair' }
  /** Others give records a value that the filter does not take, or take it away. */
  | { readonly do: 'refilter'; readonly what: 'out' | 'in'; readonly count: number }

/** In some histories only. Others give the property a value: no sync does. */
export function drawCopies(
  { one, often }: Dice,
  { syncs, isUnique, service }: Pick<Scene, 'syncs' | 'isUnique' | 'service'>,
): CopyScene | null {
  const isPlain = syncs.every(
    ({ links, properties }) => links === null && !properties.includes('note'),
  )
  if (!often(0.12) || !isPlain || !isUnique) return null
  if (service.writes !== 'sent' || service.capitals || service.perMinute < 60) return null
  return { missingRows: one('delete', 'delete', 'delete', 'ignore') }
}

/** Records leave the filter, come back and go, before, between and in runs that copy. */
export function drawCopyActions(dice: Dice, { copies, workers }: Scene, endsAt: number): Action[] {
  const { often, below, one } = dice
  if (copies === null) return []
  const actions: Action[] = []
  let at = 1_000 + below(20_000)
  for (let n = 0; at < endsAt && n < 6; n++) {
    const how = n > 0 && often(0.25) ? one('compare' as const, 'repair' as const) : ('run' as const)
    actions.push({ at, do: 'copy', how })
    for (let times = 1 + below(3); times > 0; times--) {
      const when = at + spread(dice, 10, 60_000)
      actions.push(
        often(0.25)
          ? { at: when, do: 'others', what: 'remove', count: 1 + below(3) }
          : { at: when, do: 'refilter', what: one('out', 'out', 'in'), count: 1 + below(5) },
      )
    }
    if (often(0.25)) {
      const worker = below(workers)
      const backAfter = spread(dice, 100, 30_000)
      actions.push({
        at: at + spread(dice, 50, 20_000),
        ...one<object>(
          { do: 'kill', worker, backAfter },
          { do: 'killAtStatement', worker, in: spread(dice, 1, 100), backAfter },
          { do: 'terminate', sync: COPIES },
          { do: 'cancel', sync: COPIES },
        ),
      } as Action)
    }
    at += spread(dice, 3_000, endsAt / 4)
  }
  return actions.map((action) => ({ ...action, at: Math.min(endsAt, action.at) }))
}

/** The sync that copies, and the type of its copies. */
export const COPIES = 'copies'
export const COPIED_TYPE = 'card'
/** Records without a value of this property are copied. */
export const FILTERED_PROPERTY = 'note'
