// The embedded engine: service, Temporal development server and worker in one process, for `dev`, `run --local` and the demo.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SyncError } from '../core/errors.ts'
import { systemClock, type Logger } from '../core/ports.ts'
import { UI_PORT_ABOVE } from '../core/temporal/temporal-ui.ts'
import type { RunningService } from '../service/index.ts'
import { startWorker, type RunningWorker } from '../worker.ts'
import { claimParts, type Claim } from './claim.ts'
import { devKeyFile, type DevParts } from './parts.ts'
import { findTemporalCli } from './temporal-cli.ts'
import type { StatusScreen } from './temporal-get.mjs'
import { accepts, startTemporal, type TemporalServer } from './temporal-server.ts'

export interface EmbeddedOptions {
  readonly configFile: string
  readonly env: NodeJS.ProcessEnv
  /** Folder for the Temporal database, the key file and `dev.json`. */
  readonly stateDir: string
  /** As a person typed it: `dev`, or `run contacts --local`. */
  readonly command: string
  /** The sync that the parts are there for; null: all of them. */
  readonly sync: string | null
  /** Port of the Records Service; 0 for a free one; null to start none. */
  readonly servicePort: number | null
  readonly serviceLimit: number | null
  /** SQLite file of the Records Service. Default: it is in memory. */
  readonly serviceFile?: string
  /** Port of the Temporal server; 0 for a free one. */
  readonly temporalPort: number
  readonly keepHistory: boolean
  /** Whether the worker listens at `worker.listen`. Default true. */
  readonly listens?: boolean
  readonly logger: Logger
  progress(line: string): void
  /** Where what takes long rewrites a line. Default: nowhere. */
  readonly screen?: StatusScreen
  /** Called when the Temporal server answers, before the worker asks it for work. What it throws stops the start. */
  beforeWorker?(server: TemporalServer): Promise<void>
}

export interface Embedded {
  readonly service: RunningService | null
  readonly keyFile: string | null
  readonly temporal: TemporalServer
  readonly worker: RunningWorker
  /** Ends, with what is wrong, if a part ends unasked; never otherwise. */
  readonly failed: Promise<SyncError>
  /** Stops all parts: the worker first, so that its batches in flight are settled. May be called again. */
  stop(): Promise<void>
}

/**
 * Starts all parts; if a later part fails, the started ones are stopped again.
 * @throws SyncError `parts_running` if another process runs parts for the folder; `port_taken`; what the parts throw
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const { configFile, stateDir } = options
  requireDifferentPorts(options)
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  const claim = await claimParts(configFile, stateDir)
  const stops: (() => Promise<unknown>)[] = [async () => claim.release()]
  let stopped: Promise<void> | null = null
  const stop = () => (stopped ??= stopAll(stops))
  try {
    return { ...(await startParts(options, claim, (one) => stops.push(one))), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function stopAll(stops: (() => Promise<unknown>)[]): Promise<void> {
  // Bounded: every part that was started is stopped once, the last one first.
  for (let next = stops.pop(); next; next = stops.pop()) await next()
}

async function startParts(
  options: EmbeddedOptions,
  claim: Claim,
  onStop: (stop: () => Promise<unknown>) => void,
): Promise<Omit<Embedded, 'stop'>> {
  const { configFile, stateDir, command, sync, logger, progress } = options
  const env = { ...options.env }
  let service: RunningService | null = null
  let keyFile: string | null = null
  if (options.servicePort !== null) {
    // Only here: a local run needs none of its modules.
    const { startService } = await import('../service/index.ts')
    service = await startService({
      port: options.servicePort,
      limitPerMinute: options.serviceLimit,
      ...(options.serviceFile !== undefined && { data: options.serviceFile }),
    })
    onStop(service.close)
    keyFile = devKeyFile(stateDir)
    writeFileSync(keyFile, `${service.key}\n`, { mode: 0o600 })
    env['RECORDS_URL'] ??= service.url
    env['RECORDS_API_KEY'] ??= service.key
  }
  const screen = options.screen && { screen: options.screen }
  const { path } = await findTemporalCli({ env: options.env, progress, ...screen })
  if (claim.left !== null) await untilGone(claim.left.temporal.address)
  const server = {
    cliPath: path,
    port: options.temporalPort,
    // `links` and the codec server look for it on this port.
    uiPort: options.temporalPort === 0 ? 0 : options.temporalPort + UI_PORT_ABOVE,
    logger,
    ...(options.keepHistory ? { dbFile: join(stateDir, 'temporal.db') } : {}),
  }
  const note = (temporal: DevParts['temporal'], isReady: boolean) =>
    claim.write({ command, sync, temporal, service: service?.url ?? null, isReady })
  const temporal = await startTemporal({
    ...server,
    onStart: (address) => note({ address, namespace: '', ui: null }, false),
  })
  onStop(temporal.stop)
  await options.beforeWorker?.(temporal)
  const { listens = true } = options
  // Whoever embeds it has a console of its own, or none.
  const served = { configFile, env, temporal }
  const worker = await startWorker({ ...served, logger, listens, servesConsole: false })
  let isStopping = false
  onStop(async () => {
    isStopping = true
    worker.shutdown()
    await worker.stopped.catch(() => {})
  })
  note({ ...temporal, ui: temporal.uiUrl }, true)
  const failed = new Promise<SyncError>((resolve) => {
    const end = (code: string, what: string) => {
      if (!isStopping) resolve(new SyncError(code, what))
    }
    void temporal.lost.then((how) =>
      end('temporal_server_failed', `The Temporal server of this process ${how}`),
    )
    worker.stopped.then(
      () => end('worker_failed', 'The worker of this process has stopped'),
      (error: unknown) =>
        end('worker_failed', `The worker of this process failed: ${ownWords(error)}`),
    )
  })
  return { service, keyFile, temporal, worker, failed }
}

/** A foreign message may quote anything. */
const ownWords = (error: unknown) =>
  error instanceof SyncError ? error.message : (error as Error).name

/** @throws SyncError `port_taken` */
function requireDifferentPorts({ servicePort, temporalPort }: EmbeddedOptions): void {
  const uiPort = temporalPort === 0 ? 0 : temporalPort + UI_PORT_ABOVE
  if (!servicePort || (servicePort !== uiPort && servicePort !== temporalPort)) return
  throw new SyncError(
    'port_taken',
    `Port ${servicePort} is wanted twice: for the Records Service, and for ${
      servicePort === uiPort
        ? `the Temporal UI, which is ${UI_PORT_ABOVE} above the Temporal server's ${temporalPort}`
        : 'the Temporal server'
    }. Choose another --service-port or --temporal-port`,
    { port: servicePort },
  )
}

const goneMaxMs = 15_000
const goneEveryMs = 100

/** The server of a process that was killed ends by itself, within seconds; two servers are not to have one file open. */
async function untilGone(address: string): Promise<void> {
  const deadline = systemClock.now() + goneMaxMs
  while (systemClock.now() < deadline && (await accepts(address)))
    await systemClock.sleep(goneEveryMs)
}
