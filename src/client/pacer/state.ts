// When may the next request go? A pure state machine: no clock, no I/O; every time is in seconds. It receives each request and
// each answer, and works out what kind of limiter the service has (src/README.md, "Pacing"):
// - `learning`: not known yet. Remaining is spent evenly over the minute in which a fixed window has to show its reset.
// - `window`: Remaining jumped to about Limit, so there is a reset. What is left is spent just before the next one.
// - `rolling`: Remaining came back in small gains, so each request counts for a minute of its own: we keep the same log.
// - `bucket`: as `rolling`, but Remaining never comes near Limit and a small, evenly filled bucket explains it better.
// Promises kept here: one request at a time while nothing is known; inside a window never more in flight than the lowest
// Remaining; nothing before a Retry-After has passed; never silent for long while a caller waits, so that no wait is endless.

import { SafetyMargin, RetryAfterGate, EvenSpacing } from './throttles.ts'
import { InFlight, isAccepted } from './in-flight.ts'
import type { SentRequest } from './in-flight.ts'
import { LimitGuess } from './limit-guess.ts'
import { OtherLimits } from './other-limits.ts'
import { OwnUsage } from './own-usage.ts'
import { PERIOD_S } from './reset-clock.ts'
import type { ResetClock } from './reset-clock.ts'
import { isSmallBurst, RollingModel } from './rolling-model.ts'
import { ReportedNumbers, type ParsedAnswer } from './reported-numbers.ts'
import { isJump, WindowModel } from './window-model.ts'
import type { WindowAnswer } from './window-model.ts'

export type LimiterModel = 'learning' | 'window' | 'rolling' | 'bucket'

/** The settings that the state machine respects. */
export interface PacerSettings {
  /** Share of the limit, 0 to 0.9, that is left to others. */
  readonly reserve: number
  /** Permits are leased: a process asks again only after a quarter of a second. */
  readonly isLeased: boolean
}

/** For display. */
export interface PacerView {
  readonly limit: number | null
  /** No answer reported the limit: it is a guess. */
  readonly isGuess: boolean
  readonly regime: LimiterModel
  /** The newest that was reported; null if none was. */
  readonly remaining: number | null
  readonly reset: { readonly from: number; readonly to: number } | null
  readonly gate: number
  /** The service asked for longer than any quota per minute needs; at `gate` one request asks again. */
  readonly isGateLong: boolean
  /** Accepted in the last minute; those of others are estimated. */
  readonly ours: number
  readonly others: number
}

/** A limit from here on counts as none. */
export const UNLIMITED_PER_MINUTE = 1_000_000
/** A probe that is not answered by then may be repeated. */
const PROBE_AGAIN_S = 1.5
/** After a longer idle time, one request asks before more follow. */
const SILENT_S = 60
/** How soon to ask again while an answer is awaited. */
const SOON_S = 0.25
/** Requests saved up while idle are spread over at least this time. */
const BURST_S = 0.2
/** The same where permits are leased: the next ones come only with the next lease. */
const LEASE_BURST_S = 0.5
/** An answer this much older than the newest shows nothing new. */
const STRAGGLER_S = 2
/** What is free beyond an even flow is used over this time. */
const SPREAD_S = 1.5
/** The same for what a reserve leaves to us. */
const RESERVE_SPREAD_S = 10
/** Without a reported Remaining, nothing warns of a small bucket: requests go little faster than evenly. */
const BLIND_HASTE = 1.25
/** Without a reported Remaining, what a refusal showed of others' use fades over this time. */
const BLIND_OTHERS_S = 60
/** The number of answers over which the share of refusals is computed. */
const ANSWERS_MAX = 2_000

