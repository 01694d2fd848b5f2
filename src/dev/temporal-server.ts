// Starts and stops a Temporal development server for this process alone. Promises kept here: it listens on loopback only; a
// Ctrl-C in the terminal does not reach it, so that our worker can drain first; it does not outlive this process, however that
// ends; its output stays out of our terminal.

import { spawn, type ChildProcess } from 'node:child_process'
import fs from 'node:fs/promises'
import net from 'node:net'
import path from 'node:path'
import { Connection } from '@temporalio/client'
import { SyncError } from '../core/errors.ts'
import { systemClock, type Logger } from '../core/ports.ts'
import { ensureSearchAttributes } from '../temporal/search-attributes.ts'
import { freePort, LOOPBACK_HOST, requireFree, TEMPORAL_PORT } from './ports.ts'
import { lastLines } from './run-program.mjs'

const host = LOOPBACK_HOST
const namespace = 'default'
const startMaxMs = 30_000
const pollEveryMs = 50
const answerMaxMs = 2_000
/** A server that says nothing of its address counts as ours after that time. */
const silentMaxMs = 10_000
const stopMaxMs = 10_000
const outputMaxChars = 16 * 1024
/** Another program may take a free port before the server does; then the next one is tried. */
const startsMax = 3

export interface StartTemporal {
  readonly cliPath: string
  /** The SQLite file that keeps runs and schedules; created with its folder if missing. Without it all is lost at the end. */
  readonly dbFile?: string
  /** 0 or absent: a free one. */
  readonly port?: number
  /** 0 or absent: a free one. */
  readonly uiPort?: number
  /** No web page. */
  readonly headless?: boolean
  readonly logger: Logger
  /** Called with `host:port` before it is started there. */
  onStart?(address: string): void
}

export interface TemporalServer {
  /** `127.0.0.1:7233` */
  readonly address: string
  readonly uiUrl: string | null
  readonly namespace: string
  /** Ends if the server does so unasked, with how it did. */
  readonly lost: Promise<string>
  /** Stops it, within 10 s. May be called again. */
  stop(): Promise<void>
}

/** Our search attributes are registered when it returns. @throws SyncError `port_taken`, `temporal_server_failed` */
export async function startTemporal(options: StartTemporal): Promise<TemporalServer> {
  await requireGivenPorts(options)
  if (options.dbFile !== undefined) {
    await fs.mkdir(path.dirname(path.resolve(options.dbFile)), { recursive: true, mode: 0o700 })
  }
  for (let start = 1; ; start++) {
    try {
      return await startOnce(options)
    } catch (error) {
      if (!(error instanceof PortLost) || start === startsMax) throw error
      // If the given ports are still free, it lost one that it had chosen itself: it has more than these two.
      await requireGivenPorts(options)
    }
  }
}

/** @throws SyncError `port_taken` */
async function requireGivenPorts({ port, uiPort, headless }: StartTemporal): Promise<void> {
  if (port) await requireFree('server', port)
  if (uiPort && !headless) await requireFree('UI', uiPort)
}

/** Whether a Temporal server answers at `host:port`, within 4 s. Throws if the address cannot be parsed. */
export async function isAnswering(address: string): Promise<boolean> {
  return answers(address, (connection) => connection.workflowService.getSystemInfo({}))
}

/** Another program took a port between its choice and its use; the server says so, or panics. */
class PortLost extends SyncError {}

