// `records-sync dev`: Temporal server, worker and Records Service in one, until Ctrl-C; `dev -- COMMAND`: until the command ends.

import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadConfig, type Config } from '../../../config/index.ts'
import { startEmbedded, type Embedded } from '../../dev/embedded.ts'
import { stateDirOf, withDevService } from '../../dev/parts.ts'
import { keepPort, keptPort, listenerOn } from '../../dev/service-port.ts'
import { isServicePortTaken, onFreePorts, SERVICE_PORT, TEMPORAL_PORT } from '../../dev/ports.ts'
import { SyncError } from '../../core/errors.ts'
import { projectsAt } from '../../temporal/projects.ts'
import { DEFAULT_ORIGIN, temporalSettings } from '../../temporal/settings.ts'
import { commandLine } from '../shared/command-line.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import { onInterrupt } from '../shared/interrupt.ts'
import { terminalLogger } from '../shared/logging.ts'
import { safeText, statusScreen, wrapped } from '../shared/terminal.ts'
import { CONSOLE_PORT } from '../../console/index.ts'
import { startOwnConsole } from './console.ts'
import { untilSignal } from './service.ts'

const TEXT_WIDTH = 78

export interface DevOptions {
  readonly service: boolean
  /** Absent: the one that the folder keeps; of a new folder the usual one, or the next that is free. */
  readonly servicePort?: number
  readonly limit?: number
  /** Absent: the usual one, or the next that is free. */
  readonly temporalPort?: number
  /** Run beside the parts, which stop when it ends. Default: none. */
  readonly command?: readonly string[]
}

export async function dev(context: CommandContext, options: DevOptions): Promise<number> {
  const { terminal } = context
  const { command = [] } = options
  const config = await context.loadConfig()
  const stateDir = stateDirOf(context.configFile)
  const kept = keptPort(stateDir, 'service') ?? undefined
  const wanted = {
    temporal: options.temporalPort,
    service: options.service ? (options.servicePort ?? kept) : null,
  }
  const embedded = await onFreePorts(wanted, (ports) =>
    startEmbedded({
      configFile: context.configFile,
      env: context.env,
      stateDir,
      command: commandLine(['dev'], given(options)),
      sync: null,
      servicePort: ports.service,
      serviceLimit: options.limit ?? null,
      serviceFile: join(stateDir, 'dev-service.db'),
      temporalPort: ports.temporal,
      keepHistory: true,
      logger: terminalLogger(terminal, command.length > 0 ? 'warn' : 'info'),
      progress: (line) => terminal.err(line),
      ...statusScreen(terminal),
    }),
  ).catch(async (error: unknown) => {
    throw await namingProject(error, options)
  })
  // Any free port was asked for on purpose: it is not the folder's.
  if (embedded.service && options.servicePort !== 0)
    keepPort(stateDir, 'service', Number(new URL(embedded.service.url).port))
  const say = command.length > 0 ? terminal.err : terminal.out
  for (const text of [
    ...(await movedTexts(options, embedded)),
    ...(await unservedTexts(context, embedded)),
  ])
    for (const line of wrapped(text, 0, TEXT_WIDTH)) say(terminal.style('yellow', line))
  if (command.length > 0) return await beside(context, config, embedded, command)
  const port = keptPort(stateDir, 'console')
  const seen = await startOwnConsole(atServer(context, config, embedded), port)
  if (seen.port !== CONSOLE_PORT) keepPort(stateDir, 'console', seen.port)
  for (const line of [`Console          ${seen.url}`, ...placeLines(embedded)]) say(line)
  const { address } = embedded.temporal
  const next = otherTerminalText(context.hint('run SYNC'), address, config, context.env)
  for (const line of wrapped(next, 0, TEXT_WIDTH)) say(line)
  const failed = await Promise.race([untilSignal().then(() => null), embedded.failed])
  if (failed === null)
    terminal.err('Stopping: batches in flight are settled first. Once more ends at once.')
  await seen.close()
  await embedded.stop()
  if (failed !== null) throw failed
  return EXIT.done
}

/** The same for commands in this process: they talk to the server that was started, whatever else the environment names. */
function atServer(context: CommandContext, config: Config, { temporal }: Embedded): CommandContext {
  if (temporalSettings(config, context.env).origin === DEFAULT_ORIGIN) return context
  const kept = Object.entries(context.env).filter(([name]) => !name.startsWith('TEMPORAL_'))
  const { address, namespace } = temporal
  const env = {
    ...Object.fromEntries(kept),
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
  }
  return { ...context, env }
}

/** The options as they were typed. */
const given = ({ service, servicePort, limit, temporalPort }: DevOptions) => ({
  noService: !service,
  servicePort,
  limit,
  temporalPort,
})

function placeLines({ temporal, service, keyFile }: Embedded): string[] {
  const lines = [`Temporal UI      ${temporal.uiUrl}`, `Temporal server  ${temporal.address}`]
  if (service)
    lines.push(
      `Records Service  ${service.url}`,
      `  documentation  ${service.url}/docs`,
      `  its key is in  ${keyFile}`,
      '  records are in .records-sync/dev-service.db',
    )
  return lines
}

