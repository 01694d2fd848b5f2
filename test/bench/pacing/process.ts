// A process that sends requests: callers wait in it, permits come to it, and each answer is reported once. It keeps the
// quota in memory where nobody shares it, and else exchanges with the row that all share: every 250 to 350 ms while busy,
// at once for a refusal, and at once for an interactive call, but not twice within 20 ms.

import type { Answer } from '../../../src/core/ports.ts'
import type {
  PermitExchange,
  PermitGrant,
  QuotaSettings,
  PermitOutcome,
} from '../../../src/client/pacer/org-quota.ts'
import type { Events } from './events.ts'
import { Random } from './random.ts'

/** The quota of an org, as `OrgQuota` is one. */
export interface PacedQuota {
  exchange(exchange: PermitExchange, nowMs: number): PermitGrant
  state(nowMs: number): string
}

/** How such quotas come to be, as the static side of `OrgQuota`. */
export interface QuotaKind {
  restore(state: string | null, nowMs: number): PacedQuota
  alone(state: string | null, userId: string, nowMs: number): PacedQuota
}

/** The row that the processes share. */
export interface Row {
  /** Null while the store is away. `state` gives the row as this exchange left it. */
  exchange(
    exchange: PermitExchange,
  ): { readonly granted: PermitGrant; readonly state: () => string } | null
}

export interface Call {
  readonly interactive: boolean
  readonly arrivedMs: number
  /** When it was first sent; null before. */
  sentMs: number | null
}

/** What a process needs of the world. */
export interface World {
  readonly events: Events
  readonly kind: QuotaKind
  readonly settings: QuotaSettings
  readonly seed: number
  /** Sends; the answer comes back later, unless the process is dead by then. */
  send(call: Call, onAnswer: (answer: Answer) => void): void
}

const EXCHANGE_EVERY_MS = 250
/** On top of that, another value each time, so that processes do not go on in step. */
const SPREAD_MS = 100
const INTERACTIVE_APART_MS = 20
const STORE_ONE_WAY_MS = 6
const PERMITS_MAX = 40
/** Whatever it was told, a process with callers asks again after this. */
const ASK_AGAIN_MAX_MS = 5_000
const TRY_STORE_EVERY_MS = 1_000

export class Process {
  private readonly world: World
  private readonly id: string
  private readonly slots: number
  private readonly row: Row | null
  private readonly backlog: boolean
  private readonly random: Random
  private readonly interactive: Call[] = []
  private readonly bulk: Call[] = []
  private inFlight = 0
  private dead = false

  /** The quota in memory: always where there is no row, and while the store is away. */
  private own: PacedQuota | null
  private ownReports: PermitOutcome[] = []

  /** For the row. */
  private reports: PermitOutcome[] = []
  private refused = false
  private exchanging = false
  private lastMs = -Infinity
  private lastState: (() => string) | null = null
  private askAgainMs = 0
  private spreadMs = 0
  /** Interactive calls that the last exchange has asked for. */
  private asked = 0
  private wakeMs: number | null = null

  /**
   * @param slots calls that it has in flight at most
   * @param backlog bulk calls wait without end
   * @param quota the row, or the quota itself where nobody shares it
   */
  constructor(
    world: World,
    id: string,
    slots: number,
    backlog: boolean,
    quota: { readonly row: Row } | { readonly own: PacedQuota },
  ) {
    this.world = world
    this.id = id
    this.slots = slots
    this.backlog = backlog
    this.random = new Random(world.seed, id)
    this.row = 'row' in quota ? quota.row : null
    this.own = 'own' in quota ? quota.own : null
  }

  /** Begins to work through the backlog. */
  start(): void {
    this.pump()
  }

  /** A call arrives; `urgent` ones were refused before and go first. */
  arrive(call: Call, again = false): void {
    if (this.dead) return
    const queue = call.interactive ? this.interactive : this.bulk
    if (again) queue.unshift(call)
    else queue.push(call)
    this.pump()
  }

  /** It is gone, with its permits and its callers. What it sent is on its way all the same. */
  die(): void {
    this.dead = true
  }

  private wanted(most: number): { interactive: number; bulk: number } {
    const free = Math.min(most, this.slots - this.inFlight)
    const interactive = Math.min(free, this.interactive.length)
    const waiting = this.backlog ? Infinity : this.bulk.length
    return { interactive, bulk: Math.min(free - interactive, waiting) }
  }

  private exchangeOf(reports: readonly PermitOutcome[], most: number): PermitExchange {
    const { interactive, bulk } = this.wanted(most)
    return {
      user: { id: this.id, name: `process ${this.id}` },
      reports,
      wanted: { interactive, import: bulk, mirror: 0, backfill: 0 },
      everyMs: this.row ? EXCHANGE_EVERY_MS : 0,
      settings: this.world.settings,
    }
  }

