// The import measured: rows per second of staging and pushing against the bare loop in the same run, a second import of
// the same file, the worker's peak memory, and the events of the history. Ratios count; absolute figures move.

import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import { DatabaseSync } from '@photostructure/sqlite'
import { silentLogger } from '../../src/core/ports.ts'
import { findTemporalCli } from '../../src/dev/temporal-cli.ts'
import { startTemporal } from '../../src/dev/temporal-server.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite/index.ts'
import { importSync } from '../../workflows/names.ts'
import { taskQueueOf } from '../../workflows/queues.ts'
import { bareLoop } from './bare-loop.ts'
import { contactsConfig } from '../e2e/contacts.ts'
import { COLUMNS, main, startServiceProcess, writeCsv } from './import-parts.ts'

const peakMb = (pid: number): number =>
  Math.round(
    Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024,
  )

interface Figures {
  stageSeconds: number
  pushSeconds: number
  totalSeconds: number
  requests: number
  peakMb: number
  events: number
  states: Record<string, number>
}

/** One worker process, one service process, one Temporal server; runs `runs` imports of the given files. */
async function measure(options: {
  rows: number
  latencyMs: number
  inFlight: number
  versions: readonly string[]
}): Promise<{ bareSeconds: number; runs: Figures[] }> {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-bench-'))
  const temporal = await startTemporal({
    cliPath: (await findTemporalCli({ env: process.env, progress: console.error })).path,
    headless: true,
    logger: silentLogger,
  })
  const stops: (() => void)[] = []
  try {
    const csv = join(dir, 'contacts.csv')
    // The baseline has a service of its own, so that both find it empty.
    const bare = await startServiceProcess(options.latencyMs)
    await writeCsv(csv, options.rows, options.versions[0]!)
    const bareSeconds = await bareLoop({
      file: csv,
      url: bare.url,
      key: bare.key,
      inFlight: options.inFlight,
      properties: Object.keys(COLUMNS),
      numbers: new Set(['svc_score']),
    })
    bare.child.kill('SIGTERM')

    const service = await startServiceProcess(options.latencyMs)
    stops.push(() => service.child.kill('SIGTERM'))
    writeFileSync(join(dir, 'key'), service.key, { mode: 0o600 })
    const configFile = join(dir, 'records-sync.yaml')
    writeFileSync(
      configFile,
      contactsConfig({ service: `"${service.url}"`, properties: JSON.stringify(COLUMNS) }),
    )
    const ledger = openSqliteLedger(join(dir, 'ledger.db'))
    const queue = taskQueueOf(await ledger.project())
    await ledger.close()
    const worker = spawn(process.execPath, [main, '--config', configFile, 'worker'], {
      env: { ...process.env, TEMPORAL_ADDRESS: temporal.address },
      stdio: ['ignore', 'inherit', 'pipe'],
    })
    worker.stderr!.resume()
    stops.push(() => worker.kill('SIGKILL'))
    const connection = await Connection.connect({ address: temporal.address })
    const client = new Client({ connection })
    // Not the worker's start is measured.
    for (let asked = 0; asked < 100; asked++) {
      const polled = await client.workflowService.describeTaskQueue({
        namespace: 'default',
        taskQueue: { name: queue },
        taskQueueType: 1,
      })
      if (polled.pollers?.length) break
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    const runs: Figures[] = []
    for (const version of options.versions) {
      await writeCsv(csv, options.rows, version)
      const handle = await client.workflow.start(importSync, {
        taskQueue: queue,
        workflowId: `bench-${runs.length}`,
        args: [{ sync: 'contacts', tuning: { in_flight: options.inFlight } }],
      })
      const startedAt = Date.now()
      await handle.result()
      const totalSeconds = (Date.now() - startedAt) / 1_000
      const db = new DatabaseSync(join(dir, 'ledger.db'), { readOnly: true })
      const run = db.prepare('SELECT * FROM runs ORDER BY id DESC LIMIT 1').get() as Record<
        string,
        string
      >
      const sent = db
        .prepare(
          'SELECT min(sent_at) AS first, max(settled_at) AS last, count(*) AS requests FROM requests WHERE run = ?',
        )
        .get(run['id']!) as { first: string | null; last: string | null; requests: number }
      const counts = JSON.parse(run['counts']!) as { states: Record<string, number> }
      db.close()
      const time = (text: string) => Date.parse(text) / 1_000
      runs.push({
        stageSeconds: sent.first ? time(sent.first) - time(run['opened_at']!) : totalSeconds,
        pushSeconds: sent.first && sent.last ? time(sent.last) - time(sent.first) : 0,
        totalSeconds,
        requests: sent.requests,
        peakMb: peakMb(worker.pid!),
        events: (await handle.describe()).historyLength,
        states: Object.fromEntries(Object.entries(counts.states).filter(([, items]) => items > 0)),
      })
    }
    console.error(`  ledger file ${Math.round(statSync(join(dir, 'ledger.db')).size / 1e6)} MB`)
    await connection.close()
    return { bareSeconds, runs }
  } finally {
    for (const stop of stops) stop()
    await temporal.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

const perSecond = (rows: number, seconds: number) => (seconds > 0 ? Math.round(rows / seconds) : 0)

/** Measures and prints one table row per case. */
export async function benchImport(options: {
  rows: number
  memoryRows: readonly number[]
}): Promise<void> {
  const { rows } = options
  const lines: Record<string, string | number>[] = []
  for (const { latencyMs, inFlight } of [
    { latencyMs: 0, inFlight: 8 },
    { latencyMs: 20, inFlight: 32 },
  ]) {
    console.error(`import of ${rows} rows, ${latencyMs} ms a request, ${inFlight} in flight`)
    const { bareSeconds, runs } = await measure({
      rows,
      latencyMs,
      inFlight,
      versions: ['a', 'a', 'b'],
    })
    const [first, again, changed] = runs as [Figures, Figures, Figures]
    lines.push({
      latency_ms: latencyMs,
      in_flight: inFlight,
      bare_rows_s: perSecond(rows, bareSeconds),
      stage_rows_s: perSecond(rows, first.stageSeconds),
      push_rows_s: perSecond(rows, first.pushSeconds),
      total_rows_s: perSecond(rows, first.totalSeconds),
      ratio_total: (bareSeconds / first.totalSeconds).toFixed(2),
      ratio_push: (bareSeconds / first.pushSeconds).toFixed(2),
      ratio_total_changed: (bareSeconds / changed.totalSeconds).toFixed(2),
      again_requests: again.requests,
      again_of_first: (again.totalSeconds / first.totalSeconds).toFixed(2),
      events: first.events,
    })
  }
  console.table(lines)
  const memory: Record<string, string | number>[] = []
  for (const memoryRows of options.memoryRows) {
    console.error(`memory at ${memoryRows} rows`)
    const { runs } = await measure({ rows: memoryRows, latencyMs: 0, inFlight: 8, versions: ['a'] })
    const [run] = runs as [Figures]
    memory.push({
      rows: memoryRows,
      worker_peak_mb: run.peakMb,
      events_per_100k: Math.round((run.events * 100_000) / memoryRows),
      total_rows_s: perSecond(memoryRows, run.totalSeconds),
      states: JSON.stringify(run.states),
    })
  }
  if (memory.length > 0) console.table(memory)
}
