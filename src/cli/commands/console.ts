// `records-sync console`: pages on this machine that show every sync, until Ctrl-C.

import {
  CONSOLE_PORT,
  isLoopbackName,
  startConsole,
  type ConsoleParts,
  type RunningConsole,
} from '../../console/index.ts'
import { ConfigError, SyncError } from '../../core/errors.ts'
import { uiAddress } from '../../core/temporal/temporal-ui.ts'
import { EXIT, temporalOf, type CommandContext } from '../shared/context.ts'
import { findQuotas } from '../shared/forecast.ts'
import { terminalLogger } from '../shared/logging.ts'
import { workOn } from '../shared/worked-on.ts'
import { readScheduleStatuses } from '../views/schedule-status.ts'
import { printJson } from '../json.ts'
import { untilSignal } from './service.ts'

export interface ConsoleCommandOptions {
  readonly host: string
  readonly port: number
}

export async function consoleCommand(
  context: CommandContext,
  { host, port }: ConsoleCommandOptions,
): Promise<number> {
  const { terminal } = context
  if (!isLoopbackName(host))
    throw new ConfigError(
      '--host',
      `${host} is no address of this machine alone, and the console has no login; expected 127.0.0.1, ::1 or localhost. From another machine use a tunnel: ssh -L ${port}:127.0.0.1:${port} THIS-MACHINE`,
    )
  const running = await startConsole({
    parts: consoleParts(context),
    host,
    port,
    logger: terminalLogger(terminal, 'warn'),
  })
  if (context.json) printJson(terminal, { url: running.url })
  else {
    terminal.out(`Console  ${terminal.style('bold', running.url)}`)
    terminal.out('It reads, and changes nothing. Ctrl-C stops it; runs go on.')
  }
  await untilSignal()
  await running.close()
  return EXIT.done
}

/** A console next to other parts of this process: at the usual port, or where that is taken at a free one. */
export async function startOwnConsole(context: CommandContext): Promise<RunningConsole> {
  const at = async (port: number) =>
    await startConsole({
      parts: consoleParts(context),
      host: '127.0.0.1',
      port,
      logger: terminalLogger(context.terminal, 'warn'),
    })
  try {
    return await at(CONSOLE_PORT)
  } catch (error) {
    if (error instanceof SyncError && error.code === 'port_taken') return await at(0)
    throw error
  }
}

/** What the console reads, as commands do. */
export const consoleParts = (context: CommandContext): ConsoleParts => ({
  loadConfig: () => context.loadConfig(),
  openLedger: () => context.findLedger({ thread: true }),
  openQuotas: () => findQuotas(context),
  readSchedules: (config) => readScheduleStatuses(context, config),
  workOn: (config, live) => workOn(context, config, live),
  uiOf(config) {
    const { address, namespace } = temporalOf(config, context.env)
    const ui = uiAddress(address, config.temporal.ui)
    return ui === null ? null : { ui, namespace }
  },
  hint: (command) => context.hint(command),
})
