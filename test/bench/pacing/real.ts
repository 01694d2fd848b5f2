// The pacer for real: worker processes that share one ledger, a Temporal server, and the service with a limit a minute, in
// each of its models. Measured at the service, over whole minutes: how much of the quota was used, and how often a
// request was refused. `npm run bench -- pacing-real` takes half an hour; most of it is waiting.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, Connection } from '@temporalio/client'
import { silentLogger, systemClock } from '../../../src/core/ports.ts'
import { findTemporalCli } from '../../../src/dev/temporal-cli.ts'
import { startTemporal } from '../../../src/dev/temporal-server.ts'
import { LIMIT_MODELS } from '../../../src/service/limits/limiter.ts'
import type { LimitModel } from '../../../src/service/limits/limiter.ts'
import { startService } from '../../../src/service/index.ts'
import type { RunningService } from '../../../src/service/index.ts'
import { importSync } from '../../../workflows/names.ts'
import { loadConfig, readLedgerPlace } from '../../../config/index.ts'
import { openLedger } from '../../../src/ledger/open.ts'
import { taskQueueOf } from '../../../workflows/queues.ts'
import { startPostgres } from '../../postgres.ts'
import { contactsConfig } from '../../e2e/contacts.ts'

const main = fileURLToPath(new URL('../../../dist/src/cli/main.js', import.meta.url))
const LIMIT = 600
const LATENCY_MS = 120
const MINUTE_MS = 60_000
/** What of a run is measured begins with the first whole minute after this. */
const WARM_UP_MS = 100_000
const rowsPerRequest = 50

export interface RealCell {
  readonly ledger: 'SQLite' | 'PostgreSQL'
  readonly model: LimitModel
  readonly workers: number
  /** What happens in the first measured minute: -9 to one worker, or to all of them, which come back 4 s later. */
  readonly kill?: 'one' | 'all'
}

export interface RealResult extends RealCell {
  /** Accepted requests, per cent of the quota of the measured minutes. */
  readonly used: number
  readonly refused: number
  readonly perThousand: number
}

/** Runs cells side by side. `minutes` are measured of each. */
async function measureTogether(cells: readonly RealCell[], minutes: number): Promise<RealResult[]> {
  const cli = await findTemporalCli({ env: process.env, progress: console.error })
  const postgres = cells.some(({ ledger }) => ledger === 'PostgreSQL')
    ? await startPostgres()
    : null
  try {
    return await Promise.all(
      cells.map(async (cell) => {
        const url = cell.ledger === 'PostgreSQL' ? await postgres!.newDatabase() : null
        return await measure(cell, minutes, cli.path, url)
      }),
    )
  } finally {
    await postgres?.stop()
  }
}