export class PacerState {
  /** Null until an answer reported it. */
  limit: number | null = null
  private regime: LimiterModel = 'learning'
  private flights = new InFlight()
  private own = new OwnUsage()
  private windows = new WindowModel()
  private rolling = new RollingModel()
  private settings: PacerSettings = { reserve: 0, isLeased: false }
  private gate = new RetryAfterGate()
  /** Only one request may be out. */
  private isProbing = true
  private probedAt = -1e9
  /** Answers come without numbers: only its refusals show the service's limit. */
  private isMute = false
  private lastSentAt = -1e9
  /** The newest Remaining, and when its request was sent. */
  private newest = 0
  private newestSentAt = -1
  /** The highest Remaining under this limit. */
  private highest = 0
  /** Send time of the newest request that reported a limit, and since when this one holds. */
  private limitSentAt = -1
  private limitSince = 0
  /** The minute in which a fixed window has to show its reset, and what was sent in it. */
  private learningSince = 0
  private sentLearning = 0
  private caution = new SafetyMargin()
  private told = new ReportedNumbers()
  private otherLimits = new OtherLimits()
  /** If no answer reports the limit: the guess from its refusals. */
  private guess = new LimitGuess()
  /** The limit is such a guess. */
  private isGuess = false
  /** For bulk requests. */
  private pace = new EvenSpacing()
  private refused = 0
  private answers = 0
  /** An interactive call was refused: until then the next credit is its own. */
  private interactiveUntil = 0
  /** Our recent requests per second. */
  private ownRate = 0
  /** The store is unavailable: this process uses only its own share. */
  private isAlone = false

  /** From the result of `JSON.stringify`. */
  static restore(data: object): PacerState {
    const state = Object.assign(new PacerState(), data)
    state.flights = InFlight.restore(state.flights)
    state.own = OwnUsage.restore(state.own)
    state.windows = WindowModel.restore(state.windows)
    state.rolling = RollingModel.restore(state.rolling)
    state.gate = Object.assign(new RetryAfterGate(), state.gate)
    state.caution = Object.assign(new SafetyMargin(), state.caution)
    state.pace = Object.assign(new EvenSpacing(), state.pace)
    state.told = ReportedNumbers.restore(state.told)
    state.otherLimits = OtherLimits.restore(state.otherLimits)
    state.guess = LimitGuess.restore(state.guess)
    return state
  }

  configure(settings: PacerSettings): void {
    this.settings = settings
  }

  /**
   * Continues without the other processes, which now count as any other user: `ownUse` are this process's accepted requests of
   * the last minute, by 10 s, newest first.
   */
  goAlone(ownUse: readonly number[], t: number): void {
    const all = this.own.lastMinute(t)
    this.isAlone = true
    this.flights.clear()
    this.own = new OwnUsage()
    for (let index = ownUse.length - 1; index >= 0; index--) {
      const middle = t - 10 * index - 5
      this.own.add(middle, middle, ownUse[index])
    }
    const own = this.own.lastMinute(t)
    const siblings = Math.max(0, all - own)
    this.ownRate = own / PERIOD_S
    this.pace.slow(0)
    this.windows.epoch.othersPerS += siblings / PERIOD_S
    this.rolling.others.raw += siblings
    if (this.limit === null) return
    const { bucket } = this.rolling
    bucket.takenByOthers(bucket.othersPerS + siblings / PERIOD_S, this.limit)
  }

  /** A caller knows better than the service's last Retry-After: one request asks at once. */
  open(t: number): void {
    this.gate.open(t)
    this.isProbing = true
    this.probedAt = -1e9
  }

  view(t: number): PacerView {
    const { limit, regime, rolling, windows } = this
    const { clock } = windows
    // A reset that no process was there to see.
    const passed = clock ? Math.max(0, Math.ceil((t - clock.to) / PERIOD_S)) * PERIOD_S : 0
    let others = Math.max(0, windows.epoch.othersPerS) * PERIOD_S
    if (regime === 'rolling') others = rolling.others.entries
    if (regime === 'bucket') others = rolling.bucket.othersPerS * PERIOD_S
    const isKnown = limit !== null && limit < UNLIMITED_PER_MINUTE
    return {
      limit: limit === null ? null : Math.round(limit),
      isGuess: this.isGuess,
      regime,
      remaining: limit === null || this.told.isSilent() ? null : this.newest,
      reset: clock && { from: clock.from + passed, to: clock.to + passed },
      gate: this.gate.until,
      isGateLong: this.gate.isLong,
      ours: this.own.lastMinute(t),
      others: isKnown && t - this.newestSentAt <= PERIOD_S ? Math.round(others) : 0,
    }
  }

  // ---- What may be sent ----------------------------------------------------------------------------------------------

  /** 0: send now, and call `onSend` at once. Else the time at which to ask again, always after `t`. */
  next(t: number, interactive: boolean): number {
    const answer = this.decide(t, interactive)
    return answer === 0 ? 0 : Math.max(answer, t + 0.002)
  }

