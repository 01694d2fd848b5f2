// Requests of an org by minute and priority, for people: what the quota was used for in the last hour. Promise kept here: it is bounded,
// and nothing is decided by it.

import { PRIORITIES, type Priority } from '../../core/ports.ts'

const MINUTE_S = 60
export const MINUTES_KEPT = 60

/** Accepted requests in the order of `PRIORITIES`, then those that were refused. */
type Counts = number[]

export interface MinutesText {
  /** Number of the newest minute since 1970. */
  readonly at: number
  /** Newest first; null for a minute without a request. */
  readonly counts: readonly (readonly number[] | null)[]
}

export interface UsedMinute extends Readonly<Record<Priority, number>> {
  /** When it began, ms. */
  readonly atMs: number
  readonly refused: number
}

export class Minutes {
  #at: number
  #counts: (Counts | null)[]

  constructor({ at, counts }: MinutesText = { at: 0, counts: [] }) {
    this.#at = at
    this.#counts = counts.map((each) => each && [...each])
  }

  /** A request was answered: accepted, or refused (null). */
  add(priority: Priority | null, t: number): void {
    this.#turnOver(t)
    const counts = (this.#counts[0] ??= Array.from({ length: PRIORITIES.length + 1 }, () => 0))
    counts[priority === null ? PRIORITIES.length : PRIORITIES.indexOf(priority)]! += 1
  }

  /** The last hour, oldest first; the newest minute is not over. Empty if there was no request in it. */
  view(t: number): UsedMinute[] {
    this.#turnOver(t)
    if (this.#counts.every((counts) => counts === null)) return []
    return Array.from({ length: MINUTES_KEPT }, (_, index) => {
      const ago = MINUTES_KEPT - 1 - index
      const counts = this.#counts[ago] ?? []
      const used = PRIORITIES.map((priority, at) => [priority, counts[at] ?? 0])
      return {
        atMs: (this.#at - ago) * MINUTE_S * 1_000,
        ...(Object.fromEntries(used) as Record<Priority, number>),
        refused: counts[PRIORITIES.length] ?? 0,
      }
    })
  }

  #turnOver(t: number): void {
    const minute = Math.floor(t / MINUTE_S)
    const passed = Math.min(MINUTES_KEPT, minute - this.#at)
    if (passed <= 0) return
    this.#at = minute
    const none = Array.from({ length: passed }, () => null)
    this.#counts = [...none, ...this.#counts].slice(0, MINUTES_KEPT)
    while (this.#counts.at(-1) === null) this.#counts.pop()
  }

  toJSON(): MinutesText {
    return { at: this.#at, counts: this.#counts }
  }
}
