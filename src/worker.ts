// The composition root: a Temporal worker with the ledger, the clients and the sources that its activities need.

import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Client } from '@temporalio/client'
import {
  bundleWorkflowCode,
  DefaultLogger,
  type NativeConnection,
  type WorkerOptions as TemporalWorkerOptions,
  type WorkflowBundle,
} from '@temporalio/worker'
import { createActivities, type Activities, type ActivityDeps } from '../activities/index.ts'
import {
  loadConfig,
  nameEnvironment,
  placedMapping,
  readLedgerPlace,
  readSigningKey,
  type GroupConfig,
} from '../config/index.ts'
import { ACTIVITY_KINDS, taskQueueOf, type ShortActivities } from '../workflows/queues.ts'
import { connectionsOf, deprecatedText, readDeprecations } from './resources/deprecations.ts'
import { createClientRegistry } from './resources/client-registry.ts'
import { systemClock, type Logger } from './core/ports.ts'
import { openLedger, openQuotaStore } from './ledger/open.ts'
import { upgradeLedger } from './ledger/upgrade.ts'
import { createMirrorOpener, createSourceOpeners } from './resources/openers.ts'
import { createMonitor } from './monitoring/monitor.ts'
import { temporalPageOnFreePort } from './monitoring/temporal-page.ts'
import { DEFAULT_IMPORT_TUNING, drainInFlight, settleInFlight } from './import/index.ts'
import type { Run } from './ledger/ledger.ts'
import { abandonedChange } from './runs/open.ts'
import { projectOf } from './runs/project.ts'
import { orphanCleanup } from './runs/orphaned-runs.ts'
import { notifyObservers } from './runs/observers.ts'
import { pauseOnAuthFailure } from './schedules/auth-pause.ts'
import { scheduleJobs } from './schedules/definition.ts'
import { missingSchedules } from './schedules/missing.ts'
import { openSource } from './sources/index.ts'
import { readCodec } from './temporal/codec.ts'
import { copyWatch } from './temporal/copies.ts'
import { isLiveWorkflow } from './temporal/is-live.ts'
import { guardActivities } from './temporal/project-guard.ts'
import { createPollers, createBeacon } from './temporal/pollers.ts'
import { createWorkerPool, type WorkerPool } from './temporal/worker-pool.ts'
import { workerIdentity } from './temporal/projects.ts'
import { installRuntime } from './temporal/runtime.ts'
import { ensureSearchAttributes } from './temporal/search-attributes.ts'
import type { TemporalSettings } from './temporal/settings.ts'
import { signalRunState } from './temporal/state-signal.ts'
import { startHealthChecks, type HealthChecks } from './temporal/health-checks.ts'
import { connectWorker } from './temporal/worker.ts'
import { serveConsole } from './worker/console.ts'
import { syncLoader } from './worker/load-sync.ts'
import { boundHeap, letYoungGrow } from './worker/heap.ts'
import { requireMachine } from './worker/machine.ts'
import { temporaryProblem } from './warehouses/duckdb/temporary.ts'

export interface WorkerOptions {
  /** Path of records-sync.yaml; read again at every open and connect, so a corrected file needs no restart. */
  readonly configFile: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly temporal: TemporalSettings
  readonly logger: Logger
  /** Name of this build: workers have versions then, and a run stays with the build that began it. */
  readonly buildId?: string
  /** How long batches in flight may take after `shutdown`, ms. Default 25 s. */
  readonly shutdownForceMs?: number
  /** How often it repeats the checks of its start. Default 30 s. */
  readonly upkeepMs?: number
  /** Whether it listens at `worker.listen`, where that is set. Default true. */
  readonly listens?: boolean
  /** Whether it serves the console at `worker.console`, where that is set. Default true. */
  readonly servesConsole?: boolean
  /** File of the bundled workflows. Default: that of this build; from source they are bundled anew. */
  readonly workflowBundle?: string
}

export interface RunningWorker {
  /** Where its ledger is, for messages. */
  readonly ledger: string
  /** Id of the project that the ledger is of. */
  readonly project: string
  /** `host:port` of its metrics and health; null if the configuration has no `worker.listen`. */
  readonly listening: string | null
  /** Address of its console; null if the configuration has no `worker.console`. */
  readonly console: string | null
  /** Ends when the worker has stopped; rejects if it could not stop in time or lost its server for good. */
  readonly stopped: Promise<void>
  /** Stops polling; batches in flight are settled first. */
  shutdown(): void
}

const shutdownForceMs = 25_000
const upkeepMs = 30_000

/** The workflow code of this process, once it was bundled; a second worker of the process uses it too. */
let bundled: Promise<WorkflowBundle> | null = null

