// `records-sync dev`: Temporal server, worker and Records Service in one, until Ctrl-C.

import { dirname, join } from 'node:path'
import type { Config } from '../../../config/index.ts'
import { startEmbedded } from '../../dev/embedded.ts'
import { EXIT, temporalOf, type CommandContext } from '../shared/context.ts'
import { terminalLogger } from '../shared/logging.ts'
import { untilSignal } from './service.ts'

export interface DevOptions {
  readonly service: boolean
  readonly servicePort: number
  /** Requests a minute that the service allows; default: its own. */
  readonly limit?: number
  readonly temporalPort: number
}

export async function dev(context: CommandContext, options: DevOptions): Promise<number> {
  const { terminal } = context
  const config = await context.loadConfig()
  const embedded = await startEmbedded({
    configFile: context.configFile,
    env: context.env,
    stateDir: join(dirname(context.configFile), '.records-sync'),
    servicePort: options.service ? options.servicePort : null,
    serviceLimit: options.limit ?? null,
    temporalPort: options.temporalPort,
    keepHistory: true,
    logger: terminalLogger(terminal),
    progress: (line) => terminal.err(line),
  })
  terminal.out(`Temporal UI      ${embedded.temporal.uiUrl}`)
  terminal.out(`Temporal server  ${embedded.temporal.address}`)
  if (embedded.service) {
    terminal.out(`Records Service  ${embedded.service.url} (in memory)`)
    terminal.out(`  documentation  ${embedded.service.url}/docs`)
    terminal.out(`  its key is in  ${embedded.keyFile}`)
  }
  const command = context.hint('run SYNC')
  terminal.out(otherTerminalText(command, embedded.temporal.address, config, context.env))
  await untilSignal()
  terminal.err('Stopping: batches in flight are settled first. Once more ends at once.')
  await embedded.stop()
  return EXIT.done
}

/** The last line: the command for another terminal, with the server's address where commands would look for another one. */
export function otherTerminalText(
  command: string,
  address: string,
  config: Config,
  env: NodeJS.ProcessEnv,
): string {
  const there = { ...env }
  delete there['TEMPORAL_ADDRESS']
  const where = temporalOf(config, there).address === address ? '' : `TEMPORAL_ADDRESS=${address} `
  return `A worker is polling. In another terminal: ${where}${command}. Ctrl-C stops all parts.`
}