  private decide(t: number, interactive: boolean): number {
    this.forgetLost(t)
    if (t < this.gate.until) return this.gate.until
    if (this.limit === null && !this.isMute) return this.flights.size === 0 ? 0 : t + SOON_S
    if (this.isProbing) return this.probe(t)
    const isUnlimited = this.limit === null || this.limit >= UNLIMITED_PER_MINUTE
    const perSecond = isUnlimited ? UNLIMITED_PER_MINUTE / PERIOD_S : this.perSecond()
    if (this.flights.size >= this.flights.cap(perSecond)) return t + SOON_S
    if (isUnlimited) return 0
    if (this.isResetDue(t)) return this.startProbe(t)
    const allowance = this.allowance(t)
    // The reserve is kept for people, whose commands these are.
    if (allowance < 1 && !interactive) return this.whenAllowed(t, allowance)
    if (this.isSilent(t)) return this.startProbe(t)

    const credit = this.credit(t)
    const need = this.need(t, interactive)
    const isShort = credit < need - 1e-9
    if (interactive) this.interactiveUntil = isShort ? t + 1 : 0
    if (isShort) return this.whenCredit(t, credit, need)
    // Interactive calls skip pacing and caution, never credit.
    if (interactive) return 0
    const rate = Math.min(this.rate(t, credit, allowance), this.rateOfReserve(allowance))
    const burst = this.settings.isLeased ? LEASE_BURST_S : BURST_S
    const at = this.pace.next(t, rate, Math.max(1, burst * perSecond))
    return at !== 0 && this.isTooQuiet(t) ? this.startProbe(t) : at
  }

  private probe(t: number): number {
    const again = this.probedAt + PROBE_AGAIN_S
    if (this.flights.size > 0 && t < again - 1e-9) return again
    this.probedAt = t
    return 0
  }

  private startProbe(t: number): number {
    this.isProbing = true
    this.probedAt = t
    return 0
  }

  /** Whether one request has to ask if a window was reset; and what follows from the passing of time alone. */
  private isResetDue(t: number): boolean {
    if (this.regime === 'learning' && t > this.learningSince + PERIOD_S + 1) {
      // No reset within a minute of steady use: there are no windows.
      if (this.sentLearning > 0.1 * this.limit!) this.become('rolling', t)
      else this.learningSince = t
      this.sentLearning = 0
    }
    const { clock } = this.windows
    if (clock === null) return false
    if (t > clock.to + 2 + 5 * this.flights.latency) {
      clock.runOn(t)
      return true
    }
    if (t >= clock.to && clock.probedFor !== clock.to) {
      clock.probedFor = clock.to
      return true
    }
    return false
  }

  /** No request was sent for so long that what is known may be wrong. */
  private isSilent(t: number): boolean {
    if (this.flights.size > 0) return false
    const silence = t - Math.max(this.gate.until, this.lastSentAt)
    if (silence >= SILENT_S) return true
    if (this.regime === 'window' || this.isOnlyUser(t)) return false
    return silence >= 5 + 3 / this.perSecond()
  }

  /** There is credit, a caller waits, and nothing is sent: the assumption that holds it back may be wrong. */
  private isTooQuiet(t: number): boolean {
    if (this.flights.size > 0) return false
    return t - Math.max(this.gate.until, this.lastSentAt) >= 5 + 3 / this.perSecond()
  }

  /** No other process uses a rolling quota: credit comes back only as our own requests grow old. */
  private isOnlyUser(t: number): boolean {
    const { raw, entries } = this.rolling.others
    const isPlausible = entries < 0.5 && raw > -3 - 0.02 * this.limit!
    return this.regime === 'rolling' && isPlausible && this.own.atMost(t, this.flights) > 0
  }

  /** What the reserve leaves to us: its share is never ours, so that a client that asks for up to that much is not refused. */
  private allowance(t: number): number {
    const { reserve } = this.settings
    if (reserve === 0) return Infinity
    const used =
      this.regime === 'window'
        ? this.windows.epoch.ownAccepted + 1 + this.flights.size
        : this.own.atMost(t, this.flights)
    return Math.floor((1 - reserve) * this.limit!) - used
  }

  /** Our share is used up; it comes back for certain. */
  private whenAllowed(t: number, allowance: number): number {
    const { clock } = this.windows
    const at = clock ? clock.to : this.own.whenFree(t, 1 - allowance)
    return at !== null && at > t ? at : t + SOON_S
  }