async function startOnce(options: StartTemporal): Promise<TemporalServer> {
  const { cliPath, dbFile, headless = false, logger } = options
  const port = options.port || (await freePort())
  const uiPort = headless ? null : options.uiPort || (await freePort())
  const address = `${host}:${port}`
  const args = ['server', 'start-dev', '--ip', host, '--port', String(port)]
  args.push('--log-level', 'error', '--color', 'never')
  if (uiPort === null) args.push('--headless')
  else args.push('--ui-port', String(uiPort))
  if (dbFile !== undefined) args.push('--db-filename', dbFile)

  options.onStart?.(address)
  const { child, output, ended } = spawnOnLeash(cliPath, args)
  let stopping = false
  const stop = async () => {
    stopping = true
    // Without a file there is nothing to close properly, and a proper shutdown takes 3 s.
    if (isAlive(child)) child.kill(dbFile === undefined ? 'SIGKILL' : 'SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), stopMaxMs)
    await ended
    clearTimeout(timer)
  }

  const describe = (connection: Connection) =>
    connection.workflowService.describeNamespace({ namespace })
  const deadline = Date.now() + startMaxMs
  let answered: number | null = null
  /** Another program that took the port meanwhile may answer in its place, before ours has seen that it lost it. */
  const isOurs = () => announces(output(), port) || Date.now() - answered! > silentMaxMs
  for (;;) {
    if (await answers(address, describe)) {
      answered ??= Date.now()
      if (isAlive(child) && isOurs()) break
    }
    const late = Date.now() > deadline
    if (isAlive(child) && !late) {
      await systemClock.sleep(pollEveryMs)
      continue
    }
    await stop()
    throw startFailure(
      late ? `did not answer within ${startMaxMs / 1000} s` : await ended,
      output(),
    )
  }
  await register(address).catch(async (error: unknown) => {
    await stop()
    throw error
  })
  const lost = new Promise<string>((resolve) => {
    void ended.then((how) => {
      if (stopping) return
      logger.error({ how, lines: lastLines(output(), 5) }, 'temporal_server_ended')
      resolve(how)
    })
  })
  const uiUrl = uiPort === null ? null : `http://${host}:${uiPort}`
  return { address, uiUrl, namespace, lost, stop }
}

/** Our runs hang if the server does not know their search attributes. */
async function register(address: string): Promise<void> {
  const connection = Connection.lazy({ address })
  try {
    await ensureSearchAttributes(connection, namespace)
  } finally {
    await connection.close()
  }
}

/**
 * In a process group of its own, and on a leash: a helper process next to it reads a pipe of ours and ends the server when the
 * pipe closes, which also happens when this process is killed. `$$` is the server's process id, because `exec` keeps it.
 */
const leash = 'exec 3<&0; (cat <&3; kill "$$") >/dev/null 2>&1 & exec "$@" 3<&- </dev/null'

/** Variables that the server gets: the others may contain keys. */
const PASSED_ON =
  'PATH HOME USER LOGNAME TMPDIR TZ LANG LC_ALL XDG_CONFIG_HOME XDG_CACHE_HOME'.split(' ')

function spawnOnLeash(program: string, args: readonly string[]) {
  const child = spawn('sh', ['-c', leash, 'sh', program, ...args], {
    detached: true,
    env: Object.fromEntries(PASSED_ON.map((name) => [name, process.env[name]])),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let kept = ''
  const keep = (text: string) => {
    kept = (kept + text).slice(-outputMaxChars)
  }
  child.stdout.setEncoding('utf8').on('data', keep)
  child.stderr.setEncoding('utf8').on('data', keep)
  child.stdin.on('error', () => {})
  const ended = new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(`cannot be started: ${error.message}`))
    child.on('close', (code, signal) => {
      child.stdin.destroy()
      resolve(code === null ? `was killed by ${signal}` : `ended with exit code ${code}`)
    })
  })
  return { child, output: () => kept, ended }
}

/** Whether the server says that it listens there, which it does once it has the port: `Server:  localhost:7233`. */
const announces = (output: string, port: number): boolean =>
  new RegExp(`^Server:\\s+\\S*:${port}\\s*$`, 'm').test(output)

function isAlive(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null
}

function startFailure(how: string, output: string): SyncError {
  const said = lastLines(output, 8).trim()
  const message = `The Temporal development server ${how}.${said === '' ? '' : ` Its last words:\n${said}`}`
  const ErrorType = /address already in use|^(panic: |goroutine \d)/im.test(output)
    ? PortLost
    : SyncError
  return new ErrorType('temporal_server_failed', message)
}

async function answers(
  address: string,
  ask: (connection: Connection) => Promise<unknown>,
): Promise<boolean> {
  // Checked first, because gRPC waits a second before it tries a refused port again.
  if (!(await accepts(address))) return false
  const connection = Connection.lazy({ address })
  try {
    await connection.withDeadline(Date.now() + answerMaxMs, () => ask(connection))
    return true
  } catch {
    return false
  } finally {
    await connection.close()
  }
}

/** Whether something listens at `host:port`. */
export function accepts(address: string): Promise<boolean> {
  const { hostname, port } = new URL(`tcp://${address}`)
  return new Promise((resolve) => {
    const socket = net.connect({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port) || TEMPORAL_PORT,
    })
    const done = (accepted: boolean) => {
      socket.destroy()
      resolve(accepted)
    }
    socket.setTimeout(answerMaxMs, () => done(false))
    socket.once('connect', () => done(true)).once('error', () => done(false))
  })
}
