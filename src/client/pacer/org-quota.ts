// The quota of one org as all its users share it: the pacer's state, which processes ask, and which used what. A pure value: time
// goes in, permits come out. One process keeps it in memory; several keep its text in the `quota` row of a `QuotaStore`, and each
// exchange runs on that row alone. Times are milliseconds of the store's clock.

import { BULK_PRIORITIES, PRIORITIES } from '../../core/ports.ts'
import type { Answer, BulkPriority, Priority } from '../../core/ports.ts'
import { FairShares, type Weights } from './fair-shares.ts'
import { readDeprecation, type AnnouncedEnd } from '../deprecation.ts'
import { parseDraftFields, parseLimit, parseRetryAfter } from './headers.ts'
import { PacerState } from './state.ts'
import { RefusalStreak } from './refusals.ts'
import type { ParsedAnswer } from './reported-numbers.ts'
import { Consumers, type ByPriority } from './consumers.ts'
import { Minutes, type MinutesText } from './minutes.ts'

export interface QuotaSettings {
  /** Share of the limit, 0 to 0.9, that is left to people and other applications. */
  readonly reserve: number
  /** How the priorities that want permits at the same time share them; interactive calls always come first. */
  readonly shares: Weights
}

export const DEFAULT_QUOTA_SETTINGS: QuotaSettings = {
  reserve: 0,
  shares: { import: 60, mirror: 30, backfill: 10 },
}

export interface PermitOutcome {
  readonly id: string
  readonly sentMs: number
  readonly endedMs: number
  /** `lost`: sent, and no answer came. `unused`: never sent. */
  readonly end: Answer | 'lost' | 'unused'
}

export interface Consumer {
  /** Unique among the processes that share the org. */
  readonly id: string
  /** The name for display, such as `worker 4711 on host-a`. */
  readonly name: string
}

/** What a process reports, and what it wants. */
export interface PermitExchange {
  readonly user: Consumer
  readonly reports: readonly PermitOutcome[]
  readonly wanted: ByPriority
  /** How long until the process may exchange again: 0, or the time between leases. */
  readonly everyMs: number
  readonly settings: QuotaSettings
}

export interface PermitGrant {
  readonly permits: readonly { readonly id: string; readonly priority: Priority }[]
  /** When to ask again for what was not granted; 0 if all was. Always later than now. */
  readonly askAgainMs: number
  /** Requests a minute, as the last answer said; null before the first. */
  readonly limitPerMinute: number | null
}

/** Changes with the meaning of the text: a state of another release is dropped and learned again within a minute. */
const VERSION = 1
/** If the clock is set back by less than this, the state waits for it. */
const CLOCK_SET_BACK_S = 5
/** How old the store's time may be when it arrives: an answer may seem this far ahead of it. */
const STALE_S = 2
/** How soon to ask again if another priority, of another process, is next. */
const YIELD_S = 0.1
/** What an answer has announced counts for so long, if later ones do not: they may be of other operations. */
const ANNOUNCED_S = 86_400

interface Kept {
  readonly version: number
  readonly pacer: object
  readonly shares: object
  readonly users: object
  readonly settings: QuotaSettings
  readonly totals: RequestTotals
  readonly lastId: number
  readonly at: number
  readonly refusals: object
  readonly minutes: MinutesText
  readonly announced: Announced | null
}

/** The newest announcement of an end of the API, and when it was heard, in seconds. */
interface Announced extends AnnouncedEnd {
  readonly at: number
}

/** Requests since a time, in ms. */
export interface RequestTotals {
  readonly sinceMs: number
  requests: number
  refused: number
  unavailable: number
}

export class OrgQuota {
  pacer: PacerState
  readonly users: Consumers
  shares: FairShares
  readonly totals: RequestTotals
  refusals: RefusalStreak
  minutes: Minutes
  announced: Announced | null
  settings: QuotaSettings
  private lastId: number
  /** Set if this is one process's own copy: its ids must differ from those of the row. */
  private alone = ''
  /** The latest time seen, in seconds: time never goes back. */
  private at: number

  private constructor(kept: Kept | null, t: number) {
    this.pacer = kept ? PacerState.restore(kept.pacer) : new PacerState()
    this.shares = new FairShares(kept?.shares)
    this.users = new Consumers((kept?.users ?? {}) as never)
    this.settings = kept?.settings ?? DEFAULT_QUOTA_SETTINGS
    this.totals = kept?.totals ?? { sinceMs: t * 1_000, requests: 0, refused: 0, unavailable: 0 }
    this.refusals = RefusalStreak.restore(kept?.refusals ?? {})
    this.minutes = new Minutes(kept?.minutes)
    this.announced = kept?.announced ?? null
    this.lastId = kept?.lastId ?? 0
    this.at = kept?.at ?? t
  }

  /** From the text of `state`; null, or a text of another release, starts without knowledge. */
  static restore(state: string | null, nowMs: number): OrgQuota {
    const t = nowMs / 1_000
    const kept = state === null ? null : readKept(state)
    return new OrgQuota(kept, t)
  }

  /** For a process that cannot reach the store: the last known state, and only its own share of the quota. */
  static alone(state: string | null, userId: string, nowMs: number): OrgQuota {
    const quota = OrgQuota.restore(state, nowMs)
    const t = quota.time(nowMs)
    quota.alone = `${userId}.`
    quota.pacer.goAlone(quota.users.recentUse(userId, t), t)
    return quota
  }

