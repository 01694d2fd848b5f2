// The row of an org after some time of work, made by the real OrgQuota against the service's real limiter. Time is counted,
// not waited for, so the same row comes out each time.

import { DEFAULT_QUOTA_SETTINGS, OrgQuota } from '../../../src/client/pacer/org-quota.ts'
import type { QuotaSettings, PermitOutcome } from '../../../src/client/pacer/org-quota.ts'
import type { Answer, Priority } from '../../../src/core/ports.ts'
import { createLimiter, type LimitModel } from '../../../src/service/limits/limiter.ts'

export interface Work {
  readonly model?: LimitModel
  /** Null: none. */
  readonly limit: number | null
  readonly seconds: number
  /** Callers of each process that always wait, by priority. */
  readonly users: Readonly<Record<string, Partial<Record<Priority, number>>>>
  /** Requests a second of others. */
  readonly others?: number
  readonly settings?: Partial<QuotaSettings>
  /** When the work begins. Default: 2026-11-21 14:00:12. */
  readonly startMs?: number
  /** The last answer of all, in place of the limiter's. */
  readonly last?: Answer
}

const usualStartMs = Date.UTC(2026, 10, 21, 14, 0, 12, 300)
const stepMs = 50
const latencyMs = 100

/** The text of the row, and the time at its end. */
export function quotaRow(work: Work): { state: string; nowMs: number } {
  const { model = 'fixed', limit, seconds, users, others = 0, last, startMs = usualStartMs } = work
  const settings = { ...DEFAULT_QUOTA_SETTINGS, ...work.settings }
  const limiter = createLimiter(model, limit)
  const quota = OrgQuota.restore(null, startMs)
  const none = { interactive: 0, import: 0, mirror: 0, backfill: 0 }
  const inFlight = new Map<
    string,
    { readonly id: string; readonly sentMs: number; readonly end: Answer }[]
  >()
  const endMs = startMs + seconds * 1_000
  const order = Object.entries(users)
  let foreign = 0
  for (let nowMs = startMs; nowMs < endMs; nowMs += stepMs) {
    for (foreign += (others * stepMs) / 1_000; foreign >= 1; foreign--) limiter.take(nowMs)
    // Nobody is always first.
    if (order.length > 1) order.push(order.shift()!)
    for (const [name, wanted] of order) {
      const sent = inFlight.get(name) ?? []
      const isAnswered = ({ sentMs }: { readonly sentMs: number }) => sentMs + latencyMs <= nowMs
      const reports: PermitOutcome[] = sent
        .filter(isAnswered)
        .map((request) => ({ ...request, endedMs: request.sentMs + latencyMs }))
      const { permits } = quota.exchange(
        { user: { id: name, name }, reports, wanted: { ...none, ...wanted }, everyMs: 0, settings },
        nowMs,
      )
      const fresh = permits.map(({ id }) => ({
        id,
        sentMs: nowMs,
        end: answerOf(limiter.take(nowMs)),
      }))
      inFlight.set(name, [...sent.filter((request) => !isAnswered(request)), ...fresh])
    }
  }
  // Whoever is still waiting for answers gets them, and asks once more.
  for (const [name, sent] of inFlight) {
    const reports = sent.map((request, index) => ({
      ...request,
      endedMs: endMs,
      end: last && index === sent.length - 1 ? last : request.end,
    }))
    const wanted = { ...none, ...users[name] }
    quota.exchange({ user: { id: name, name }, reports, wanted, everyMs: 0, settings }, endMs)
  }
  return { state: quota.state(endMs), nowMs: endMs }
}

function answerOf({
  limit,
  remaining,
  retryAfterS,
}: ReturnType<ReturnType<typeof createLimiter>['take']>): Answer {
  return {
    status: retryAfterS === null ? 200 : 429,
    limit: String(limit),
    remaining: String(remaining),
    ...(retryAfterS === null ? {} : { retryAfter: String(retryAfterS) }),
  }
}
