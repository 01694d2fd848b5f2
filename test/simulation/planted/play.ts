// Plants each bug of the table, alone, and counts the histories until it is found. A bug that was found once has a plan of its own, which
// finds it in one history, whatever the seeds of this version draw.

import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Played } from '../search/child.ts'
import { compactOf, planOf, type CompactPlan } from '../search/compact.ts'
import { Fleet } from '../search/fleet.ts'
import { prepareSimulator } from '../search/prepare.ts'
import { search } from '../search/search.ts'
import { shrink } from '../search/shrink.ts'
import { PLANTED, type PlantedBug } from './table.ts'

const PLANS = fileURLToPath(new URL('plans.json', import.meta.url))

/** By the name of the bug. */
export const readPlans = (): Readonly<Record<string, CompactPlan>> =>
  JSON.parse(readFileSync(PLANS, 'utf8')) as Record<string, CompactPlan>

function keepPlan(name: string, plan: CompactPlan): void {
  const plans = { ...readPlans(), [name]: plan }
  const sorted = Object.fromEntries(PLANTED.flatMap((bug) => entryOf(plans, bug.name)))
  writeFileSync(PLANS, `${JSON.stringify(sorted, null, 1)}\n`)
}

const entryOf = (plans: Readonly<Record<string, CompactPlan>>, name: string) =>
  plans[name] === undefined ? [] : [[name, plans[name]] as const]

export interface PlantedOptions {
  readonly seed: number
  /** Histories in which it has to be found. */
  readonly histories: number
  /** Whether the plan that finds it is made smaller and kept. */
  readonly keeps: boolean
  /** Whether new histories are drawn; else the plan of the bug is played alone. */
  readonly isNew: boolean
  print(line: string): void
}

interface Planted {
  readonly fleet: Fleet
  remove(): void
}

async function plant(bug: PlantedBug, workflows: string, processes: number): Promise<Planted> {
  const { program, remove } = await prepareSimulator(bug.patches, workflows)
  const fleet = new Fleet({ program, workflows, processes })
  return { fleet, remove: () => (fleet.close(), remove()) }
}

/** Plays a plan with the bug planted. */
export async function playWith(bug: PlantedBug, plan: CompactPlan, workflows: string) {
  const { fleet, remove } = await plant(bug, workflows, 1)
  try {
    return await fleet.play({ plan: planOf(plan) })
  } finally {
    remove()
  }
}

/** Returns the history that has found it, and how many were played; null if none has. */
async function findPlanted(
  bug: PlantedBug,
  workflows: string,
  { seed, histories, keeps }: Pick<PlantedOptions, 'seed' | 'histories' | 'keeps'>,
): Promise<{ readonly count: number; readonly played: Played } | null> {
  const { fleet, remove } = await plant(bug, workflows, availableParallelism())
  let found: { count: number; played: Played } | null = null
  try {
    await search(fleet, {
      seed,
      histories,
      ms: Infinity,
      isSteered: false,
      ledger: bug.area === 'postgres' ? 'postgres' : 'sqlite',
      played: (played, count) => {
        if (played.violations.length > 0) found ??= { count, played }
        return found !== null
      },
    })
    const { played } = (found ?? {}) as { played?: Played }
    if (keeps && played?.plan) {
      const { plan } = await shrink(fleet, played, { tries: 60, ms: 10_000 })
      keepPlan(bug.name, compactOf(plan))
    }
    return found
  } finally {
    remove()
  }
}

async function tellPlanted(
  bug: PlantedBug,
  workflows: string,
  options: PlantedOptions,
): Promise<{ readonly isFound: boolean; readonly text: string }> {
  if (!options.isNew) {
    const plan = readPlans()[bug.name]
    if (plan === undefined) return { isFound: false, text: 'has no plan' }
    const { violations } = await playWith(bug, plan, workflows)
    return violations.length > 0
      ? { isFound: true, text: `its own plan: ${violations[0]}` }
      : { isFound: false, text: 'NOT FOUND by its own plan' }
  }
  const found = await findPlanted(bug, workflows, options)
  return found === null
    ? { isFound: false, text: `NOT FOUND in ${options.histories} histories` }
    : {
        isFound: true,
        text: `history ${found.count} (seed ${found.played.seed}): ${found.played.violations[0]}`,
      }
}

/** @param names of bugs, or `all` */
export async function playPlanted(names: string, options: PlantedOptions): Promise<boolean> {
  const { print } = options
  const chosen = PLANTED.filter(({ name }) => names === 'all' || names.split(',').includes(name))
  const { workflows, remove } = await prepareSimulator()
  let unseen = 0
  try {
    for (const bug of chosen) {
      const { isFound, text } = await tellPlanted(bug, workflows, options)
      if (!isFound) unseen++
      print(`${bug.name}: ${text}`)
    }
  } finally {
    remove()
  }
  print(`${chosen.length - unseen} of ${chosen.length} planted bugs found`)
  return unseen === 0
}
