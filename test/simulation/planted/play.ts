// Plants each bug of the table, alone, and counts the histories until it is found.

import { availableParallelism } from 'node:os'
import type { Played } from '../search/child.ts'
import { Fleet } from '../search/fleet.ts'
import { prepareSimulator } from '../search/prepare.ts'
import { search } from '../search/search.ts'
import { PLANTED, type PlantedBug } from './table.ts'

export interface PlantedOptions {
  readonly seed: number
  /** Histories in which it has to be found. */
  readonly histories: number
  print(line: string): void
}

/** Returns the history that has found it, and how many were played; null if none has. */
export async function findPlanted(
  bug: PlantedBug,
  workflows: string,
  { seed, histories }: Pick<PlantedOptions, 'seed' | 'histories'>,
): Promise<{ readonly count: number; readonly played: Played } | null> {
  const { program, remove } = await prepareSimulator(bug.patches, workflows)
  const fleet = new Fleet({ program, workflows, processes: availableParallelism() + 1 })
  let found: { count: number; played: Played } | null = null
  try {
    await search(fleet, {
      seed,
      histories,
      ms: Infinity,
      isSteered: false,
      played: (played, count) => {
        if (played.violations.length > 0) found ??= { count, played }
        return found !== null
      },
    })
    return found
  } finally {
    fleet.close()
    remove()
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
      const found = await findPlanted(bug, workflows, options)
      if (found === null) unseen++
      print(
        found === null
          ? `${bug.name}: NOT FOUND in ${options.histories} histories`
          : `${bug.name}: history ${found.count} (seed ${found.played.seed}): ${found.played.violations[0]}`,
      )
    }
  } finally {
    remove()
  }
  print(`${chosen.length - unseen} of ${chosen.length} planted bugs found`)
  return unseen === 0
}
