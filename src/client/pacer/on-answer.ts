// What an answer shows: of the numbers that the service reports, of its limit, and of the kind of its limiter. Times are seconds.

import { isAccepted, type SentRequest } from './in-flight.ts'
import { isLimited, type LimitedMemory, type PacerMemory } from './memory.ts'
import { enterWindow, modelOf, switchTo } from './models/index.ts'
import type { ParsedAnswer } from './reported-numbers.ts'

/** An answer this much older than the newest shows nothing new. */
const STRAGGLER_S = 2
/** Without a reported Remaining, what a refusal showed of others' use fades over this time. */
const BLIND_OTHERS_S = 60
/** The number of answers over which the share of refusals is computed. */
const ANSWERS_MAX = 2_000

/** A request was sent at `sentAt`, answered at `endedAt`, and is reported at `t`. */
export interface TimedAnswer {
  readonly seen: ParsedAnswer
  readonly sentAt: number
  readonly endedAt: number
  readonly t: number
}

/** The answer to a request that the memory knew. */
interface KnownAnswer extends TimedAnswer {
  readonly sent: SentRequest
  readonly accepted: boolean
  /** It answers a probe. */
  readonly wasProbe: boolean
  /** About when the limiter counted the request. */
  readonly countedAt: number
  readonly wait: number
}

interface Numbers {
  readonly limit: number
  readonly remaining: number
}

export function onAnswer(
  memory: PacerMemory,
  known: SentRequest | undefined,
  answer: TimedAnswer,
): void {
  const { seen, sentAt, endedAt, t } = answer
  const wasProbe = sentAt >= memory.probedAt - 1e-3
  memory.isProbing = known === undefined
  const accepted = isAccepted(seen.status)
  const latency = Math.max(0, endedAt - sentAt)
  // A limiter counts early in a call.
  const countedAt = sentAt + 0.3 * Math.min(latency, 1)
  if (accepted) memory.own.add(endedAt, countedAt)
  else memory.rolling.bucket.level += 1
  memory.flights.learn(latency, seen.status, sentAt, t)
  if (isCrowded(memory, seen, t)) {
    memory.flights.crowded(sentAt, t)
    return
  }
  if (seen.status === 429) memory.flights.uncrowded()
  const wait = obey(memory, answer)
  if (!known) return
  // It was leased before it was sent.
  known.sentAt = sentAt
  // Field by field, here and below: a spread is slow, and every answer comes by.
  learn(memory, {
    seen: accepted ? memory.refusedLimit.heard(seen, t) : seen,
    sentAt,
    endedAt,
    t,
    sent: known,
    accepted,
    wasProbe,
    countedAt,
    wait,
  })
}

/** Of a guessed limit the share from which a refusal is one of the minute's quota. */
const SPENT_SHARE = 0.8

/**
 * Whether a refusal is of too many requests at a time: it says nothing but that, others are in flight, and as far as is known the
 * quota is not spent. One that is refused alone shows that it was not that.
 */
function isCrowded(memory: PacerMemory, seen: ParsedAnswer, t: number): boolean {
  const { status, limit, remaining, retryAfter, resetIn } = seen
  if (status !== 429 || memory.flights.size === 0) return false
  if ([limit, remaining, retryAfter, resetIn].some((number) => number !== null)) return false
  if (!isLimited(memory)) return true
  if (memory.isGuess) return memory.own.lastMinute(t) < SPENT_SHARE * memory.limit
  return modelOf(memory).credit(memory, t) > 3 + 0.05 * memory.limit
}

/** Waits as the service asks. Returns the wait. */
function obey(memory: PacerMemory, { seen, endedAt }: TimedAnswer): number {
  const { status, retryAfter } = seen
  if (isAccepted(status)) memory.gate.opened()
  if (status !== 429 && status !== 503) return 0
  if (status === 503) {
    memory.isProbing = true
    memory.pace.slow()
  }
  const wait = memory.gate.close(retryAfter, endedAt, status === 429)
  if (memory.gate.isLong) memory.isProbing = true
  return wait
}

