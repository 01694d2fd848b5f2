// How old a look-up may be when rows that it chose are sent, counted from the sending of its request. Rows are looked up ahead of the
// right to send them, which may take long to come: then the right goes back, and they are looked up again.

import { Deadline, earlierOf } from '../../core/deadline.ts'
import { LOOK_AGE_MAX_MS, REPEATED_LOOKS_MAX } from '../../core/domain/look-ups.ts'
import { QuotaWait } from '../../core/errors.ts'
import { QUOTA_WAIT_MAX_MS } from '../../core/limits.ts'
import type { Clock, Permit } from '../../core/ports.ts'
import type { PlannedItem } from '../../ledger/ledger.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import type { ImportDeps } from '../ports.ts'

/** The right to send one request. The heartbeat goes on while it is waited for. @param until ends the wait */
export const acquirePermit = (
  deps: ImportDeps,
  until: AbortSignal = deps.signal,
): Promise<Permit> =>
  withHeartbeat(
    deps,
    deps.client.quota.acquire({
      priority: deps.priority,
      signal: until,
      maxWaitMs: QUOTA_WAIT_MAX_MS,
    }),
  )

/**
 * Age up to which a look-up that was repeated may be used when a slice ends, ms. A slice ends before the last look-up where requests come
 * every 10 s, and would send nothing, as would each slice after it.
 */
const LOOK_AGE_AT_END_MAX_MS = 60_000

/** Whether what was looked up at a time, ms since 1970, may be sent now. `at`: when the look-up was asked for. */
export const isYoung = ({ clock }: { readonly clock: Pick<Clock, 'now'> }, at: number): boolean =>
  clock.now() - at <= LOOK_AGE_MAX_MS

/**
 * Until when what was looked up at a time may be sent; null if it is too old. Taken when the right to send is there: the process may
 * stand still on the way from then on.
 */
export const lookLimit = (
  { clock }: { readonly clock: Pick<Clock, 'now'> },
  at: number,
): Deadline | null =>
  isYoung({ clock }, at) ? new Deadline(LOOK_AGE_MAX_MS - (clock.now() - at)) : null

/** The limit of a write, and that of its look-up, whichever is over first. Where no look-up is ever young enough, there is the first alone. */
export const sendUntil = (limit: Deadline, until: Deadline | null): Deadline =>
  until === null ? limit : earlierOf(limit, until)

/** Rows, and the right to send them now. */
export interface ReadyRows {
  readonly items: readonly PlannedItem[]
  readonly permit: Permit
  /** Until when their look-up may be relied on; null if there is none, or none is ever young enough. */
  readonly until: Deadline | null
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
    acquire,
    mustStop,
    deps: { clock, signal },
  }: {
    readonly choose: (items: readonly PlannedItem[]) => Promise<readonly PlannedItem[]>
    /** When the oldest look-up of these rows was, ms since 1970. */
    readonly lookedAt: (items: readonly PlannedItem[]) => number
    readonly acquire: () => Promise<Permit | null>
    readonly mustStop: () => boolean
    /** `signal` aborts when nothing may be sent any more. */
    readonly deps: { readonly clock: Pick<Clock, 'now'>; readonly signal: AbortSignal }
  },
  rows: readonly PlannedItem[],
  given: Permit | null,
): Promise<ReadyRows | null> {
  let items = rows
  let permit = given
  for (let looks = 0; ; looks++) {
    const at = lookedAt(items)
    const until = lookLimit({ clock }, at)
    if (permit !== null && (looks >= REPEATED_LOOKS_MAX || until !== null))
      return { items, permit, until }
    const isLast = looks > 0 && mustStop() && !signal.aborted
    if (permit !== null && isLast && clock.now() - at <= LOOK_AGE_AT_END_MAX_MS)
      return { items, permit, until }
    // A caller that holds one permit while it waits for another may wait for itself.
    permit?.unused()
    if (mustStop()) return null
    items = await choose(items)
    if (items.length === 0) return null
    permit = await acquire()
    if (permit === null) return null
  }
}

/** What was looked up, and the right to act on it now. */
export interface Fresh<Seen> {
  readonly seen: Seen
  readonly permit: Permit
  /** Until when the look-up may be relied on; null where no look-up is ever young enough. */
  readonly until: Deadline | null
}

/**
 * Looks up, asks for the right to send, and acts while what was seen is young; looks up again where it is not, and after the quota
 * refused the request.
 * @param look what was seen and when it was asked for, ms since 1970; null: there is nothing to send
 */
export async function lookThenSend<Seen extends { readonly at: number }, Result>(
  deps: ImportDeps,
  look: () => Promise<Seen | null>,
  send: (fresh: Fresh<Seen>) => Promise<Result>,
): Promise<Result | null> {
  for (let looks = 1; ; looks++) {
    deps.signal.throwIfAborted()
    const seen = await look()
    if (seen === null) return null
    const permit = await acquirePermit(deps)
    const until = lookLimit(deps, seen.at)
    const isLast = looks >= REPEATED_LOOKS_MAX
    if (until === null && !isLast) {
      permit.unused()
      continue
    }
    try {
      return await send({ seen, permit, until })
    } catch (error) {
      if (isLast || !(error instanceof QuotaWait)) throw error
    }
  }
}