/** Which part has another port than the usual one, and who has that. */
async function movedTexts(
  { servicePort, temporalPort }: DevOptions,
  { temporal, service }: Embedded,
): Promise<string[]> {
  const texts: string[] = []
  if (temporalPort === undefined && !temporal.address.endsWith(`:${TEMPORAL_PORT}`)) {
    const owner = await ownerText(TEMPORAL_PORT)
    texts.push(`Port ${TEMPORAL_PORT} ${owner}; this one is at ${temporal.address}.`)
  }
  if (service && servicePort === undefined && !service.url.endsWith(`:${SERVICE_PORT}`))
    texts.push(`The Records Service is at ${service.url}, and stays at that port in this folder.`)
  return texts
}

async function ownerText(port: number): Promise<string> {
  const projects = await projectsAt(`127.0.0.1:${port}`)
  if (projects === null) return 'is taken, or that of its UI is'
  if (projects.length === 0) return 'has another Temporal server'
  return `has the Temporal server of ${projects.map((name) => safeText(name, 200)).join(', ')}`
}

/** A port that was asked for has another program: whose it is, if it is the Temporal server of a project, and what helps. */
async function namingProject(error: unknown, { servicePort }: DevOptions): Promise<unknown> {
  if (!(error instanceof SyncError)) return error
  const { code, details } = error
  const { port } = details
  if (isServicePortTaken(error)) {
    const taken = `is taken by ${listenerOn(Number(port)) ?? 'another program'}`
    const text =
      servicePort === undefined
        ? `Port ${port}, which the Records Service of this folder keeps, ${taken}. Runs and mirrors of the folder know the service by it, and at another port they are blocked (contract). End that process. To use another port once, give --service-port 0 or one of your own; or start none with --no-service`
        : `Port ${port}, for the Records Service, ${taken}. Leave --service-port out, and dev takes the folder's own; or start none with --no-service`
    return new SyncError(code, text, details)
  }
  const projects = code === 'port_taken' ? await projectsAt(`127.0.0.1:${port}`) : null
  if (projects === null || projects.length === 0) return error
  return new SyncError(
    code,
    `Port ${port} has the Temporal server of ${projects.join(', ')}. Leave --temporal-port out, and dev takes a free one; commands in this folder find it`,
    details,
  )
}

/** Connections to this machine that go to another port than the service has. */
async function unservedTexts(
  { configFile, env }: CommandContext,
  { service }: Embedded,
): Promise<string[]> {
  if (!service) return []
  // As commands will read it.
  const config = await loadConfig(configFile, withDevService(env, configFile))
  const { port } = new URL(service.url)
  return Object.entries(config.connections).flatMap(([name, connection]) => {
    const url = new URL(connection.service)
    const isHere = /^(127\.0\.0\.1|localhost|\[::1\])$/.test(url.hostname)
    if (!isHere || url.port === port) return []
    return `Connection ${safeText(name, 63)} goes to ${url.origin}, where this service is not. Write service: "\${RECORDS_URL:-${url.origin}}" in ${basename(config.file)}, and commands find it wherever it is.`
  })
}

/** Runs the command in a process of its own, which finds the parts; Ctrl-C reaches both. Returns its exit code. */
async function beside(
  context: CommandContext,
  config: Config,
  embedded: Embedded,
  command: readonly string[],
): Promise<number> {
  const { terminal, configFile, json } = context
  const { temporal, service } = embedded
  terminal.err(terminal.style('dim', `Temporal UI ${temporal.uiUrl}`))
  const kept = Object.entries(context.env).filter(([name]) => !name.startsWith('TEMPORAL_'))
  const isNamed = temporalSettings(config, context.env).origin !== DEFAULT_ORIGIN
  const env = {
    ...(service && { RECORDS_URL: service.url, RECORDS_API_KEY: service.key }),
    ...(isNamed ? Object.fromEntries(kept) : context.env),
    ...(isNamed && { TEMPORAL_ADDRESS: temporal.address, TEMPORAL_NAMESPACE: temporal.namespace }),
  }
  const main = fileURLToPath(new URL(`../main${import.meta.url.slice(-3)}`, import.meta.url))
  const isUsual = configFile === resolve('records-sync.yaml')
  const args = [...(isUsual ? [] : ['--config', configFile]), ...(json ? ['--json'] : [])]
  const child = spawn(process.execPath, [...process.execArgv, main, ...args, ...command], {
    stdio: 'inherit',
    env,
  })
  const ended = new Promise<number>((resolve) => {
    child.once('error', () => resolve(EXIT.stopped))
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal!]))
  })
  // Only its own end decides: Ctrl-C has reached it too, and it says how the run is left.
  onInterrupt(['SIGINT'], () => {})
  onInterrupt(['SIGTERM'], () => void child.kill('SIGTERM'))
  const end = await Promise.race([ended, embedded.failed])
  if (end instanceof SyncError) child.kill('SIGTERM')
  await embedded.stop()
  if (end instanceof SyncError) throw end
  return end
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
  const { origin, address: named } = temporalSettings(config, there)
  const isFound = origin === DEFAULT_ORIGIN || named === address
  const where = isFound ? '' : `TEMPORAL_ADDRESS=${address} `
  return `A worker is polling. In another terminal: ${where}${command}. Ctrl-C stops all parts.`
}
