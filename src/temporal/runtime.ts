// The native runtime of Temporal's SDK, one per process: what it logs, and where it serves its own metrics.

import { IllegalStateError } from '@temporalio/common'
import {
  DefaultLogger,
  Runtime,
  type LogEntry,
  type PrometheusMetricsExporter,
} from '@temporalio/worker'
import type { Logger } from '../core/ports.ts'

/** Metrics options of the runtime, and the page that it then serves. */
interface MetricsPage {
  readonly exporter: PrometheusMetricsExporter['prometheus']
  readonly url: string
}

const quiet = [/No workflows registered/]
const installTriesMax = 5

/** Where this process serves Temporal's own metrics; null if the runtime was installed without them. */
let metricsUrl: string | null = null

/**
 * Installs the runtime; a second worker of the same process shares the first one's.
 * @param newPage a page on a free port; null: no metrics
 * @returns the address of its metrics, or null
 */
export async function installRuntime(
  logger: Logger,
  newPage: (() => Promise<MetricsPage>) | null,
): Promise<string | null> {
  const write = ({ level, message, meta }: LogEntry) => {
    if (quiet.some((pattern) => pattern.test(message))) return
    const fields = {
      workflow: meta?.['workflowId'] as string | undefined,
      activity: meta?.['activityType'] as string | undefined,
    }
    const say = level === 'ERROR' ? logger.error : level === 'WARN' ? logger.warn : logger.debug
    say.call(logger, { ...fields, text: message }, 'temporal')
  }
  for (let tries = 1; ; tries++) {
    // If no port stays free for long enough, the runtime has no metrics.
    const page = newPage !== null && tries < installTriesMax ? await newPage() : null
    try {
      Runtime.install({
        logger: new DefaultLogger('WARN', write),
        telemetryOptions: {
          logging: { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } },
          ...(page && { metrics: { prometheus: page.exporter } }),
        },
        // The starter of the worker decides what a signal means: `dev` has a server to stop after it.
        shutdownSignals: [],
      })
      metricsUrl = page?.url ?? null
      return metricsUrl
    } catch (error) {
      if (error instanceof IllegalStateError) return metricsUrl
      if (page === null) throw error
    }
  }
}
