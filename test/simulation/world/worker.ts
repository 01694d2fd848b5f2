// A worker of the product: its real ledger, quotas, clients, activities and upkeep, in a simulated process. Statements of the ledger are
// carried out on a thread in production; here the way there and back takes virtual time, so that a process may be stopped or killed in between.

import { join } from 'node:path'
import type { Client } from '@temporalio/client'
import { createActivities } from '../../../activities/index.ts'
import { loadConfig } from '../../../config/index.ts'
import { systemClock, type Logger } from '../../../src/core/ports.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openPostgresLedger } from '../../../src/ledger/postgres/index.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { openQuotaStore } from '../../../src/ledger/open.ts'
import { createMonitor } from '../../../src/monitoring/monitor.ts'
import { createClientRegistry } from '../../../src/resources/client-registry.ts'
import { createMirrorOpener, createSourceOpeners } from '../../../src/resources/openers.ts'
import { orphanCleanup } from '../../../src/runs/orphaned-runs.ts'
import { projectOf } from '../../../src/runs/project.ts'
import { openSource } from '../../../src/sources/index.ts'
import { startHealthChecks } from '../../../src/temporal/health-checks.ts'
import { guardActivities } from '../../../src/temporal/project-guard.ts'
import { ensureSearchAttributes } from '../../../src/temporal/search-attributes.ts'
import { abandonment, activityDeps } from '../../../src/worker.ts'
import { taskQueueOf } from '../../../workflows/queues.ts'
import type { Network } from '../network/network.ts'
import { projectQueues } from '../temporal/project-queues.ts'
import type { Bundle, SimulatedTemporal, SimulatedWorker } from '../temporal/index.ts'
import type { Loop } from './loop.ts'
import type { Process } from './process.ts'
import { watchPulse } from './pulse.ts'
import type { AnswerWatch, Warehouse } from './warehouse.ts'

export interface WorkerParts {
  readonly loop: Loop
  readonly network: Network
  readonly temporal: SimulatedTemporal
  readonly process: Process
  /** Of another version than the server's own. */
  readonly bundle: Bundle | null
  readonly folder: string
  readonly configFile: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly logger: Logger
  /** How often a task of a workflow replays its history, of 1. */
  readonly forgets: number
  /** Null: it is a SQLite file in the folder. */
  readonly database: { readonly url: string; readonly schema: string } | null
  /** Of one way to the ledger's thread, or back, ms. */
  ledgerMs(): number
  /** Null: no query is asked, and nothing is mirrored, or into a database that needs no help. */
  readonly warehouse: Warehouse | null
  /** Otherwise a mirror has its sockets from the world, in the process that it belongs to: nothing opens it in its place. */
  readonly isMirroredInFile: boolean
  watchAnswer(query: string, columns: readonly string[]): AnswerWatch
  /** Of one way to the warehouse's thread, or back, ms. */
  warehouseMs(): number
  violate(what: string): void
}

const UPKEEP_MS = 30_000
const SLOTS = 10

/** Calls of the ledger take time on their way there, and back, and keep their order. */
function onThread(ledger: Ledger, { loop, process, ledgerMs }: WorkerParts): Ledger {
  const last = { there: 0, back: 0 }
  const way = (direction: 'there' | 'back') =>
    new Promise<void>((resolve) => {
      const at = Math.max(last[direction], loop.now() + ledgerMs())
      last[direction] = at
      loop.plan(at, `ledger ${direction}`, () => process.run(resolve), process)
    })
  return new Proxy(ledger, {
    get(target, name) {
      const own: unknown = Reflect.get(target, name)
      if (typeof own !== 'function') return own
      return async (...given: unknown[]) => {
        await way('there')
        try {
          return (await own.apply(target, given)) as unknown
        } finally {
          await way('back')
        }
      }
    },
  })
}

export class Worker {
  readonly process: Process
  readonly #parts: WorkerParts
  #polling: SimulatedWorker | null = null
  /** When it began, or went on. */
  #movesSince = -Infinity

  constructor(parts: WorkerParts) {
    this.#parts = parts
    this.process = parts.process
    parts.process.onDeath.push(() => this.#polling?.kill())
  }

  /** As `startWorker` of src/worker.ts. */
  async start(): Promise<void> {
    await this.process.run(async () => {
      const { folder, configFile, env, logger, network, temporal, forgets, bundle } = this.#parts
      const config = await loadConfig(configFile, env)
      const { database } = this.#parts
      const ledgerPlace = database ?? { sqlite: join(folder, 'ledger.db') }
      // Statements of PostgreSQL have their own way.
      const books =
        'sqlite' in ledgerPlace
          ? onThread(openSqliteLedger(ledgerPlace.sqlite), this.#parts)
          : await openPostgresLedger(ledgerPlace)
      const monitor = createMonitor({
        config,
        loadConfig: () => loadConfig(configFile, env),
        env,
        ledger: books,
        clock: systemClock,
        logger,
      })
      const { ledger } = monitor
      const quotas = await openQuotaStore(ledgerPlace, { onSetAside: () => {} })
      const { name } = this.process
      const connections = createClientRegistry({
        configFile,
        env,
        logger,
        quotas: { store: quotas, user: name },
        watch: monitor.requests,
        connect: network.connect,
      })
      const client = temporal.client(name)
      const project = await projectOf(books)
      const deps = activityDeps(
        { configFile, env, logger },
        { ledger, ledgerPlace, monitor, connections, quotas, client, project },
      )
      this.#useWarehouse(deps, connections.connect)
      const guarded = guardActivities(createActivities(deps), ledger)
      const activities = watchPulse(
        { ...guarded },
        {
          now: () => this.#parts.loop.now(),
          movesSince: () => (this.process.state === 'running' ? this.#movesSince : null),
          violate: this.#parts.violate,
        },
      )
      await ensureSearchAttributes(client.connection, 'default')
      this.#startUpkeep(client, deps)
      this.#polling = temporal.addWorker({
        name,
        queues: projectQueues(taskQueueOf(project.id), activities, SLOTS),
        client,
        forgets,
        ...(bundle && { bundle }),
        around: (_, run) => this.process.run(run),
      })
    })
  }

  /** What the product opens of warehouses is that of the world. */
  #useWarehouse(
    deps: ReturnType<typeof activityDeps>,
    connect: Parameters<typeof createSourceOpeners>[1],
  ): void {
    const { configFile, env, warehouse, isMirroredInFile, watchAnswer } = this.#parts
    if (warehouse === null) return
    const way = { process: this.process, wayMs: this.#parts.warehouseMs }
    if (isMirroredInFile)
      deps.openMirrorTables = createMirrorOpener({ configFile, env }, (...given) =>
        warehouse.open(given, way),
      )
    const openers = createSourceOpeners({ configFile, env }, connect, (...given) =>
      warehouse.openQueried(given, way, watchAnswer),
    )
    deps.openSource = (sync, signal, extent) => openSource(sync, openers, signal, extent)
  }

  #startUpkeep(client: Client, deps: ReturnType<typeof activityDeps>): void {
    const { ledger, logger, isLive } = deps
    startHealthChecks(
      {
        search_attributes: async () =>
          void (await ensureSearchAttributes(client.connection, 'default')),
        runs: orphanCleanup({ ledger, logger, isLive, ...abandonment(deps) }),
      },
      { clock: systemClock, logger, everyMs: UPKEEP_MS },
    )
  }

  stop(): void {
    this.process.stop()
    this.#polling?.stop()
  }

  goOn(): void {
    this.#movesSince = this.#parts.loop.now()
    this.#parts.loop.goOn(this.process)
    this.#polling?.continue()
  }
}