async function measure(
  cell: RealCell,
  minutes: number,
  cliPath: string,
  postgresUrl: string | null,
): Promise<RealResult> {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-pacing-'))
  const temporal = await startTemporal({ cliPath, headless: true, logger: silentLogger })
  const service = await startService({
    limitPerMinute: LIMIT,
    limitModel: cell.model,
    latencyMs: LATENCY_MS,
  })
  const children = new Set<ChildProcess>()
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: process.env['HOME'] ?? '',
    TEMPORAL_ADDRESS: temporal.address,
    ...(postgresUrl !== null && { LEDGER_URL: postgresUrl }),
  }
  const configFile = join(dir, 'records-sync.yaml')
  const startWorker = () => {
    const child = spawn(process.execPath, [main, '--config', configFile, 'worker'], {
      env,
      stdio: 'ignore',
    })
    children.add(child)
    child.once('exit', () => children.delete(child))
  }
  try {
    const runMinutes = minutes + WARM_UP_MS / MINUTE_MS + 3
    await writeCsv(join(dir, 'contacts.csv'), runMinutes * LIMIT * rowsPerRequest)
    writeFileSync(join(dir, 'key'), service.key, { mode: 0o600 })
    writeFileSync(configFile, configuration(service.url, postgresUrl !== null))
    for (let index = 0; index < cell.workers; index++) startWorker()
    const connection = await Connection.connect({ address: temporal.address })
    try {
      const client = new Client({ connection })
      const { ledger: configured } = await loadConfig(configFile, process.env)
      const ledger = await openLedger(await readLedgerPlace(configured, process.env))
      const queue = taskQueueOf(await ledger.project())
      await ledger.close()
      await client.workflow.start(importSync, {
        taskQueue: queue,
        workflowId: 'pacing',
        // So many segments that every worker has some.
        args: [{ sync: 'contacts', tuning: { rows_per_segment: 10_000, segments_in_flight: 16 } }],
      })
      await firstAnswer(service)
      const startMs = Math.ceil((Date.now() + WARM_UP_MS) / MINUTE_MS) * MINUTE_MS
      await systemClock.sleep(startMs - Date.now())
      const before = countsOf(service)
      if (cell.kill !== undefined) {
        await systemClock.sleep(20_000)
        const killed = [...children].slice(0, cell.kill === 'one' ? 1 : children.size)
        for (const child of killed) child.kill('SIGKILL')
        await systemClock.sleep(4_000)
        if (cell.kill === 'all') for (const _ of killed) startWorker()
      }
      await systemClock.sleep(startMs + minutes * MINUTE_MS - Date.now())
      const after = countsOf(service)
      const refused = after.refused - before.refused
      const accepted = after.accepted - before.accepted
      return {
        ...cell,
        used: (100 * accepted) / (LIMIT * minutes),
        refused,
        perThousand: (1_000 * refused) / Math.max(1, accepted + refused),
      }
    } finally {
      await connection.close()
    }
  } finally {
    await Promise.all(
      [...children].map(async (child) => {
        child.kill('SIGKILL')
        await once(child, 'exit')
      }),
    )
    await temporal.stop()
    await service.close()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Ends with the first accepted batch. */
async function firstAnswer(service: RunningService): Promise<void> {
  for (let asked = 0; asked < 1_200; asked++) {
    if ((service.stats().byOperation['batchUpsert'] ?? 0) > 0) return
    await systemClock.sleep(100)
  }
  throw new Error('No worker sent anything within two minutes')
}

function countsOf(service: RunningService): { accepted: number; refused: number } {
  const { byStatus } = service.stats()
  const refused = byStatus[429] ?? 0
  const all = Object.values(byStatus).reduce((total, count) => total + count, 0)
  return { accepted: all - refused, refused }
}

async function writeCsv(path: string, rows: number): Promise<void> {
  const out = createWriteStream(path)
  out.write('id,last_name\n')
  for (let index = 1; index <= rows; index++)
    if (!out.write(`K-${index},Name ${index}\n`)) await once(out, 'drain')
  out.end()
  await once(out, 'finish')
}

const configuration = (url: string, onPostgres: boolean) =>
  contactsConfig({
    ...(onPostgres && { ledger: '{ postgres: "${LEDGER_URL}" }' }),
    service: `"${url}"`,
    properties: '{ svc_external_id: id, svc_last_name: last_name }',
  })

/** Prints one row for each cell. `words` choose among them: `sqlite`, `postgres`, a number of workers, `kill`. */
export async function benchPacingReal(options: {
  minutes: number
  words: readonly string[]
}): Promise<void> {
  const { minutes, words } = options
  const chosen = <T>(all: readonly T[], nameOf: (one: T) => string): readonly T[] => {
    const some = all.filter((one) => words.includes(nameOf(one)))
    return some.length > 0 ? some : all
  }
  const ledgers = chosen(['SQLite', 'PostgreSQL'] as const, (ledger) =>
    ledger === 'SQLite' ? 'sqlite' : 'postgres',
  )
  const kinds = chosen(
    [
      { workers: 1 },
      { workers: 2 },
      { workers: 8 },
      { workers: 8, kill: 'one' as const },
      { workers: 8, kill: 'all' as const },
    ],
    ({ workers, kill }) => (kill ? 'kill' : String(workers)),
  )
  const results: RealResult[] = []
  for (const ledger of ledgers)
    for (const kind of kinds) {
      // The models do not disturb each other: ten requests a second are little work.
      const cells = LIMIT_MODELS.map((model) => ({ ledger, model, ...kind }))
      console.error(`${ledger}, ${kind.workers} workers${kind.kill ? `, ${kind.kill} killed` : ''}`)
      results.push(...(await measureTogether(cells, minutes)))
    }
  console.table(
    results.map(({ used, refused, perThousand, ...cell }) => ({
      ...cell,
      'used, %': used.toFixed(1),
      'refused, 429': refused,
      'of 1,000': perThousand.toFixed(1),
    })),
  )
}
