// The composition root: a Temporal worker with the ledger, the clients and the sources that its activities need.

import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Client, WorkflowNotFoundError } from '@temporalio/client'
import {
  DefaultLogger,
  NativeConnection,
  Runtime,
  Worker,
  type LogEntry,
  type WorkerOptions as TemporalWorkerOptions,
} from '@temporalio/worker'
import { createActivities, type ActivityDeps } from '../activities/index.ts'
import { loadConfig, readLedgerPlace } from '../config/index.ts'
import { importSync, mirrorSync } from '../workflows/names.ts'
import {
  BACKFILL_TASK_QUEUE,
  IO_TASK_QUEUE,
  MIRROR_TASK_QUEUE,
  TASK_QUEUE,
} from '../workflows/queues.ts'
import { connector } from './connections.ts'
import { ConfigError, TemporalUnreachable } from './core/errors.ts'
import { systemClock, type Logger } from './core/ports.ts'
import { findSync, type SyncConfig } from './core/sync.ts'
import { openLedger, openQuotaStore } from './ledger/open.ts'
import { mirrorOpener, sourceOpeners } from './openers.ts'
import { openSource } from './sources/index.ts'

/** What a worker is started with. */
export interface WorkerOptions {
  /** Path of records-sync.yaml; read again at every open and connect, so a mended file needs no restart. */
  readonly configFile: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly temporal: { readonly address: string; readonly namespace: string }
  readonly logger: Logger
  /**
   * Segments and stages of imports that this process works on at the same time. Default 4; beside them as many streams of
   * mirrors, and half as many of backfills.
   */
  readonly ioSlots?: number
}

/** A started worker. */
export interface RunningWorker {
  /** Where its ledger is, for messages. */
  readonly ledger: string
  /** Ends when the worker has stopped; rejects where it could not stop in time or lost its server for good. */
  readonly stopped: Promise<void>
  /** Stops polling; batches in flight are settled first. */
  shutdown(): void
}

const shutdownForceMs = 25_000
const quiet = [/No workflows registered/]

function installRuntime(logger: Logger): void {
  const write = ({ level, message, meta }: LogEntry) => {
    if (quiet.some((pattern) => pattern.test(message))) return
    const fields = {
      workflow: meta?.['workflowId'] as string | undefined,
      activity: meta?.['activityType'] as string | undefined,
    }
    const say = level === 'ERROR' ? logger.error : level === 'WARN' ? logger.warn : logger.debug
    say.call(logger, { ...fields, text: message }, 'temporal')
  }
  try {
    Runtime.install({
      logger: new DefaultLogger('WARN', write),
      telemetryOptions: { logging: { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } } },
      // Whoever starts the worker decides what a signal means: `dev` has a server to stop after it.
      shutdownSignals: [],
    })
  } catch {
    // One runtime a process; a second worker of the same process shares the first one's.
  }
}

/** The workflow code: prebuilt beside the compiled worker, or bundled from source in development. */
function workflowCode(): Pick<TemporalWorkerOptions, 'workflowBundle' | 'workflowsPath'> {
  if (import.meta.url.endsWith('.ts'))
    return { workflowsPath: fileURLToPath(new URL('../workflows/index.ts', import.meta.url)) }
  const codePath = fileURLToPath(new URL('../workflow-bundle.js', import.meta.url))
  if (existsSync(codePath)) return { workflowBundle: { codePath } }
  return { workflowsPath: fileURLToPath(new URL('../workflows/index.js', import.meta.url)) }
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
 * @throws ConfigError, LedgerError, TemporalUnreachable before anything is polled
 */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { configFile, env, temporal, logger } = options
  // What can be wrong on this machine is said before anything native is started.
  const config = await loadConfig(configFile, env)
  const place = await readLedgerPlace(config.ledger, env)
  const ledger = await openLedger(place)
  const quotas = await openQuotaStore(place)
  installRuntime(logger)
  const user = `worker ${process.pid} on ${hostname()}`
  const connections = connector({ ...options, quotas: { store: quotas, user } })
  const openers = sourceOpeners(options, connections.connect)
  const connection = await NativeConnection.connect({ address: temporal.address }).catch(() => {
    throw new TemporalUnreachable(temporal.address)
  })
  const client = new Client({ connection, namespace: temporal.namespace })

  const deps: ActivityDeps = {
    ledger,
    logger,
    clock: systemClock,
    loadSync: async (name, kind) => syncOfKind(await loadConfig(configFile, env), name, kind),
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
  const { openImport, openMirror, noteVerdict, closeMirror } = activities
  const ioSlots = options.ioSlots ?? 4
  const shared = {
    connection,
    namespace: temporal.namespace,
    shutdownGraceTime: 0,
    shutdownForceTime: shutdownForceMs,
    maxHeartbeatThrottleInterval: '5s',
    defaultHeartbeatThrottleInterval: '5s',
  }
  const workers = [
    await Worker.create({
      ...shared,
      ...workflowCode(),
      taskQueue: TASK_QUEUE,
      activities: { openImport, openMirror, noteVerdict, closeMirror },
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
  const shutdown = () => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
  }
  const stopped = (async () => {
    try {
      // If one of them fails the others have to stop too, or the process would work on with half of itself.
      await Promise.all(workers.map((worker) => worker.run().finally(shutdown)))
    } finally {
      await connections.close()
      await quotas.close()
      await ledger.close()
      await connection.close().catch(() => {})
    }
  })()
  return { ledger: ledger.place, stopped, shutdown }
}