  /** Requests that would be accepted now, as far as is known. */
  private credit(t: number): number {
    const limit = this.limit!
    const { rolling, flights } = this
    if (this.regime === 'bucket')
      return Math.min(rolling.bucket.now(t, limit), Math.max(2, this.highest + 1))
    if (this.regime !== 'rolling') return this.windows.epoch.lowest - flights.size
    const others = Math.floor(rolling.others.entries + 0.4)
    const log = limit - others - this.own.atMost(t, flights)
    // A visible surplus, such as a bucket's saved tokens or others' requests growing old, may be used at once.
    const surplus = rolling.surplus(t, limit)
    return surplus === null
      ? log
      : Math.max(log, surplus.credit - flights.sentAfter(surplus.sentAt))
  }

  /** The credit required for one more request. */
  private need(t: number, interactive: boolean): number {
    if (interactive) return this.regime === 'bucket' ? 1.2 : 1
    let need = t < this.interactiveUntil ? 2 : 1
    if (this.regime === 'bucket') need += 0.5
    if (this.regime === 'rolling') need += Math.floor(this.caution.now(t, this.highest) + 0.5)
    if (this.keepsOneForReset(t)) need += 1
    return need
  }

  /** One request is kept to find a reset whose time is not known well. */
  private keepsOneForReset(t: number): boolean {
    const { clock } = this.windows
    if (clock === null || this.limit! < 300) return false
    return clock.to - clock.from > 0.25 && t < middleOf(clock)
  }

  private whenCredit(t: number, credit: number, need: number): number {
    const { clock } = this.windows
    if (clock) {
      if (this.keepsOneForReset(t) && credit >= 1) return middleOf(clock)
      return t < clock.to ? clock.to : this.soon(t)
    }
    if (this.regime === 'bucket') {
      const gain = this.rolling.bucket.gain(this.limit!)
      if (gain > 0.02 * this.perSecond()) return t + (need - credit) / gain
    }
    if (this.regime === 'rolling') {
      const at = this.own.whenFree(t, Math.ceil(need - credit))
      if (at !== null && (this.isOnlyUser(t) || at - t < 3)) return at
    }
    return this.soon(t)
  }

  /** After a short silence, asks again with one request, whatever is assumed: an assumption may be wrong. */
  private soon(t: number): number {
    if (this.flights.size > 0) return t + SOON_S
    const silence = Math.min(5, Math.max(0.5, 3 / this.perSecond()))
    const at = Math.max(this.lastSentAt, this.gate.until) + silence
    return t >= at ? this.startProbe(t) : at
  }

  /** Bulk requests per second to allow. */
  private rate(t: number, credit: number, allowance: number): number {
    const base = this.perSecond()
    const share = this.share(t)
    const haste = this.otherLimits.most(t)
    const free = Math.min(credit - this.kept(t), allowance)
    if (this.regime === 'rolling') {
      const used = this.own.atMost(t, this.flights)
      const most = Math.min(this.told.isSilent() ? BLIND_HASTE : 2, haste)
      // Towards the minute's average: a quarter of a minute with little use would come back every minute.
      const mean = (used + Math.max(0, share * free)) / PERIOD_S
      const spreadS = isSmallBurst(this.highest, this.limit!) ? 1 : SPREAD_S
      return Math.min(most * base, Math.max(0.02 * base, mean + (share * free) / spreadS))
    }
    if (this.regime === 'bucket') {
      const { othersPerS } = this.rolling.bucket
      const rate = this.isAlone ? share * (base + free) : base - othersPerS + free
      return Math.min(Math.min(2, haste) * base, Math.max(0, rate))
    }
    // What is left is spent until just before the reset, minus what others will take until then.
    const { clock, epoch } = this.windows
    const end = clock ? clock.from : this.learningSince + PERIOD_S
    const left = end - 0.1 * this.flights.latency - t
    const forOthers = this.isAlone ? 0 : epoch.othersNow(t) * Math.max(0, left - 3)
    const ours = Math.min(credit - this.kept(t) - forOthers, allowance)
    const rate = (share * Math.max(0, ours)) / Math.max(left - 0.3, 0.25)
    return Math.min((clock ? haste : Math.min(1.5, haste)) * base, rate)
  }

  /** Our share next to a reserve, spread over the minute: what goes out in a rush comes back in a rush a minute later. */
  private rateOfReserve(allowance: number): number {
    if (allowance === Infinity || this.regime === 'window') return Infinity
    const even = (1 - this.settings.reserve) * this.perSecond()
    return even + allowance / RESERVE_SPREAD_S
  }

