// One run in virtual time: processes that share an org's quota, the service that counts, and everybody else who uses the
// same quota. The same scenario gives the same result, to the last request; a quota is exercised as in production, as the
// text of its row.

import type { Answer } from '../../../src/core/ports.ts'
import { DEFAULT_QUOTA_SETTINGS, type PermitExchange } from '../../../src/client/pacer/org-quota.ts'
import { Events } from './events.ts'
import { Habit, type Habits } from './habits.ts'
import { Process, type Call, type PacedQuota, type QuotaKind, type World } from './process.ts'
import { Random } from './random.ts'
import { makeServer, type Server, type ServerKind } from './servers.ts'

/** All times in seconds from the start of the run, all shares 0 to 1 of the limit of the moment. */
export interface Scenario {
  readonly server: ServerKind
  /** Requests a minute. */
  readonly limit: number
  readonly processes: number
  /** One process whose quota nobody shares: in memory, with an exchange after every event. */
  readonly inMemory?: boolean
  readonly seed: number
  /** Nothing is counted before this. */
  readonly warmUpS: number
  readonly measuredS: number
  /**
   * What others ask for on average, `bursts` of it within single seconds about every 15 s; never more than `most` of the
   * limit within any 60 s. Refused, they do not ask again.
   */
  readonly foreign?: { readonly share: number; readonly bursts: number; readonly most?: number }
  /** Bulk calls that arrive; without it there is always one more waiting. */
  readonly demand?: number
  readonly reserve?: number
  readonly limitChanges?: readonly { readonly atS: number; readonly limit: number }[]
  /** The service answers 503. */
  readonly outages?: readonly (Span & { readonly retryAfterS: number })[]
  /** All processes die and come back after `awayS`, to the row as it was, or to none. */
  readonly restarts?: readonly {
    readonly atS: number
    readonly awayS: number
    readonly state: 'kept' | 'lost'
  }[]
  /** One process dies, and another comes in its place after `awayS`. */
  readonly kills?: readonly { readonly atS: number; readonly awayS: number }[]
  readonly storeAway?: readonly Span[]
  readonly latencyFactor?: number
  /** More requests than these at a time are refused, without any number. */
  readonly inFlightMost?: number
  /** What the service does beside counting. Those that it refuses for another reason count in `otherwise`. */
  readonly habits?: Habits
  /**
   * True: every exchange begins with the text of the row and ends with it, as among processes of production. Default: a
   * quota is kept as an object, which is faster and must come to the same.
   */
  readonly asText?: boolean
}

interface Span {
  readonly fromS: number
  readonly toS: number
}

/** Counts are of the measured time. */
export interface Result {
  /** Served to us, of what the quota left us; windows that were begun earlier can make it exceed 1 by a little. */
  readonly utilisation: number
  readonly sent: number
  readonly served: number
  readonly refused: number
  /** Refused, though the limit had not just been cut and no unusual lot of foreign requests had just come. */
  readonly avoidable: number
  readonly unavailable: number
  /** Refused by another limit than the minute's. */
  readonly otherwise: number
  readonly foreignAsked: number
  readonly foreignRefused: number
  /** From the arrival of an interactive call until it is first sent, 99th percentile. */
  readonly interactiveP99Ms: number
  readonly bulkP99Ms: number
  /** Served and refused in each second from the start of the run, warm-up included. */
  readonly servedInSecond: readonly number[]
  readonly refusedInSecond: readonly number[]
  readonly exchanges: number
  /** All exchanges together by the stopwatch; 0 without one. */
  readonly exchangesMs: number
  /** Characters of the longest state of the row; 0 unless `asText`. */
  readonly longestState: number
}

const INTERACTIVE_PER_SECOND = 0.2
const SLOTS_IN_ALL = 160
const SNAPSHOT_EVERY_MS = 1_000
const BURST_EVERY_MS = 15_000
/** A refusal within this time of a cut of the limit cannot be avoided. */
const CUT_GRACE_MS = 1_000
const SURPRISE_MS = 750

/** @param stopwatch milliseconds of the machine, to measure what exchanges cost; nothing else depends on it */
export function simulate(
  scenario: Scenario,
  kind: QuotaKind,
  stopwatch: () => number = () => 0,
): Result {
  return new Run(scenario, kind, stopwatch).result()
}

