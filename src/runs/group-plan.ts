// Which syncs a run of several has, and in which order: from what a person named, or a schedule. The command and the workflow ask
// for it here, each with the configuration as it is then.

import type { GroupConfig, SyncConfig } from '../../config/index.ts'
import { GROUP_SYNCS_MAX, syncOrderOf, type GroupChoice } from '../core/domain/sync-order.ts'
import { nearestWord } from '../core/suggest.ts'

export interface GroupMember {
  readonly sync: string
  readonly kind: SyncConfig['kind']
  /** Those of the group that have to end well before it begins. */
  readonly after: readonly string[]
}

export interface GroupPlan {
  /** In an order in which each comes after those that it is `after`. */
  readonly members: readonly GroupMember[]
  /** What `after` names and is not run with them: it is not waited for. */
  readonly ignored: readonly { readonly sync: string; readonly after: readonly string[] }[]
}

interface Configured {
  readonly syncs: Readonly<Record<string, SyncConfig>>
  readonly groups: Readonly<Record<string, GroupConfig>>
}

const NAMES_MAX = 30

const list = (names: readonly string[]) => names.slice(0, NAMES_MAX).join(', ') || 'none'

/** Why that name means nothing. */
function unknown(kind: string, name: string, names: readonly string[]): { problem: string } {
  const near = nearestWord(name, names)
  const hint = near === undefined ? '' : `; did you mean ${near}?`
  const shown = name.slice(0, 63).replaceAll(/\p{C}/gu, ' ')
  return { problem: `there is no ${kind} "${shown}"; there is: ${list(names)}${hint}` }
}

/** The syncs of a choice, in order; or what is wrong with it, in one sentence. */
export function groupPlanOf(
  { syncs, groups }: Configured,
  choice: GroupChoice,
): GroupPlan | { readonly problem: string } {
  const all = Object.keys(syncs)
  let names: readonly string[]
  if ('group' in choice) {
    const group = Object.hasOwn(groups, choice.group) ? groups[choice.group] : undefined
    if (group === undefined) return unknown('group', choice.group, Object.keys(groups))
    names = group.syncs
  } else names = choice.syncs === 'all' ? all : choice.syncs
  const strange = names.find((name) => !Object.hasOwn(syncs, name))
  if (strange !== undefined) return unknown('sync', strange, all)
  if (names.length === 0) return { problem: 'no sync is named; expected at least one' }
  if (names.length > GROUP_SYNCS_MAX)
    return {
      problem: `these are ${names.length} syncs, and at most ${GROUP_SYNCS_MAX} run together; name fewer, or make groups of them`,
    }
  const ordered = all.map((sync) => ({ sync, after: syncs[sync]!.after ?? [] }))
  const chosen = new Set(names)
  return {
    members: syncOrderOf(names, ordered).map(({ sync, after }) => ({
      sync,
      kind: syncs[sync]!.kind,
      after,
    })),
    ignored: [...chosen].flatMap((sync) => {
      const after = (syncs[sync]!.after ?? []).filter((name) => !chosen.has(name))
      return after.length === 0 ? [] : [{ sync, after }]
    }),
  }
}
