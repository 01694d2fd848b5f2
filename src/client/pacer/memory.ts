// Everything that the pacer remembers of a quota. It is saved as it is, as JSON, and other processes go on with it: the names of
// the fields are the format. Times are seconds.

import { InFlight } from './in-flight.ts'
import { LimitGuess } from './limit-guess.ts'
import { OtherLimits } from './other-limits.ts'
import { OwnUsage } from './own-usage.ts'
import { ReportedNumbers } from './reported-numbers.ts'
import { PERIOD_S } from './reset-clock.ts'
import { RefusedLimit } from './refused-limit.ts'
import { RollingEstimates } from './rolling-estimates.ts'
import { EvenSpacing, RetryAfterGate, SafetyMargin } from './throttles.ts'
import { WindowTracker } from './window-tracker.ts'

/** What the pacer assumes of the service's limiter (`models/`). */
export type LimiterModelName = 'learning' | 'window' | 'rolling' | 'bucket'

export interface PacerSettings {
  /** Share of the limit, 0 to 0.9, that is left to others. */
  readonly reserve: number
  /** Permits are leased: a process asks again only after a quarter of a second. */
  readonly isLeased: boolean
}

/** A limit from here on counts as none. */
export const UNLIMITED_PER_MINUTE = 1_000_000

export class PacerMemory {
  /** Null until an answer reported it. */
  limit: number | null = null
  regime: LimiterModelName = 'learning'
  flights = new InFlight()
  own = new OwnUsage()
  /** What answers show if the service counts in windows, and if it does not. */
  windows = new WindowTracker()
  rolling = new RollingEstimates()
  settings: PacerSettings = { reserve: 0, isLeased: false }
  gate = new RetryAfterGate()
  /** Only one request may be out. */
  isProbing = true
  probedAt = -1e9
  /** Answers come without numbers: only its refusals show the service's limit. */
  isMute = false
  lastSentAt = -1e9
  /** The newest Remaining, and when its request was sent. */
  newest = 0
  newestSentAt = -1
  /** The highest Remaining under this limit. */
  highest = 0
  /** Send time of the newest request that reported a limit, and since when this one holds. */
  limitSentAt = -1
  limitSince = 0
  /** The minute in which a fixed window has to show its reset, and what was sent in it. */
  learningSince = 0
  sentLearning = 0
  caution = new SafetyMargin()
  told = new ReportedNumbers()
  refusedLimit = new RefusedLimit()
  otherLimits = new OtherLimits()
  /** If no answer reports the limit: the guess from its refusals. */
  guess = new LimitGuess()
  /** The limit is such a guess. */
  isGuess = false
  /** For bulk requests. */
  pace = new EvenSpacing()
  refused = 0
  answers = 0
  /** An interactive call was refused: until then the next credit is its own. */
  interactiveUntil = 0
  /** Our recent requests per second. */
  ownRate = 0
  /** The store is unavailable: this process uses only its own share. */
  isAlone = false

  /** From the result of `JSON.stringify`. */
  static restore(data: object): PacerMemory {
    const memory = Object.assign(new PacerMemory(), data)
    const parts = Object.entries(RESTORE).map(([part, restore]) => [
      part,
      restore(memory[part as Part]),
    ])
    return Object.assign(memory, Object.fromEntries(parts))
  }
}

/** The fields whose methods JSON loses. */
type Part = {
  [Field in keyof PacerMemory]: PacerMemory[Field] extends PacerSettings
    ? never
    : PacerMemory[Field] extends object
      ? Field
      : never
}[keyof PacerMemory]

const RESTORE: { readonly [Field in Part]: (data: object) => PacerMemory[Field] } = {
  flights: InFlight.restore,
  own: OwnUsage.restore,
  windows: WindowTracker.restore,
  rolling: RollingEstimates.restore,
  gate: (data) => Object.assign(new RetryAfterGate(), data),
  caution: (data) => Object.assign(new SafetyMargin(), data),
  pace: (data) => Object.assign(new EvenSpacing(), data),
  told: (data) => Object.assign(new ReportedNumbers(), data),
  refusedLimit: (data) => Object.assign(new RefusedLimit(), data),
  otherLimits: (data) => Object.assign(new OtherLimits(), data),
  guess: LimitGuess.restore,
}

/** Its limit is known. */
export type LimitedMemory = PacerMemory & { limit: number }

export const isLimited = (memory: PacerMemory): memory is LimitedMemory =>
  memory.limit !== null && memory.limit < UNLIMITED_PER_MINUTE

/** The even rate. */
export const perSecond = ({ limit }: LimitedMemory): number => Math.max(1, limit) / PERIOD_S
