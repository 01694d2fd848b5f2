// When may the next request go? A pure state machine: no clock, no I/O; every time is in seconds. It receives each request and
// each answer, works out what kind of limiter the service has (src/README.md, "Pacing"), and asks the model of that kind.

import { whenNext } from './admission.ts'
import type { SentRequest } from './in-flight.ts'
import { isLimited, PacerMemory, type PacerSettings } from './memory.ts'
import { modelOf } from './models/index.ts'
import { onAnswer } from './on-answer.ts'
import { OwnUsage } from './own-usage.ts'
import type { ParsedAnswer } from './reported-numbers.ts'
import { PERIOD_S } from './reset-clock.ts'

export class PacerState {
  private readonly memory: PacerMemory

  constructor(memory = new PacerMemory()) {
    this.memory = memory
  }

  static restore(data: object): PacerState {
    return new PacerState(PacerMemory.restore(data))
  }

  toJSON(): object {
    return this.memory
  }

  get limit(): number | null {
    return this.memory.limit
  }

  configure(settings: PacerSettings): void {
    this.memory.settings = settings
  }

  /**
   * Continues without the other processes, which now count as any other user: `ownUse` are this process's accepted requests of
   * the last minute, by 10 s, newest first.
   */
  goAlone(ownUse: readonly number[], t: number): void {
    const { memory } = this
    const all = memory.own.lastMinute(t)
    memory.isAlone = true
    memory.flights.clear()
    memory.own = new OwnUsage()
    for (let index = ownUse.length - 1; index >= 0; index--) {
      const middle = t - 10 * index - 5
      memory.own.add(middle, middle, ownUse[index])
    }
    const own = memory.own.lastMinute(t)
    const siblings = Math.max(0, all - own)
    memory.ownRate = own / PERIOD_S
    memory.pace.slow(0)
    memory.windows.epoch.othersPerS += siblings / PERIOD_S
    memory.rolling.others.raw += siblings
    if (memory.limit === null) return
    const { bucket } = memory.rolling
    bucket.takenByOthers(bucket.othersPerS + siblings / PERIOD_S, memory.limit)
  }

  /** A caller knows better than the service's last Retry-After: one request asks at once. */
  open(t: number): void {
    this.memory.gate.open(t)
    this.memory.isProbing = true
    this.memory.probedAt = -1e9
  }

  /** For display; what others use is an estimate. */
  view(t: number) {
    const { memory } = this
    const { limit, gate } = memory
    const { clock } = memory.windows
    // A reset that no process was there to see.
    const passed = clock ? Math.max(0, Math.ceil((t - clock.to) / PERIOD_S)) * PERIOD_S : 0
    const isKnown = isLimited(memory) && t - memory.newestSentAt <= PERIOD_S
    return {
      limit: limit === null ? null : Math.round(limit),
      isGuess: memory.isGuess,
      regime: memory.regime,
      remaining: limit === null || memory.told.isSilent() ? null : memory.newest,
      ignoredUntil: memory.told.ignoredUntil(t),
      reset: clock && { from: clock.from + passed, to: clock.to + passed },
      gate: gate.until,
      isGateLong: gate.isLong,
      ours: memory.own.lastMinute(t),
      others: isKnown ? Math.round(modelOf(memory).others(memory)) : 0,
    }
  }

  /** 0: send now, and call `onSend` at once. Else the time at which to ask again, always after `t`. */
  next(t: number, interactive: boolean): number {
    this.forgetLost(t)
    const at = whenNext(this.memory, interactive, t)
    return at === 0 ? 0 : Math.max(at, t + 0.002)
  }

  /** A request with this id is on its way. */
  onSend(id: string, t: number): void {
    const { memory } = this
    const { number, lowest, lowestSentAt } = memory.windows.epoch
    const { newest, newestSentAt } = memory
    memory.flights.add({ id, sentAt: t, epoch: number, lowest, lowestSentAt, newest, newestSentAt })
    memory.sentLearning++
    memory.pace.sent()
    memory.rolling.bucket.level -= 1
    memory.ownRate = memory.ownRate * Math.exp(-(t - memory.lastSentAt) / 15) + 1 / 15
    memory.lastSentAt = t
  }

  /** It was never sent. False if it is not known, such as one that was given up. */
  onUnused(id: string): boolean {
    const { memory } = this
    if (!memory.flights.take(id)) return false
    memory.sentLearning--
    memory.pace.unsent()
    memory.rolling.bucket.level += 1
    return true
  }

  /** It was sent and no answer came: it may have used its share. */
  onLost(id: string, t: number): void {
    const sent = this.memory.flights.take(id)
    if (sent) this.countLost(sent, t)
  }

  private countLost(sent: SentRequest, t: number): void {
    this.memory.own.add(t, sent.sentAt)
    this.memory.windows.epoch.useOne()
  }

  private forgetLost(t: number): void {
    const { flights } = this.memory
    for (let sent = flights.takeForgotten(t); sent; sent = flights.takeForgotten(t))
      this.countLost(sent, t)
  }

  /**
   * A request was answered at `endedAt`, and is reported at `t`. A request that this state does not know, because it was sent
   * while the store was unavailable or has been given up, counts as used, and one probe asks for the current numbers.
   */
  onAnswer(id: string, seen: ParsedAnswer, sentAt: number, endedAt: number, t: number): void {
    onAnswer(this.memory, this.memory.flights.take(id), { seen, sentAt, endedAt, t })
  }
}