/** The workflow code: prebuilt next to the compiled worker, or bundled from source in development. */
async function workflowCode(
  given: string | undefined,
): Promise<NonNullable<TemporalWorkerOptions['workflowBundle']>> {
  if (given !== undefined) return { codePath: given }
  const isSource = import.meta.url.endsWith('.ts')
  const codePath = fileURLToPath(new URL('../workflow-bundle.js', import.meta.url))
  if (!isSource && existsSync(codePath)) return { codePath }
  const index = new URL(`../workflows/index.${isSource ? 'ts' : 'js'}`, import.meta.url)
  bundled ??= bundleWorkflowCode({
    workflowsPath: fileURLToPath(index),
    logger: new DefaultLogger('WARN'),
  })
  return await bundled
}

const answerMaxMs = 1_500

async function isAnswering(connection: NativeConnection): Promise<boolean> {
  await connection.withDeadline(Date.now() + answerMaxMs, () =>
    connection.workflowService.getSystemInfo({}),
  )
  return true
}

/**
 * Connects, and starts to work.
 * @throws SyncError `machine_too_small`, ConfigError, LedgerError, what `connectWorker` and `listen` of the monitor throw, before anything is polled
 */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  requireMachine()
  boundHeap()
  const opened: (() => Promise<unknown>)[] = []
  const close = async () => {
    // Bounded: what was opened is closed once, last opened first.
    for (let next = opened.pop(); next; next = opened.pop()) await next().catch(() => {})
  }
  try {
    const running = await start(options, (one) => opened.push(one), close)
    letYoungGrow()
    nameEnvironment(options.env, `${WORKER}, started ${new Date(systemClock.now()).toISOString()}`)
    return running
  } catch (error) {
    await close()
    throw error
  }
}

/** This process, as other users read it. */
const WORKER = `worker ${process.pid} on ${hostname()}`

type OnClose = (close: () => Promise<unknown>) => void

/** Opens what the worker works with. What can be wrong on this machine is reported before anything native is started. */
async function openParts(options: WorkerOptions, onClose: OnClose) {
  const { configFile, env, temporal, logger, listens = true } = options
  // Some syncs need none: those that do are blocked.
  const why = temporaryProblem()
  if (why !== null) logger.warn({ why }, 'temporary_folder_unusable')
  const config = await loadConfig(configFile, env)
  const ledgerPlace = await readLedgerPlace(config.ledger, env)
  const signingKey = await readSigningKey(config.ledger, env)
  const upgraded = await upgradeLedger(ledgerPlace)
  if (upgraded !== null) logger.warn({ ...upgraded }, 'ledger_upgraded')
  const books = await openLedger(ledgerPlace, { signingKey, thread: true })
  onClose(() => books.close())
  const monitor = createMonitor({
    config,
    loadConfig: () => loadConfig(configFile, env),
    env,
    ledger: books,
    clock: systemClock,
    logger,
  })
  const quotas = await openQuotaStore(ledgerPlace, {
    onSetAside: (to) => logger.warn({ to }, 'quota_set_aside'),
  })
  onClose(() => quotas.close())
  const isMonitored = listens && config.worker.listen !== undefined
  const temporalPage = await installRuntime(logger, isMonitored ? temporalPageOnFreePort : null)
  const user = WORKER
  const connections = createClientRegistry({
    ...options,
    quotas: { store: quotas, user },
    watch: monitor.requests,
  })
  onClose(() => connections.close())
  const codec = await readCodec(config.temporal.encryption_keys ?? [], env)
  const connection = await connectWorker(temporal, logger)
  onClose(() => connection.close())
  const server = {
    connection,
    namespace: temporal.namespace,
    ...(codec === null ? {} : { dataConverter: { payloadCodecs: [codec] } }),
  }
  const shared = { ...server, shutdownForceTime: options.shutdownForceMs ?? shutdownForceMs }
  const client = new Client(server)
  // The ledger of the monitor sees what is settled.
  const { ledger } = monitor
  const project = await projectOf(books)
  const copy = await books.copy()
  return {
    config,
    ledger,
    ledgerPlace,
    monitor,
    temporalPage,
    connections,
    quotas,
    shared,
    client,
    project,
    copy,
  }
}
type Parts = Awaited<ReturnType<typeof openParts>>

/** What activities work with, of the parts of a process. */
export function activityDeps(
  options: Pick<WorkerOptions, 'configFile' | 'env' | 'logger'>,
  parts: Pick<
    Parts,
    'ledger' | 'ledgerPlace' | 'monitor' | 'connections' | 'quotas' | 'client' | 'project'
  >,
): ActivityDeps {
  const { configFile, env, logger } = options
  const { ledger, monitor, connections, quotas, client, project } = parts
  const openers = createSourceOpeners(options, connections.connect)
  return {
    ledger,
    logger,
    clock: systemClock,
    env,
    watch: notifyObservers([
      signalRunState(client, { logger }),
      pauseOnAuthFailure(client, {
        logger,
        project,
        groupsOf: async (sync) => {
          const groups = Object.values((await loadConfig(configFile, env)).groups)
          const isOf = ({ syncs, schedule }: GroupConfig) => schedule && syncs.includes(sync)
          return groups.filter(isOf).map(({ name }) => name)
        },
      }),
      monitor.runs,
    ]),
    loadSync: syncLoader({ configFile, env }, parts),
    placed: async (error) => await placedMapping(error, configFile, env),
    announced: async (sync) => {
      const current = await loadConfig(configFile, env)
      const { deprecation } = connections
      const found = await readDeprecations(current, connectionsOf(sync), quotas, deprecation)
      return found.map((one) => deprecatedText(one, systemClock.now()))
    },
    loadSyncs: async () => Object.values((await loadConfig(configFile, env)).syncs),
    loadGroups: () => loadConfig(configFile, env),
    connect: connections.connect,
    openSource: (sync, signal, extent) => openSource(sync, openers, signal, extent),
    openMirrorTables: createMirrorOpener(options),
    isLive: async (holder, attempt) => await isLiveWorkflow(client, holder, attempt),
  }
}

