// Where the edges of a type stand. It is stored in the warehouse, beside the rows.

import type { KeyVisibility } from '../core/visibility.ts'
import { formatInstant } from './instant.ts'
import {
  isSameRun,
  EMPTY_TALLY,
  readTally,
  type ClockReading,
  type Opened,
  type RunTally,
} from './position.ts'
import { earliestChange } from './service-clock.ts'

/** Records whose edges are looked at together. */
export const OWNERS_MAX = 500

/** One run of the edges. What it looked at counts once it is done: until then the next run looks at the same records. */
export interface EdgesRun {
  id: number
  openedAt?: string
  full: boolean
  /** `changed` records are looked at, then `all`; `remove`: what goes is known. */
  phase: 'changed' | 'all' | 'remove' | 'done'
  /** Last id of the changed ones that were looked at. */
  after: string | null
  tally: RunTally
  /** When it began: edges that were seen before that only, of a record that was looked at since, are gone. */
  began: string
  /** The changed ones are of this version and later ones; null for none. */
  from: string | null
  /** Edges to records that were marked as deleted at that time or later are looked at with the changed ones; null for ever. */
  endsFrom?: string | null
  /** Last id that the look through all has come to in this run. */
  reached?: string
  /** Whether that look came to its end. */
  isLast?: boolean
  /** Edges that are gone, of the records that were looked at. */
  gone: number
  /** Of those: not seen since the look through all began, so that its end finds them as well. */
  old: number
  said?: string[]
  differs?: boolean
}

export interface EdgesPosition {
  v: 1
  /** Records of this version and later ones are looked at first; null for none yet. */
  version: string | null
  /** Last id of those that were looked through. */
  after: string | null
  /** When the look through all of them began that is under way. */
  startedAt: string | null
  /** When the last look through all of them ended. */
  sweptAt: string | null
  /** When the service was asked last: the clock of another worker may be behind. */
  askedAt?: string
  /** When the changed records were looked at last, and the service's clock then. */
  clock?: ClockReading
  /** What the key saw when no edge that it had seen was missing. */
  sight?: KeyVisibility
  /** When the look through all of them began that ended last. */
  sweptFrom?: string
  /** What the key saw when the look began that is under way, or the last one. */
  lookedWith?: KeyVisibility
  /** Why that key may see other edges than the one of the look before, until a look with it ends. */
  other?: string
  /** Associations that were looked at. */
  associations?: readonly string[]
  /** Edges to records that were marked as deleted before that time were looked at. */
  endsSeenAt?: string
  /** Edges that were deleted unasked, and since when: a look that ends `full_every_hours` later counts from zero. */
  spent?: number
  spentSince?: string
  /** Edges that the service does not tell and that stay, because a person rejected their deletion. */
  kept?: number
  /** When it was rejected. */
  keptSince?: string
  run: EdgesRun
}

/**
 * The position as it was stored, for this run. `now` is called for one that begins.
 * @param aheadMs by how much the service's clock is ahead of ours; null where it does not tell
 */
export function edgesPosition(
  stored: string | null,
  opened: Opened,
  begin: {
    readonly full: boolean
    readonly overlapMs: number
    readonly aheadMs: number | null
    now(position: EdgesPosition): string
  },
): EdgesPosition {
  const position = stored === null ? first() : (JSON.parse(stored) as EdgesPosition)
  const known: Partial<EdgesRun> | undefined = position.run
  const { id, openedAt } = opened
  const isSame = known !== undefined && known !== null && isSameRun(position.run, opened)
  const kept: Partial<EdgesRun> = isSame ? known : {}
  // What an older version began has no moment of its own.
  const began = kept.began ?? begin.now(position)
  const from = kept.from === undefined ? changedFrom(position, begin) : kept.from
  const run: EdgesRun = {
    id,
    openedAt,
    full: begin.full,
    phase: 'changed',
    after: null,
    gone: 0,
    old: 0,
    endsFrom: position.endsSeenAt ?? null,
    ...kept,
    tally: isSame ? readTally(position.run.tally) : EMPTY_TALLY(),
    began,
    from,
  }
  return { ...position, run }
}

const first = (): EdgesPosition => ({
  v: 1,
  version: null,
  after: null,
  startedAt: null,
  sweptAt: null,
  run: null!,
})

/** The earliest time that a change since the last look may have, by our clock and by the service's. */
function changedFrom(
  { version, clock }: EdgesPosition,
  { overlapMs, aheadMs }: { readonly overlapMs: number; readonly aheadMs: number | null },
): string | null {
  const found = earliestChange(version, clock, aheadMs)
  // The overlap is in the version already.
  return found === null || found === version ? found : formatInstant(Date.parse(found) - overlapMs)
}
