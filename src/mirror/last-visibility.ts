// Compares what the key saw when a stream was last up to date with what it sees now. The position keeps it until the table is known
// to hold what the new key sees, or a person approves the rest of the deletions. Promise kept here: rows that a key that sees less
// does not find wait for a person, however few they are; a table that was listed with a key that may see other records is listed
// again before the run is complete.

import type { MirrorConfig } from '../../config/index.ts'
import {
  listNames,
  lostVisibility,
  otherVisibility,
  typesLost,
  type KeyVisibility,
} from '../core/domain/visibility.ts'
import type { MirrorStream } from '../warehouses/mirror-tables.ts'
import type { StreamPosition } from './position.ts'

/** What a position keeps of it. */
type Kept = Pick<StreamPosition, 'sight' | 'lost'>

/** How the key sees less than when the table was last correct, as a sentence; null if it sees as much, or that is not known. */
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

/** The message for rows that were deleted with another key; null if it is the same, as far as is known. */
export function otherKeyText(rows: number, now: KeyVisibility | null | undefined, { sight }: Kept) {
  if (!isOther(now, sight)) return null
  const what = rows === 1 ? '1 row was' : `${rows} rows were`
  return `${what} deleted, with another key (key#${now!.key}) than that of the run before (key#${sight!.key})`
}

const isOther = (
  now: KeyVisibility | null | undefined,
  before: KeyVisibility | undefined,
): boolean => now != null && before !== undefined && now.key !== before.key

/** Why the key may see other records than that of the last full listing, as a sentence; null if it sees the same. */
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
    // What another key reads, only a full listing with this one finds again.
    if (other !== null) position.wanting = true
    return null
  }
  const began = position.listing?.sight ?? position.listedWith ?? position.sight
  if (now && began && otherVisibility(now, began) !== null) position.listing = null
  return other
}

/** The part of it that concerns the records of one type. */
export const recordsVisibility = (
  now: KeyVisibility | null | undefined,
): KeyVisibility | undefined => (now ? { ...now, types: null } : undefined)

/** From now on other keys are compared with this one. */
export function storeVisibility(position: Kept, now: KeyVisibility | null | undefined): void {
  const seen = recordsVisibility(now)
  if (seen) position.sight = seen
  delete position.lost
}

/**
 * Removes the columns that are no longer live from those that are filled, so that a property that comes back is read again, and
 * notes the properties that have no other column, unless they are left out on purpose.
 */
export function noteLostColumns(
  position: StreamPosition,
  { name: type, columns }: MirrorStream,
  { except }: Pick<MirrorConfig, 'except'>,
): void {
  const live = new Set(columns.filter((column) => column.live).map(({ name }) => name))
  const present = new Set(columns.filter((column) => column.live).map(({ property }) => property))
  const gone = position.columns.filter((name) => !live.has(name))
  const properties = columns
    .filter(({ name, property }) => gone.includes(name) && !present.has(property))
    .map(({ property }) => property)
  const isLost = (name: string) => !present.has(name) && !except.includes(`${type}.${name}`)
  const lost = [...(position.lost ?? []), ...properties].filter(isLost)
  position.columns = position.columns.filter((name) => live.has(name))
  for (const name of Object.keys(position.unfilled ?? {}))
    if (!present.has(name)) delete position.unfilled![name]
  if (lost.length > 0) position.lost = [...new Set(lost)].toSorted()
  else delete position.lost
}
