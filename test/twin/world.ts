// Real processes for the moves of the simulator: a service with a data file, a worker, Temporal, a ledger on SQLite or PostgreSQL, and a
// network between them that a test holds in its hand.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { vi } from 'vitest'
import { loadConfig, readLedgerPlace } from '../../config/index.ts'
import { RecordsClient } from '../../src/client/index.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { mintStoredKey, revokeStoredKey } from '../../src/service/index.ts'
import { createProject, main, type Project } from '../e2e/project.ts'
import { untilHung } from '../hang.ts'
import { startWire, type Wire } from './wire.ts'

export const CONTACT = 'svc_contact'

/** A process of a worker, and what it has said. */
export interface TwinWorker {
  readonly child: ChildProcess
  kill(signal: NodeJS.Signals): void
}

export interface TwinWorld {
  readonly project: Project
  /** Between workers and the service. */
  readonly toService: Wire
  /** Between workers and Temporal. */
  readonly toTemporal: Wire
  /** Seconds by which the clock of workers differs. */
  setClock(seconds: number): void
  spawnWorker(): TwinWorker
  /** The worker that was started last. */
  worker(): TwinWorker
  readonly service: {
    kill(): Promise<void>
    start(): Promise<void>
    /** Keeps what it holds now. It goes on. */
    keep(): Promise<void>
    /** Puts back what was kept; it was killed. */
    putBack(): void
  }
  /** A key in place of the one in use, which is revoked. */
  replaceKey(): Promise<void>
  /** Ends Temporal and starts it again. `isEmpty`: without its database. */
  restartTemporal(options?: { readonly isEmpty?: boolean }): Promise<void>
  withLedger<Result>(work: (ledger: Ledger) => Promise<Result>): Promise<Result>
  /** The contacts at the service, by their key: name and score. Throws if a key has two. */
  held(): Promise<Map<string, string>>
  /** A client of the service that no wire is in front of. */
  withService<Result>(work: (client: RecordsClient) => Promise<Result>): Promise<Result>
  /** All that workers have said. */
  said(): string
  /** Rejects as soon as a worker has ended unasked. */
  readonly lost: Promise<never>
  stop(): Promise<void>
}

export interface TwinOptions {
  readonly config: string
  /** URL of a PostgreSQL database for `${LEDGER_URL}` of the configuration. */
  readonly ledgerUrl?: string
  /** Whether the project has a Temporal server of its own. */
  readonly ownTemporal?: boolean
}

/** Waits a part of a second that a test draws. */
export const aWhile = (random: () => number, maxMs: number) => pause(random() * maxMs)

