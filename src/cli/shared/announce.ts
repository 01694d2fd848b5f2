// What a run will send, and how long that takes, before it is sent.

import type { ImportSync } from '../../../config/index.ts'
import { countText } from '../../core/format.ts'
import type { BulkPriority } from '../../core/ports.ts'
import { requestsOf } from '../../import/index.ts'
import { createClients, type CommandContext } from './context.ts'
import { readKeyQuota } from '../../resources/run-quota.ts'
import { forecast } from './forecast.ts'

/** Prints it in one line. */
export async function announce(
  context: CommandContext,
  sending: {
    sync: ImportSync
    priority: BulkPriority
    rows: number
    appliesPlan: boolean
    signal: AbortSignal
  },
): Promise<void> {
  const { sync, priority, rows, appliesPlan, signal } = sending
  const quotas = await context.openQuotas()
  const connections = await createClients(context, 'run', quotas)
  try {
    const { client, keyFingerprint } = await connections.connect(sync.import.to)
    const key = { origin: client.origin, fingerprint: keyFingerprint }
    const quota = await readKeyQuota(quotas, key)
    const forecastOf = (requests: number) =>
      forecast(requests, priority, quota, { limit: null, reserve: 0 })
    const { perMinute } = forecastOf(1)
    const sent = { rows, known: 0, appliesPlan, perMinute }
    const { text } = forecastOf(await requestsOf(client, sync.import, sent))
    if (!signal.aborted)
      context.terminal.err(`${sync.name}  ${countText(rows, 'row')} to send: ${text}`)
  } finally {
    await connections.close()
    await quotas.close()
  }
}
