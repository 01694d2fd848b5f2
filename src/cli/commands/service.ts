// `records-sync service`: runs the Records Service in the box until it is stopped.

import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { ConfigError, SyncError } from '../../core/errors.ts'
import {
  listStoredKeys,
  mintStoredKey,
  readSchemaFile,
  startService,
  type Deprecation,
  type FaultKind,
  type FaultPlan,
  type LimitModel,
  type RunningService,
  type Synchronous,
  type Tls,
} from '../../service/index.ts'
import { checkedTls } from '../../service/http/server.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import { onInterrupt } from '../shared/interrupt.ts'
import { terminalLogger } from '../shared/logging.ts'
import { formatNumber, type Terminal } from '../shared/terminal.ts'
import { printJson } from '../json.ts'

export interface ServiceCommandOptions {
  readonly port: number
  readonly host: string
  /** Listen without TLS although others can reach `host`. */
  readonly plainHttp?: boolean
  readonly publicUrl?: string
  readonly data?: string
  readonly synchronous?: Synchronous
  readonly schema?: string
  readonly seedRecords: number
  readonly tlsCert?: string
  readonly tlsKey?: string
  readonly limit?: number
  readonly limitModel: LimitModel
  /** Milliseconds. */
  readonly latency: number
  readonly faultRate?: number
  readonly faults?: readonly FaultKind[]
  readonly faultSeed: number
  readonly deprecatedSince?: Date
  readonly sunset?: Date
  readonly log: boolean
}

/** Resolves on the first SIGINT or SIGTERM; a second one ends the process at once, as if nothing listened. */
export function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    onInterrupt(['SIGINT', 'SIGTERM'], resolve)
  })
}

export async function service(
  context: CommandContext,
  options: ServiceCommandOptions,
): Promise<number> {
  const { terminal } = context
  const tls = await tlsOf(options)
  const faults = faultsOf(options)
  if (options.synchronous !== undefined && options.data === undefined)
    throw new ConfigError('--synchronous', '--data FILE was expected with it')
  const deprecation = deprecationOf(options)
  if (!tls && !isLoopback(options.host)) allowPlainHttp(terminal, options)
  const schema = options.schema === undefined ? null : readSchemaFile(options.schema)
  const firstKey = options.data === undefined ? null : firstKeyOf(options.data)
  const running: RunningService = await startService({
    port: options.port,
    host: options.host,
    limitPerMinute: options.limit ?? null,
    limitModel: options.limitModel,
    seedRecords: options.seedRecords,
    latencyMs: options.latency,
    ...(options.data === undefined ? {} : { data: options.data }),
    ...(options.synchronous === undefined ? {} : { synchronous: options.synchronous }),
    ...(schema ? { schema } : {}),
    ...(tls ? { tls } : {}),
    ...(faults ? { faults } : {}),
    ...(deprecation ? { deprecation } : {}),
    ...(options.publicUrl === undefined ? {} : { publicUrl: options.publicUrl }),
    // Failures are logged in any case.
    logger: terminalLogger(terminal, options.log ? 'info' : 'warn'),
  })
  // Before anything says that the service is there.
  const stopped = untilSignal()
  const key = options.data === undefined ? running.key : firstKey
  if (context.json) {
    const { url, publicUrl, seeded } = running
    printJson(terminal, { url, key, docs_url: `${publicUrl}/docs`, seeded })
  } else printService(terminal, running, { options, key, faults })
  await stopped
  terminal.err('Stopping: requests in flight are finished first. Once more ends at once.')
  await running.close()
  return EXIT.done
}

/** @throws ConfigError if it was not asked for */
function allowPlainHttp(terminal: Terminal, { host, plainHttp }: ServiceCommandOptions): void {
  const place = `plain HTTP on ${host}, where others can listen`
  if (!plainHttp)
    throw new ConfigError(
      '--host',
      `${place}; keys go only over HTTPS (specification 5.8): give --tls-cert and --tls-key, or --plain-http where a proxy before it speaks TLS`,
    )
  terminal.err(
    terminal.style('yellow', `Warning: ${place}. Let only a proxy that speaks TLS reach it.`),
  )
}

function printService(
  terminal: Terminal,
  { url, publicUrl, orgId, seeded }: RunningService,
  started: { options: ServiceCommandOptions; key: string | null; faults: FaultPlan | null },
): void {
  const { key, faults } = started
  const { data, seedRecords } = started.options
  const place = data === undefined ? 'in memory' : `kept in ${data}`
  terminal.out(`Records Service at ${terminal.style('bold', url)} (${place}; org ${orgId})`)
  terminal.out(`  key            ${key ?? `see records-sync service keys list --data ${data}`}`)
  terminal.out(`  documentation  ${publicUrl}/docs`)
  terminal.out(`  OpenAPI        ${publicUrl}/rest/v1/openapi.json`)
  if (seeded > 0) terminal.out(`  ${formatNumber(seeded)} contacts`)
  else if (seedRecords > 0)
    terminal.out('  no contacts were made: the data file has had records before')
  if (faults)
    terminal.out(`  faults         ${faults.rate} of requests: ${faults.kinds.join(', ')}`)
  if (data === undefined) terminal.out('The key is shown once and lives as long as this process.')
  else if (key !== null) terminal.out('The key is shown once; only its hash is kept.')
  terminal.out('Ctrl-C stops the service.')
}

/** The first key of a data file; null if it has one. */
function firstKeyOf(data: string): string | null {
  const keys = existsSync(data) ? listStoredKeys(data) : []
  if (keys.some(({ revokedAt }) => revokedAt === null)) return null
  return mintStoredKey(data, { reach: 'org' }).token
}

/** @throws ConfigError */
async function tlsOf({ tlsCert, tlsKey }: ServiceCommandOptions): Promise<Tls | null> {
  if (tlsCert === undefined && tlsKey === undefined) return null
  if (tlsCert === undefined || tlsKey === undefined) {
    const message = 'it goes with the other one: --tls-cert FILE --tls-key FILE was expected'
    throw new ConfigError(tlsCert === undefined ? '--tls-key' : '--tls-cert', message)
  }
  const tls = { cert: await pemFile(tlsCert), key: await pemFile(tlsKey) }
  try {
    return checkedTls(tls)
  } catch (error) {
    if (error instanceof SyncError) throw new ConfigError(`${tlsCert}, ${tlsKey}`, error.message)
    throw error
  }
}

async function pemFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new ConfigError(file, `cannot be read: ${code}; a file in PEM was expected`)
  }
}

/** @throws ConfigError */
function faultsOf({ faultRate, faults, faultSeed }: ServiceCommandOptions): FaultPlan | null {
  if (faultRate === undefined && faults === undefined) return null
  if (faultRate === undefined)
    throw new ConfigError('--faults', '--fault-rate SHARE was expected with it')
  if (faults === undefined)
    throw new ConfigError('--fault-rate', '--faults NAMES was expected with it')
  return { seed: faultSeed, rate: faultRate, kinds: faults }
}

/** @throws ConfigError */
function deprecationOf(options: ServiceCommandOptions): Deprecation | null {
  const { deprecatedSince: since, sunset } = options
  if (since === undefined && sunset === undefined) return null
  if (since === undefined)
    throw new ConfigError('--sunset', '--deprecated-since DATE was expected with it')
  if (sunset === undefined)
    throw new ConfigError('--deprecated-since', '--sunset DATE was expected with it')
  if (sunset < since)
    throw new ConfigError('--sunset', 'a date not before --deprecated-since was expected')
  return { since, sunset }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}
