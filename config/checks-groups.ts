// What `after` and groups mean for each other: an order without a circle, and names that mean one thing.

import { isJsonObject, type JsonObject } from '../src/core/json.ts'
import { findCircle, GROUP_SYNCS_MAX, type Ordered } from '../src/core/domain/sync-order.ts'
import { joinWords } from '../src/core/suggest.ts'
import type { Complain } from '../src/settings/marks.ts'
import { quoteValue } from './issues.ts'

/** Circles that are reported; the others are found once these are gone. */
const CIRCLES_MAX = 10

/** Reports each circle with its path, at the name that closes it. @param syncs as they are written */
export function checkOrder(syncs: JsonObject, complain: Complain): void {
  let order: readonly Ordered[] = Object.entries(syncs).map(([sync, settings]) => ({
    sync,
    after: isJsonObject(settings) ? textsOf(settings['after']) : [],
  }))
  for (let found = 1; found <= CIRCLES_MAX; found++) {
    const path = findCircle(order)
    if (path === null) return
    const [sync, before] = path as [string, string]
    const names = path.map((name) => quoteValue(name)).join(' → ')
    const at = textsOf((syncs[sync] as JsonObject)['after']).indexOf(before)
    complain(
      ['syncs', sync, 'after', at],
      sync === before
        ? `\`${sync}\` cannot run after itself (${names}); remove it`
        : `a circle: ${names}, of which each runs after the next; remove one of these from \`after\``,
    )
    order = order.map((one) =>
      one.sync === sync ? { sync, after: one.after.filter((name) => name !== before) } : one,
    )
  }
}

/** @param groups as they are written @param syncs as they are written */
export function checkGroups(groups: JsonObject, syncs: JsonObject, complain: Complain): void {
  for (const [name, group] of Object.entries(groups)) {
    if (Object.hasOwn(syncs, name))
      complain(
        ['groups', name],
        `\`${quoteValue(name)}\` is a sync, and \`run ${quoteValue(name)}\` would mean both; give the group another name`,
        'key',
      )
    const given = isJsonObject(group) ? group['syncs'] : undefined
    if (Array.isArray(given) && given.length === 0)
      complain(
        ['groups', name, 'syncs'],
        `expected \`all\`, or at least one sync; valid: ${joinWords(Object.keys(syncs))}`,
      )
    const count = given === 'all' ? Object.keys(syncs).length : textsOf(given).length
    if (count > GROUP_SYNCS_MAX)
      complain(
        ['groups', name, 'syncs'],
        `these are ${count} syncs, and a group has at most ${GROUP_SYNCS_MAX}; make several groups of them`,
      )
  }
}

const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