function learn(memory: PacerMemory, answer: KnownAnswer): void {
  const { seen, sent, accepted, t } = answer
  if (seen.status !== 401) hear(memory, answer)
  const numbers = numbersOf(memory, seen, t)
  if (numbers === null) {
    if (accepted) memory.windows.epoch.useOne()
    return
  }
  const isRefusal = seen.status === 429
  if (isRefusal && isOther(memory, answer, numbers)) return
  memory.isMute = false
  if (sent.sentAt < memory.limitSentAt - STRAGGLER_S) {
    const { epoch } = memory.windows
    if (accepted && sent.epoch === epoch.number) epoch.ownAccepted += 1
    return
  }
  const isNewLimit = numbers.limit !== memory.limit
  if (isNewLimit && sent.sentAt < memory.limitSentAt) return
  memory.limitSentAt = Math.max(memory.limitSentAt, sent.sentAt)
  if (isNewLimit) takeLimit(memory, answer, numbers)
  const limited = memory as LimitedMemory
  if (!isNewLimit && learnRemaining(limited, answer, numbers) === 'straggler') return
  if (isRefusal) learnRefusal(limited, answer)
}

/** Limit and Remaining, if both are known. */
function numbersOf(memory: PacerMemory, seen: ParsedAnswer, t: number): Numbers | null {
  // Without a valid key, the numbers belong to another quota.
  if (seen.status === 401) return null
  const limit = seen.limit ?? memory.limit
  const remaining = memory.told.remainingOf(seen, t)
  if (limit === null || remaining === null) return null
  return { limit, remaining: Math.min(remaining, limit) }
}

/** What an answer reports, or omits, about the numbers themselves. */
function hear(memory: PacerMemory, answer: KnownAnswer): void {
  const { seen, sent, wait, t } = answer
  const { told } = memory
  const wasSilent = told.isSilent()
  const used = memory.own.lastMinute(t)
  const isIdle = memory.limit !== null && used < 0.5 * memory.limit
  if (seen.status === 429) {
    if (memory.limit !== null) told.refused(memory.limit, t)
    memory.refusedLimit.refused(seen.limit, memory.limit, used, t)
    if (seen.limit === null && (memory.limit === null || memory.isGuess)) {
      memory.isProbing = true
      const limit = memory.guess.onRefusal({ sentAt: sent.sentAt, wait, used }, memory.limit, t)
      if (limit !== null) goBlind(memory, limit, true, t)
    }
  } else if (isAccepted(seen.status) && seen.status < 500) {
    told.accepted(seen, t, isIdle)
    hearLimit(memory, answer, used)
  }
  const isSilent = told.isSilent()
  if (isSilent && memory.limit !== null && (!wasSilent || memory.regime !== 'rolling'))
    goBlind(memory, memory.limit, memory.isGuess, t)
  if (isSilent) memory.rolling.fadeOthers(t, BLIND_OTHERS_S)
  if (wasSilent && !isSilent) believe(memory, answer)
}

/** What an accepted answer reports of the limit, if that is all that counts of its numbers; `used`: ours in the last minute. */
function hearLimit(memory: PacerMemory, { seen, sent, t }: KnownAnswer, used: number): void {
  const { told, guess } = memory
  memory.otherLimits.accepted(sent.sentAt)
  guess.onAccepted(t)
  if (memory.isGuess) memory.limit = guess.grow(memory.limit!, used, t)
  if (memory.limit === null && seen.limit === null) memory.isMute = true
  if (told.remainingOf(seen, t) !== null) return
  if (seen.limit === null) {
    // Its last limit is as old as the numbers that proved wrong.
    if (told.ignoredUntil(t) === null || memory.limit === null || memory.isGuess) return
    if (memory.refusedLimit.has(memory.limit)) return
    guess.begin(t)
    memory.isGuess = true
    return
  }
  const isNew = seen.limit !== memory.limit || memory.isGuess
  if (!isNew || sent.sentAt < memory.limitSentAt) return
  memory.limitSentAt = sent.sentAt
  goBlind(memory, seen.limit, false, t)
}

/** Remaining is reported again. */
function believe(memory: PacerMemory, { seen, sent, t }: KnownAnswer): void {
  if (seen.remaining !== null) {
    memory.newest = seen.remaining
    memory.newestSentAt = sent.sentAt
    memory.highest = seen.remaining
  }
  switchTo(memory, 'learning', t)
}

