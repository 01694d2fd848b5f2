// A worker as its operators see it: metrics and health over real HTTP, and a webhook, while real runs go well and badly.

import { readFileSync } from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { silentLogger } from '../../src/core/ports.ts'
import { ITEM_STATES, reasonsOf } from '../../src/core/domain/outcomes.ts'
import { mirrorSync } from '../../workflows/names.ts'
import { readPage } from '../unit/monitoring/exposition.ts'
import { startHook } from './hook.ts'
import { contactsCsv, createProject, defaultConfig, type Project } from './project.ts'
import { startWorkerHere, type RunningWorker } from './worker.ts'
import { untilHung } from '../hang.ts'

const config = (listen: string) => `${defaultConfig}
    schedule: every 15 minutes
  copy:
    mirror: { from: crm, to: lake, object_types: [svc_contact] }
warehouses:
  lake: { duckdb: ./lake.duckdb }
worker: { listen: "${listen}" }
notifications:
  ops: { url: { file: ./hook } }
`

let project: Project
let worker: RunningWorker
let temporal: Awaited<ReturnType<typeof startPassage>>
let hook: Awaited<ReturnType<typeof startHook>>

beforeAll(async () => {
  // An end that is announced is one of the metrics.
  const deprecation = { since: new Date('2026-01-01'), sunset: new Date('2099-01-01') }
  project = await createProject({ config: config('127.0.0.1:0'), service: { deprecation } })
  temporal = await startPassage(project.address)
  hook = await startHook('/hooks/s3cr3t')
  project.write('hook', hook.url)
  worker = await startWorkerAt(temporal.address)
})
afterAll(async () => {
  worker.shutdown()
  await worker.stopped.catch(() => {})
  hook.close()
  temporal.close()
  await project.stop()
})

const startWorkerAt = (address: string) =>
  startWorkerHere({
    configFile: project.configFile,
    env: project.env,
    temporal: { address, namespace: 'default' },
    logger: silentLogger,
  })

