// The quota that a run uses, as all processes know it.

import type { Config } from '../../../config/index.ts'
import { UNLIMITED_PER_MINUTE } from '../../client/pacer/memory.ts'
import type { QuotaView } from '../../client/pacer/view.ts'
import { ownValue } from '../../core/json.ts'
import type { QuotaStore } from '../../core/ports.ts'
import type { Run } from '../../ledger/ledger.ts'
import { readKeyQuota } from './forecast.ts'
import { formatNumber, utc } from './terminal.ts'

/** The quota of the org of the run's key; null before the first request, or if its connection is not configured any more. */
export async function readRunQuota(
  { connections, syncs }: Pick<Config, 'connections' | 'syncs'>,
  quotas: QuotaStore,
  run: Run,
): Promise<QuotaView | null> {
  const sync = ownValue(syncs, run.sync)
  const connection = sync && connections[sync.kind === 'import' ? sync.import.to : sync.mirror.from]
  const { keyFingerprint: fingerprint } = run
  if (!connection || fingerprint === null) return null
  return await readKeyQuota(quotas, { origin: new URL(connection.service).origin, fingerprint })
}

/** `quota 520 of 600 a minute, 80 by others`; null where nothing limits. */
export function quotaText(
  { closedUntilMs, limitPerMinute: limit, lastMinute }: QuotaView,
  nowMs: number,
): string | null {
  if (closedUntilMs !== null) return `waits for the quota until ${utc(closedUntilMs, nowMs)}`
  if (limit === null || limit >= UNLIMITED_PER_MINUTE) return null
  const { ours, others } = lastMinute
  const theirs = Math.round(others)
  const used = formatNumber(Math.round(ours + others))
  const shared = theirs > 0 ? `, ${formatNumber(theirs)} by others` : ''
  return `quota ${used} of ${formatNumber(limit)} a minute${shared}`
}
