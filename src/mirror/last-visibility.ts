// What the key saw when a stream was brought up to date last, against what it sees now. It is kept in the stream's position, until
// the table is known to hold what the key of now sees, or a person let the rest go. Promise kept here: what only a key that sees
// less does not find waits for a person, however little it is.

import { lostVisibility, listNames, typesLost, type KeyVisibility } from '../core/visibility.ts'
import type { MirrorStream } from '../warehouses/mirror-tables.ts'
import type { StreamPosition } from './position.ts'

/** What of it a position keeps. */
type Kept = Pick<StreamPosition, 'sight' | 'lost'>

/** In what the key sees less than when the table was right last, as a sentence; null where it sees as much, or nothing tells. */
export function lostSinceLastRun(
  now: KeyVisibility | null | undefined,
  { sight: before, lost = [] }: Kept,
): string | null {
  const types = now && before ? typesLost(now, before) : []
  const reasons = [
    now && before ? lostVisibility(now, before) : null,
    types.length === 0 ? null : `it cannot read ${listNames(types)}`,
    lost.length === 0
      ? null
      : `it cannot read the ${lost.length === 1 ? 'property' : 'properties'} ${listNames(lost)}, or that is gone`,
  ].filter((reason) => reason !== null)
  if (reasons.length === 0) return null
  const whose = isOther(now, before)
    ? `the key (key#${now!.key}) sees less than that of the run before (key#${before!.key})`
    : 'the key sees less than in the run before'
  return `${whose}: ${reasons.join('; ')}`
}

/** What is to be said of rows that were deleted with another key; null where it is the same, as far as is known. */
export function otherKeyText(rows: number, now: KeyVisibility | null | undefined, { sight }: Kept) {
  if (!isOther(now, sight)) return null
  const what = rows === 1 ? '1 row was' : `${rows} rows were`
  return `${what} deleted, with another key (key#${now!.key}) than that of the run before (key#${sight!.key})`
}

const isOther = (
  now: KeyVisibility | null | undefined,
  before: KeyVisibility | undefined,
): boolean => now != null && before !== undefined && now.key !== before.key

/** From now on the key of now is what others are compared with. */
export function storeVisibility(position: Kept, now: KeyVisibility | null | undefined): void {
  // Types are of no matter to the records of one.
  if (now) position.sight = { ...now, types: null }
  delete position.lost
}

/**
 * Takes the columns that are not live any more out of those that are filled, so that a property that comes back is read anew, and
 * notes the properties without any other.
 */
export function noteLostColumns(position: StreamPosition, { columns }: MirrorStream): void {
  const live = new Set(columns.filter((column) => column.live).map(({ name }) => name))
  const there = new Set(columns.filter((column) => column.live).map(({ property }) => property))
  const gone = position.columns.filter((name) => !live.has(name))
  const properties = columns
    .filter(({ name, property }) => gone.includes(name) && !there.has(property))
    .map(({ property }) => property)
  const lost = [...(position.lost ?? []).filter((name) => !there.has(name)), ...properties]
  position.columns = position.columns.filter((name) => live.has(name))
  if (lost.length > 0) position.lost = [...new Set(lost)].toSorted()
  else delete position.lost
}
