// Histories whose rows link records: what there is, and what happens to it. All of it is drawn by dice of its own.

import type { Dice } from '../scheduler.ts'
import { spread, type Action } from './actions.ts'
import type { Scene, SyncScene } from './plan.ts'

/** What the rows of a sync link their records to: a column holds the keys of the targets. */
export interface LinksScene {
  /** The type of the targets. */
  readonly to: SyncScene['type']
  readonly cardinality: 'many_to_one' | 'many_to_many' | 'one_to_one' | 'one_to_many'
  /** What a target that does not exist means. */
  readonly missing: 'park' | 'reject' | 'skip'
  /** Whether a cell may name several targets. */
  readonly splits: boolean
}

/** Of the rows of a sync with links. */
export const LINK_COLUMN = 'target'
export const LINK_SEPARATOR = ';'

/** The association that a sync links by. */
export const associationOf = ({ type, links }: SyncScene): string => `${type}_${links?.to}`

/** Each link is a request of its own. */
const LINKED_ROWS_MAX = 20

type Syncs = Pick<Scene, 'syncs'>

/**
 * In some histories only, the rows of contacts link them.
 * @param draw another sync
 */
export function linkedSyncs(
  dice: Dice,
  { syncs }: Syncs,
  draw: (dice: Dice, name: string, type: SyncScene['type']) => SyncScene,
): readonly SyncScene[] {
  const { one, often } = dice
  if (!often(0.2)) return syncs
  const links: LinksScene = {
    to: one('company', 'company', 'contact'),
    cardinality: one('many_to_one', 'many_to_one', 'many_to_many', 'one_to_one', 'one_to_many'),
    missing: one('park', 'park', 'park', 'reject', 'skip'),
    splits: often(0.4),
  }
  const isLacking = links.to === 'company' && syncs.every(({ type }) => type !== 'company')
  const companies = isLacking && often(0.8) ? [draw(dice, 'companies', 'company')] : []
  return [...syncs, ...companies].map((sync) => ({
    ...sync,
    rows: Math.min(LINKED_ROWS_MAX, sync.rows),
    ...(sync.name === 'contacts' && { links }),
  }))
}

const SECOND = 1_000

/** In some histories only, others swap keys of records, before rows change what they link, and before the links are compared. */
export function drawKeySwaps(
  dice: Dice,
  { syncs }: Pick<Scene, 'syncs'>,
  endsAt: number,
): Action[] {
  const { often, below, one } = dice
  const linking = syncs.find(({ links }) => links !== null)
  if (linking === undefined || !often(0.5)) return []
  const sync = linking.name
  const bringing = syncs.filter(({ type }) => type === linking.links!.to).map(({ name }) => name)
  const actions: Action[] = []
  let at = 1_000 + below(10 * SECOND)
  for (let n = 0; at < endsAt && n < 4; n++) {
    for (const name of bringing) if (often(0.5)) actions.push({ at, do: 'run', sync: name })
    if (often(0.5)) actions.push({ at: at + 10, do: 'run', sync })
    const of = one('sources' as const, 'targets' as const, 'targets' as const)
    const swapped = at + spread(dice, 10, 60 * SECOND)
    actions.push({ at: swapped, do: 'swapKeys', sync, of, isMove: often(0.4), count: 1 + below(3) })
    if (often(0.7)) actions.push({ at: swapped, do: 'edit', sync, inPlace: false })
    const task = often(0.3) ? one('reconcile' as const, 'links' as const) : null
    const next = swapped + spread(dice, 10, 60 * SECOND)
    actions.push({ at: next, do: 'run', sync, ...(task !== null && { task }) })
    at = next + spread(dice, 3 * SECOND, endsAt / 3)
  }
  return actions.map((action) => ({ ...action, at: Math.min(endsAt, action.at) }))
}

/** Others change links and what they lead to; the file changes before, in and between runs, and links are tried again. */
export function drawLinkActions(dice: Dice, { syncs, workers }: Scene, endsAt: number): Action[] {
  const { often, below, one } = dice
  const linking = syncs.find(({ links }) => links !== null)
  if (linking === undefined) return []
  const sync = linking.name
  const bringing = syncs.filter(({ type }) => type === linking.links!.to).map(({ name }) => name)
  const actions: Action[] = []
  let at = 2_000 + below(30 * SECOND)
  for (let n = 0; at < endsAt && n < 3; n++) {
    for (let times = below(3); times > 0; times--) {
      const what = one<Extract<Action, { do: 'links' }>['what']>(
        'unlink',
        'relink',
        'remove',
        'merge',
        'add',
      )
      const when = Math.max(0, at + spread(dice, 1, 30 * SECOND) - 10 * SECOND)
      actions.push({ at: when, do: 'links', sync, what, count: 1 + below(3) })
    }
    actions.push({
      at,
      do: 'edit',
      sync: often(0.7) ? sync : one(sync, ...bringing),
      inPlace: false,
    })
    const task = often(0.25) ? one('links' as const, 'retry' as const, 'reconcile' as const) : null
    actions.push({ at: at + 1, do: 'run', sync, ...(task !== null && { task }) })
    if (often(0.5) && bringing.length > 0)
      actions.push({ at: at + spread(dice, 10, 30 * SECOND), do: 'run', sync: one(...bringing) })
    if (often(0.4)) {
      const worker = below(workers)
      actions.push({
        at: at + spread(dice, 300, 20 * SECOND),
        ...one<object>(
          { do: 'kill', worker, backAfter: spread(dice, 100, 30 * SECOND) },
          { do: 'stop', worker, for: spread(dice, SECOND, 100 * SECOND) },
          { do: 'terminate', sync },
          { do: 'cancel', sync },
          {
            do: 'killAtStatement',
            worker,
            in: spread(dice, 1, 60),
            backAfter: spread(dice, 100, 30 * SECOND),
          },
        ),
      } as Action)
    }
    at += spread(dice, 5 * SECOND, endsAt / 3)
  }
  return actions.map((action) => ({ ...action, at: Math.min(endsAt, action.at) }))
}
