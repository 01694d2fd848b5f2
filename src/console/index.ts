// The console: pages for people who own data and for operators, from the ledger and the Temporal server. Promises kept here: it listens
// on this machine alone, writes nothing, and needs no key of a service.

import type { AddressInfo } from 'node:net'
import { SyncError } from '../core/errors.ts'
import { systemClock, type Clock, type Logger } from '../core/ports.ts'
import { LiveReader } from './live-reader.ts'
import { LiveStreams } from './live-streams.ts'
import type { ConsoleParts } from './parts.ts'
import { ConsoleReadings } from './readings.ts'
import { buildConsole } from './server.ts'

export { isLoopbackName } from './guards.ts'
export type { ConsoleParts } from './parts.ts'

export const CONSOLE_PORT = 8_088

export interface ConsoleOptions {
  readonly parts: ConsoleParts
  /** An address of this machine. */
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  readonly logger: Logger
  readonly clock?: Pick<Clock, 'now'>
}

export interface RunningConsole {
  readonly url: string
  close(): Promise<void>
}

/** @throws ConfigError if the configuration cannot be read; SyncError `port_taken` */
export async function startConsole(options: ConsoleOptions): Promise<RunningConsole> {
  const { parts, host, logger, clock = systemClock } = options
  const readings = new ConsoleReadings(parts, await parts.loadConfig(), clock)
  const live = new LiveReader(readings, clock)
  const streams = new LiveStreams(readings, live)
  let port = options.port
  const deps = { parts, readings, live, now: () => clock.now() }
  const fastify = buildConsole(deps, streams, { port: () => port, logger })
  const close = async () => {
    streams.close()
    await fastify.close()
    await readings.close()
  }
  try {
    await fastify.listen({ host, port })
  } catch (error) {
    await close()
    throw listenProblem(error as NodeJS.ErrnoException, host, port)
  }
  ;({ port } = fastify.server.address() as AddressInfo)
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`, close }
}

function listenProblem({ code }: NodeJS.ErrnoException, host: string, port: number): SyncError {
  const why =
    code === 'EADDRINUSE'
      ? 'is taken by another program, such as the console of another project; --port names another one, and --port 0 takes a free one'
      : code === 'EACCES'
        ? 'may not be listened on by this user; --port names one above 1023'
        : `cannot be listened on at ${host} (${code ?? 'unknown reason'})`
  return new SyncError('port_taken', `Port ${port}, for the console, ${why}`, { port })
}
