// A fleet measured: many syncs of many orgs on some workers that share a PostgreSQL ledger and a Temporal server. All syncs begin
// together, twice (everything is new; nothing has changed), and then run by schedules. It prints what comes to an end a minute,
// and which process takes which share of the machine, so that the first limit shows.

import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Client, Connection } from '@temporalio/client'
import { silentLogger } from '../../src/core/ports.ts'
import { findTemporalCli } from '../../src/dev/temporal-cli.ts'
import { startTemporal } from '../../src/dev/temporal-server.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { importSync } from '../../workflows/names.ts'
import { taskQueueOf } from '../../workflows/queues.ts'
import {
  machineSeconds,
  nameOf,
  peakMbOf,
  processWith,
  readMetrics,
  restingMbOf,
  sharedMbOf,
  startFleetService,
  startFleetWorker,
  writeProject,
  type Fleet,
  type FleetService,
  type FleetWorker,
} from './fleet-parts.ts'
import { main } from './import-parts.ts'
import { ask, processorSeconds, startBenchServer } from './postgres-server.ts'

const CORES = cpus().length
const SAMPLE_MS = 1_000
/** As Prometheus asks. */
const SCRAPE_EVERY = 15
const PHASE_MAX_MS = 20 * 60_000

export interface FleetOptions extends Fleet {
  /** How long the schedules are watched. */
  readonly scheduledMinutes: number
}

/** What runs, and where it can be asked. */
interface Parts extends Fleet {
  readonly dir: string
  readonly configFile: string
  readonly ledgerUrl: string
  readonly env: Readonly<Record<string, string>>
  readonly client: Client
  readonly queue: string
  readonly fleetWorkers: readonly FleetWorker[]
  readonly service: FleetService
  readonly temporalPid: number
  readonly postgresPid: number
}

const countOf = async (url: string, text: string): Promise<number> =>
  Number((await ask(url, text))[0]!['count'])

const closedRuns = (url: string) =>
  countOf(url, `SELECT count(*) FROM records_sync.runs WHERE closed_at IS NOT NULL`)

/** What the parts have cost so far. */
async function costs({ ledgerUrl, fleetWorkers, service, temporalPid, postgresPid }: Parts) {
  const [server] = await ask(
    ledgerUrl,
    `SELECT xact_commit::float AS transactions,
       (SELECT coalesce(sum(n_tup_upd), 0)::float FROM pg_stat_user_tables WHERE relname = 'quota') AS exchanges
     FROM pg_stat_database WHERE datname = current_database()`,
  )
  const pages = await Promise.all(fleetWorkers.map(({ metricsUrl }) => readMetrics(metricsUrl)))
  const sum = (name: string, label?: string) =>
    pages.reduce((total, page) => total + page(name, label), 0)
  return {
    at: performance.now(),
    machine: machineSeconds(),
    temporal: processorSeconds(temporalPid),
    postgres: processorSeconds(postgresPid),
    workers: fleetWorkers.reduce((total, { child }) => total + processorSeconds(child.pid!), 0),
    service: processorSeconds(service.child.pid!),
    transactions: Number(server!['transactions']),
    exchanges: Number(server!['exchanges']),
    calls: sum('temporal_request_total'),
    polls: sum('temporal_long_request_total'),
    describes:
      sum('temporal_request_total', 'operation="DescribeSchedule"') +
      sum('temporal_request_total', 'operation="DescribeWorkflowExecution"'),
    evicted: sum('temporal_sticky_cache_total_forced_eviction_total'),
    waitedSeconds: sum('temporal_activity_schedule_to_start_latency_seconds_sum'),
    waits: sum('temporal_activity_schedule_to_start_latency_seconds_count'),
    closed: await closedRuns(ledgerUrl),
  }
}

