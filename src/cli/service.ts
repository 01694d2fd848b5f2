// `records-sync service`: runs the Records Service in the box, in memory.

import { startService, type RunningService } from '../service/index.ts'
import { EXIT, type CommandContext } from './context.ts'
import { terminalLogger } from './logging.ts'
import { figure } from './terminal.ts'

export interface ServiceCommandOptions {
  readonly port: number
  readonly limit: number | null
  readonly seedRecords: number
  readonly latencyMs: number
  readonly log: boolean
}

/** Resolves on the first SIGINT or SIGTERM. */
export function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve('SIGINT'))
    process.once('SIGTERM', () => resolve('SIGTERM'))
  })
}

export async function service(
  context: CommandContext,
  options: ServiceCommandOptions,
): Promise<number> {
  const { terminal } = context
  const running: RunningService = await startService({
    port: options.port,
    limitPerMinute: options.limit,
    seedRecords: options.seedRecords,
    latencyMs: options.latencyMs,
    ...(options.log ? { logger: terminalLogger(terminal) } : {}),
  })
  if (context.json) terminal.out(JSON.stringify({ url: running.url, key: running.key }))
  else {
    terminal.out(
      `Records Service at ${terminal.style('bold', running.url)} (in memory; org ${running.orgId})`,
    )
    terminal.out(`  key            ${running.key}`)
    terminal.out(`  documentation  ${running.url}/docs`)
    terminal.out(`  OpenAPI        ${running.url}/rest/v1/openapi.json`)
    if (options.seedRecords > 0) terminal.out(`  ${figure(options.seedRecords)} contacts`)
    terminal.out(
      'The key is shown once and lives as long as this process. Ctrl-C stops the service.',
    )
  }
  await untilSignal()
  await running.close()
  return EXIT.done
}
