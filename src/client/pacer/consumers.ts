// Which processes share an org's quota, what each used lately, and which priority is next. Times are seconds.

import { BULK_PRIORITIES, PRIORITIES, type BulkPriority, type Priority } from '../../core/ports.ts'

export type ByPriority = Readonly<Record<Priority, number>>

const SLOT_S = 10
/** Slots of a minute, including the one that is filling now. */
const SLOTS = 7
/** Processes remembered; a process that has not been seen for longer than this is forgotten. */
const USERS_MAX = 64
const FORGET_S = 600
/** A process that may send only a little at a time asks again within this time; nothing waits for one that does not. */
const WAITS_S = 1
/** A process that waits asks again within this time, whatever answer it got; one that does not has gone. */
const GONE_S = 10

interface UserData {
  name: string
  seenAt: number
  /** Callers that still wait, by priority. */
  waiting: ByPriority
  /** Share of the limit that its configuration leaves to others. */
  reserve?: number
  /** Number of the newest slot of 10 s. */
  slot: number
  /** Accepted requests by priority, newest slot first. */
  used: Record<Priority, number[]>
}

const none = (): Record<Priority, number> => ({ interactive: 0, import: 0, mirror: 0, backfill: 0 })

const unused = (): UserData['used'] => ({
  interactive: [0],
  import: [0],
  mirror: [0],
  backfill: [0],
})

export class Consumers {
  private readonly users: Record<string, UserData>

  constructor(users: Record<string, UserData> = {}) {
    this.users = users
  }

  toJSON(): object {
    return this.users
  }

  /** The clock was set back to `t`: all were seen by then, and what they used and wait for belongs to another time. */
  clockSetBack(t: number): void {
    for (const user of Object.values(this.users)) {
      user.seenAt = Math.min(user.seenAt, t)
      user.slot = Math.floor(t / SLOT_S)
      user.used = unused()
      user.waiting = none()
    }
  }

  /** A process asks; its configuration leaves this share of the limit to others. */
  saw(id: string, name: string, reserve: number, t: number): void {
    const user = (this.users[id] ??= {
      name,
      seenAt: t,
      waiting: none(),
      slot: Math.floor(t / SLOT_S),
      used: unused(),
    })
    user.name = name
    user.seenAt = t
    user.reserve = reserve
    const ids = Object.keys(this.users)
    if (ids.length <= USERS_MAX && ids.every((other) => this.users[other]!.seenAt > t - FORGET_S))
      return
    const byAge = ids.toSorted((a, b) => this.users[b]!.seenAt - this.users[a]!.seenAt)
    byAge.forEach((other, index) => {
      if (index >= USERS_MAX || this.users[other]!.seenAt <= t - FORGET_S) delete this.users[other]
    })
  }

  /** The strictest reserve among those seen within ten minutes: a process that keeps room for others may not be overruled. */
  reserve(t: number): number {
    const lately = Object.values(this.users).filter(({ seenAt }) => seenAt > t - FORGET_S)
    return Math.max(0, ...lately.map(({ reserve = 0 }) => reserve))
  }

  leftWaiting(id: string, waiting: ByPriority): void {
    this.users[id]!.waiting = { ...waiting }
  }

  /** A request of a process was accepted. */
  used(id: string, priority: Priority, t: number): void {
    const user = this.users[id]!
    this.turnOver(user, t)
    user.used[priority][0]! += 1
  }

  /** Accepted requests of a process in the last minute, by 10 s, newest first. */
  recentUse(id: string, t: number): readonly number[] {
    const user = this.users[id]
    if (!user) return []
    this.turnOver(user, t)
    return Array.from({ length: SLOTS - 1 }, (_, index) =>
      PRIORITIES.reduce((total, priority) => total + (user.used[priority][index] ?? 0), 0),
    )
  }

  /** The bulk priorities that a process other than `id` waits for. */
  waitingElsewhere(id: string, t: number): ReadonlySet<BulkPriority> {
    const found = new Set<BulkPriority>()
    for (const [other, user] of Object.entries(this.users))
      if (other !== id && user.seenAt > t - WAITS_S)
        for (const priority of BULK_PRIORITIES) if (user.waiting[priority] > 0) found.add(priority)
    return found
  }

  /** For display, busiest first. */
  view(t: number): readonly {
    readonly name: string
    readonly lastSeenMs: number
    readonly lastMinute: ByPriority
    readonly waiting: ByPriority
  }[] {
    const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)
    return Object.values(this.users)
      .map((user) => {
        this.turnOver(user, t)
        const lastMinute = none()
        // The slot that is filling now leaves room for a part of the oldest one.
        const part = 1 - (t / SLOT_S - Math.floor(t / SLOT_S))
        for (const priority of PRIORITIES) {
          const slots = user.used[priority]
          const oldest = Math.round(part * (slots[SLOTS - 1] ?? 0))
          lastMinute[priority] = sum(slots.slice(0, SLOTS - 1)) + oldest
        }
        const waiting = user.seenAt > t - GONE_S ? user.waiting : none()
        return { name: user.name, lastSeenMs: user.seenAt * 1_000, lastMinute, waiting }
      })
      .toSorted((a, b) => sum(Object.values(b.lastMinute)) - sum(Object.values(a.lastMinute)))
  }

  private turnOver(user: UserData, t: number): void {
    const slot = Math.floor(t / SLOT_S)
    const passed = Math.min(SLOTS, Math.max(0, slot - user.slot))
    if (passed === 0) return
    user.slot = slot
    for (const priority of PRIORITIES)
      user.used[priority] = [
        ...Array.from({ length: passed }, () => 0),
        ...user.used[priority],
      ].slice(0, SLOTS)
  }
}