/** No answer reports what remains: our own log is compared with the limit. */
function goBlind(memory: PacerMemory, limit: number, isGuess: boolean, t: number): void {
  if (memory.limit === null) memory.pace.restart(t)
  if (limit !== memory.limit) memory.limitSince = t
  memory.limit = limit
  memory.isGuess = isGuess
  memory.isMute = false
  switchTo(memory, 'rolling', t)
  memory.rolling.beginBlind(t)
}

/** A refusal by another limit than the minute's: it only says to wait. */
function isOther(memory: PacerMemory, { sent, wait, t }: KnownAnswer, numbers: Numbers): boolean {
  const { limit, remaining } = numbers
  if (limit !== memory.limit) return false
  const credit = modelOf(memory).credit(memory as LimitedMemory, t)
  const refusal = { sentAt: sent.sentAt, remaining, wait }
  if (!memory.otherLimits.isOther(refusal, credit, limit, t)) return false
  if (remaining === 0) memory.isProbing = true
  memory.otherLimits.refused(t)
  memory.pace.slow(0)
  return true
}

/** A new limit is adopted at once: what this answer says of it is the latest fact. Model and clock stay. */
function takeLimit(
  memory: PacerMemory,
  { sent, countedAt, t }: KnownAnswer,
  { limit, remaining }: Numbers,
): void {
  const { flights, windows, rolling } = memory
  if (memory.limit === null) {
    memory.learningSince = t
    memory.sentLearning = 0
    memory.pace.restart(t)
  }
  memory.limit = limit
  memory.isGuess = false
  memory.limitSince = t
  memory.newest = remaining
  memory.newestSentAt = sent.sentAt
  memory.highest = remaining
  memory.caution.forget()
  memory.pace.slow()
  windows.begin(remaining, sent.sentAt, t)
  windows.forgetReported()
  const ownUse = memory.own.likely(countedAt, flights)
  rolling.begin(limit, remaining, t, ownUse, flights.sentAfter(sent.sentAt))
  rolling.forgetSurplus()
}

/** What remains of the same limit, and which model fits. */
function learnRemaining(
  memory: LimitedMemory,
  answer: KnownAnswer,
  numbers: Numbers,
): 'straggler' | 'seen' {
  const { sent, accepted, wasProbe, countedAt, t } = answer
  memory.newest = numbers.remaining
  memory.newestSentAt = sent.sentAt
  memory.highest = Math.max(memory.highest, numbers.remaining)
  memory.answers++
  hearPromise(memory, answer)
  const { limit, remaining } = numbers
  const seen = { limit, remaining, accepted, wasProbe, inFlight: memory.flights.size, t }
  const shown =
    accepted && memory.windows.confirmReported(sent, seen)
      ? 'window'
      : modelOf(memory).onAnswer(memory, sent, seen, countedAt)
  if (shown === 'straggler') return shown
  if (shown === 'window') enterWindow(memory, t)
  else if (shown !== null) switchTo(memory, shown, t)
  return 'seen'
}

/** The service documents when its window ends. */
function hearPromise(memory: LimitedMemory, { seen, sent, endedAt, t }: KnownAnswer): void {
  const { status, resetIn } = seen
  if (resetIn === null || status === 503) return
  // Whole seconds, rounded up.
  const span = { from: sent.sentAt + Math.max(0, resetIn - 1), to: endedAt + resetIn }
  if (memory.windows.hearPromise(span, t)) switchTo(memory, 'window', t)
}

function learnRefusal(memory: LimitedMemory, { sent, wait, t }: KnownAnswer): void {
  memory.refused++
  // Whole seconds, rounded up.
  memory.windows.refused(sent, { from: sent.sentAt + wait - 1, to: t + wait }, t)
  memory.rolling.refused(memory.limit, t)
  const shown = modelOf(memory).onRefusal(memory, t)
  if (shown !== null) switchTo(memory, shown, t)
  if (memory.answers <= ANSWERS_MAX) return
  memory.answers /= 2
  memory.refused /= 2
}
