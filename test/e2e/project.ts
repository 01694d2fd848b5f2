// A project of its own for an end-to-end test: a folder with a CSV and a configuration, the real service, the Temporal server
// of the whole run or one of its own, and workers in this process or in processes that can be killed.

import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, Connection, type WorkflowHandle } from '@temporalio/client'
import { inject, vi } from 'vitest'
import { silentLogger } from '../../src/core/ports.ts'
import { startTemporal } from '../../src/dev/temporal-server.ts'
import { loadConfig, readLedgerPlace } from '../../config/index.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite/index.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { startService, type RunningService, type ServiceOptions } from '../../src/service/index.ts'
import { importSync } from '../../workflows/names.ts'
import { taskQueueOf } from '../../workflows/queues.ts'
import { HEARTBEAT_MS, orHung } from '../hang.ts'
import { runCommand, type CommandEnd } from './command.ts'
import { defaultConfig } from './contacts.ts'
import { main } from './main.ts'
import { startWorkerHere, type RunningWorker } from './worker.ts'
import { startBatchGate, type BatchGate, type GateOptions } from './batch-gate.ts'

/** Waits of a test: short, so that a blocked run asks again at once. */
export const fastTuning = {
  rows_per_segment: 1_000,
  service_probe_ms: 200,
  blocked_probe_ms: 200,
  resend_backoff_ms: [20, 50],
  item_backoff_ms: [20, 50],
  heartbeat_timeout_ms: HEARTBEAT_MS,
}

export interface Project {
  readonly dir: string
  readonly configFile: string
  readonly ledgerFile: string
  readonly service: RunningService
  /** In front of the service, where the project was made with one. */
  readonly gate: BatchGate
  readonly client: Client
  readonly address: string
  readonly env: Record<string, string>
  write(name: string, text: string): string
  startWorker(): Promise<RunningWorker>
  /** A worker in a process of its own, from the compiled program. */
  spawnWorker(): ChildProcess
  /** Runs the command in a process of its own. */
  cli(...args: string[]): Promise<CommandEnd>
  /** Runs the command in this process, for what it says and does. */
  command(...args: string[]): Promise<CommandEnd>
  /** On the queue of the ledger that the configuration names, or on another one. */
  start(sync: string, tuning?: object, queue?: string): Promise<WorkflowHandle>
  /** Task queue of its workflows; makes the ledger where there is none. */
  queue(): Promise<string>
  /** That name, as nobody else on the server has it. */
  workflowId(name: string): string
  ledger(): Ledger
  /** The service's contacts by external id. */
  held(): Map<string, Record<string, unknown>>
  /**
   * Ends the Temporal server, and starts it again on the same file and port; `isEmpty`: on a new file. Of a project whose server is
   * restartable.
   */
  restartTemporal(options?: { readonly isEmpty?: boolean }): Promise<void>
  stop(): Promise<void>
}

export { contactsConfig, contactsCsv, defaultConfig } from './contacts.ts'
export { main } from './main.ts'

/** Id of the project; its ledger is made where there is none. */
export async function projectIdOf(configFile: string, env: NodeJS.ProcessEnv): Promise<string> {
  const { ledger: configured } = await loadConfig(configFile, env)
  const ledger = await openLedger(await readLedgerPlace(configured, env))
  try {
    return await ledger.project()
  } finally {
    await ledger.close()
  }
}

