// The composition root: a Temporal worker with the ledger, the clients and the sources that its activities need.

import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Client, WorkflowNotFoundError } from '@temporalio/client'
import {
  bundleWorkflowCode,
  DefaultLogger,
  Worker,
  type NativeConnection,
  type WorkerOptions as TemporalWorkerOptions,
  type WorkflowBundle,
} from '@temporalio/worker'
import { createActivities, type ActivityDeps } from '../activities/index.ts'
import { loadConfig, readLedgerPlace, readSigningKey } from '../config/index.ts'
import { importSync, mirrorSync } from '../workflows/names.ts'
import {
  BACKFILL_TASK_QUEUE,
  IO_TASK_QUEUE,
  MIRROR_TASK_QUEUE,
  TASK_QUEUE,
} from '../workflows/queues.ts'
import { connector } from './connections.ts'
import { ConfigError } from './core/errors.ts'
import { systemClock, type Logger } from './core/ports.ts'
import { findSync, type SyncConfig } from './core/sync.ts'
import { openLedger, openQuotaStore } from './ledger/open.ts'
import { mirrorOpener, sourceOpeners } from './openers.ts'
import { createMonitor } from './monitoring/monitor.ts'
import { temporalPageOnFreePort } from './monitoring/temporal-page.ts'
import { watchers } from './runs/watch.ts'
import { scheduleKeeper } from './schedules/keeper.ts'
import { openSource } from './sources/index.ts'
import { readCodec } from './temporal/codec.ts'
import { installRuntime } from './temporal/runtime.ts'
import type { TemporalSettings } from './temporal/settings.ts'
import { workflowTeller } from './temporal/teller.ts'
import { connectWorker } from './temporal/worker.ts'

/** What a worker is started with. */
export interface WorkerOptions {
  /** Path of records-sync.yaml; read again at every open and connect, so a mended file needs no restart. */
  readonly configFile: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly temporal: TemporalSettings
  readonly logger: Logger
  /** Name of this build: workers have versions then, and a run stays with the build that began it. */
  readonly buildId?: string
  /** How long batches in flight may take after `shutdown`, ms. Default 25 s. */
  readonly shutdownForceMs?: number
}

/** A started worker. */
export interface RunningWorker {
  /** Where its ledger is, for messages. */
  readonly ledger: string
  /** `host:port` of its metrics and health; null where the configuration has no `worker.listen`. */
  readonly listening: string | null
  /** Ends when the worker has stopped; rejects where it could not stop in time or lost its server for good. */
  readonly stopped: Promise<void>
  /** Stops polling; batches in flight are settled first. */
  shutdown(): void
}

const shutdownForceMs = 25_000
const deploymentName = 'records-sync'

/** The code of this process, once it was bundled; a second worker of the process takes the same. */
let bundled: Promise<WorkflowBundle> | null = null

/** The workflow code: prebuilt beside the compiled worker, or bundled from source in development. */
async function workflowCode(): Promise<NonNullable<TemporalWorkerOptions['workflowBundle']>> {
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

/** A run stays with the build that began it, activities included: no code ever meets a history that another build wrote. */
const versioned = (buildId: string) => ({
  useWorkerVersioning: true as const,
  version: { deploymentName, buildId },
  defaultVersioningBehavior: 'PINNED' as const,
})

const answerMaxMs = 1_500

async function isAnswering(connection: NativeConnection): Promise<boolean> {
  await connection.withDeadline(Date.now() + answerMaxMs, () =>
    connection.workflowService.getSystemInfo({}),
  )
  return true
}

/** @throws ConfigError where there is no such sync, or another workflow is the one for it */
function syncOfKind(
  config: Parameters<typeof findSync>[0],
  name: string,
  kind: SyncConfig['kind'],
): SyncConfig {
  const sync = findSync(config, name)
  if (sync.kind === kind) return sync
  const workflow = sync.kind === 'import' ? importSync : mirrorSync
  const message = `it is ${sync.kind === 'import' ? 'an import' : 'a mirror'}, which the workflow ${workflow} runs; "records-sync run ${name}" starts the right one`
  throw new ConfigError(config.file, [{ path: `syncs.${name}`, message }])
}

/**
 * Connects, and starts to work.
 * @throws ConfigError, LedgerError, what `connectWorker` and `Monitor.listen` throw, before anything is polled
 */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const opened: (() => Promise<unknown>)[] = []
  const close = async () => {
    // Bounded: what was opened is closed once, the last one first.
    for (let next = opened.pop(); next; next = opened.pop()) await next().catch(() => {})
  }
  try {
    return await start(options, opened, close)
  } catch (error) {
    await close()
    throw error
  }
}

