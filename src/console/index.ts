// The console: pages for people who own data and for operators, from the ledger and the Temporal server. Promises kept here: it listens
// on this machine alone, or has a login and is encrypted; it needs no key of a service.

import type { AddressInfo } from 'node:net'
import { SyncError } from '../core/errors.ts'
import { splitHostPort } from '../core/loopback.ts'
import { systemClock, type Clock, type Logger } from '../core/ports.ts'
import { LiveReader } from './live-reader.ts'
import { LiveStreams } from './live-streams.ts'
import { Gate } from './login/gate.ts'
import { Passwords } from './login/passwords.ts'
import type { ConsoleParts } from './parts.ts'
import { ConsoleReadings } from './readings.ts'
import { buildConsole } from './server.ts'
import { ConsoleSessions } from './sessions.ts'
import { siteOf } from './site.ts'
import { readTlsPair } from './tls.ts'

export { hashPassword, PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN } from './login/password-hash.ts'
export { consolePartsOf } from './own-parts.ts'
export type { ConsoleParts } from './parts.ts'

export const CONSOLE_PORT = 8_088

export interface ConsoleOptions {
  readonly parts: ConsoleParts
  /** Default: that of `console.address`. */
  readonly host?: string | undefined
  /** Default: that of `console.address`; 0 takes a free one. */
  readonly port?: number | undefined
  readonly logger: Logger
  readonly clock?: Pick<Clock, 'now'>
  /** What helps where the port is taken. Default: of the command. */
  readonly portAdvice?: string
}

export interface RunningConsole {
  /** The address to open. */
  readonly url: string
  /** That is listened on. */
  readonly port: number
  /** Who may log in; without any nobody logs in. */
  readonly users: readonly string[]
  close(): Promise<void>
}

/** @throws ConfigError if the configuration cannot be read; SyncError `port_taken` */
export async function startConsole(options: ConsoleOptions): Promise<RunningConsole> {
  const { parts, logger, clock = systemClock } = options
  const config = await parts.loadConfig()
  const { address, tls, users, session_hours: hours } = config.console
  let port = options.port ?? splitHostPort(address).port
  const site = siteOf(config, options, () => port)
  const now = () => clock.now()
  const passwords = new Passwords(parts.place.env, now, logger)
  await passwords.require(users, config.file)
  const pair = tls === undefined ? null : await readTlsPair(config.file, tls)
  const hasLogins = Object.keys(users).length > 0
  const { isSecure } = site
  const lastsMs = hours * 3_600_000
  const sessions = new ConsoleSessions({ port: () => port, now, isSecure, hasLogins, lastsMs })
  const gate = new Gate({ site, sessions, passwords, hasLogins, user: parts.user })
  const readings = new ConsoleReadings(parts, config, clock)
  const live = new LiveReader(readings, clock)
  const streams = new LiveStreams(readings, live)
  const deps = { parts, readings, live, now }
  const server = { site, sessions, passwords, gate, tls: pair, logger }
  const fastify = buildConsole(deps, streams, server)
  const close = async () => {
    streams.close()
    await fastify.close()
    passwords.close()
    await readings.close()
  }
  try {
    await fastify.listen({ host: site.host, port })
  } catch (error) {
    await close()
    throw listenProblem(error as NodeJS.ErrnoException, site.host, port, options.portAdvice)
  }
  ;({ port } = fastify.server.address() as AddressInfo)
  return { url: site.url(), port, users: Object.keys(users), close }
}

function listenProblem(
  { code }: NodeJS.ErrnoException,
  host: string,
  port: number,
  advice = '--port names another one, and --port 0 takes a free one',
): SyncError {
  const why =
    code === 'EADDRINUSE'
      ? `is taken by another program, such as the console of another project; ${advice}`
      : code === 'EACCES'
        ? 'may not be listened on by this user; --port names one above 1023'
        : `cannot be listened on at ${host} (${code ?? 'unknown reason'})`
  return new SyncError('port_taken', `Port ${port}, for the console, ${why}`, { port })
}