export async function createProject(
  options: {
    service?: ServiceOptions
    config?: string
    gate?: GateOptions
    /** A Temporal server that no other test sees, or that keeps a file and can be restarted. Default: that of the run. */
    server?: 'own' | 'restartable'
  } = {},
): Promise<Project> {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-test-'))
  const service = await startService(options.service)
  const gate = options.gate && (await startBatchGate(service.url, options.gate))
  const server = {
    cliPath: inject('temporalCli'),
    headless: true,
    logger: silentLogger,
    ...(options.server === 'restartable' && { dbFile: join(dir, 'temporal.db') }),
  }
  let own = options.server === undefined ? null : await startTemporal(server)
  const address = own?.address ?? inject('temporalAddress')
  const suffix = Math.random().toString(36).slice(2)
  const write = (name: string, text: string) => {
    const path = join(dir, name)
    writeFileSync(path, text, { mode: 0o600 })
    return path
  }
  write('key', service.key)
  const configFile = write('records-sync.yaml', options.config ?? defaultConfig)
  const env = {
    RECORDS_URL: gate?.url ?? service.url,
    TEMPORAL_ADDRESS: address,
    RECORDS_SYNC_SMALL_TUNING: '1',
    PATH: process.env['PATH'] ?? '',
    HOME: process.env['HOME'] ?? '',
  }
  const connection = await Connection.connect({ address })
  const client = new Client({ connection })
  const workers: RunningWorker[] = []
  const children = new Set<ChildProcess>()
  const launch = (args: string[]) => {
    const child = spawn(process.execPath, [main, '--config', configFile, ...args], {
      cwd: dir,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    children.add(child)
    child.once('exit', () => children.delete(child))
    return child
  }
  // A test that breaks the configuration asks the worker that was started before.
  let known: string | undefined
  const queue = async () => {
    const id = await projectIdOf(configFile, env).catch((error: unknown) => {
      if (known === undefined) throw error
      return known
    })
    return taskQueueOf((known = id))
  }
  return {
    dir,
    configFile,
    queue,
    workflowId: (name) => `${name}-${suffix}`,
    ledgerFile: join(dir, 'ledger.db'),
    service,
    get gate() {
      if (gate === undefined) throw new Error('This project was made without a gate')
      return gate
    },
    client,
    address,
    env,
    write,
    async startWorker() {
      const worker = await startWorkerHere({
        configFile,
        env,
        temporal: { address, namespace: 'default' },
        logger: silentLogger,
      })
      workers.push(worker)
      return worker
    },
    spawnWorker() {
      const child = launch(['worker'])
      child.stdout?.resume()
      child.stderr?.resume()
      return child
    },
    cli: (...args) =>
      new Promise((resolve, reject) => {
        const child = launch(args)
        let out = ''
        let err = ''
        child.stdout?.on('data', (chunk: Buffer) => (out += chunk.toString()))
        child.stderr?.on('data', (chunk: Buffer) => (err += chunk.toString()))
        child.once('error', reject)
        child.once('close', (code) => resolve({ code: code ?? -1, out, err }))
      }),
    command: (...args) => runCommand(env, ['--config', configFile, ...args]),
    start: async (sync, tuning = fastTuning, taskQueue) =>
      await client.workflow.start(importSync, {
        taskQueue: taskQueue ?? (await queue()),
        workflowId: `import-${sync}-${Math.random().toString(36).slice(2)}`,
        args: [{ sync, tuning }],
      }),
    ledger: () => openSqliteLedger(join(dir, 'ledger.db')),
    held: () =>
      new Map(
        [...service.records('svc_contact')].map((record) => [
          String(record.properties['svc_external_id']),
          record.properties,
        ]),
      ),
    async restartTemporal({ isEmpty = false } = {}) {
      await own?.stop()
      if (isEmpty)
        for (const end of ['', '-wal', '-shm'])
          rmSync(join(dir, `temporal.db${end}`), { force: true })
      own = await startTemporal({ ...server, port: Number(address.split(':')[1]) })
    },
    async stop() {
      vi.unstubAllEnvs()
      gate?.open()
      for (const worker of workers) worker.shutdown()
      const stopped = workers.map((worker) => worker.stopped)
      await orHung('the workers of this process', Promise.allSettled(stopped))
      const killed = [...children].map(
        (child) =>
          new Promise<void>((resolve) => {
            child.once('exit', () => resolve())
            child.kill('SIGKILL')
          }),
      )
      await orHung('the killed processes', Promise.all(killed))
      await connection.close()
      if (own) await orHung('the Temporal server', own.stop())
      gate?.close()
      await orHung('the service', service.close())
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