export async function createTwinWorld(options: TwinOptions): Promise<TwinWorld> {
  const project = await createProject({
    config: options.config,
    ...(options.ownTemporal && { server: 'restartable' as const }),
  })
  const data = join(project.dir, 'crm.db')
  let key = mintStoredKey(data, { reach: 'org' })
  project.write('key', key.token)
  const service = await startServiceProcess(data)
  const toService = await startWire(service.port)
  const toTemporal = await startWire(Number(project.address.split(':')[1]))
  const clockFile = project.write('clock', '0')
  const clock = fileURLToPath(new URL('clock.mjs', import.meta.url))
  Object.assign(project.env, {
    RECORDS_URL: `http://${toService.address}`,
    ...(options.ledgerUrl && { LEDGER_URL: options.ledgerUrl }),
  })
  const workers: TwinWorker[] = []
  let said = ''
  let lose: (error: Error) => void
  const lost = new Promise<never>((_, reject) => (lose = reject))
  lost.catch(() => {})
  const spawnWorker = (): TwinWorker => {
    const child = spawn(process.execPath, [main, '--config', project.configFile, 'worker'], {
      cwd: project.dir,
      env: {
        ...project.env,
        TEMPORAL_ADDRESS: toTemporal.address,
        TWIN_CLOCK_FILE: clockFile,
        NODE_OPTIONS: `--import ${clock}`,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (piece: Buffer) => (said += piece.toString()))
    let isAsked = false
    const worker = {
      child,
      kill(signal: NodeJS.Signals) {
        isAsked ||= signal === 'SIGKILL' || signal === 'SIGTERM'
        child.kill(signal)
      },
    }
    child.once('exit', (code) => {
      if (!isAsked) lose(new Error(`A worker ended with ${code}:\n${said.slice(-3_000)}`))
    })
    workers.push(worker)
    return worker
  }
  const withService = async <Result>(work: (client: RecordsClient) => Promise<Result>) => {
    const client = new RecordsClient({
      baseUrl: `http://127.0.0.1:${service.port}`,
      key: key.token,
    })
    try {
      return await work(client)
    } finally {
      await client.close()
    }
  }
  return {
    project,
    toService,
    toTemporal,
    setClock: (seconds) => writeFileSync(clockFile, String(seconds)),
    spawnWorker,
    worker: () => workers.at(-1)!,
    service: {
      kill: () => service.kill(),
      start: () => service.start(),
      async keep() {
        await service.kill()
        copyDatabase(data, `${data}.kept`)
        await service.start()
      },
      putBack: () => copyDatabase(`${data}.kept`, data),
    },
    async replaceKey() {
      const old = key
      key = mintStoredKey(data, { reach: 'org', orgId: old.orgId })
      revokeStoredKey(data, old.fingerprint)
      await aWhile(Math.random, 500)
      project.write('key.new', key.token)
      renameSync(join(project.dir, 'key.new'), join(project.dir, 'key'))
    },
    async restartTemporal({ isEmpty = false } = {}) {
      toTemporal.cut()
      await project.restartTemporal({ isEmpty })
      toTemporal.mend()
    },
    async withLedger(work) {
      const { ledger: configured } = await loadConfig(project.configFile, project.env)
      const ledger = await openLedger(await readLedgerPlace(configured, project.env))
      try {
        return await work(ledger)
      } finally {
        await ledger.close()
      }
    },
    held: () => withService(readContacts),
    withService,
    said: () => said,
    lost,
    async stop() {
      for (const worker of workers) worker.kill('SIGKILL')
      await service.kill()
      await project.stop()
      await toService.close()
      await toTemporal.close()
    },
  }
}

/** A SQLite file that nobody has open, with its log. */
export function copyDatabase(from: string, to: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(`${to}${end}`, { force: true })
  for (const end of ['', '-wal'])
    if (existsSync(`${from}${end}`)) copyFileSync(`${from}${end}`, `${to}${end}`)
}

/** The service in a process of its own, on one port for all of its lives. */
async function startServiceProcess(data: string) {
  let child: ChildProcess | null = null
  let port = 0
  const start = async () => {
    child = spawn(
      process.execPath,
      [main, '--json', 'service', '--port', String(port), '--data', data, '--latency', '15'],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const [line] = (await once(createInterface(child.stdout!), 'line')) as [string]
    port = Number(new URL((JSON.parse(line) as { url: string }).url).port)
  }
  await start()
  return {
    get port() {
      return port
    },
    start,
    async kill() {
      if (child === null) return
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      child = null
      await gone
    },
  }
}

async function readContacts(client: RecordsClient): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  let cursor: string | null | undefined
  // Bounded: each page names the next one.
  do {
    const page = await client.queryRecords(CONTACT, {
      properties: ['svc_external_id', 'svc_first_name', 'svc_score'],
      limit: 100,
      ...(cursor && { cursor }),
    })
    for (const { properties } of page.data) {
      const key = String(properties['svc_external_id'])
      if (found.has(key)) throw new Error(`The service has two records of ${key}`)
      found.set(key, `${properties['svc_first_name']} ${properties['svc_score']}`)
    }
    cursor = page.pagination.has_more ? page.pagination.next_cursor : null
  } while (cursor)
  return found
}

/** Waits until workers have sent so many pieces more, or `isOver`. */
export async function untilSent({ toService }: TwinWorld, pieces: number, isOver: () => boolean) {
  const from = toService.pieces()
  await vi.waitUntil(() => isOver() || toService.pieces() >= from + pieces, {
    ...untilHung,
    interval: 5,
  })
}