class Run implements World {
  readonly events = new Events()
  readonly kind: QuotaKind
  readonly settings
  readonly seed: number
  private readonly scenario: Scenario
  private readonly stopwatch: () => number
  private readonly server: Server
  private readonly habit: Habit
  private readonly latency: Random
  private readonly arrivals: Random
  private readonly processes: Process[] = []
  private started = 0
  /** Requests that the service works on. */
  private inService = 0
  /** The row: an object, or its text. */
  private quota: PacedQuota
  private state: string | null = null
  private limit: number
  /** When foreign requests came, the last ones. */
  private foreignMs: number[] = []
  /** Lets through what others may ask for at most. */
  private readonly foreignMost: Server | null
  private readonly endMs: number
  private readonly warmUpMs: number
  private readonly counts = {
    sent: 0,
    served: 0,
    refused: 0,
    avoidable: 0,
    unavailable: 0,
    otherwise: 0,
    foreignAsked: 0,
    foreignRefused: 0,
    exchanges: 0,
    exchangesMs: 0,
    longestState: 0,
  }
  private readonly waitsMs = { interactive: [] as number[], bulk: [] as number[] }
  private readonly servedInSecond: number[]
  private readonly refusedInSecond: number[]

  constructor(scenario: Scenario, kind: QuotaKind, stopwatch: () => number) {
    this.scenario = scenario
    this.seed = scenario.seed
    this.kind = kind
    this.stopwatch = stopwatch
    this.settings = { ...DEFAULT_QUOTA_SETTINGS, reserve: scenario.reserve ?? 0 }
    this.limit = scenario.limit
    this.server = makeServer(scenario.server, scenario.limit, new Random(scenario.seed, 'server'))
    this.habit = new Habit(scenario.habits ?? {})
    const most = scenario.foreign?.most
    this.foreignMost =
      most === undefined
        ? null
        : makeServer('sliding log', most * scenario.limit, new Random(scenario.seed, 'most'))
    this.latency = new Random(scenario.seed, 'latency')
    this.arrivals = new Random(scenario.seed, 'calls')
    this.warmUpMs = scenario.warmUpS * 1_000
    this.endMs = this.warmUpMs + scenario.measuredS * 1_000
    this.servedInSecond = Array.from({ length: this.endMs / 1_000 }, () => 0)
    this.refusedInSecond = Array.from({ length: this.endMs / 1_000 }, () => 0)
    this.quota = kind.restore(null, 0)
  }

  result(): Result {
    const { scenario, events, counts } = this
    this.planIncidents()
    if (scenario.foreign) this.planForeign(scenario.foreign.share, scenario.foreign.bursts)
    for (let slot = 0; slot < scenario.processes; slot++) {
      events.at(10 + 370 * slot, () => this.startProcess(slot))
      this.planCalls(slot)
    }
    if (scenario.inMemory) this.keepSnapshots()
    events.runUntil(this.warmUpMs)
    const atWarm = this.server.left(this.warmUpMs)
    events.runUntil(this.endMs)
    // A bucket of a whole minute may be fuller or emptier at the end than it was.
    const carried = scenario.server === 'bucket' ? atWarm - this.server.left(this.endMs) : 0
    const foreignServed = counts.foreignAsked - counts.foreignRefused
    return {
      ...counts,
      utilisation: counts.served / (this.capacity() + carried - foreignServed),
      interactiveP99Ms: percentile(this.waitsMs.interactive, 0.99),
      bulkP99Ms: percentile(this.waitsMs.bulk, 0.99),
      servedInSecond: this.servedInSecond,
      refusedInSecond: this.refusedInSecond,
    }
  }

  send(call: Call, onAnswer: (answer: Answer) => void): void {
    const { events } = this
    const sentMs = events.nowMs
    const { upMs, downMs } = this.drawLatency()
    if (this.measuring()) {
      this.counts.sent += 1
      if (call.sentMs === null)
        this.waitsMs[call.interactive ? 'interactive' : 'bulk'].push(sentMs - call.arrivedMs)
    }
    call.sentMs ??= sentMs
    events.after(upMs, () => {
      const answer = this.isCrowded() ? this.refuseCrowd(sentMs) : this.serve(sentMs)
      const isServed = answer.status === 200
      if (isServed) this.inService += 1
      events.after(downMs, () => {
        if (isServed) this.inService -= 1
        onAnswer(answer)
      })
    })
  }

  private isCrowded(): boolean {
    const { inFlightMost } = this.scenario
    return inFlightMost !== undefined && this.inService >= inFlightMost
  }

  /** Nothing but the status tells. */
  private refuseCrowd(sentMs: number): Answer {
    if (sentMs >= this.warmUpMs) this.counts.otherwise += 1
    return { status: 429 }
  }