/** A function that creates the pollers of a project's queues. */
function pollerFactory(options: WorkerOptions, { config, shared }: Parts) {
  const { buildId, workflowBundle } = options
  return async (taskQueue: string, served: Activities) =>
    await createPollers({
      taskQueue,
      workflowBundle: await workflowCode(workflowBundle),
      short: shortOf(served),
      activities: { ...served },
      slots: config.worker.slots,
      shared,
      // The deployment of a project has the name of its queue.
      version: buildId === undefined ? null : { deploymentName: taskQueue, buildId },
    })
}

/** Its address; null where the worker serves none. */
async function openConsole(
  options: WorkerOptions,
  { config }: Parts,
  onClose: OnClose,
): Promise<string | null> {
  const { console: address } = config.worker
  if (address === undefined || options.servesConsole === false) return null
  const pages = await serveConsole(options, address)
  onClose(() => pages.close())
  return pages.url
}

async function start(
  options: WorkerOptions,
  onClose: OnClose,
  close: () => Promise<void>,
): Promise<RunningWorker> {
  const { configFile, logger, listens = true } = options
  const parts = await openParts(options, onClose)
  const { ledger, monitor, client, project, copy, shared } = parts
  let pool: WorkerPool | null = null
  let upkeep: HealthChecks | null = null
  const checks = {
    worker: () => pool?.isRunning() ?? false,
    temporal: () => isAnswering(shared.connection),
    search_attributes: () => upkeep?.isWell('search_attributes') ?? true,
    ledger: () => ledger.runs({ limit: 1 }).then(() => true),
    ledger_copy: () => upkeep?.isWell('ledger_copy') ?? true,
  }
  const listening = listens
    ? await monitor.listen({ temporalPage: parts.temporalPage, checks })
    : null
  onClose(() => monitor.close())
  const pages = await openConsole(options, parts, onClose)

  const deps = activityDeps(options, parts)
  const activities = createActivities(deps)
  const pollers = pollerFactory(options, parts)
  const workers = [
    ...(await pollers(taskQueueOf(project.id), guardActivities(activities, ledger))),
    await createBeacon(shared, workerIdentity(project.id, configFile, copy)),
  ]
  const loadJobs = async () => scheduleJobs(await deps.loadGroups())
  const place = { client, project, loadJobs }
  pool = createWorkerPool(workers)
  upkeep = startHealthChecks(
    {
      async search_attributes() {
        const added = await ensureSearchAttributes(shared.connection, shared.namespace)
        // They existed when the worker started: the server is another one, or lost its database.
        if (added.length > 0) logger.warn({ added }, 'search_attributes_lost')
      },
      schedules: missingSchedules({ ...place, logger, note: monitor.noteSchedules }),
      ledger_copy: copyWatch(client, { project: project.id, copy, clock: systemClock }),
      runs: orphanCleanup({ ledger, logger, isLive: deps.isLive, ...abandonment(deps) }),
    },
    { clock: systemClock, logger, everyMs: options.upkeepMs ?? upkeepMs },
  )
  onClose(() => upkeep!.stop())
  const { shutdown } = pool
  const stopped = pool.stopped.then(close, (error: unknown) => {
    // A request that was not answered in time holds its connection: that is not waited for.
    void close().catch(() => {})
    throw error
  })
  const places = { ledger: ledger.place, project: project.id, listening, console: pages }
  return { ...places, stopped, shutdown }
}

/** What the cleanup of orphaned runs does before and after it closes the books of a run. */
export function abandonment({ ledger, logger, clock, connect, watch }: ActivityDeps) {
  const drain = async (run: Run) =>
    await clock.sleep(Math.max(0, await drainInFlight({ ledger, clock }, run)))
  return {
    async abandoning(run: Run) {
      const { signal } = new AbortController()
      const scope = { ledger, logger, clock, tuning: DEFAULT_IMPORT_TUNING, signal, beat: () => {} }
      await settleInFlight({ ...scope, priority: 'import' }, run, drain, connect)
    },
    abandoned: (run: Run) => watch.changed(abandonedChange(run)),
  }
}

/** Those that the worker of the workflows serves. */
const shortOf = (activities: Activities): ShortActivities =>
  Object.fromEntries(
    Object.entries(activities).filter(
      ([name]) => ACTIVITY_KINDS[name as keyof Activities] === 'short',
    ),
  ) as unknown as ShortActivities
