// One run of an import, and 1, 2 and 4 worker processes that share its segments through one PostgreSQL ledger: rows a second from
// the first request to the last answer, whose processor time they took, and what the ledger's connections waited for.

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import pg from 'pg'
import { silentLogger } from '../../src/core/ports.ts'
import { findTemporalCli } from '../../src/dev/temporal-cli.ts'
import { startTemporal } from '../../src/dev/temporal-server.ts'
import { openPostgresLedger } from '../../src/ledger/postgres/index.ts'
import { importSync } from '../../workflows/names.ts'
import { taskQueueOf } from '../../workflows/queues.ts'
import { contactsConfig } from '../e2e/contacts.ts'
import { COLUMNS, main, startServiceProcess, writeCsv } from './import-parts.ts'
import {
  busySeconds,
  processorSeconds,
  startBenchServer,
  type BenchServer,
} from './postgres-server.ts'

const SCHEMA = 'records_sync'
const SEGMENTS = 8
const LOOK_EVERY_MS = 100
const LOOKS_MAX = 6_000
const CASES = [
  { latencyMs: 0, inFlight: 8 },
  { latencyMs: 20, inFlight: 32 },
] as const
const WORKERS = [1, 2, 4] as const

interface Options {
  readonly rows: number
  readonly rounds: number
  /** Chosen numbers of workers and latencies: `2`, `20ms`. */
  readonly words: readonly string[]
}

interface Case {
  readonly latencyMs: number
  readonly inFlight: number
  readonly workers: number
}

interface Figures {
  readonly rowsPerSecond: number
  /** Processors that were busy on average, by who used them. */
  readonly database: number
  readonly service: number
  readonly workers: number
  /** Of the whole machine; the rest is Temporal's, this program's and others'. */
  readonly machine: number
  /** Connections of the ledger that waited on average, for a lock of another and for the disk. */
  readonly locked: number
  readonly flushing: number
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Looks again and again until it gives something. */
async function until<Found>(look: () => Promise<Found | null>): Promise<Found> {
  for (let looks = 0; looks < LOOKS_MAX; looks++) {
    const found = await look()
    if (found !== null) return found
    await pause(LOOK_EVERY_MS)
  }
  throw new Error('nothing came within ten minutes')
}

interface Waits {
  looks: number
  locked: number
  flushing: number
}

/** Adds what the connections of the ledger wait for at this moment. */
async function lookAtWaits(client: pg.Client, waits: Waits): Promise<void> {
  const { rows } = await client.query<{ locked: number; flushing: number }>(
    `SELECT (count(*) FILTER (WHERE wait_event_type = 'Lock'))::int AS locked,
       (count(*) FILTER (WHERE wait_event_type IN ('IO', 'LWLock') AND wait_event LIKE 'W%'))::int AS flushing
     FROM pg_stat_activity WHERE application_name = 'records-sync' AND datname = current_database()`,
  )
  waits.looks++
  waits.locked += rows[0]!.locked
  waits.flushing += rows[0]!.flushing
}

/** Looks at a push: from the first request that was written down until no segment is open. */
async function watchPush(
  url: string,
  usedBy: () => Record<'database' | 'service' | 'workers' | 'machine', number>,
): Promise<Omit<Figures, 'rowsPerSecond'>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const is = async (question: string) => {
      const { rows } = await client.query<{ yes: boolean }>(`SELECT ${question} AS yes`)
      return rows[0]!.yes ? true : null
    }
    await until(() => is(`EXISTS (SELECT FROM ${SCHEMA}.requests)`))
    const [first, begun] = [usedBy(), performance.now()]
    const waits: Waits = { looks: 0, locked: 0, flushing: 0 }
    await until(async () => {
      await lookAtWaits(client, waits)
      return await is(`NOT EXISTS (SELECT FROM ${SCHEMA}.segments WHERE state = 'open')`)
    })
    const seconds = (performance.now() - begun) / 1_000
    const last = usedBy()
    const share = (of: keyof typeof last) => (last[of] - first[of]) / seconds
    return {
      database: share('database'),
      service: share('service'),
      workers: share('workers'),
      machine: share('machine'),
      locked: waits.locked / waits.looks,
      flushing: waits.flushing / waits.looks,
    }
  } finally {
    await client.end()
  }
}