  private serve(sentMs: number): Answer {
    const { nowMs } = this.events
    const second = Math.floor(nowMs / 1_000)
    const counted = sentMs >= this.warmUpMs
    const outage = this.outageNow()
    if (outage) {
      if (counted) this.counts.unavailable += 1
      return {
        status: 503,
        limit: String(this.limit),
        remaining: String(this.server.remaining(nowMs)),
        retryAfter: String(outage.retryAfterS),
      }
    }
    const { answer, isOther } = this.habit.answer(
      nowMs,
      () => this.server.request(nowMs),
      () => ({ limit: this.limit, remaining: this.server.remaining(nowMs) }),
    )
    if (answer.status === 200) {
      this.servedInSecond[second]! += 1
      if (this.measuring()) this.counts.served += 1
    } else if (isOther) {
      if (counted) this.counts.otherwise += 1
    } else {
      this.refusedInSecond[second]! += 1
      if (counted) this.counts.refused += 1
      if (counted && !this.limitWasJustCut(sentMs) && !this.foreignSurprise())
        this.counts.avoidable += 1
    }
    return answer
  }

  /** On the way to the limiter, and back from there. One in a hundred takes up to 2.5 s longer. */
  private drawLatency(): { upMs: number; downMs: number } {
    const { latency } = this
    const factor = this.scenario.latencyFactor ?? 1
    const wholeMs = Math.min(800, Math.max(50, latency.logNormal(140, 0.55)))
    let upMs = wholeMs * latency.between(0.1, 0.5)
    let downMs = wholeMs - upMs
    if (latency.even() < 0.01) {
      const extraMs = latency.between(500, 2_500)
      if (latency.even() < 0.3) upMs += extraMs
      else downMs += extraMs
    }
    return { upMs: upMs * factor, downMs: downMs * factor }
  }

  private measuring(): boolean {
    return this.events.nowMs >= this.warmUpMs
  }

  private outageNow() {
    const nowS = this.events.nowMs / 1_000
    return this.scenario.outages?.find(({ fromS, toS }) => nowS >= fromS && nowS < toS)
  }

  private limitWasJustCut(sentMs: number): boolean {
    const { nowMs } = this.events
    return (this.scenario.limitChanges ?? []).some(
      ({ atS }) => nowMs >= atS * 1_000 && sentMs < atS * 1_000 + CUT_GRACE_MS,
    )
  }

  /** Others have just sent clearly more than they do on average outside bursts. */
  private foreignSurprise(): boolean {
    const { foreign } = this.scenario
    if (!foreign) return false
    const sinceMs = this.events.nowMs - SURPRISE_MS
    let recent = 0
    while (recent < this.foreignMs.length && this.foreignMs.at(-1 - recent)! > sinceMs) recent += 1
    const mean = ((1 - foreign.bursts) * foreign.share * this.limit * SURPRISE_MS) / 60_000
    return recent > mean + 3 * Math.sqrt(mean) + 1
  }

  // ---- the row ----------------------------------------------------------------------------------------------------

  private exchangeWithRow(exchange: PermitExchange) {
    const { counts, events } = this
    const { nowMs } = events
    if (this.storeIsAway()) return null
    const startedMs = this.stopwatch()
    if (this.scenario.asText) this.quota = this.kind.restore(this.state, nowMs)
    const { quota } = this
    const granted = quota.exchange(exchange, nowMs)
    let state = () => quota.state(nowMs)
    if (this.scenario.asText) {
      const text = quota.state(nowMs)
      this.state = text
      counts.longestState = Math.max(counts.longestState, text.length)
      state = () => text
    }
    counts.exchangesMs += this.stopwatch() - startedMs
    counts.exchanges += 1
    return { granted, state }
  }

  private storeIsAway(): boolean {
    const nowS = this.events.nowMs / 1_000
    return (this.scenario.storeAway ?? []).some(({ fromS, toS }) => nowS >= fromS && nowS < toS)
  }

  /** The only process keeps its quota in memory, and the row only now and then. */
  private keepSnapshots(): void {
    this.state = this.quota.state(this.events.nowMs)
    this.events.after(SNAPSHOT_EVERY_MS, () => this.keepSnapshots())
  }

  /** The quota of a single process, with its exchanges counted. */
  private ownQuota(): PacedQuota {
    return {
      exchange: (exchange, nowMs) => {
        const startedMs = this.stopwatch()
        const granted = this.quota.exchange(exchange, nowMs)
        this.counts.exchangesMs += this.stopwatch() - startedMs
        this.counts.exchanges += 1
        return granted
      },
      state: (nowMs) => this.quota.state(nowMs),
    }
  }