  /** Credit that is held back. */
  private kept(t: number): number {
    const isBucket = this.regime === 'bucket'
    // Tokens kept in a bucket cost nothing: it fills up anyway.
    const part = isSmallBurst(this.highest, this.limit!) ? 0.004 : 0.03
    const cushion = isBucket ? Math.min(1 + part * this.limit!, 0.4 * this.highest) : 0
    return cushion + this.caution.now(t, this.highest)
  }

  /** The part of the quota that is ours while the store is unavailable: our part of the total recent use. */
  private share(t: number): number {
    if (!this.isAlone) return 1
    let own = Math.max(0.02 * this.perSecond(), this.ownRate)
    let others = Math.max(0, this.windows.epoch.othersPerS)
    if (this.regime === 'bucket') others = this.rolling.bucket.othersPerS
    if (this.regime === 'rolling') {
      own = Math.max(1, this.own.atMost(t, this.flights))
      others = this.rolling.others.entries
    }
    return Math.min(1, 0.02 + own / (own + others))
  }

  private perSecond(): number {
    return Math.max(1, this.limit!) / PERIOD_S
  }

  // ---- What happened -------------------------------------------------------------------------------------------------

  /** A request with this id is on its way. */
  onSend(id: string, t: number): void {
    const { number, lowest, lowestSentAt } = this.windows.epoch
    const { newest, newestSentAt } = this
    this.flights.add({ id, sentAt: t, epoch: number, lowest, lowestSentAt, newest, newestSentAt })
    this.sentLearning++
    this.pace.sent()
    this.rolling.bucket.level -= 1
    this.ownRate = this.ownRate * Math.exp(-(t - this.lastSentAt) / 15) + 1 / 15
    this.lastSentAt = t
  }

  /** It was never sent. False if it is not known, such as one that was given up. */
  onUnused(id: string): boolean {
    if (!this.flights.take(id)) return false
    this.sentLearning--
    this.pace.unsent()
    this.rolling.bucket.level += 1
    return true
  }

  /** It was sent and no answer came: it may have used its share. */
  onLost(id: string, t: number): void {
    const sent = this.flights.take(id)
    if (sent) this.countLost(sent, t)
  }

  private countLost(sent: SentRequest, t: number): void {
    this.own.add(t, sent.sentAt)
    this.windows.epoch.useOne()
  }

  private forgetLost(t: number): void {
    for (let sent = this.flights.takeForgotten(t); sent; sent = this.flights.takeForgotten(t))
      this.countLost(sent, t)
  }

  /**
   * A request was answered at `endedAt`, and is reported at `t`. A request that this state does not know, because it was sent
   * while the store was unavailable or has been given up, counts as used, and one probe asks for the current numbers.
   */
  onAnswer(id: string, seen: ParsedAnswer, sentAt: number, endedAt: number, t: number): void {
    const known = this.flights.take(id)
    const wasProbe = sentAt >= this.probedAt - 1e-3
    this.isProbing = known === undefined
    const accepted = isAccepted(seen.status)
    const latency = Math.max(0, endedAt - sentAt)
    // A limiter counts early in a call.
    const countedAt = sentAt + 0.3 * Math.min(latency, 1)
    if (accepted) this.own.add(endedAt, countedAt)
    else this.rolling.bucket.level += 1
    this.flights.learn(latency, seen.status, sentAt, t)
    const wait = this.obey(seen, endedAt)
    if (!known) return
    const sent = { ...known, sentAt }
    if (seen.status !== 401) this.hear(seen, sent, wait, t)
    const numbers = this.numbersOf(seen, t)
    if (numbers === null) {
      if (accepted) this.windows.epoch.useOne()
      return
    }
    if (seen.status === 429 && this.isOther(sent, { ...numbers, wait }, t)) return
    this.isMute = false
    if (sentAt < this.limitSentAt - STRAGGLER_S) {
      if (accepted && known.epoch === this.windows.epoch.number) this.windows.epoch.ownAccepted += 1
      return
    }
    const isNewLimit = numbers.limit !== this.limit
    if (isNewLimit && sentAt < this.limitSentAt) return
    this.limitSentAt = Math.max(this.limitSentAt, sentAt)
    if (isNewLimit) this.takeLimit(sent, numbers, countedAt, t)
    else {
      this.newest = numbers.remaining
      this.newestSentAt = sentAt
      this.highest = Math.max(this.highest, numbers.remaining)
      this.answers++
      this.hearPromise(sent, seen, endedAt, t)
      const answer = { ...numbers, accepted, wasProbe, inFlight: this.flights.size, t }
      if (this.see(sent, answer, countedAt) === 'settled') return
    }
    if (seen.status === 429) this.onRefusal(sent, wait, t)
  }

