// The state of a type's edges. It is stored in the warehouse, with the rows.

import type { KeyVisibility } from '../core/domain/visibility.ts'
import type { TableIdentity } from '../warehouses/mirror-tables.ts'
import { formatInstant } from './instant.ts'
import {
  isSameRun,
  EMPTY_TALLY,
  type ClockReading,
  type Opened,
  type RunTally,
} from './position.ts'
import { earliestChange } from './service-clock.ts'

/** Records whose edges are read together, unless the mirror is told otherwise. */
export const OWNERS_MAX = 500

/** One run of the edges. Its reads count once it is done: until then the next run reads the same records. */
export interface EdgesRun {
  id: number
  openedAt: string
  full: boolean
  /** `changed` records are read, then `all`; `remove`: what to delete is known. */
  phase: 'changed' | 'all' | 'remove' | 'done'
  /** Last id of the changed ones that were read. */
  after: string | null
  tally: RunTally
  /** When it began: an edge that was last seen before, of a record that was read since, is gone. */
  began: string
  /** The changed ones are of this version and later ones; null for none. */
  from: string | null
  /** Edges to records that were marked as deleted at that time or later are read with the changed ones; null: at any time. */
  endsFrom?: string | null
  /** Last id of the pass over all records in this run. */
  reached?: string
  /** Whether that pass came to its end. */
  isLast?: boolean
  /** Edges that are gone, of the records that were read. */
  gone: number
  /** Of those: not seen since the pass began, so that its end finds them as well. */
  old: number
  said?: string[]
  differs?: boolean
}

export interface EdgesPosition {
  v: 1
  /** As in `StreamPosition`. */
  table?: TableIdentity | null
  /** Records of this version and later ones are read first; null for none yet. */
  version: string | null
  /** Last id of the pass over all records. */
  after: string | null
  /** When the current pass began. */
  startedAt: string | null
  /** When the last pass ended. */
  sweptAt: string | null
  /** When the service was last asked: the clock of another worker may be behind. */
  askedAt?: string
  /** When the changed records were last read, and the service's clock then. */
  clock?: ClockReading
  /** What the key saw when no edge was known to be missing. */
  sight?: KeyVisibility
  /** When the last complete pass began. */
  sweptFrom?: string
  /** What the key saw when the current or last pass began. */
  lookedWith?: KeyVisibility
  /** Why that key may see other edges than the one of the pass before, until a pass with it ends. */
  other?: string
  /** Associations that were read. */
  associations?: readonly string[]
  /** Edges to records that were marked as deleted before that time were read. */
  endsSeenAt?: string
  /** Edges that were deleted without approval, and since when: a pass that ends `full_every_hours` later counts from zero. */
  spent?: number
  spentSince?: string
  /** Edges that the service does not have and that stay, because a person rejected their deletion. */
  kept?: number
  /** When it was rejected. */
  keptSince?: string
  run: EdgesRun
}

/**
 * The position as it was stored, for this run. `now` is called for one that begins.
 * @param aheadMs by how much the service's clock is ahead of ours; null if that is not known
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
    tally: isSame ? position.run.tally : EMPTY_TALLY(),
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

/** The earliest time that a change since the last read may have, by our clock and by the service's. */
function changedFrom(
  { version, clock }: EdgesPosition,
  { overlapMs, aheadMs }: { readonly overlapMs: number; readonly aheadMs: number | null },
): string | null {
  const found = earliestChange(version, clock, aheadMs)
  // The version already includes the overlap.
  return found === null || found === version ? found : formatInstant(Date.parse(found) - overlapMs)
}
