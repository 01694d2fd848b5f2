// A worker of the product: its real ledger, quotas, clients and activities, in a simulated process. Statements of the ledger are carried out
// on a thread in production; here the way there and back takes virtual time, so that a process may be stopped or killed in between.

import { join } from 'node:path'
import { createActivities, type Activities, type ActivityDeps } from '../../../activities/index.ts'
import { findSync, loadConfig } from '../../../config/index.ts'
import { ConfigError } from '../../../src/core/errors.ts'
import { systemClock, type Logger, type QuotaStore } from '../../../src/core/ports.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openSqliteQuota } from '../../../src/ledger/sqlite/quota.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { createClientRegistry } from '../../../src/resources/client-registry.ts'
import { createMirrorOpener, createSourceOpeners } from '../../../src/resources/openers.ts'
import type { RunHolder } from '../../../src/runs/open.ts'
import type { RunObserver } from '../../../src/runs/observers.ts'
import { openSource } from '../../../src/sources/index.ts'
import type { Network } from '../network/network.ts'
import type { Loop } from './loop.ts'
import type { Process } from './process.ts'

export interface WorkerParts {
  readonly loop: Loop
  readonly network: Network
  readonly process: Process
  readonly folder: string
  readonly configFile: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly logger: Logger
  readonly watch: RunObserver
  /** Of one way to the ledger's thread, or back, ms. */
  ledgerMs(): number
  isLive(holder: RunHolder): Promise<boolean>
}

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
  ledger: Ledger | null = null
  activities: Activities | null = null
  #quotas: QuotaStore | null = null
  #registry: ReturnType<typeof createClientRegistry> | null = null

  constructor(parts: WorkerParts) {
    this.#parts = parts
    this.process = parts.process
  }

  async start(): Promise<void> {
    await this.process.run(async () => {
      const { folder, configFile, env, logger } = this.#parts
      const ledger = onThread(openSqliteLedger(join(folder, 'ledger.db')), this.#parts)
      const quotas = openSqliteQuota(join(folder, 'quota.db'), { onSetAside: () => {} })
      const { connect } = this.#parts.network
      const user = this.process.name
      const registry = createClientRegistry({
        configFile,
        env,
        logger,
        quotas: { store: quotas, user },
        connect,
      })
      Object.assign(this, { ledger })
      this.#quotas = quotas
      this.#registry = registry
      this.activities = createActivities(this.#deps(ledger, registry))
    })
  }

  #deps(ledger: Ledger, registry: ReturnType<typeof createClientRegistry>): ActivityDeps {
    const { configFile, env, logger, watch, isLive } = this.#parts
    const ref = { configFile, env }
    const openers = createSourceOpeners(ref, registry.connect)
    return {
      ledger,
      logger,
      clock: systemClock,
      env,
      watch,
      isLive,
      loadSync: async (name, kind) => {
        const sync = findSync(await loadConfig(configFile, env), name)
        if (sync.kind === kind) return sync
        throw new ConfigError(configFile, [{ path: `syncs.${name}`, message: 'of another kind' }])
      },
      loadSyncs: async () => Object.values((await loadConfig(configFile, env)).syncs),
      loadGroups: () => loadConfig(configFile, env),
      connect: registry.connect,
      openSource: (sync, signal, extent) => openSource(sync, openers, signal, extent),
      openMirrorTables: createMirrorOpener(ref),
    }
  }

  /** As a worker that is shut down. */
  async close(): Promise<void> {
    await this.process.run(async () => {
      await this.#registry?.close()
      await this.#quotas?.close()
      await this.ledger?.close()
    })
  }
}