  /** Waits as the service asks. Returns the wait. */
  private obey({ status, retryAfter }: ParsedAnswer, endedAt: number): number {
    if (isAccepted(status)) this.gate.opened()
    if (status !== 429 && status !== 503) return 0
    if (status === 503) {
      this.isProbing = true
      this.pace.slow()
    }
    const wait = this.gate.close(retryAfter, endedAt, status === 429)
    if (this.gate.isLong) this.isProbing = true
    return wait
  }

  /** Limit and Remaining, if both are known. */
  private numbersOf(seen: ParsedAnswer, t: number): { limit: number; remaining: number } | null {
    // Without a valid key, the numbers belong to another quota.
    if (seen.status === 401) return null
    const limit = seen.limit ?? this.limit
    const remaining = this.told.remainingOf(seen, t)
    if (limit === null || remaining === null) return null
    return { limit, remaining: Math.min(remaining, limit) }
  }

  /** What an answer reports, or omits, about the numbers themselves. */
  private hear(seen: ParsedAnswer, sent: SentRequest, wait: number, t: number): void {
    const wasSilent = this.told.isSilent()
    const used = this.own.lastMinute(t)
    const isIdle = this.limit !== null && used < 0.5 * this.limit
    if (seen.status === 429) {
      if (this.limit !== null) this.told.refused(this.limit, t)
      if (seen.limit === null && (this.limit === null || this.isGuess)) {
        this.isProbing = true
        const limit = this.guess.onRefusal({ sentAt: sent.sentAt, wait, used }, this.limit, t)
        if (limit !== null) this.goBlind(limit, true, t)
      }
    } else if (isAccepted(seen.status) && seen.status < 500) {
      this.told.accepted(seen.remaining, t, isIdle)
      this.otherLimits.accepted(sent.sentAt)
      this.guess.onAccepted(t)
      if (this.isGuess) this.limit = this.guess.grow(this.limit!, used, t)
      if (this.limit === null && seen.limit === null) this.isMute = true
      const isNew = seen.limit !== null && seen.limit !== this.limit
      if (seen.remaining === null && isNew) this.goBlind(seen.limit!, false, t)
    }
    const isSilent = this.told.isSilent()
    if (isSilent && this.limit !== null && (!wasSilent || this.regime !== 'rolling'))
      this.goBlind(this.limit, this.isGuess, t)
    if (isSilent) this.rolling.fadeOthers(t, BLIND_OTHERS_S)
    // Remaining is reported again.
    if (wasSilent && !isSilent) this.become('learning', t)
  }

  /** No answer reports what remains: our own log is compared with the limit. */
  private goBlind(limit: number, isGuess: boolean, t: number): void {
    if (this.limit === null) this.pace.restart(t)
    if (limit !== this.limit) this.limitSince = t
    this.limit = limit
    this.isGuess = isGuess
    this.isMute = false
    this.become('rolling', t)
    this.rolling.beginBlind(t)
  }

  /** A refusal by another limit than the minute's: it only says to wait. */
  private isOther(
    sent: SentRequest,
    { limit, remaining, wait }: { limit: number; remaining: number; wait: number },
    t: number,
  ): boolean {
    if (this.limit === null || limit !== this.limit) return false
    const { sentAt } = sent
    const credit = this.credit(t)
    if (!this.otherLimits.isOther({ sentAt, remaining, wait }, credit, limit, t)) return false
    if (remaining === 0) this.isProbing = true
    this.otherLimits.refused(t)
    this.pace.slow(0)
    return true
  }