  // ---- what happens -----------------------------------------------------------------------------------------------

  private startProcess(slot: number): void {
    const { processes, demand, inMemory } = this.scenario
    this.started += 1
    const slots = Math.max(8, Math.ceil(SLOTS_IN_ALL / processes))
    const process = new Process(
      this,
      `${slot + 1}.${this.started}`,
      slots,
      demand === undefined,
      inMemory
        ? { own: this.ownQuota() }
        : { row: { exchange: (exchange) => this.exchangeWithRow(exchange) } },
    )
    this.processes[slot] = process
    process.start()
  }

  private planCalls(slot: number): void {
    const { processes, demand } = this.scenario
    const plan = (interactive: boolean, perSecond: () => number) => {
      const next = () =>
        this.events.after(this.arrivals.exponential((1_000 * processes) / perSecond()), () => {
          const arrivedMs = this.events.nowMs
          this.processes[slot]?.arrive({ interactive, arrivedMs, sentMs: null })
          next()
        })
      next()
    }
    plan(true, () => INTERACTIVE_PER_SECOND)
    if (demand !== undefined) plan(false, () => (demand * this.limit) / 60)
  }

  private planForeign(share: number, bursts: number): void {
    const { events } = this
    const random = new Random(this.scenario.seed, 'foreign')
    const perMs = (part: number) => (part * share * this.limit) / 60_000
    const steady = () =>
      events.after(random.exponential(1 / perMs(1 - bursts)), () => {
        this.foreignRequest()
        steady()
      })
    const burst = () =>
      events.after(random.exponential(BURST_EVERY_MS), () => {
        const size = Math.round(perMs(bursts) * BURST_EVERY_MS)
        for (let index = 0; index < size; index++)
          events.after(random.between(0, 1_000), () => this.foreignRequest())
        burst()
      })
    if (bursts < 1) steady()
    if (bursts > 0) burst()
  }

  private foreignRequest(): void {
    const { nowMs } = this.events
    if (this.foreignMost?.request(nowMs).status === 429) return
    this.foreignMs.push(nowMs)
    if (this.foreignMs.length > 4_000) this.foreignMs = this.foreignMs.slice(2_000)
    if (this.outageNow()) return
    const { status } = this.server.request(nowMs)
    if (!this.measuring()) return
    this.counts.foreignAsked += 1
    if (status !== 200) this.counts.foreignRefused += 1
  }

  private planIncidents(): void {
    const { events, scenario } = this
    for (const { atS, limit } of scenario.limitChanges ?? [])
      events.at(atS * 1_000, () => {
        this.server.setLimit(limit, events.nowMs)
        this.limit = limit
      })
    for (const { atS, awayS } of scenario.kills ?? []) {
      events.at(atS * 1_000, () => this.processes[0]!.die())
      events.at((atS + awayS) * 1_000, () => this.startProcess(0))
    }
    for (const { atS, awayS, state } of scenario.restarts ?? []) {
      events.at(atS * 1_000, () => {
        if (!scenario.inMemory && !scenario.asText) this.state = this.quota.state(events.nowMs)
        for (const process of this.processes) process.die()
      })
      events.at((atS + awayS) * 1_000, () => {
        if (state === 'lost') this.state = null
        this.quota = this.kind.restore(this.state, events.nowMs)
        for (let slot = 0; slot < scenario.processes; slot++) this.startProcess(slot)
      })
    }
  }

  /** What the limit allowed in the measured time, without the outages. */
  private capacity(): number {
    const { limitChanges = [], outages = [] } = this.scenario
    const endS = this.endMs / 1_000
    const within = (second: number) => Math.min(endS, Math.max(this.warmUpMs / 1_000, second))
    let limit = this.scenario.limit
    let sinceS = 0
    let capacity = 0
    for (const change of [...limitChanges, { atS: endS, limit: 0 }]) {
      let seconds = within(change.atS) - within(sinceS)
      for (const { fromS, toS } of outages) {
        const overlapS =
          Math.min(within(change.atS), within(toS)) - Math.max(within(sinceS), within(fromS))
        seconds -= Math.max(0, overlapS)
      }
      capacity += (limit * seconds) / 60
      limit = change.limit
      sinceS = change.atS
    }
    return capacity
  }
}

function percentile(values: number[], share: number): number {
  if (values.length === 0) return 0
  values.sort((one, other) => one - other)
  return values[Math.min(values.length - 1, Math.floor(share * values.length))]!
}