/** One import with so many workers, on a new ledger and a new service. */
async function measure(
  server: BenchServer,
  address: string,
  rows: number,
  { latencyMs, inFlight, workers: count }: Case,
): Promise<Figures> {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-bench-'))
  const stops: (() => void)[] = []
  const url = await server.newDatabase()
  try {
    const service = await startServiceProcess(latencyMs)
    stops.push(() => service.child.kill('SIGTERM'))
    await writeCsv(join(dir, 'contacts.csv'), rows, 'a')
    writeFileSync(join(dir, 'key'), service.key, { mode: 0o600 })
    const configFile = join(dir, 'records-sync.yaml')
    // One segment at a time: so that the workers share the run.
    const config = contactsConfig({
      ledger: '{ postgres: "${LEDGER_URL}" }\nworker: { slots: 1 }',
      service: `"${service.url}"`,
      properties: JSON.stringify(COLUMNS),
    })
    writeFileSync(configFile, config)
    const ledger = await openPostgresLedger({ url, schema: SCHEMA })
    const queue = taskQueueOf(await ledger.project())
    await ledger.close()
    const env = { ...process.env, TEMPORAL_ADDRESS: address, LEDGER_URL: url }
    const workers = Array.from({ length: count }, () =>
      spawn(process.execPath, [main, '--config', configFile, 'worker'], {
        env,
        stdio: ['ignore', 'ignore', 'pipe'],
      }),
    )
    for (const worker of workers) {
      worker.stderr!.resume()
      stops.push(() => worker.kill('SIGKILL'))
    }
    const connection = await Connection.connect({ address })
    const client = new Client({ connection })
    await until(async () => {
      const queued = { name: `${queue}-io` }
      const request = { namespace: 'default', taskQueue: queued, taskQueueType: 2 }
      const { pollers } = await client.workflowService.describeTaskQueue(request)
      return new Set(pollers?.map(({ identity }) => identity)).size === count ? true : null
    })
    const handle = await client.workflow.start(importSync, {
      taskQueue: queue,
      workflowId: `bench-${process.pid}-${performance.now()}`,
      args: [
        {
          sync: 'contacts',
          tuning: {
            in_flight: inFlight,
            segments_in_flight: count,
            rows_per_segment: Math.ceil(rows / SEGMENTS / 1_000) * 1_000,
          },
        },
      ],
    })
    const watching = watchPush(url, () => ({
      database: processorSeconds(server.pid),
      service: processorSeconds(service.child.pid!),
      workers: workers.reduce((sum, worker) => sum + processorSeconds(worker.pid!), 0),
      machine: busySeconds(),
    }))
    const [, figures] = await Promise.all([handle.result(), watching])
    await connection.close()
    return { ...figures, rowsPerSecond: rows / (await secondsOfPush(url)) }
  } finally {
    for (const stop of stops) stop()
    await server.drop(url)
    rmSync(dir, { recursive: true, force: true })
  }
}

async function secondsOfPush(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ seconds: number }>(
      `SELECT extract(epoch FROM max(settled_at) - min(sent_at))::float AS seconds FROM ${SCHEMA}.requests`,
    )
    return rows[0]!.seconds
  } finally {
    await client.end()
  }
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

/** Measures by turns, and prints medians. */
export async function benchWorkers({ rows, rounds, words }: Options): Promise<void> {
  const chosenOf = <Value>(all: readonly Value[], name: (value: Value) => string) =>
    all.some((value) => words.includes(name(value)))
      ? all.filter((value) => words.includes(name(value)))
      : all
  const cases = chosenOf(CASES, ({ latencyMs }) => `${latencyMs}ms`).flatMap((one) =>
    chosenOf(WORKERS, String).map((workers) => ({ ...one, workers })),
  )
  console.error(`workers on one run: ${rows} rows, ${SEGMENTS} segments, ${rounds} rounds`)
  const temporal = await startTemporal({
    cliPath: (await findTemporalCli({ env: process.env, progress: console.error })).path,
    headless: true,
    logger: silentLogger,
  })
  const server = await startBenchServer()
  try {
    const found = cases.map(() => [] as Figures[])
    // A new server makes the files of its log first.
    await measure(server, temporal.address, rows, cases[0]!)
    for (let round = 0; round < rounds; round++)
      for (const [index, one] of cases.entries()) {
        const figures = await measure(server, temporal.address, rows, one)
        console.error(`${one.latencyMs} ms, ${one.workers} workers: ${JSON.stringify(figures)}`)
        found[index]!.push(figures)
      }
    console.table(
      cases.map(({ latencyMs, inFlight, workers }, index) => {
        const of = (name: keyof Figures) => median(found[index]!.map((figures) => figures[name]))
        return {
          latency_ms: latencyMs,
          in_flight: inFlight,
          workers,
          rows_s: Math.round(of('rowsPerSecond')),
          ...Object.fromEntries(
            (['database', 'service', 'workers', 'machine', 'locked', 'flushing'] as const).map(
              (name) => [name === 'workers' ? 'all_workers' : name, of(name).toFixed(2)],
            ),
          ),
        }
      }),
    )
  } finally {
    await server.stop()
    await temporal.stop()
  }
}
