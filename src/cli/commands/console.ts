// `records-sync console`: pages on this machine that show every sync, until Ctrl-C.

import { findParts } from '../../dev/parts.ts'
import {
  CONSOLE_PORT,
  consolePartsOf,
  startConsole,
  type RunningConsole,
} from '../../console/index.ts'
import { osUser } from '../../actions/recorded.ts'
import { countText } from '../../core/format.ts'
import { SyncError } from '../../core/errors.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import { terminalLogger } from '../shared/logging.ts'
import { printJson } from '../json.ts'
import { hashPasswordCommand } from './hash-password.ts'
import { untilSignal } from './service.ts'

export interface ConsoleCommandOptions {
  readonly host?: string
  readonly port?: number
  readonly hashPassword?: boolean
}

export async function consoleCommand(
  context: CommandContext,
  { host, port, hashPassword }: ConsoleCommandOptions,
): Promise<number> {
  if (hashPassword) return await hashPasswordCommand(context)
  const { terminal, configFile } = context
  const dev = findParts(configFile)
  const running = await startConsole({
    parts: consolePartsOf(context),
    host,
    port,
    logger: terminalLogger(terminal, 'warn'),
    // A `run --local` has none.
    ...(dev?.sync === null && {
      portAdvice: `"records-sync ${dev.command}" (process ${dev.pid}) of this project serves a console too, at the address that it printed; --port 0 takes a free one`,
    }),
  })
  const { url, users } = running
  if (context.json) printJson(terminal, { url })
  else {
    terminal.out(`Console  ${terminal.style('bold', url)}`)
    const who =
      users.length === 0
        ? `Who acts there is ${osUser()}`
        : `${countText(users.length, 'user')} may log in`
    terminal.out(`${who}. Ctrl-C stops it; runs go on.`)
  }
  await untilSignal()
  await running.close()
  return EXIT.done
}

/**
 * A console next to other parts of this process: at the usual port, or where that is taken at the folder's own, or at a free one.
 * @param kept the port that the folder's console had; null: none is known
 */
export async function startOwnConsole(
  context: CommandContext,
  kept: number | null = null,
): Promise<RunningConsole> {
  const at = async (port: number) =>
    await startConsole({
      parts: consolePartsOf(context),
      host: '127.0.0.1',
      port,
      logger: terminalLogger(context.terminal, 'warn'),
    })
  const ports = [CONSOLE_PORT, ...(kept === null ? [] : [kept])]
  for (const port of ports)
    try {
      return await at(port)
    } catch (error) {
      if (!(error instanceof SyncError) || error.code !== 'port_taken') throw error
    }
  return await at(0)
}
