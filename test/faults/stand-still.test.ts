// A worker that stands still in the middle of a push: its process is stopped, another one takes its segment over and closes
// the run, a newer run writes newer values, and then the first one goes on. The oracle is the service: it holds the newer
// values, everywhere. Real processes, both ledgers; fewer connections than lanes, so that batches which were written down wait.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { DatabaseSync } from '@photostructure/sqlite'
import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { RecordsClient } from '../../src/client/index.ts'
import { closeImport } from '../../src/import/steps/close.ts'
import { push } from '../../src/import/outbox/push.ts'
import { stage } from '../../src/import/steps/stage.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openLedger, type LedgerPlace } from '../../src/ledger/open.ts'
import { openCsv } from '../../src/sources/csv/index.ts'
import { seededRandom } from '../../src/service/limits/faults.ts'
import { startService, type RunningService } from '../../src/service/index.ts'
import { HANG_MS } from '../hang.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { rounds, seed } from '../runs.ts'
import { HEARTBEAT_TIMEOUT_MS, stopDeps, stopSync } from './stop-scene.ts'

const stops = rounds(1, 10)
const rows = 800
const batches = rows / 50

let postgres: Postgres
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.stop())

/** A worker's pushing in a process of its own. */
async function startPusher(place: LedgerPlace, service: RunningService) {
  const given = JSON.stringify({ place, url: service.url, key: service.key })
  const program = fileURLToPath(new URL('pushing-worker.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', program, given], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const said = async () => (await lines.next()).value as string
  expect(await said()).toBe('ready')
  return {
    said,
    tell: (order: object) => child.stdin.write(`${JSON.stringify(order)}\n`),
    signal: (name: NodeJS.Signals) => child.kill(name),
    async end() {
      child.stdin.end()
      await once(child, 'exit')
    },
  }
}

/** @param isLocked whether somebody is within a transaction */
async function stopsIn(place: LedgerPlace, isLocked: () => Promise<boolean>): Promise<void> {
  const random = seededRandom(seed)
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-stops-'))
  const csv = join(folder, 'rows.csv')
  const service = await startService({ latencyMs: 200 })
  const ledger: Ledger = await openLedger(place)
  const client = new RecordsClient({ baseUrl: service.url, key: service.key })
  onTestFinished(async () => {
    await client.close()
    await service.close()
    await ledger.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const deps = stopDeps(ledger, client)
  let version = 0
  /** A run whose rows all have a new value. */
  const openNext = async () => {
    version++
    const lines = Array.from({ length: rows }, (_, n) => `c-${n},v${version}`)
    writeFileSync(csv, `id,name\n${lines.join('\n')}\n`)
    const opened = await ledger.openRun({
      sync: stopSync.name,
      kind: 'import',
      mode: 'run',
      workflowId: 'w',
      workflowRunId: `r${version}`,
      config: {},
    })
    if (!('run' in opened)) throw new Error('the run was not opened')
    const run = opened.run.id
    await stage(deps, { run, sync: stopSync, keyFingerprint: 'k', stageFence: 0 }, () =>
      openCsv({ path: csv }),
    )
    const [segment] = await ledger.openSegments(run)
    return { run, segment: segment! }
  }
  const pushAndClose = async ({ run, segment }: Awaited<ReturnType<typeof openNext>>) => {
    await push(deps, { run, config: stopSync.import, schema: null, segment })
    return await closeImport(ledger, run, { kind: 'finished' })
  }
  const held = () => {
    const counts: Record<string, number> = {}
    for (const { properties } of service.records('svc_contact')) {
      const name = String(properties['svc_first_name'])
      counts[name] = (counts[name] ?? 0) + 1
    }
    return counts
  }
  const sent = () => service.stats().byOperation['batchUpsert'] ?? 0

  const pusher = await startPusher(place, service)
  for (let round = 1; round <= stops; round++) {
    const where = `round ${round}, seed ${seed}`
    const older = await openNext()
    const before = sent()
    const stopAt = before + 1 + Math.floor(random() * (batches - 4))
    pusher.tell(older)
    await expect.poll(sent, { timeout: HANG_MS, interval: 1 }).toBeGreaterThanOrEqual(stopAt)
    await pause(random() * 60)
    pusher.signal('SIGSTOP')
    // Whoever is stopped within a transaction stops everybody: nobody can take over, so nothing newer can be written.
    // Bounded by the test's own time.
    while (await isLocked()) {
      pusher.signal('SIGCONT')
      await pause(random() * 30)
      pusher.signal('SIGSTOP')
    }
    // Its heartbeats stay away for so long, and then it loses its work.
    await pause(HEARTBEAT_TIMEOUT_MS)
    expect((await pushAndClose(older)).books.states, where).toMatchObject({
      in_flight: 0,
      pending: 0,
    })
    await pushAndClose(await openNext())
    expect(held(), where).toEqual({ [`v${version}`]: rows })
    pusher.signal('SIGCONT')
    const end = await pusher.said()
    // Between the last look at the time and the first byte no process can notice that it stood still; but it says so after that.
    if (end === 'late') continue
    expect(['FenceLost', 'done'], where).toContain(end)
    expect(held(), where).toEqual({ [`v${version}`]: rows })
  }
  await pusher.end()
}

test('the newer values stay, on SQLite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-stops-ledger-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const sqlite = join(folder, 'ledger.db')
  await stopsIn({ sqlite }, async () => {
    const db = new DatabaseSync(sqlite, { timeout: 0 })
    try {
      db.exec('BEGIN IMMEDIATE')
      db.exec('ROLLBACK')
      return false
    } catch {
      return true
    } finally {
      db.close()
    }
  })
})

test('the newer values stay, on PostgreSQL', async () => {
  const url = await postgres.newDatabase()
  const looker = new pg.Client({ connectionString: url })
  await looker.connect()
  try {
    await stopsIn({ url, schema: 'records_sync' }, async () => {
      const { rowCount } = await looker.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
           AND xact_start IS NOT NULL AND backend_type = 'client backend'`,
      )
      return rowCount !== 0
    })
  } finally {
    await looker.end()
  }
})