  /** Reports first, then grants up to what is wanted. */
  exchange(
    { user, reports, wanted, everyMs, settings }: PermitExchange,
    nowMs: number,
  ): PermitGrant {
    const t = this.time(nowMs)
    this.users.saw(user.id, user.name, settings.reserve, t)
    const reserve = this.users.reserve(t)
    this.settings = { ...settings, reserve }
    this.pacer.configure({ reserve, isLeased: everyMs > 0 })
    for (const report of reports) this.take(user, report, t)

    const left: Record<Priority, number> = { ...wanted }
    const permits: { id: string; priority: Priority }[] = []
    const grant = (priority: Priority) => {
      const id = `${this.alone}${PRIORITIES.indexOf(priority)}.${++this.lastId}`
      this.pacer.onSend(id, t)
      permits.push({ id, priority })
      left[priority] -= 1
    }
    let askAgain = Infinity
    while (left.interactive > 0) {
      const at = this.pacer.next(t, true)
      if (at !== 0) {
        askAgain = at
        break
      }
      grant('interactive')
    }
    askAgain = Math.min(askAgain, this.grantBulk(user, left, t, grant))
    this.users.leftWaiting(user.id, left)
    const isDone = PRIORITIES.every((priority) => left[priority] === 0)
    return {
      permits,
      // Rounded up: never before a gate.
      askAgainMs: isDone ? 0 : Math.max(Math.ceil(askAgain * 1_000 - 1e-3), Math.floor(nowMs) + 1),
      limitPerMinute: this.pacer.limit,
    }
  }

  private grantBulk(
    user: Consumer,
    left: Readonly<Record<Priority, number>>,
    t: number,
    grant: (priority: BulkPriority) => void,
  ): number {
    const here = () => BULK_PRIORITIES.filter((priority) => left[priority] > 0)
    const elsewhere = this.users.waitingElsewhere(user.id, t)
    this.shares.want(new Set([...here(), ...elsewhere]), t)
    // Bounded by what is wanted: every pass grants one, or ends.
    for (;;) {
      const priority = this.shares.next(here())
      if (priority === null) return Infinity
      // The next permit belongs to a process that will ask in a moment.
      if (this.shares.next([priority, ...elsewhere]) !== priority) return t + YIELD_S
      const at = this.pacer.next(t, false)
      if (at !== 0) return at
      grant(priority)
      this.shares.granted(priority, this.settings.shares)
    }
  }

  /** Opens the gate that a Retry-After has closed: one request asks the service at once. */
  open(nowMs: number): void {
    this.pacer.open(this.time(nowMs))
  }

  /** JSON text, a few kilobytes. */
  state(nowMs: number): string {
    const kept: Kept = {
      version: VERSION,
      pacer: this.pacer,
      shares: this.shares,
      users: this.users,
      settings: this.settings,
      totals: this.totals,
      lastId: this.lastId,
      at: this.time(nowMs),
      refusals: this.refusals,
      minutes: this.minutes.toJSON(),
      announced: this.announced,
    }
    return JSON.stringify(kept)
  }

  private take(user: Consumer, { id, sentMs, endedMs, end }: PermitOutcome, t: number): void {
    if (end === 'unused') {
      const priority = priorityOf(id)
      const isKnown = this.pacer.onUnused(id)
      if (isKnown && priority !== 'interactive')
        this.shares.refunded(priority, this.settings.shares)
      return
    }
    this.totals.requests++
    if (end === 'lost') return this.pacer.onLost(id, t)
    const endedAt = Math.min(endedMs / 1_000, t + STALE_S)
    const sentAt = Math.min(sentMs / 1_000, endedAt)
    const seen = seenOf(end, endedMs)
    this.pacer.onAnswer(id, seen, sentAt, endedAt, t)
    this.hear(end, t)
    if (end.status === 429) this.refusals.refused(sentAt, endedAt, seen.retryAfter)
    else this.refusals.answered(sentAt)
    this.minutes.add(end.status === 429 ? null : priorityOf(id), t)
    if (end.status === 429) this.totals.refused++
    else if (end.status === 503) this.totals.unavailable++
    else this.users.used(user.id, priorityOf(id), t)
  }

  private hear({ deprecation, sunset }: Answer, t: number): void {
    const found = readDeprecation(deprecation, sunset, t * 1_000)
    if (found !== null) this.announced = { ...found, at: t }
    else if (this.announced && t - this.announced.at > ANNOUNCED_S) this.announced = null
  }

  /** Seconds. If the clock is set back a little, time stops; if by more, what was learned belongs to another time. */
  private time(nowMs: number): number {
    const t = nowMs / 1_000
    if (t < this.at - CLOCK_SET_BACK_S) {
      this.pacer = new PacerState()
      this.shares = new FairShares()
      this.refusals = new RefusalStreak()
      this.minutes = new Minutes()
      this.users.clockSetBack(t)
      this.at = t
    }
    this.at = Math.max(this.at, t)
    return this.at
  }
}

/** The number of the priority is before the last dot. */
const priorityOf = (id: string): Priority => PRIORITIES[Number(id.split('.').at(-2))] ?? 'import'

function readKept(state: string): Kept | null {
  try {
    const kept = JSON.parse(state) as Kept
    return kept.version === VERSION ? kept : null
  } catch {
    return null
  }
}

/** The numbers of an answer: the specification's headers, else those of the IETF's draft. */
function seenOf(answer: Answer, nowMs: number): ParsedAnswer {
  const draft = parseDraftFields(answer.rateLimit, answer.rateLimitPolicy)
  const waitMs = parseRetryAfter(answer.retryAfter, nowMs, answer.date, Infinity)
  return {
    status: answer.status,
    limit: parseLimit(answer.limit) ?? draft.limit,
    remaining: parseLimit(answer.remaining) ?? draft.remaining,
    retryAfter: waitMs === null ? null : waitMs / 1_000,
    resetIn: draft.resetIn,
  }
}
