// The quota that a run uses, in words: what it waits for, and who refuses it.

import type { Config } from '../../../config/index.ts'
import { UNLIMITED_PER_MINUTE } from '../../client/pacer/memory.ts'
import type { QuotaView } from '../../client/pacer/view.ts'
import { systemClock, type QuotaStore } from '../../core/ports.ts'
import type { Run } from '../../ledger/ledger.ts'
import type { CommandContext } from './context.ts'
import { quotaWaitText, readRunQuota } from '../../resources/run-quota.ts'
import { findQuotas } from './forecast.ts'
import { countText, elapsedText, formatNumber, utc } from './terminal.ts'

const READ_EVERY_MS = 2_000

/** That every request is refused, since when, and what the service asks for; null if it does not refuse all. */
export function refusalsText(
  { refusals }: Pick<QuotaView, 'refusals'>,
  nowMs: number,
): string | null {
  if (refusals === null) return null
  const { sinceMs, requests, retryAfterMs } = refusals
  const asked =
    retryAfterMs === null ? 'no Retry-After' : `Retry-After ${elapsedText(retryAfterMs)}`
  return `the service refuses every request (429) since ${utc(sinceMs, nowMs)}: ${countText(requests, 'refusal')}, ${asked}`
}

/** The same for programs. */
export const refusalsToJson = ({ refusals }: Pick<QuotaView, 'refusals'>) =>
  refusals && {
    since: new Date(refusals.sinceMs).toISOString(),
    requests: refusals.requests,
    retry_after_seconds: refusals.retryAfterMs === null ? null : refusals.retryAfterMs / 1_000,
  }

/** What a run waits for, or `quota 520 of 600 a minute, 80 by others`; null where nothing limits. */
export function quotaText(
  view: QuotaView,
  run: Pick<Run, 'kind' | 'purpose'>,
  nowMs: number,
): string | null {
  const { limitPerMinute: limit, lastMinute } = view
  const refused = refusalsText(view, nowMs)
  const waits = quotaWaitText(view, run, nowMs)
  if (refused !== null || waits !== null) return [waits, refused].filter(Boolean).join(': ')
  if (limit === null || limit >= UNLIMITED_PER_MINUTE) return null
  const { ours, others } = lastMinute
  const theirs = Math.round(others)
  const used = formatNumber(Math.round(ours + others))
  const shared = theirs > 0 ? `, ${formatNumber(theirs)} by others` : ''
  return `quota ${used} of ${formatNumber(limit)} a minute${shared}`
}

/** The quotas of runs that are looked at again and again; each is read every 2 s at most. */
export class RunQuotas {
  readonly #context: CommandContext
  readonly #config: Config
  readonly #views = new Map<number, { readonly view: QuotaView | null; readonly at: number }>()
  #store: QuotaStore | null = null

  constructor(context: CommandContext, config: Config) {
    this.#context = context
    this.#config = config
  }

  async of(run: Run): Promise<QuotaView | null> {
    const now = systemClock.now()
    const known = this.#views.get(run.id)
    if (known && now - known.at < READ_EVERY_MS) return known.view
    this.#store ??= await findQuotas(this.#context)
    const view = this.#store && (await readRunQuota(this.#config, this.#store, run))
    this.#views.set(run.id, { view, at: now })
    return view
  }

  forget(run: number): void {
    this.#views.delete(run)
  }

  async close(): Promise<void> {
    await this.#store?.close()
  }
}
