// The report of a run, as `records-sync report` makes it: its errors, its work over time. It reads what it shows, which of a large run
// takes a while; so it has a page of its own.

import { UNLIMITED_PER_MINUTE } from '../../client/pacer/memory.ts'
import { collectReport } from '../../report/collect.ts'
import type { RunReport } from '../../report/run-report.ts'
import { readRunQuota } from '../../resources/run-quota.ts'
import type { ConsoleDeps } from '../deps.ts'
import { ITEMS_MAX_MS } from '../readings.ts'

/** Null if there is no such run. @throws LedgerAway */
export async function readReport(
  { parts, readings, now }: ConsoleDeps,
  id: number,
): Promise<RunReport | null> {
  const { config } = await readings.config()
  return await readings.ledger(async (ledger) => {
    const run = await ledger.run(id)
    if (run === null || run.mode !== 'run') return null
    const quota = await readings.quotas((store) => readRunQuota(config, store, run))
    const limit = quota?.limitPerMinute ?? null
    return await collectReport(ledger, run, {
      madeAt: new Date(now()).toISOString(),
      hint: (command) => parts.hint(command),
      ui: parts.uiOf(config),
      limitPerMinute: limit === null || limit >= UNLIMITED_PER_MINUTE ? null : limit,
    })
  }, ITEMS_MAX_MS)
}
