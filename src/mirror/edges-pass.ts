// The pass over the edges of all records: what the key saw when it began, and how old the edges may be that it has not reached.

import { formatNumber } from '../core/format.ts'
import { listNames, otherVisibility, type KeyVisibility } from '../core/domain/visibility.ts'
import type { EdgesPosition } from './edges-position.ts'

/**
 * Begins the pass again if the key may see other edges than the one that it began with, or if associations were added. `needed`:
 * types that the edges lead from and to.
 */
export function restartPassIfNeeded(
  position: EdgesPosition,
  now: KeyVisibility | null | undefined,
  read: { readonly needed: readonly string[]; readonly associations: readonly string[] },
): void {
  const { needed, associations } = read
  const { lookedWith, sight } = position
  const then = lookedWith ?? sight
  const seen = (view: KeyVisibility | undefined, type: string) => view?.types?.includes(type)
  const types = needed.filter((type) => {
    const [is, was] = [seen(now ?? undefined, type), seen(lookedWith, type)]
    return is !== undefined && was !== undefined && is !== was
  })
  const other = now && then ? otherVisibility(now, then) : null
  const reason = other ?? (types.length > 0 ? `its permissions for ${listNames(types)}` : null)
  if (reason !== null)
    position.other = `the key (key#${now!.key}) may see other links than that of the last pass over all records (key#${then!.key}): ${reason}`
  const isMore = associations.some((name) => position.associations?.includes(name) === false)
  if (reason !== null || isMore) {
    position.after = null
    position.startedAt = null
    if (isMore) delete position.sweptFrom
  }
  position.associations = associations
  if (now) position.lookedWith = now
}

/** Begins the pass again if the table is another one than before. `other`: how, as a sentence; null if it is the same. */
export function restartPassOnOtherTable(position: EdgesPosition, other: string | null): void {
  if (other === null) return
  const { run } = position
  position.other = other
  position.after = null
  position.startedAt = null
  delete position.sweptFrom
  if (run.phase !== 'changed') run.phase = 'all'
  delete run.reached
  delete run.isLast
}

/** How old the edges may be that this run has not read, as a sentence; null if it has read all of them. */
export function ageText({ run, startedAt, sweptFrom }: EdgesPosition, records: number) {
  if (run.isLast === true)
    return startedAt === null || startedAt >= run.began
      ? null
      : `all ${formatNumber(records)} records were read since ${secondOf(startedAt)}`
  const others = sweptFrom ? `may be as old as ${secondOf(sweptFrom)}` : 'are not read yet'
  return `the pass over all ${formatNumber(records)} records continues with the next run; the links of the others ${others}`
}

const secondOf = (instant: string): string => `${instant.slice(0, 19).replace('T', ' ')} UTC`