  /** A new limit is adopted at once: what this answer says of it is the latest fact. Kind and clock stay. */
  private takeLimit(
    sent: SentRequest,
    { limit, remaining }: { limit: number; remaining: number },
    countedAt: number,
    t: number,
  ): void {
    if (this.limit === null) {
      this.learningSince = t
      this.sentLearning = 0
      this.pace.restart(t)
    }
    this.limit = limit
    this.isGuess = false
    this.limitSince = t
    this.newest = remaining
    this.newestSentAt = sent.sentAt
    this.highest = remaining
    this.caution.forget()
    this.pace.slow()
    this.windows.begin(remaining, sent.sentAt, t)
    this.windows.forgetReported()
    this.beginRolling(remaining, countedAt, t, this.flights.sentAfter(sent.sentAt))
    this.rolling.forgetSurplus()
  }

  private beginRolling(remaining: number, countedAt: number, t: number, sentAfter: number): void {
    const ownUse = this.own.likely(countedAt, this.flights)
    this.rolling.begin(this.limit!, remaining, t, ownUse, sentAfter)
  }

  /** The service documents when its window ends. */
  private hearPromise(
    sent: SentRequest,
    { status, resetIn }: ParsedAnswer,
    endedAt: number,
    t: number,
  ): void {
    if (resetIn === null || status === 503) return
    // Whole seconds, rounded up.
    const span = { from: sent.sentAt + Math.max(0, resetIn - 1), to: endedAt + resetIn }
    if (this.windows.hearPromise(span, t)) this.become('window', t)
  }

  /** Learns from an answer. `settled`: if it is a refusal, it needs no further handling. */
  private see(sent: SentRequest, answer: WindowAnswer, countedAt: number): 'settled' | 'seen' {
    const { windows } = this
    if (answer.accepted && windows.confirmReported(sent, answer)) return this.enterWindow(answer.t)
    if (this.regime === 'rolling' || this.regime === 'bucket')
      return this.seeRolling(sent, answer, countedAt)
    const shown = windows.see(sent, answer)
    if (shown === 'reset') return this.enterWindow(answer.t)
    if (shown === 'trickle') this.become('rolling', answer.t)
    if (shown === 'no reset') this.become('learning', answer.t)
    return shown === 'straggler' ? 'settled' : 'seen'
  }

  private enterWindow(t: number): 'settled' {
    this.regime = 'window'
    this.pace.restart(t)
    return 'settled'
  }

  private seeRolling(
    sent: SentRequest,
    answer: WindowAnswer,
    countedAt: number,
  ): 'settled' | 'seen' {
    const { limit, remaining, accepted, t } = answer
    if (!accepted) return 'seen'
    const gain = remaining - sent.newest
    const isLarge = remaining >= 0.6 * limit && isJump(gain, limit, t - sent.newestSentAt)
    if (isLarge && t - this.limitSince > STRAGGLER_S) {
      this.windows.reset(sent, answer, sent.newestSentAt)
      return this.enterWindow(t)
    }
    const ownUse = this.own.likely(countedAt, this.flights)
    const sentAfter = this.flights.sentAfter(sent.sentAt)
    const { highest } = this
    this.rolling.see(sent.sentAt, { limit, remaining, countedAt, t, ownUse, sentAfter, highest })
    const believed = this.regime === 'bucket' ? 'bucket' : 'rolling'
    this.become(this.rolling.better(believed, highest, limit, t), t)
    return 'seen'
  }

  private onRefusal(sent: SentRequest, wait: number, t: number): void {
    this.refused++
    // Whole seconds, rounded up.
    this.windows.refused(sent, { from: sent.sentAt + wait - 1, to: t + wait }, t)
    const ownUse = this.own.atMost(t, this.flights)
    this.rolling.refused(this.limit!, ownUse, t, this.regime === 'rolling')
    if (this.regime === 'bucket' && this.refused > 10 && this.refused > 0.15 * this.answers) {
      this.rolling.rejectBucket(t)
      this.become('rolling', t)
    }
    if (this.answers > ANSWERS_MAX) {
      this.answers /= 2
      this.refused /= 2
    }
    if (this.regime !== 'learning') this.caution.refused(t, this.limit!, this.highest)
  }

  private become(regime: LimiterModel, t: number): void {
    if (regime === this.regime) return
    const wasWindowed = this.regime === 'learning' || this.regime === 'window'
    this.regime = regime
    this.windows.begin(this.newest, this.newestSentAt, t)
    if (regime !== 'window') this.windows.clock = null
    if (wasWindowed) this.beginRolling(this.newest, t, t, this.flights.size)
    if (regime === 'learning') {
      this.learningSince = t
      this.sentLearning = 0
    }
  }
}

const middleOf = (clock: ResetClock): number => (clock.from + clock.to) / 2