  private pump(): void {
    if (this.dead) return
    if (this.own) this.exchangeInMemory(this.own)
    else this.planExchange()
  }

  private exchangeInMemory(own: PacedQuota): void {
    const { nowMs } = this.world.events
    const reports = this.ownReports
    this.ownReports = []
    const granted = own.exchange(this.exchangeOf(reports, Infinity), nowMs)
    this.deliver(granted)
    if (granted.askAgainMs > 0) this.wakeAt(granted.askAgainMs)
  }

  private planExchange(): void {
    if (this.exchanging) return
    const { nowMs } = this.world.events
    const { interactive, bulk } = this.wanted(PERMITS_MAX)
    const regularMs = this.lastMs + EXCHANGE_EVERY_MS
    const askAgainMs = Math.min(this.askAgainMs, this.lastMs + ASK_AGAIN_MAX_MS)
    let atMs = Infinity
    if (this.reports.length > 0) atMs = regularMs + this.spreadMs
    if (bulk > 0) atMs = Math.min(atMs, Math.max(regularMs, askAgainMs) + this.spreadMs)
    if (interactive > 0) {
      const soonMs = interactive > this.asked ? 0 : Math.min(regularMs, askAgainMs)
      atMs = Math.min(atMs, Math.max(this.lastMs + INTERACTIVE_APART_MS, soonMs))
    }
    if (this.refused || atMs <= nowMs) this.beginExchange()
    else if (atMs < Infinity) this.wakeAt(atMs)
  }

  private beginExchange(): void {
    const { events } = this.world
    const { reports } = this
    const exchange = this.exchangeOf(reports, PERMITS_MAX)
    this.exchanging = true
    this.reports = []
    this.refused = false
    this.asked = exchange.wanted.interactive
    events.after(STORE_ONE_WAY_MS, () => {
      const done = this.row!.exchange(exchange)
      events.after(STORE_ONE_WAY_MS, () => {
        if (this.dead) return
        this.exchanging = false
        this.lastMs = events.nowMs
        this.spreadMs = this.random.between(0, SPREAD_MS)
        if (done === null) return this.goAlone(reports)
        this.lastState = done.state
        this.askAgainMs = done.granted.askAgainMs
        this.deliver(done.granted)
        this.pump()
      })
    })
  }

  /** The store is away: the row as this process last saw it must do, until the store is back. */
  private goAlone(unreported: readonly PermitOutcome[]): void {
    const { events, kind } = this.world
    this.reports = [...unreported, ...this.reports]
    this.own = kind.alone(this.lastState?.() ?? null, this.id, events.nowMs)
    this.ownReports = [...this.reports]
    const tryStore = () => {
      if (this.dead) return
      const reports = this.reports
      const done = this.row!.exchange(this.exchangeOf(reports, 0))
      if (done === null) return events.after(TRY_STORE_EVERY_MS, tryStore)
      this.reports = []
      this.own = null
      this.askAgainMs = done.granted.askAgainMs
      this.lastState = done.state
      this.lastMs = events.nowMs
      this.pump()
    }
    events.after(TRY_STORE_EVERY_MS, tryStore)
    this.pump()
  }

  private deliver(granted: PermitGrant): void {
    for (const { id } of granted.permits) {
      const call = this.nextCall()
      if (call) this.send(call, id)
      else this.report({ id, ...this.atOnce(), end: 'unused' })
    }
  }

  private atOnce() {
    const { nowMs } = this.world.events
    return { sentMs: nowMs, endedMs: nowMs }
  }

  private nextCall(): Call | null {
    if (this.inFlight >= this.slots) return null
    const call = this.interactive.shift() ?? this.bulk.shift()
    if (call) return call
    return this.backlog
      ? { interactive: false, arrivedMs: this.world.events.nowMs, sentMs: null }
      : null
  }

  private send(call: Call, id: string): void {
    const { events } = this.world
    const sentMs = events.nowMs
    this.inFlight += 1
    this.world.send(call, (answer) => {
      if (this.dead) return
      this.inFlight -= 1
      this.report({ id, sentMs, endedMs: events.nowMs, end: answer })
      if (answer.status === 200) return this.pump()
      this.refused = true
      this.arrive(call, true)
    })
  }

  private report(report: PermitOutcome): void {
    if (this.row) this.reports.push(report)
    if (this.own) this.ownReports.push(report)
  }

  /** Wakes once, at the earliest of the times it was asked for; to wake too early only asks again. */
  private wakeAt(atMs: number): void {
    if (this.wakeMs !== null && this.wakeMs > this.world.events.nowMs && this.wakeMs <= atMs) return
    this.wakeMs = atMs
    this.world.events.at(atMs, () => {
      if (this.wakeMs !== atMs) return
      this.wakeMs = null
      this.pump()
    })
  }
}
