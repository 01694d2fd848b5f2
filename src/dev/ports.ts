// Ports of this machine for the parts of `dev`: the usual ones, and where those are taken, the next ones that are free.

import net from 'node:net'
import { SyncError } from '../core/errors.ts'
import { UI_PORT_ABOVE } from '../core/temporal/temporal-ui.ts'

export const LOOPBACK_HOST = '127.0.0.1'
export const TEMPORAL_PORT = 7233
export const SERVICE_PORT = 8080
/** Ten apart, so that those of several projects are easy to keep apart. */
const TEMPORAL_STEP = 10
const TRIES_MAX = 90

export interface DevPorts {
  readonly temporal: number
  /** Null: no Records Service. */
  readonly service: number | null
}

/**
 * A port that was given stays as it is; for the others free ones are found. The Temporal UI is 1,000 above its server.
 * @param wanted.service null: no Records Service
 */
export async function choosePorts(wanted: {
  readonly temporal: number | undefined
  readonly service: number | null | undefined
}): Promise<DevPorts> {
  const avoid = wanted.service ? [wanted.service] : []
  const temporal =
    wanted.temporal ??
    (await firstFree(TEMPORAL_PORT, TEMPORAL_STEP, avoid, (port) => [port, port + UI_PORT_ABOVE]))
  const others = temporal === 0 ? [] : [temporal, temporal + UI_PORT_ABOVE]
  const service =
    wanted.service === undefined
      ? await firstFree(SERVICE_PORT, 1, others, (port) => [port])
      : wanted.service
  return { temporal, service }
}

const PORT_TRIES = 3

/**
 * Starts on ports as `choosePorts` chooses them. Another program may take one between its choice and its use: then others are
 * chosen. One that was given is not replaced.
 * @throws what `start` throws
 */
export async function onFreePorts<Started>(
  wanted: Parameters<typeof choosePorts>[0],
  start: (ports: DevPorts) => Promise<Started>,
): Promise<Started> {
  for (let tries = 1; ; tries++) {
    const ports = await choosePorts(wanted)
    try {
      return await start(ports)
    } catch (error) {
      const isLost =
        (isPortTaken(error) && wanted.temporal === undefined) ||
        (isServicePortTaken(error) && wanted.service === undefined)
      if (!isLost || tries === PORT_TRIES) throw error
    }
  }
}

const isPortTaken = (error: unknown): boolean =>
  error instanceof SyncError && error.code === 'port_taken'

/** Whether the Records Service did not get its port. */
export const isServicePortTaken = (error: unknown): error is SyncError =>
  error instanceof SyncError &&
  error.code === 'service_port' &&
  error.message.endsWith('EADDRINUSE')

/** The first port that is free with all that it needs, and clear of `avoid`; 0, for any free one, if there is none. */
async function firstFree(
  first: number,
  step: number,
  avoid: readonly number[],
  neededWith: (port: number) => readonly number[],
): Promise<number> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const port = first + tries * step
    const needed = neededWith(port)
    if (needed.some((each) => avoid.includes(each))) continue
    const reasons = await Promise.all(needed.map((each) => whyNotFree(each)))
    if (reasons.every((reason) => reason === null)) return port
  }
  return 0
}

/** Null if the port is free; else Node's code, such as `EADDRINUSE`. */
export async function whyNotFree(
  port: number,
  host: string = LOOPBACK_HOST,
): Promise<string | null> {
  return await listen(port, host).then(
    (server) => closed(server).then(() => null),
    (error: NodeJS.ErrnoException) => error.code ?? 'unknown',
  )
}

/** @throws SyncError `port_taken` */
export async function requireFree(what: 'server' | 'UI', port: number): Promise<void> {
  const code = await whyNotFree(port)
  if (code === null) return
  const why = code === 'EADDRINUSE' ? 'is taken by another program' : `cannot be used (${code})`
  throw new SyncError(
    'port_taken',
    what === 'UI'
      ? `Port ${port} on ${LOOPBACK_HOST}, for the Temporal UI, ${why}. It follows the port of the Temporal server: choose another one for that, or 0 for any free ones`
      : `Port ${port} on ${LOOPBACK_HOST} ${why}. Choose another port, or 0 for any free one. If a Temporal server runs there, use it: set TEMPORAL_ADDRESS=${LOOPBACK_HOST}:${port}`,
    { port },
  )
}

export async function freePort(): Promise<number> {
  const server = await listen(0)
  const { port } = server.address() as net.AddressInfo
  await closed(server)
  return port
}

function listen(port: number, host: string = LOOPBACK_HOST): Promise<net.Server> {
  return new Promise((resolve, reject) => {
    const server = net.createServer()
    server.once('error', reject)
    server.listen(port, host, () => resolve(server))
  })
}

function closed(server: net.Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
}
