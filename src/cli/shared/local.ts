// `--local`: what a run needs and does not have yet is started inside of this process, and stopped with it. Promises kept here: a run
// is left where the next start finds it, however this process ends; no run that another Temporal server holds is taken from it.

import { setTimeout } from 'node:timers/promises'
import type { Client } from '@temporalio/client'
import type { Config } from '../../../config/index.ts'
import { taskQueueOf } from '../../../workflows/queues.ts'
import { SyncError, TemporalUnreachable } from '../../core/errors.ts'
import { onFreePorts } from '../../dev/ports.ts'
import {
  claimError,
  findParts,
  sharedPartsText,
  stateDirOf,
  untilPartsStarted,
  type DevParts,
} from '../../dev/parts.ts'
import { startEmbedded } from '../../dev/embedded.ts'
import type { Run } from '../../ledger/ledger.ts'
import { connectClient, grpcStatus } from '../../temporal/client.ts'
import { isLiveWorkflow } from '../../temporal/is-live.ts'
import { TEMPORAL_SLOW } from '../../temporal/probe.ts'
import { DEFAULT_ORIGIN, temporalSettings, type TemporalSettings } from '../../temporal/settings.ts'
import { startWorker } from '../../worker.ts'
import { connectTemporal, settingsOfParts, type CommandContext } from './context.ts'
import { onInterrupt } from './interrupt.ts'
import { terminalLogger } from './logging.ts'
import { statusScreen } from './terminal.ts'
import { findProject, hasWorker } from '../../actions/project.ts'
import { untilStarted } from './starting.ts'

const UNAVAILABLE = 14
const LOOK_AGAIN_MS = 1_000

/** What a run is done by. */
export interface LocalParts {
  readonly temporal: TemporalSettings
  /** Whether the worker ends with this process. */
  readonly isOwn: boolean
  /** The command line. */
  readonly again: string
  /** The one that goes on with a run that is left. */
  readonly goOn: string
  /** A person, or who runs this process, asks it to end. */
  readonly interrupted: AbortSignal
  /** Ends, with what is wrong, if a part of this process ends unasked. */
  readonly failed: Promise<SyncError>
  /** Stops what was started here. May be called again. */
  stop(): Promise<void>
}

/** The run that the parts are for. */
interface Wanted {
  readonly sync: string
  /** `run contacts` */
  readonly command: string
  /** The command line, for one who stops its start. */
  readonly again: string
  /** The one that goes on with the run once it has begun. */
  readonly goOn: string
}

/**
 * Starts what is missing: nothing beside a `dev` of this project; a worker where a Temporal server is named and answers, or where
 * the usual one has work of this project; else both.
 * @throws SyncError `parts_running`, `run_elsewhere`; what connecting and starting throws
 */
export const startLocal = (
  context: CommandContext,
  config: Config,
  wanted: Wanted,
): Promise<LocalParts> =>
  untilStarted(context, wanted.again, () => startParts(context, config, wanted))

async function startParts(
  context: CommandContext,
  config: Config,
  wanted: Wanted,
): Promise<LocalParts> {
  const settings = temporalSettings(config, context.env)
  const parts = findParts(context.configFile)
  if (parts !== null) {
    if (parts.sync !== null && parts.sync !== wanted.sync) throw claimError(parts)
    const isOwn = parts.pid === process.ppid
    if (!isOwn) note(context, sharedPartsText(parts))
    const temporal = settingsOfParts(settings, parts.temporal)
    const stopped = new AbortController()
    return {
      temporal,
      isOwn,
      again: wanted.again,
      goOn: wanted.goOn,
      interrupted: isOwn ? interrupts() : new AbortController().signal,
      failed: untilPartsEnd(context.configFile, parts, stopped.signal),
      stop: async () => stopped.abort(),
    }
  }
  const isThere = await isServerOfProject(context, settings)
  // Another process of this folder may have started it just now: then its parts do the run, or are in the way.
  const tell = (line: string) => note(context, line)
  if (isThere === true && settings.origin === DEFAULT_ORIGIN) {
    await untilPartsStarted(context.configFile, tell)
    if (findParts(context.configFile) !== null) return await startParts(context, config, wanted)
  }
  if (isThere === true) return await startOnlyWorker(context, settings, wanted)
  return await startBoth(context, settings, { ...wanted, isKnown: isThere !== null })
}

/** What is wrong once the process has ended whose parts do the run; never, if the signal aborts first. */
async function untilPartsEnd(
  configFile: string,
  { command, pid }: DevParts,
  signal: AbortSignal,
): Promise<SyncError> {
  // Bounded by the run: its command stops looking.
  while (!signal.aborted && findParts(configFile)?.pid === pid)
    await setTimeout(LOOK_AGAIN_MS, undefined, { ref: false })
  if (signal.aborted) return await new Promise(() => {})
  return new SyncError(
    'parts_ended',
    `"records-sync ${command}" (process ${pid}), whose Temporal server and worker did the run, has ended`,
  )
}

/**
 * Whether the project's runs belong to the server of the settings. One that nobody named counts only where it has some; null: it
 * does not answer in time.
 */
