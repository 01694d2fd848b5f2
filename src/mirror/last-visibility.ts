// What the key saw when a stream was brought up to date last, against what it sees now. It is kept in the stream's position, until
// the table is known to hold what the key of now sees, or a person let the rest go. Promise kept here: what only a key that sees
// less does not find waits for a person, however little it is; a table that was listed with one view of the records is listed again
// before a run with another one is complete.

import {
  listNames,
  lostVisibility,
  otherVisibility,
  typesLost,
  type KeyVisibility,
} from '../core/visibility.ts'
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

/** Why the key may see other records than that of the last full listing, as a sentence; null where it sees the same. */
export function otherThanListed(
  now: KeyVisibility | null | undefined,
  { listedWith, sight }: Pick<StreamPosition, 'listedWith' | 'sight'>,
): string | null {
  const listed = listedWith ?? sight
  const reason = now && listed ? otherVisibility(now, listed) : null
  if (reason === null) return null
  return `the key (key#${now!.key}) may see other records than that of the last full listing (key#${listed!.key}): ${reason}; everything is read`
}

/**
 * Before a run begins: forgets a listing that a key began that may see other records. Returns what `otherThanListed` does; null for
 * a run with a window, after which the next run lists everything.
 */
export function noteOtherVisibility(
  position: StreamPosition,
  now: KeyVisibility | null | undefined,
  hasWindow: boolean,
): string | null {
  const other = otherThanListed(now, position)
  if (hasWindow) {
    // What it brings of another view, only a full listing finds again.
    if (other !== null) position.wanting = true
    return null
  }
  const began = position.listing?.sight ?? position.listedWith ?? position.sight
  if (now && began && otherVisibility(now, began) !== null) position.listing = null
  return other
}

/** What the key sees of the records of one type. */
export const recordsVisibility = (
  now: KeyVisibility | null | undefined,
): KeyVisibility | undefined => (now ? { ...now, types: null } : undefined)

/** From now on the key of now is what others are compared with. */
export function storeVisibility(position: Kept, now: KeyVisibility | null | undefined): void {
  const seen = recordsVisibility(now)
  if (seen) position.sight = seen
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