/** Watches until `isOver`, and prints what it cost. */
async function watch(
  parts: Parts,
  name: string,
  isOver: (closed: number) => boolean,
): Promise<Record<string, string | number>> {
  const before = await costs(parts)
  let connections = 0
  let active = 0
  for (let asked = 0; performance.now() - before.at < PHASE_MAX_MS; asked++) {
    await wait(SAMPLE_MS)
    const [now] = await ask(
      parts.ledgerUrl,
      `SELECT count(*) FILTER (WHERE application_name = 'records-sync') AS all,
         count(*) FILTER (WHERE application_name = 'records-sync' AND state <> 'idle') AS active FROM pg_stat_activity`,
    )
    connections = Math.max(connections, Number(now!['all']))
    active = Math.max(active, Number(now!['active']))
    if (asked % SCRAPE_EVERY === 0)
      await Promise.all(parts.fleetWorkers.map(({ metricsUrl }) => readMetrics(metricsUrl)))
    if (isOver(await closedRuns(parts.ledgerUrl))) break
  }
  const after = await costs(parts)
  const seconds = (after.at - before.at) / 1_000
  const runs = after.closed - before.closed
  const share = (part: 'machine' | 'temporal' | 'postgres' | 'workers' | 'service') =>
    `${Math.round(((after[part] - before[part]) / seconds / CORES) * 100)} %`
  const each = (part: Exclude<keyof typeof before, 'at'>, digits = 1) =>
    Number(((after[part] - before[part]) / Math.max(1, runs)).toFixed(digits))
  return {
    phase: name,
    runs,
    seconds: Math.round(seconds),
    'runs a minute': Math.round((runs / seconds) * 60),
    machine: share('machine'),
    temporal: share('temporal'),
    postgres: share('postgres'),
    workers: share('workers'),
    service: share('service'),
    'worker ms a run': Math.round(each('workers', 3) * 1_000),
    'temporal ms a run': Math.round(each('temporal', 3) * 1_000),
    'postgres ms a run': Math.round(each('postgres', 3) * 1_000),
    'transactions a run': each('transactions'),
    'exchanges a run': each('exchanges'),
    'calls to temporal a run': each('calls'),
    'of them describe': each('describes'),
    'polls a run': each('polls'),
    'evictions a run': each('evicted'),
    'activity waits s': Number(
      (
        (after.waitedSeconds - before.waitedSeconds) /
        Math.max(1, after.waits - before.waits)
      ).toFixed(2),
    ),
    connections,
    active,
  }
}

async function startAll({ client, queue, syncs }: Parts, turn: string): Promise<void> {
  await Promise.all(
    Array.from({ length: syncs }, (_, index) =>
      client.workflow.start(importSync, {
        taskQueue: queue,
        workflowId: `fleet-${turn}-${index + 1}`,
        args: [{ sync: nameOf(index + 1) }],
      }),
    ),
  )
}

/** Mean events and bytes of some histories. */
async function histories({ client, syncs }: Parts, turn: string) {
  const some = await Promise.all(
    Array.from({ length: Math.min(20, syncs) }, async (_, index) => {
      const { historyLength, historySize } = await client.workflow
        .getHandle(`fleet-${turn}-${index + 1}`)
        .describe()
      return { events: historyLength, bytes: historySize ?? 0 }
    }),
  )
  const mean = (of: (one: (typeof some)[number]) => number) =>
    Math.round(some.reduce((sum, one) => sum + of(one), 0) / some.length)
  return { events: mean(({ events }) => events), bytes: mean(({ bytes }) => bytes) }
}