async function isServerOfProject(
  context: CommandContext,
  settings: TemporalSettings,
): Promise<boolean | null> {
  let isSlow = false
  const isNamed = settings.origin !== DEFAULT_ORIGIN
  const found = await (isNamed ? connectTemporal(settings) : connectClient(settings)).catch(
    (error: unknown) => {
      isSlow = error instanceof SyncError && error.code === TEMPORAL_SLOW
      if (error instanceof TemporalUnreachable || !isNamed) return null
      throw error
    },
  )
  if (found === null) return isSlow ? null : false
  try {
    if (isNamed) return true
    const project = await findProject(context)
    if (project === null) return false
    if (await hasWorker(found.client, taskQueueOf(project.id))) return true
    return (await splitRuns(context, found.client)).there.length > 0
  } catch (error) {
    // It was that of another process, and has ended with it.
    if (grpcStatus(error) === UNAVAILABLE) return false
    throw error
  } finally {
    await found.close()
  }
}

/** The runs that the ledger has as open: those that the server holds, and the others. */
async function splitRuns(
  context: CommandContext,
  client: Client,
): Promise<{ there: readonly Run[]; elsewhere: readonly Run[] }> {
  const ledger = await context.findLedger()
  try {
    const there: Run[] = []
    const elsewhere: Run[] = []
    for (const run of (await ledger?.liveRuns()) ?? [])
      ((await isLiveWorkflow(client, run)) ? there : elsewhere).push(run)
    return { there, elsewhere }
  } finally {
    await ledger?.close()
  }
}

async function startOnlyWorker(
  context: CommandContext,
  temporal: TemporalSettings,
  { again, goOn }: Wanted,
): Promise<LocalParts> {
  const { configFile, env, terminal } = context
  const logger = terminalLogger(terminal, 'warn')
  const worker = await startWorker({ configFile, env, temporal, logger, listens: false })
  note(context, `A worker of this process works for the Temporal server at ${temporal.address}`)
  let isStopping = false
  const failed = new Promise<SyncError>((resolve) => {
    const end = () => {
      const message = 'The worker of this process has stopped'
      if (!isStopping) resolve(new SyncError('worker_failed', message))
    }
    worker.stopped.then(end, end)
  })
  const stop = async () => {
    isStopping = true
    worker.shutdown()
    await worker.stopped.catch(() => {})
  }
  return { temporal, isOwn: true, again, goOn, interrupted: interrupts(), failed, stop }
}

async function startBoth(
  context: CommandContext,
  settings: TemporalSettings,
  { sync, command, again, goOn, isKnown }: Wanted & { readonly isKnown: boolean },
): Promise<LocalParts> {
  const { configFile, env, terminal } = context
  const isNamed = settings.origin !== DEFAULT_ORIGIN
  if (isNamed)
    note(context, `Nothing answers at ${settings.address}, which ${placeOf(settings)} names`)
  terminal.live('Starting a Temporal server and a worker in this process')
  const anyPort = { temporal: undefined, service: null }
  const embedded = await onFreePorts(anyPort, (ports) =>
    startEmbedded({
      configFile,
      env,
      stateDir: stateDirOf(configFile),
      command: `${command} --local`,
      sync,
      servicePort: null,
      serviceLimit: null,
      temporalPort: ports.temporal,
      keepHistory: true,
      listens: false,
      logger: terminalLogger(terminal, 'warn'),
      progress: (line) => terminal.err(line),
      ...statusScreen(terminal),
      ...((isNamed || !isKnown) && {
        beforeWorker: (server) =>
          requireNoneElsewhere(context, settings, settingsOfParts(settings, server)),
      }),
    }),
  )
  const { temporal, failed, stop } = embedded
  note(context, `Temporal server and worker in this process; UI ${temporal.uiUrl}`)
  return {
    temporal: settingsOfParts(settings, temporal),
    isOwn: true,
    again,
    goOn,
    interrupted: interrupts(),
    failed,
    stop,
  }
}

/** @throws SyncError `run_elsewhere`: a worker here would close such a run */
async function requireNoneElsewhere(
  context: CommandContext,
  named: TemporalSettings,
  local: TemporalSettings,
): Promise<void> {
  const { client, close } = await connectTemporal(local)
  try {
    const [run] = (await splitRuns(context, client)).elsewhere
    if (run === undefined) return
    throw new SyncError(
      'run_elsewhere',
      `Run ${run.id} of ${run.sync} is open, and on no server of this folder; it may go on at ${named.address}, ${elsewhereText(named)}: the run is closed then, and the next one does the rest`,
      { run: run.id },
    )
  } finally {
    await close()
  }
}

/** From here on a first Ctrl-C ends the process in order. */
function interrupts(): AbortSignal {
  const pressed = new AbortController()
  onInterrupt(['SIGINT', 'SIGTERM'], () => pressed.abort())
  return pressed.signal
}

const elsewhereText = (named: TemporalSettings): string =>
  named.origin === DEFAULT_ORIGIN
    ? 'which takes connections and does not answer now: busy, or not a Temporal server. Wait for it; or, if another program has that port, stop that one'
    : `which ${placeOf(named)} names and where nothing answers now. Start that server again; or, if it is gone for good, remove that setting`

const placeOf = ({ origin }: TemporalSettings) =>
  origin === 'environment' ? 'TEMPORAL_ADDRESS' : origin

const note = ({ terminal }: CommandContext, text: string) =>
  terminal.err(terminal.style('dim', text))