async function start(
  options: WorkerOptions,
  opened: (() => Promise<unknown>)[],
  close: () => Promise<void>,
): Promise<RunningWorker> {
  const { configFile, env, temporal, logger } = options
  // What can be wrong on this machine is said before anything native is started.
  const config = await loadConfig(configFile, env)
  const place = await readLedgerPlace(config.ledger, env)
  const signingKey = await readSigningKey(config.ledger, env)
  const books = await openLedger(place, { signingKey })
  opened.push(() => books.close())
  const monitor = createMonitor({
    config,
    loadConfig: () => loadConfig(configFile, env),
    env,
    ledger: books,
    clock: systemClock,
    logger,
  })
  // The same, with an eye on what is settled.
  const { ledger } = monitor
  const quotas = await openQuotaStore(place)
  opened.push(() => quotas.close())
  const isMonitored = config.worker.listen !== undefined
  const temporalPage = await installRuntime(logger, isMonitored ? temporalPageOnFreePort : null)
  const user = `worker ${process.pid} on ${hostname()}`
  const connections = connector({
    ...options,
    quotas: { store: quotas, user },
    watch: monitor.requests,
  })
  opened.push(() => connections.close())
  const openers = sourceOpeners(options, connections.connect)
  const codec = await readCodec(config.temporal.encryption_keys ?? [], env)
  const connection = await connectWorker(temporal)
  opened.push(() => connection.close())
  const converted = codec === null ? {} : { dataConverter: { payloadCodecs: [codec] } }
  const client = new Client({ connection, namespace: temporal.namespace, ...converted })

  let polling: readonly Worker[] = []
  const checks = {
    worker: () => polling.length > 0 && polling.every((worker) => worker.getState() === 'RUNNING'),
    temporal: () => isAnswering(connection),
    ledger: () => ledger.runs({ limit: 1 }).then(() => true),
  }
  const listening = await monitor.listen({ temporalPage, checks })
  opened.push(() => monitor.close())

  const deps: ActivityDeps = {
    ledger,
    logger,
    clock: systemClock,
    watch: watchers([
      workflowTeller(client, { logger }),
      scheduleKeeper(client, { logger }),
      monitor.runs,
    ]),
    loadSync: async (name, kind) => syncOfKind(await loadConfig(configFile, env), name, kind),
    loadSyncs: async () => Object.values((await loadConfig(configFile, env)).syncs),
    connect: connections.connect,
    openSource: (sync, signal, extent) => openSource(sync, openers, signal, extent),
    openMirrorTables: mirrorOpener(options),
    isLive: async ({ workflowId, workflowRunId }) => {
      try {
        const { status } = await client.workflow.getHandle(workflowId, workflowRunId).describe()
        return status.name === 'RUNNING'
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return false
        throw error
      }
    },
  }
  const activities = createActivities(deps)
  // Those that ask the ledger or the configuration, and little else.
  const { openImport, openMirror, closeMirror, noteVerdict, noteImportVerdict } = activities
  const { noteParked, listSyncs, checkBackfill, checkRetry, checkReconcile } = activities
  const ioSlots = config.worker.slots
  const shared = {
    connection,
    namespace: temporal.namespace,
    ...converted,
    shutdownGraceTime: 0,
    shutdownForceTime: options.shutdownForceMs ?? shutdownForceMs,
    ...(options.buildId === undefined
      ? {}
      : { workerDeploymentOptions: versioned(options.buildId) }),
    maxHeartbeatThrottleInterval: '5s',
    defaultHeartbeatThrottleInterval: '5s',
  }
  const workers = [
    await Worker.create({
      ...shared,
      workflowBundle: await workflowCode(),
      taskQueue: TASK_QUEUE,
      activities: {
        openImport,
        openMirror,
        closeMirror,
        noteVerdict,
        noteImportVerdict,
        noteParked,
        listSyncs,
        checkBackfill,
        checkRetry,
        checkReconcile,
      },
      maxCachedWorkflows: 20,
      // What a worker that was killed had in its cache is waited for so long, and then read anew by another one.
      stickyQueueScheduleToStartTimeout: '3s',
    }),
    await Worker.create({
      ...shared,
      taskQueue: IO_TASK_QUEUE,
      activities: { ...activities },
      maxConcurrentActivityTaskExecutions: ioSlots,
    }),
    await Worker.create({
      ...shared,
      taskQueue: MIRROR_TASK_QUEUE,
      activities: { ...activities },
      maxConcurrentActivityTaskExecutions: ioSlots,
    }),
    await Worker.create({
      ...shared,
      taskQueue: BACKFILL_TASK_QUEUE,
      activities: { ...activities },
      maxConcurrentActivityTaskExecutions: Math.max(1, Math.floor(ioSlots / 2)),
    }),
  ]
  polling = workers
  const shutdown = () => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
  }
  const stopped = (async () => {
    // If one of them fails the others have to stop too, or the process would work on with half of itself.
    const ended = await Promise.allSettled(workers.map((worker) => worker.run().finally(shutdown)))
    const failed = ended.find((end) => end.status === 'rejected')
    if (failed) {
      // A request that was not answered in time holds its connection: that is not waited for.
      void close().catch(() => {})
      throw failed.reason
    }
    await close()
  })()
  return { ledger: ledger.place, listening, stopped, shutdown }
}