/** A way to the Temporal server that can be closed and opened again. */
async function startPassage(target: string) {
  const [host = '', port = ''] = target.split(':')
  const sockets = new Set<net.Socket>()
  let isOpen = true
  const server = net.createServer((here) => {
    if (!isOpen) return here.destroy()
    const there = net.connect(Number(port), host)
    for (const socket of [here, there]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    }
    here.pipe(there).pipe(here)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = () => sockets.forEach((socket) => socket.destroy())
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    set isOpen(open: boolean) {
      isOpen = open
      if (!open) cut()
    },
    close() {
      server.close()
      cut()
    },
  }
}

const ask = async (path: string) => {
  const answer = await fetch(`http://${worker.listening}${path}`)
  return { status: answer.status, text: await answer.text() }
}

test('a worker that polls is ready; one whose port is taken says so, and the other goes on', async () => {
  expect(await ask('/healthz')).toEqual({ status: 200, text: 'ok\n' })
  const parts = {
    worker: true,
    temporal: true,
    search_attributes: true,
    ledger: true,
    ledger_copy: true,
  }
  const { status, text } = await ask('/readyz')
  expect([status, JSON.parse(text)]).toEqual([200, { ready: true, parts }])
  project.write('records-sync.yaml', config(worker.listening!))
  await expect(startWorkerAt(project.address)).rejects.toThrow(
    `The worker cannot listen at ${worker.listening}: another program listens there`,
  )
  project.write('records-sync.yaml', config('127.0.0.1:0'))
  expect((await ask('/readyz')).status).toBe(200)
})

test('runs are counted as their books say, told where they need somebody, and every metric of dashboard and alerts is there', async () => {
  const key = project.service.mintKey()
  project.write('key', key)
  const broken = (index: number, cells: string[]) =>
    index === 5 ? [...cells.slice(0, 3), 'ten'] : cells
  project.write('contacts.csv', contactsCsv(720, broken))
  const first = await project.start('contacts')
  expect(await first.result()).toMatchObject({ state: 'complete_with_rejects' })
  const mirror = await project.client.workflow.start(mirrorSync, {
    taskQueue: await project.queue(),
    workflowId: project.workflowId('mirror-copy'),
    args: [{ sync: 'copy' }],
  })
  await mirror.result()

  // A key that is revoked blocks the next run; another one lets it go on.
  project.write('contacts.csv', contactsCsv(900, broken))
  project.service.revokeKey(key)
  const second = await project.start('contacts')
  await expect
    .poll(() => hook.received.at(-1))
    .toMatchObject({
      event: 'blocked',
      sync: 'contacts',
      reason: 'auth',
      text: expect.stringContaining('contacts is blocked by auth'),
    })
  const blocked = readPage((await ask('/metrics')).text)
  const state = { sync: 'contacts', kind: 'import', state: 'blocked', reason: 'auth' }
  await expect
    .poll(
      async () => readPage((await ask('/metrics')).text).value('records_sync_run_state', state),
      untilHung,
    )
    .toBe(1)
  expect(blocked.value('records_sync_late_after_seconds', { sync: 'contacts' })).toBe(2_700)
  project.write('key', project.service.key)
  expect(await second.result()).toMatchObject({ state: 'complete_with_rejects' })
  expect(hook.received.map(({ event, run, rejects }) => [event, run, rejects])).toEqual([
    ['rejects', 1, 1],
    ['deprecated', 2, null],
    ['blocked', 3, null],
    ['recovered', 3, 1],
  ])

  const done = { sync: 'contacts', state: 'complete_with_rejects' }
  await expect
    .poll(
      async () => readPage((await ask('/metrics')).text).value('records_sync_run_state', done),
      untilHung,
    )
    .toBe(1)
  const schedule = async () =>
    readPage((await ask('/metrics')).text).value('records_sync_schedule_missing', {
      sync: 'contacts',
    })
  // Nobody has applied it; the worker looks at that when it starts.
  await expect.poll(schedule, untilHung).toBe(1)
  const { text } = await ask('/metrics')
  const page = readPage(text)
  const ledger = project.ledger()
  const books = await Promise.all([1, 3].map((run) => ledger.books(run)))
  const streams = await ledger.streams(2)
  await ledger.close()
  const reasons: readonly string[] = reasonsOf('row')
  const rowsOf = (sync: string, state: string) =>
    page.value(
      'records_sync_rows_total',
      reasons.includes(state) ? { sync, reason: state } : { sync, outcome: state, reason: '' },
    ) ?? 0
  for (const one of ITEM_STATES)
    expect([one, rowsOf('contacts', one)]).toEqual([
      one,
      books.reduce((sum, { states }) => sum + states[one], 0),
    ])
  const inserted = streams.reduce((sum, stream) => sum + stream.inserted, 0)
  expect(inserted).toBeGreaterThanOrEqual(719)
  expect(rowsOf('copy', 'inserted')).toBe(inserted)
  expect(page.value('records_sync_runs_total', done)).toBe(2)
  expect(page.value('records_sync_run_duration_seconds_count', { sync: 'copy' })).toBe(1)
  expect(page.value('records_sync_mirror_lag_seconds', { stream: 'svc_contact' })).toBeGreaterThan(
    0,
  )
  expect(page.value('records_sync_oldest_pending_seconds', { sync: 'contacts' })).toBe(0)
  expect(page.value('records_sync_notifications_total', { outcome: 'sent' })).toBe(4)

  const { byStatus, byOperation } = project.service.stats()
  const answers = (status: string) =>
    page.sum('records_sync_requests_total', { connection: 'crm', status })
  // The service's description is read without the key.
  expect(answers('200')).toBe(byStatus[200]! - byOperation['readOpenApi']!)
  expect(answers('401')).toBe(byStatus[401])
  expect(answers('401')).toBeGreaterThan(0)
  expect(page.sum('records_sync_requests_total')).toBe(
    Object.values(byStatus).reduce((sum, count) => sum + count, 0) - byOperation['readOpenApi']!,
  )

  expect(
    [...page.types.keys()].filter((name) => name.startsWith('temporal_')).length,
  ).toBeGreaterThan(10)
  expect(page.sum('temporal_workflow_completed_total')).toBe(3)

  const used = ['grafana-dashboard.json', 'prometheus-alerts.yaml'].flatMap((name) =>
    expressionsOf(
      readFileSync(new URL(`../../config/monitoring/${name}`, import.meta.url), 'utf8'),
    ),
  )
  expect(used.length).toBeGreaterThan(25)
  const there = new Set(page.samples.map(({ name }) => name))
  const missing = used
    .flatMap((expression) => expression.match(/\b(records_sync|temporal)_\w+/g) ?? [])
    .filter((name) => !there.has(name))
  expect(missing).toEqual([])

  for (const secret of [key, project.service.key, 's3cr3t', 'person7@', 'Name 7'])
    expect(text).not.toContain(secret)
  // A key of a row; the queue of a project may be `records-sync-7…`.
  expect(text).not.toMatch(/\bc-7/)
})

/** The PromQL of a dashboard or of rules: both are JSON to a reader of YAML. */
function expressionsOf(text: string): string[] {
  const found: string[] = []
  JSON.stringify(parse(text), (key, value: unknown) => {
    if (key === 'expr') found.push(String(value))
    return value
  })
  return found
}

test('is not ready while the Temporal server is away, and is again by itself', async () => {
  const ready = async () => {
    const { status, text } = await ask('/readyz')
    return [status, (JSON.parse(text) as { parts: unknown }).parts]
  }
  temporal.isOpen = false
  const parts = { worker: true, ledger: true }
  expect(await ready()).toMatchObject([503, { ...parts, temporal: false }])
  expect((await ask('/healthz')).status).toBe(200)
  const page = readPage((await ask('/metrics')).text)
  expect(page.value('records_sync_ready', { part: 'temporal' })).toBe(0)
  temporal.isOpen = true
  await expect
    .poll(ready)
    .toMatchObject([200, { ...parts, temporal: true, search_attributes: true }])
})

test('answers until it has stopped', async () => {
  worker.shutdown()
  await worker.stopped
  await expect(ask('/healthz')).rejects.toThrow()
})