async function phases(parts: Parts, options: FleetOptions): Promise<void> {
  const { syncs, ledgerUrl, configFile, env, fleetWorkers } = parts
  const lines: Record<string, string | number>[] = []
  for (const turn of ['first', 'again']) {
    const before = await closedRuns(ledgerUrl)
    console.error(`${turn}: ${syncs} syncs begin together`)
    const watched = watch(parts, turn, (closed) => closed >= before + syncs)
    await startAll(parts, turn)
    lines.push(await watched)
    console.error(`  history: ${JSON.stringify(await histories(parts, turn))}`)
    const tables = await ask(
      ledgerUrl,
      `SELECT relname AS name, round(pg_total_relation_size(oid) / ${syncs * parts.rows}::numeric)::int AS bytes
       FROM pg_class WHERE relnamespace = 'records_sync'::regnamespace AND relkind = 'r' ORDER BY bytes DESC LIMIT 4`,
    )
    console.error(`  ledger bytes a row of a sync: ${JSON.stringify(tables)}`)
  }
  console.error(`scheduled: every minute, for ${options.scheduledMinutes} minutes`)
  const tellSchedules = (verb: string) =>
    execFileSync(process.execPath, [main, '--config', configFile, 'schedules', verb], {
      env,
      stdio: 'ignore',
    })
  tellSchedules('apply')
  const end = performance.now() + options.scheduledMinutes * 60_000
  lines.push(await watch(parts, 'scheduled', () => performance.now() > end))
  // One row for each figure: they are too many for columns.
  const figures = Object.keys(lines[0]!).filter((figure) => figure !== 'phase')
  console.table(
    Object.fromEntries(
      figures.map((figure) => [
        figure,
        Object.fromEntries(lines.map((line) => [line['phase'], line[figure]])),
      ]),
    ),
  )
  const states = await ask(
    ledgerUrl,
    `SELECT state, count(*)::int AS runs, round(avg(extract(epoch FROM closed_at - opened_at))::numeric, 1)::float AS seconds
     FROM records_sync.runs GROUP BY state`,
  )
  console.log('runs by state:', JSON.stringify(states))
  console.log(
    'memory, MB:',
    JSON.stringify({
      'workers, peak': fleetWorkers.map(({ child }) => peakMbOf(child.pid!)),
      'workers, now': fleetWorkers.map(({ child }) => restingMbOf(child.pid!)),
      'temporal, peak': peakMbOf(parts.temporalPid),
      'postgres, all processes': sharedMbOf(parts.postgresPid),
      'service, peak': peakMbOf(parts.service.child.pid!),
    }),
  )
  const pages = await Promise.all(fleetWorkers.map(({ metricsUrl }) => readMetrics(metricsUrl)))
  console.log(
    'long polls of each worker:',
    pages.map((page) => page('temporal_num_pollers')).join(),
  )
  const file = join(parts.dir, 'temporal.db')
  console.log(`temporal file: ${Math.round(statSync(file).size / 1e3)} kB`)
  for (const [index, { complaints }] of fleetWorkers.entries())
    if (complaints.size > 0)
      console.log(`worker ${index + 1} logged:`, JSON.stringify(Object.fromEntries(complaints)))
}

/** Starts everything, measures, and prints. */
export async function benchFleet(options: FleetOptions): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-fleet-'))
  const stops: (() => Promise<unknown>)[] = [
    async () => rmSync(dir, { recursive: true, force: true }),
  ]
  try {
    const cli = await findTemporalCli({ env: process.env, progress: console.error })
    const temporal = await startTemporal({
      cliPath: cli.path,
      headless: true,
      logger: silentLogger,
      dbFile: join(dir, 'temporal.db'),
    })
    stops.push(() => temporal.stop())
    const postgres = await startBenchServer()
    stops.push(() => postgres.stop())
    const ledgerUrl = await postgres.newDatabase()
    const service = await startFleetService(options)
    stops.push(() => stopped(service.child))
    const configFile = writeProject(dir, options, service)
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: process.env['HOME'] ?? '',
      TEMPORAL_ADDRESS: temporal.address,
      LEDGER_URL: ledgerUrl,
    }
    const ledger = await openLedger({ url: ledgerUrl, schema: 'records_sync' })
    const queue = taskQueueOf(await ledger.project())
    await ledger.close()
    const fleetWorkers: FleetWorker[] = []
    for (let index = 0; index < options.workers; index++) {
      const worker = await startFleetWorker(configFile, env)
      stops.push(() => stopped(worker.child))
      fleetWorkers.push(worker)
    }
    const connection = await Connection.connect({ address: temporal.address })
    stops.push(() => connection.close())
    const client = new Client({ connection })
    const temporalPid = processWith('start-dev', temporal.address.split(':')[1]!)
    const postgresPid = postgres.pid
    const servers = { service, temporalPid, postgresPid, client, queue }
    const place = { dir, configFile, ledgerUrl, env }
    await phases({ ...options, ...servers, ...place, fleetWorkers }, options)
  } finally {
    for (const stop of stops.toReversed()) await stop().catch(() => {})
  }
}

async function stopped(child: FleetService['child']): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}
