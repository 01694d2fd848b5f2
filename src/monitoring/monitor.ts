// The parts of a worker's monitoring, put together once for the composition root.

import type { Config, Environment } from '../../config/index.ts'
import type { Clock, Logger } from '../core/ports.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { syncGauges } from './sync-gauges.ts'
import { withLedgerMetrics } from './ledger-metrics.ts'
import { openEndpoint, type EndpointOptions, type MonitoringEndpoint } from './endpoint.ts'
import { createMetrics } from './metrics.ts'
import { notifier } from './notify.ts'

export interface MonitorOptions {
  /** The configuration that the worker started with. */
  readonly config: Config
  /** The current configuration. */
  loadConfig(): Promise<Config>
  readonly env: Environment
  readonly ledger: Ledger
  readonly clock: Clock
  readonly logger: Logger
}

export function createMonitor(options: MonitorOptions) {
  const { config, clock, logger } = options
  const metrics = createMetrics(clock)
  const people = notifier({ ...options, metrics })
  let endpoint: MonitoringEndpoint | null = null
  return {
    /** The ledger, with metrics. */
    ledger: withLedgerMetrics(options.ledger, metrics, clock),
    requests: metrics.requests,
    runs: people,
    /** Whether the schedule of a sync is missing on the server, by sync; null if that is not known. */
    noteSchedules(isMissing: ReadonlyMap<string, boolean> | null): void {
      metrics.scheduleMissing.clear()
      for (const [sync, missing] of isMissing ?? [])
        metrics.scheduleMissing.set({ sync }, Number(missing))
    },
    /**
     * Listens at `worker.listen`, if that is set; returns the address, or null.
     * @throws SyncError `listen_failed`
     */
    async listen(at: Pick<EndpointOptions, 'temporalPage' | 'checks'>): Promise<string | null> {
      const { listen, hosts = [] } = config.worker
      if (listen === undefined) return null
      endpoint = await openEndpoint({
        ...at,
        listen,
        hosts,
        metrics,
        logger,
        collect: syncGauges({ ...options, metrics }),
      })
      logger.info({ address: endpoint.address }, 'worker_listening')
      return endpoint.address
    },
    /** Sends pending notifications, and closes the endpoint. */
    async close(): Promise<void> {
      await people.close()
      await endpoint?.close()
    },
  }
}
