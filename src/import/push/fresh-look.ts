// How old a look-up may be when rows that it chose are sent. Rows are looked up ahead of the right to send them, which may take long to
// come: then the right goes back, and they are looked up again.

import type { Clock, Permit } from '../../core/ports.ts'
import type { PlannedItem } from '../../ledger/ledger.ts'

/** Age of a look-up from which on it is repeated, ms. */
const LOOK_AGE_MAX_MS = 5_000
/** Look-ups of one batch. Where the quota lets a request through every few seconds, no look-up is ever younger. */
export const LOOKS_MAX = 4

/** Whether what was looked up at a time, ms since 1970, may be sent now. */
export const isYoung = ({ clock }: { readonly clock: Pick<Clock, 'now'> }, at: number): boolean =>
  clock.now() - at <= LOOK_AGE_MAX_MS

/** Rows, and the right to send them now. */
export interface ReadyRows {
  readonly items: readonly PlannedItem[]
  readonly permit: Permit
}

/**
 * Looks rows up until what was seen of them is young enough to be sent.
 * @param given null: they have to be looked up first
 * @param acquire null: time was up first
 * @returns null if nothing of them is to be sent, or not now
 */
export async function withFreshLook(
  {
    choose,
    lookedAt,
    clock,
    acquire,
    mustStop,
  }: {
    readonly choose: (items: readonly PlannedItem[]) => Promise<readonly PlannedItem[]>
    /** When the oldest look-up of these rows was, ms since 1970. */
    readonly lookedAt: (items: readonly PlannedItem[]) => number
    readonly clock: Pick<Clock, 'now'>
    readonly acquire: () => Promise<Permit | null>
    readonly mustStop: () => boolean
  },
  rows: readonly PlannedItem[],
  given: Permit | null,
): Promise<ReadyRows | null> {
  let items = rows
  let permit = given
  for (let looks = 0; ; looks++) {
    if (permit !== null && (looks >= LOOKS_MAX || isYoung({ clock }, lookedAt(items))))
      return { items, permit }
    // A caller that holds one permit while it waits for another may wait for itself.
    permit?.unused()
    if (mustStop()) return null
    items = await choose(items)
    if (items.length === 0) return null
    permit = await acquire()
    if (permit === null) return null
  }
}
