// The order of syncs that run together: each begins when those that it is `after` have ended, the others at the same time. Pure and
// deterministic, so that the workflow of a group, the command and the checks of the configuration share it.

import { atMost } from '../concurrency.ts'

/** A sync, and those that it runs after. */
export interface Ordered {
  readonly sync: string
  readonly after: readonly string[]
}

/** Syncs that one group may have: its workflow's history has room for so many runs. */
export const GROUP_SYNCS_MAX = 500

/** What runs together: a group of the configuration, or syncs. */
export type GroupChoice = { readonly group: string } | { readonly syncs: 'all' | readonly string[] }

const NAMED_MAX = 3

/** How people call it: `nightly`, `all`, or `companies, contacts and 4 more`. */
export function groupLabel(choice: GroupChoice): string {
  if ('group' in choice) return choice.group
  if (choice.syncs === 'all') return 'all'
  const more = choice.syncs.length - NAMED_MAX
  const named = choice.syncs.slice(0, NAMED_MAX).join(', ')
  return more > 0 ? `${named} and ${more} more` : named
}

/** In an order in which each comes after those that it is `after`, else in the given one; `left`: what a circle keeps from it. */
function sorted<Sync extends Ordered>(
  syncs: readonly Sync[],
): { readonly inOrder: readonly Sync[]; readonly left: readonly Sync[] } {
  const inOrder: Sync[] = []
  const done = new Set<string>()
  const names = new Set(syncs.map(({ sync }) => sync))
  const isReady = ({ after }: Sync) => after.every((name) => done.has(name) || !names.has(name))
  let left = syncs
  // Bounded: each round takes at least one out, or is the last.
  for (let ready = left.filter(isReady); ready.length > 0; ready = left.filter(isReady)) {
    inOrder.push(...ready)
    for (const { sync } of ready) done.add(sync)
    left = left.filter(({ sync }) => !done.has(sync))
  }
  return { inOrder, left }
}

/** A circle, as the path that leads back to its beginning: `a`, `b`, `a` where `a` is after `b` and `b` after `a`; null without one. */
export function findCircle(syncs: readonly Ordered[]): readonly string[] | null {
  const { left } = sorted(syncs)
  const rest = new Map(left.map(({ sync, after }) => [sync, after]))
  const path: string[] = []
  // Each of the rest is after another one of the rest, so this comes back to where it was.
  for (let at = left[0]?.sync; at !== undefined; at = rest.get(at)!.find((one) => rest.has(one))) {
    const since = path.indexOf(at)
    path.push(at)
    if (since !== -1) return path.slice(since)
  }
  return null
}

/**
 * The order of `names` alone: each with those of them that it runs after, directly or by way of syncs that are not among them.
 * @param syncs all that there are, without a circle
 */
export function syncOrderOf(
  names: readonly string[],
  syncs: readonly Ordered[],
): readonly Ordered[] {
  const afterOf = new Map(syncs.map(({ sync, after }) => [sync, after]))
  const chosen = new Set(names)
  const before = (name: string): string[] => {
    const seen = new Set<string>()
    const open = [...(afterOf.get(name) ?? [])]
    // Bounded: each sync is looked at once.
    for (let next = open.shift(); next !== undefined; next = open.shift()) {
      if (seen.has(next)) continue
      seen.add(next)
      if (!chosen.has(next)) open.push(...(afterOf.get(next) ?? []))
    }
    return [...seen].filter((one) => chosen.has(one))
  }
  return sorted([...chosen].map((sync) => ({ sync, after: before(sync) }))).inOrder
}

/** What a run in order does with each sync. */
export interface InOrder<Sync extends Ordered> {
  /** Syncs that run at the same time, at most. */
  readonly limit: number
  /** Runs one; gives whether what is after it may begin. Never rejects. */
  work(sync: Sync): Promise<boolean>
  /** Leaves one out, because `failed` did not end well. Never rejects. */
  skip(sync: Sync, failed: readonly string[]): Promise<void>
}

/** Runs `syncs`, which are in an order that `syncOrderOf` gives. Ends when all of them have. */
export async function runInOrder<Sync extends Ordered>(
  syncs: readonly Sync[],
  { limit, work, skip }: InOrder<Sync>,
): Promise<void> {
  const inTurn = atMost(limit)
  const ends = new Map<string, Promise<boolean>>()
  const run = async (sync: Sync): Promise<boolean> => {
    const before = await Promise.all(
      sync.after.map(async (name) => ({ name, isWell: await ends.get(name) })),
    )
    const failed = before.flatMap(({ name, isWell }) => (isWell === false ? [name] : []))
    if (failed.length === 0) return await inTurn(() => work(sync))
    await skip(sync, failed)
    return false
  }
  for (const sync of syncs) ends.set(sync.sync, run(sync))
  await Promise.all(ends.values())
}
