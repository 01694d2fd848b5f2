// Monitoring, part by part: the page that is told, what is counted on a real ledger, health over real HTTP, webhooks on a
// real receiver, and that the documents and the dashboard speak of what there is.

import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, get as httpGet, type IncomingMessage, type ServerResponse } from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import type { NotificationConfig, SyncConfig } from '../../../config/index.ts'
import { notify } from '../../../src/cli/commands/notify.ts'
import { LedgerError } from '../../../src/core/errors.ts'
import { silentLogger, systemClock, type Clock, type Logger } from '../../../src/core/ports.ts'
import {
  emptyStates,
  NOT_READ_BACK,
  type Books,
  type RunState,
} from '../../../src/core/domain/books.ts'
import { LINK_STATES, reasonsOf, type LinkState } from '../../../src/core/domain/outcomes.ts'
import { countAll } from '../../../src/core/domain/outcome-counts.ts'
import { zeroCounts } from '../../../src/core/register.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { syncGauges } from '../../../src/monitoring/sync-gauges.ts'
import { withLedgerMetrics } from '../../../src/monitoring/ledger-metrics.ts'
import { DELIVERY_MAX_MS } from '../../../src/monitoring/webhook.ts'
import { openEndpoint, type ReadinessChecks } from '../../../src/monitoring/endpoint.ts'
import { overdueAfterSeconds } from '../../../src/monitoring/overdue.ts'
import { createMetrics } from '../../../src/monitoring/metrics.ts'
import { notifier, type NotifierOptions } from '../../../src/monitoring/notify.ts'
import { Registry } from '../../../src/monitoring/registry.ts'
import type { RunChange } from '../../../src/runs/observers.ts'
import {
  answered,
  badRow,
  openRun,
  outcome,
  row,
  rows,
  send,
  stage,
  staged,
  stream,
} from '../../suites/ledger/scene.ts'
import { said } from '../cli/said.ts'
import { readPage } from './exposition.ts'

const REASONS: readonly string[] = reasonsOf('row')

const root = new URL('../../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-monitoring-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

function sqliteLedger(): Ledger {
  const ledger = openSqliteLedger(join(folder(), 'ledger.db'))
  onTestFinished(() => ledger.close())
  return ledger
}

describe('the page', () => {
  test('can be read back, whatever labels and values are in it', () => {
    const labels = fc.dictionary(
      fc.constantFrom('sync', 'stream', 'reason'),
      fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('a"b', 'a\\', 'a\nb', '}', ',="')),
    )
    const values = fc.oneof(fc.double(), fc.integer())
    fc.assert(
      fc.property(fc.array(fc.tuple(labels, values), { maxLength: 8 }), (settings) => {
        const registry = new Registry()
        const gauge = registry.gauge('g', 'What\nit \\ is.')
        const last = new Map<string, number>()
        for (const [each, value] of settings) {
          gauge.set(each, value)
          last.set(JSON.stringify(Object.entries(each).toSorted()), value)
        }
        const read = readPage(registry.text()).samples.map(
          (sample) =>
            [JSON.stringify(Object.entries(sample.labels).toSorted()), sample.value] as const,
        )
        expect(new Map(read)).toEqual(
          // Minus nothing is nothing.
          new Map([...last].map(([key, value]) => [key, value === 0 ? 0 : value])),
        )
      }),
    )
  })

  test('adds up counters, sorts into buckets, and forgets gauges', () => {
    const registry = new Registry()
    const counter = registry.counter('c_total', 'C.')
    const gauge = registry.gauge('g', 'G.')
    const histogram = registry.histogram('h_seconds', 'H.', [1, 10])
    counter.add({ a: '1', b: '2' }, 0)
    expect(readPage(registry.text()).value('c_total')).toBe(0)
    counter.add({ b: '2', a: '1' }, 2)
    counter.add({ a: '1', b: '2' })
    gauge.set({}, 7)
    for (const seconds of [0.5, 1, 5, 50]) histogram.record({ s: 'x' }, seconds)
    const page = readPage(registry.text())
    expect(page.value('c_total', { a: '1', b: '2' })).toBe(3)
    expect(page.value('g')).toBe(7)
    const buckets = ['1', '10', '+Inf'].map((le) => page.value('h_seconds_bucket', { s: 'x', le }))
    expect(buckets).toEqual([2, 3, 4])
    expect(page.value('h_seconds_sum')).toBe(56.5)
    expect(page.value('h_seconds_count')).toBe(4)
    gauge.clear()
    expect(readPage(registry.text()).value('g')).toBeUndefined()
    expect(registry.text()).toContain('# TYPE g gauge')
  })
})

test.each([
  [{ every_ms: 3_600_000 }, 3 * 3_600],
  [{ every_ms: 10_000 }, 900],
  [{ every_ms: 3_600_000, jitter_seconds: 60 }, 3 * 3_600 + 60],
  [{ cron: '*/5 * * * *' }, 86_400],
  [{ cron: '0 6,18 * * *' }, 86_400],
  [{ cron: '0 6 * * *' }, 2 * 86_400],
  [{ cron: '0 6 * * 1-5' }, 14 * 86_400],
  [{ cron: '0 6 1 * *' }, 62 * 86_400],
  [{ cron: '0 6 1 jan *' }, 732 * 86_400],
  [{ cron: '0 6 */1 */1 */1' }, 2 * 86_400],
])('a sync that runs by %j is late after %i s', (schedule, seconds) => {
  const rest = { time_zone: 'UTC', jitter_seconds: 0, catch_up_minutes: 60 }
  expect(overdueAfterSeconds({ ...rest, ...schedule })).toBe(seconds)
})

describe('counting', () => {
  const counted = () => {
    const metrics = createMetrics(systemClock)
    const bare = sqliteLedger()
    const ledger = withLedgerMetrics(bare, metrics, systemClock)
    const page = () => readPage(metrics.text())
    const count = (name: string, labels: Record<string, string>) =>
      page().value(`records_sync_${name}`, labels) ?? 0
    return {
      bare,
      ledger,
      page,
      rowsOf: (state: string) =>
        count(
          'rows_total',
          REASONS.includes(state) ? { reason: state } : { outcome: state, reason: '' },
        ),
      count,
    }
  }

  test('values that were kept, and those that were written over', async () => {
    const { ledger, count } = counted()
    const { run } = await staged(ledger, rows(1))
    const books = await ledger.books(run)
    const protection = { kept: { values: 3, rows: 2 }, writtenOver: { values: 5, rows: 4 } }
    await ledger.closeRun(run, { state: 'cancelled', books: { ...books, ...protection } })
    const of = { sync: (await ledger.run(run))!.sync }
    expect(count('kept_values_total', of)).toBe(3)
    expect(count('written_over_values_total', of)).toBe(5)
  })

  test('agrees with the books of a run in which everything happens', async () => {
    const { ledger, rowsOf, count } = counted()
    // Accepted before: row 3 is unchanged.
    const first = await staged(ledger, [row(1, 'k3')])
    await ledger.settle(
      first.run,
      first.segment,
      first.fence,
      await send(ledger, first),
      answered,
      [outcome(1, 'created')],
    )
    await ledger.closeRun(first.run, { state: 'complete', books: await ledger.books(first.run) })
    const items = [row(1, 'k1'), row(2, 'k1'), row(3, 'k3'), badRow(4, null), ...rows(13).slice(4)]
    const { run, segment, fence } = await staged(ledger, items)
    const isSent = ({ ordinal }: { ordinal: number }) => ordinal !== 13
    const batch = await send(ledger, { run, segment, fence }, 50, isSent)
    expect(batch.items.map(({ ordinal }) => ordinal)).toEqual([2, 5, 6, 7, 8, 9, 10, 11, 12])
    const answers = [
      outcome(2, 'created'),
      outcome(5, 'updated'),
      outcome(6, 'refused'),
      outcome(7, 'pending'),
      ...[8, 9, 10, 11, 12].map((ordinal) => outcome(ordinal, 'in_flight')),
    ]
    await ledger.settle(run, segment, fence, batch, answered, answers)
    expect(rowsOf('created')).toBe(2)
    expect(rowsOf('invalid')).toBe(0)
    // A zombie settles nothing, so it counts nothing.
    await ledger.claimSegment(run, segment)
    await expect(ledger.settle(run, segment, fence, batch, answered, answers)).rejects.toThrow()
    const doubtful = await ledger.written(run, { after: 0, every: 1, limit: 100 })
    const verdictOf = (ordinal: number) =>
      ordinal === 10 ? 'different' : ordinal === 11 ? 'missing' : 'equal'
    await ledger.recordVerified(
      run,
      doubtful
        .filter(({ ordinal }) => ordinal !== 12)
        .map(({ ordinal }) => ({
          ordinal,
          verdict: verdictOf(ordinal),
          recordId: null,
          field: null,
        })),
    )
    await ledger.settleLeftovers(run)
    const books = await ledger.books(run)
    expect(books.states).toMatchObject({
      superseded: 1,
      unchanged: 1,
      invalid: 1,
      not_sent: 1,
      outcome_unknown: 3,
    })
    for (let again = 0; again < 2; again++)
      await ledger.closeRun(run, { state: 'complete_with_rejects', books })
    for (const [state, items] of Object.entries(books.states))
      expect([state, rowsOf(state)]).toEqual([state, state === 'created' ? items + 1 : items])
    expect(count('runs_total', { state: 'complete_with_rejects', kind: 'import' })).toBe(1)
    expect(count('runs_total', { state: 'complete' })).toBe(1)
    expect(count('run_duration_seconds_count', { sync: 'contacts' })).toBe(2)
  })

  test('counts what a stream did since it was noted last, whoever noted it', async () => {
    const { bare, ledger, rowsOf } = counted()
    const { id } = await openRun(ledger, 'run', 'crm', 'mirror')
    await ledger.noteStream(id, stream('a', { inserted: 5, unchanged: 1 }))
    await ledger.noteStream(id, stream('a', { inserted: 5, unchanged: 1 }))
    await ledger.noteStream(id, stream('b', { inserted: 2 }))
    await bare.noteStream(id, stream('a', { inserted: 105 }))
    await ledger.noteStream(id, stream('a', { inserted: 110, changed: 3, deleted: 4 }))
    expect(['inserted', 'changed', 'unchanged', 'deleted'].map(rowsOf)).toEqual([12, 3, 1, 4])
  })

  test('leaves plans alone, and answers of the ledger as they are', async () => {
    const { bare, ledger, page } = counted()
    const plan = await openRun(ledger, 'plan')
    await stage(ledger, plan.id, rows(3))
    await ledger.closeRun(plan.id, { state: 'complete', books: await ledger.books(plan.id) })
    expect(page().samples).toEqual([])
    expect(Object.keys(ledger)).toEqual(Object.keys(bare))
  })
})

describe('what is read when the page is asked for', () => {
  const importing: SyncConfig = { name: 'contacts', kind: 'import', import: {} as never }
  const scene = (ledger: Pick<Ledger, 'syncHealth'>) => {
    let now = Date.now()
    let config: Parameters<typeof syncGauges>[0]['config'] = {
      syncs: {
        contacts: {
          ...importing,
          schedule: {
            every_ms: 3_600_000,
            time_zone: 'UTC',
            jitter_seconds: 0,
            catch_up_minutes: 1,
          },
        },
        crm: { name: 'crm', kind: 'mirror', mirror: {} as never },
      },
      groups: {
        slow: {
          name: 'slow',
          syncs: ['contacts', 'crm'],
          schedule: {
            every_ms: 7_200_000,
            time_zone: 'UTC',
            jitter_seconds: 0,
            catch_up_minutes: 1,
          },
        },
      },
      notifications: { ops: {} },
    }
    let broken = false
    const clock: Clock = { ...systemClock, now: () => now }
    const metrics = createMetrics(clock)
    const loadConfig = () =>
      broken ? Promise.reject(new Error('broken')) : Promise.resolve(config)
    const collect = syncGauges({
      metrics,
      ledger,
      clock,
      config,
      loadConfig,
      waitMaxMs: 300,
    })
    return {
      metrics,
      pass: (seconds: number) => (now += seconds * 1_000),
      breakConfig: () => (broken = true),
      change: (next: typeof config) => (config = next),
      async page() {
        await collect()
        return readPage(metrics.text())
      },
    }
  }

  test('tells how each sync stands, and how old that is by now', async () => {
    const ledger = sqliteLedger()
    const { page, pass } = scene(ledger)
    const empty = await page()
    expect(empty.value('records_sync_run_state')).toBeUndefined()
    expect(empty.value('records_sync_late_after_seconds', { sync: 'contacts' })).toBe(10_800)
    // It has no schedule, and its group has one.
    expect(empty.value('records_sync_late_after_seconds', { sync: 'crm' })).toBe(21_600)
    expect(empty.value('records_sync_rows_total', { sync: 'crm', outcome: 'deleted' })).toBe(0)
    expect(empty.value('records_sync_notifications_total', { outcome: 'failed' })).toBe(0)
    const run = await openRun(ledger)
    await stage(ledger, run.id, rows(3))
    await ledger.setRunState(run.id, 'blocked', 'auth')
    const mirror = await openRun(ledger, 'run', 'crm', 'mirror')
    await ledger.noteStream(mirror.id, stream('svc_contact', { state: 'complete' }))
    await ledger.closeRun(mirror.id, { state: 'failed', books: null })
    pass(100)
    const later = await page()
    const state = { sync: 'contacts', kind: 'import', state: 'blocked', reason: 'auth' }
    expect(later.value('records_sync_run_state', state)).toBe(1)
    const waiting = later.value('records_sync_oldest_pending_seconds', { sync: 'contacts' })!
    expect(waiting).toBeGreaterThan(90)
    expect(waiting).toBeLessThan(110)
    const lag = { sync: 'crm', stream: 'svc_contact' }
    expect(later.value('records_sync_mirror_lag_seconds', lag)).toBeGreaterThan(90)
    // Runs have ended, and none succeeded; of the other sync none has ended.
    const success = 'records_sync_last_success_timestamp_seconds'
    expect(later.value(success, { sync: 'crm' })).toBe(0)
    expect(later.value(success, { sync: 'contacts' })).toBeUndefined()
    await ledger.settleLeftovers(run.id)
    expect(later.value('records_sync_differences', { sync: 'contacts' })).toBe(0)
    const readBack = { ...NOT_READ_BACK, different: 2 }
    await ledger.closeRun(run.id, {
      state: 'complete_with_rejects',
      books: { ...(await ledger.books(run.id)), readBack },
    })
    pass(10)
    const closed = await page()
    expect(closed.value('records_sync_differences', { sync: 'contacts' })).toBe(1)
    expect(closed.value('records_sync_differences', { sync: 'crm' })).toBe(0)
    expect(closed.value('records_sync_run_state', { sync: 'contacts' })).toBe(1)
    expect(closed.value('records_sync_run_state', state)).toBeUndefined()
    expect(closed.value('records_sync_oldest_pending_seconds')).toBe(0)
    expect(closed.value(success, { sync: 'contacts' })! * 1_000).toBeCloseTo(Date.now(), -5)
  })

  test.each(['fails', 'hangs'])(
    'is missing where the ledger %s, and is there again later',
    async (how) => {
      const real = sqliteLedger()
      await openRun(real)
      let isAway = false
      const { page, pass } = scene({
        syncHealth: (sync) => {
          if (!isAway) return real.syncHealth(sync)
          return how === 'hangs'
            ? new Promise(() => {})
            : Promise.reject(new LedgerError('x', 'away'))
        },
      })
      const errors = 'records_sync_collect_errors_total'
      expect((await page()).value('records_sync_run_state')).toBe(1)
      isAway = true
      pass(10)
      const away = await page()
      expect(away.value('records_sync_run_state')).toBeUndefined()
      expect(away.value(errors, { part: 'ledger' })).toBe(1)
      expect(away.value('records_sync_late_after_seconds', { sync: 'contacts' })).toBe(10_800)
      isAway = false
      pass(10)
      expect((await page()).value('records_sync_run_state')).toBe(1)
    },
  )

  test('follows the configuration, and goes on with the last one where it is broken', async () => {
    const ledger = sqliteLedger()
    for (const sync of ['contacts', 'crm', 'more']) await openRun(ledger, 'run', sync)
    const { page, pass, change, breakConfig } = scene(ledger)
    const syncs = async () =>
      (await page()).samples
        .filter(({ name }) => name === 'records_sync_run_state')
        .map(({ labels }) => labels['sync'])
    expect(await syncs()).toEqual(['contacts', 'crm'])
    change({ syncs: { more: { ...importing, name: 'more' } }, groups: {}, notifications: {} })
    pass(10)
    expect(await syncs()).toEqual(['more'])
    breakConfig()
    pass(10)
    expect(await syncs()).toEqual(['more'])
    expect((await page()).value('records_sync_collect_errors_total', { part: 'config' })).toBe(1)
  })

  test('asks the ledger once for all who ask at the same time, and for the next seconds', async () => {
    let asked = 0
    const { page, pass } = scene({
      syncHealth: () => {
        asked++
        return Promise.resolve(null)
      },
    })
    await Promise.all([page(), page(), page()])
    await page()
    expect(asked).toBe(2)
    pass(6)
    await page()
    expect(asked).toBe(4)
  })

  test('does not say what the quota was once', async () => {
    const { metrics, page, pass } = scene({ syncHealth: () => Promise.resolve(null) })
    const end = {
      priority: 'import',
      status: 200,
      limit: 600,
      remaining: 17,
      deprecation: null,
    } as const
    metrics.requests.answered('crm', end)
    metrics.requests.answered('crm', { ...end, status: null, limit: null, remaining: null })
    metrics.requests.waited('crm', { priority: 'import', ms: 1_500 })
    const told = await page()
    expect(told.value('records_sync_quota_remaining_requests', { connection: 'crm' })).toBe(17)
    expect(told.value('records_sync_quota_limit_requests')).toBe(600)
    expect(told.value('records_sync_quota_wait_seconds_total')).toBe(1.5)
    expect(told.value('records_sync_requests_total', { status: 'none' })).toBe(1)
    pass(121)
    const later = await page()
    expect(later.value('records_sync_quota_remaining_requests')).toBeUndefined()
    expect(later.sum('records_sync_requests_total')).toBe(2)
  })
})

describe('health', () => {
  const open = async (checks: ReadinessChecks, temporalPage: string | null = null) => {
    const metrics = createMetrics(systemClock)
    const collect = () => Promise.resolve()
    const endpoint = await openEndpoint({
      listen: '127.0.0.1:0',
      metrics,
      collect,
      checks,
      temporalPage,
      checkMaxMs: 300,
    })
    onTestFinished(() => endpoint.close())
    const ask = async (path: string, method = 'GET') => {
      const answer = await fetch(`http://${endpoint.address}${path}`, { method })
      return { status: answer.status, headers: answer.headers, text: await answer.text() }
    }
    return { endpoint, ask }
  }

  test('is ready while every part is there; one that is not is named, whether it says so, fails or hangs', async () => {
    let isThere = true
    const { ask } = await open({
      worker: () => isThere,
      temporal: () => (isThere ? true : Promise.reject(new Error('secret'))),
      ledger: () => (isThere ? Promise.resolve(true) : new Promise(() => {})),
    })
    expect(await ask('/readyz')).toMatchObject({ status: 200 })
    expect(await ask('/healthz')).toMatchObject({ status: 200, text: 'ok\n' })
    isThere = false
    const parts = { worker: false, temporal: false, ledger: false }
    const { status, text } = await ask('/readyz')
    expect([status, JSON.parse(text)]).toEqual([503, { ready: false, parts }])
    expect(await ask('/healthz')).toMatchObject({ status: 200 })
    const page = readPage((await ask('/metrics')).text)
    for (const part of Object.keys(parts))
      expect(page.value('records_sync_ready', { part })).toBe(0)
  })

  test('answers what it has and nothing else', async () => {
    const { ask } = await open({})
    expect((await ask('/metrics')).headers.get('content-type')).toMatch(
      /^text\/plain; version=0\.0\.4/,
    )
    expect(await ask('/metrics?x=1', 'HEAD')).toMatchObject({ status: 200, text: '' })
    expect(await ask('/')).toMatchObject({ status: 404 })
    expect(await ask('/../../etc/passwd')).toMatchObject({ status: 404 })
    expect(await ask('/metrics', 'POST')).toMatchObject({ status: 405 })
  })

  test('a page of the web that leads its own name here gets nothing', async () => {
    const { endpoint } = await open({})
    const [host, port] = endpoint.address.split(':')
    const statusOf = (name: string, path: string) =>
      new Promise((resolve, reject) =>
        httpGet({ host, port, path, headers: { host: name } }, (answer) => {
          answer.resume()
          resolve(answer.statusCode)
        }).on('error', reject),
      )
    for (const path of ['/metrics', '/healthz', '/readyz', '/']) {
      expect(await statusOf('evil.com', path)).toBe(421)
      expect(await statusOf(`evil.com:${port}`, path)).toBe(421)
    }
    for (const name of ['localhost', `127.0.0.1:${port}`, `worker:${port}`])
      expect(await statusOf(name, '/metrics')).toBe(200)
  })

  test("does without Temporal's own metrics where they cannot be had, and counts that", async () => {
    const closed = await receiver(() => {})
    closed.close()
    const { ask } = await open({}, closed.url)
    const { status, text } = await ask('/metrics')
    expect(status).toBe(200)
    expect(readPage(text).value('records_sync_collect_errors_total', { part: 'temporal' })).toBe(1)
  })

  test('says at once where it cannot listen', async () => {
    const { endpoint } = await open({})
    const listenAt = (listen: string) => {
      const metrics = createMetrics(systemClock)
      const collect = () => Promise.resolve()
      return openEndpoint({ listen, metrics, collect, checks: {}, temporalPage: null })
    }
    await expect(listenAt(endpoint.address)).rejects.toThrow(
      `cannot listen at ${endpoint.address}: another program listens there`,
    )
    await expect(listenAt('127.0.0.1:99999')).rejects.toMatchObject({ code: 'listen_failed' })
    await expect(listenAt('203.0.113.1:9464')).rejects.toThrow('this machine has no such address')
  })

  test('can listen on IPv6, and ends although somebody is still connected', async () => {
    const metrics = createMetrics(systemClock)
    const collect = () => Promise.resolve()
    const endpoint = await openEndpoint({
      listen: '[::1]:0',
      metrics,
      collect,
      checks: {},
      temporalPage: null,
    })
    expect(endpoint.address).toMatch(/^\[::1\]:\d+$/)
    expect((await fetch(`http://${endpoint.address}/healthz`)).status).toBe(200)
    const { port, hostname } = new URL(`http://${endpoint.address}`)
    const slow = net.connect(Number(port), hostname.slice(1, -1))
    await new Promise((resolve) => slow.write('GET /healthz HTTP/1.1\r\n', resolve))
    await expect.poll(() => slow.readyState).toBe('open')
    const cut = new Promise((resolve) => slow.once('close', () => resolve('cut')))
    slow.on('error', () => {})
    await endpoint.close()
    expect(await cut).toBe('cut')
    await expect(fetch(`http://${endpoint.address}/healthz`)).rejects.toThrow()
  })
})

interface Received {
  readonly body: Record<string, unknown>
  readonly headers: IncomingMessage['headers']
}

/** A webhook on the loopback that notes what it is sent. */
async function receiver(answer: (response: ServerResponse, tries: number) => void) {
  const received: Received[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk: Buffer) => (text += chunk.toString()))
    request.on('end', () => {
      received.push({
        body: JSON.parse(text || '{}') as Received['body'],
        headers: request.headers,
      })
      answer(response, received.length)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  onTestFinished(close)
  return {
    received,
    events: () => received.map(({ body }) => body['event']),
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/T0/secret`,
    close,
  }
}

const accepts = (response: ServerResponse) => void response.end('ok')

describe('notifications', () => {
  const change = (more: Partial<RunChange>): RunChange => ({
    run: 7,
    sync: 'contacts',
    kind: 'import',
    from: 'running',
    to: 'running',
    reason: null,
    message: null,
    books: null,
    purpose: 'sync',
    differences: null,
    announced: [],
    workflowId: 'w',
    ...more,
  })
  const blocked = (reason: RunChange['reason'], more: Partial<RunChange> = {}) =>
    change({ to: 'blocked', reason, message: `blocked: ${reason}: mend it`, ...more })
  const books = (rejected: number): Books => ({
    read: 100,
    states: { ...emptyStates(), created: 100 - rejected, refused: rejected },
    replayed: 0,
    inDoubt: 0,
    readBack: NOT_READ_BACK,
  })

  /** Waits end at once, but those for a run to be steady: they end with `steady`. */
  const testClock = () => {
    const waiting = new Set<() => void>()
    const clock: Clock = {
      now: () => Date.parse('2026-01-02T03:04:05Z'),
      sleep: (ms, signal) =>
        ms < 60_000
          ? Promise.resolve()
          : new Promise((resolve, reject) => {
              waiting.add(resolve)
              signal?.addEventListener('abort', () => {
                waiting.delete(resolve)
                reject(signal.reason)
              })
            }),
    }
    return { clock, waiting: () => waiting.size, steady: () => waiting.forEach((end) => end()) }
  }

  const scene = async (
    urls: Record<string, string>,
    options: Partial<NotifierOptions> & { settings?: Partial<NotificationConfig> } = {},
  ) => {
    const logged: { fields: Record<string, unknown>; event: string }[] = []
    const log = (fields: object, event: string) =>
      void logged.push({ fields: { ...fields }, event })
    const logger: Logger = { ...silentLogger, info: log, warn: log }
    const time = testClock()
    const metrics = createMetrics(time.clock)
    const defaults = {
      on: [
        'blocked',
        'failed',
        'rejects',
        'differences',
        'skipped',
        'recovered',
        'deprecated',
      ] as const,
      rejects_max: 0,
    }
    const names = Object.keys(urls)
    const config = {
      notifications: Object.fromEntries(
        names.map((name) => [name, { ...defaults, ...options.settings, url: { env: name } }]),
      ),
    }
    const ledger = sqliteLedger()
    const people = notifier({
      config,
      loadConfig: () => Promise.resolve(config),
      env: urls,
      ledger,
      clock: time.clock,
      logger,
      metrics,
      ...options,
    })
    const count = (notification: string, outcome: string) =>
      readPage(metrics.text()).value('records_sync_notifications_total', { notification, outcome })
    return { ...people, ...time, ledger, logged, count, config }
  }

  /** Ends a run of the ledger, and gives its change. */
  const ended = async (
    ledger: Ledger,
    state: RunState,
    rejected = 0,
    message: string | null = null,
  ) => {
    const { id } = await openRun(ledger)
    await ledger.closeRun(id, { state, message, books: books(rejected) })
    return change({ run: id, to: state, message, books: books(rejected) })
  }

  test('post one line for people and the facts for programs', async () => {
    const hook = await receiver(accepts)
    const { changed, logged, count } = await scene({ ops: hook.url })
    await changed(blocked('auth', { message: 'blocked: auth: the key of <crm>\n is refused' }))
    const { body, headers } = hook.received[0]!
    expect(headers['content-type']).toBe('application/json')
    expect(Object.keys(body)[0]).toBe('text')
    expect(body).toEqual({
      text: 'contacts is blocked by auth (run 7): the key of ‹crm› is refused',
      event: 'blocked',
      sync: 'contacts',
      kind: 'import',
      run: 7,
      state: 'blocked',
      reason: 'auth',
      message: 'the key of <crm> is refused',
      rejects: null,
      differences: null,
      workflow: 'w',
      at: '2026-01-02T03:04:05.000Z',
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
    const fields = { notification: 'ops', told: 'blocked', sync: 'contacts', run: 7 }
    expect(logged).toEqual([{ event: 'notification_sent', fields }])
    expect(count('ops', 'sent')).toBe(1)
    await changed(blocked('approval', { run: 8, message: 'svc_contact: 12 % would be deleted' }))
    expect(hook.received[1]!.body['text']).toBe(
      'contacts waits for approval (run 8): svc_contact: 12 % would be deleted. "records-sync approve 8" or "records-sync reject 8" decides',
    )
    await changed(change({ run: 9, to: 'failed', message: 'x'.repeat(5_000) }))
    expect(hook.received[2]!.body['message']).toHaveLength(500)
  })

  test('tell a block once, however often the run tries; another reason again; and the end of it when it is steady', async () => {
    const hook = await receiver(accepts)
    const { changed, steady, waiting } = await scene({ ops: hook.url })
    const goesOn = change({ from: 'blocked', to: 'running' })
    await changed(blocked('permission'))
    for (let probe = 0; probe < 3; probe++) {
      await changed(goesOn)
      await changed(blocked('permission'))
    }
    // Two segments that find it at the same time.
    await changed(blocked('permission'))
    expect(hook.events()).toEqual(['blocked'])
    await changed(blocked('disk', { from: 'blocked' }))
    expect(hook.received.map(({ body }) => body['reason'])).toEqual(['permission', 'disk'])
    await changed(change({ from: 'blocked', to: 'paused' }))
    await changed(change({ from: 'paused', to: 'running' }))
    expect(waiting()).toBe(0)
    await changed(goesOn)
    expect(waiting()).toBe(1)
    steady()
    await expect.poll(hook.events).toEqual(['blocked', 'blocked', 'recovered'])
    expect(hook.received[2]!.body['text']).toBe('contacts goes on (run 7)')
    await changed(blocked('disk'))
    expect(hook.events()).toHaveLength(4)
  })

  test('of a block that another worker has told, tell the end only', async () => {
    const hook = await receiver(accepts)
    const { changed, close, ledger } = await scene({ ops: hook.url })
    const { id: run } = await openRun(ledger)
    await changed(change({ run, from: 'blocked', to: 'running' }))
    await changed(blocked('service', { run }))
    expect(hook.events()).toEqual([])
    await changed(change({ run, from: 'blocked', to: 'running' }))
    // The worker stops: whoever comes after it does not know.
    await close()
    expect(hook.events()).toEqual(['recovered'])
  })

  test('tell failures and rejects that are new, and the first success after a failure', async () => {
    const hook = await receiver(accepts)
    const { changed, ledger } = await scene({ ops: hook.url }, { settings: { rejects_max: 5 } })
    const tell = async (...end: [state: RunState, rejected?: number, message?: string]) => {
      const before = hook.received.length
      await changed(await ended(ledger, ...end))
      return hook.events().slice(before)
    }
    expect(await tell('complete')).toEqual([])
    expect(await tell('failed', 0, 'the file is torn')).toEqual(['failed'])
    expect(await tell('failed', 0, 'the file is torn')).toEqual([])
    expect(await tell('failed', 0, 'the file is gone')).toEqual(['failed'])
    expect(await tell('cancelled')).toEqual([])
    expect(await tell('complete')).toEqual(['recovered'])
    expect(await tell('complete')).toEqual([])
    expect(await tell('complete_with_rejects', 5)).toEqual([])
    expect(await tell('complete_with_rejects', 6)).toEqual(['rejects'])
    expect(hook.received.at(-1)!.body).toMatchObject({ rejects: 6, state: 'complete_with_rejects' })
    expect(await tell('complete_with_rejects', 6)).toEqual([])
    expect(await tell('complete_with_rejects', 7)).toEqual(['rejects'])
    expect(await tell('failed', 0, 'x')).toEqual(['failed'])
    expect(await tell('complete_with_rejects', 3)).toEqual(['recovered'])
  })

  test('tell of a skipped sync once for the same reason, that it ran again, and rejects as if it had not been skipped', async () => {
    const hook = await receiver(accepts)
    const { changed, ledger } = await scene({ ops: hook.url })
    const tell = async (...end: [state: RunState, rejected?: number, message?: string]) => {
      const before = hook.received.length
      await changed(await ended(ledger, ...end))
      return hook.events().slice(before)
    }
    expect(await tell('complete_with_rejects', 6)).toEqual(['rejects'])
    expect(await tell('skipped', 0, 'skipped: after companies')).toEqual(['skipped'])
    expect(hook.received.at(-1)!.body['text']).toMatch(
      /^contacts did not begin \(run \d+\): skipped: after companies$/,
    )
    expect(await tell('skipped', 0, 'skipped: after companies')).toEqual([])
    expect(await tell('skipped', 0, 'skipped: after notes')).toEqual(['skipped'])
    expect(await tell('complete_with_rejects', 6)).toEqual(['recovered'])
    expect(await tell('failed', 0, 'x')).toEqual(['failed'])
    expect(await tell('skipped', 0, 'skipped: after companies')).toEqual(['skipped'])
    expect(await tell('failed', 0, 'x')).toEqual(['failed'])
  })

  test('tell an announced end of an API once for the same words, alone or with other news', async () => {
    const hook = await receiver(accepts)
    const { changed, ledger } = await scene({ ops: hook.url })
    const tell = async (state: RunState, rejected: number, ...announced: string[]) => {
      const before = hook.received.length
      const { id } = await openRun(ledger)
      await ledger.addWarnings(id, announced)
      await ledger.closeRun(id, { state, message: null, books: books(rejected) })
      await changed(change({ run: id, to: state, books: books(rejected), announced }))
      return hook.received.slice(before).map(({ body }) => [body['event'], body['text']])
    }
    const soon = 'connection crm: it ends on <2030-01-01>'
    expect(await tell('complete', 0)).toEqual([])
    expect(await tell('complete', 0, soon)).toEqual([
      [
        'deprecated',
        expect.stringMatching(
          /^contacts uses an API that ends \(run 2\); connection crm: it ends on ‹2030-01-01›$/,
        ),
      ],
    ])
    expect(await tell('complete', 0, soon)).toEqual([])
    expect(await tell('complete_with_rejects', 3, soon, 'it has come')).toEqual([
      ['rejects', expect.stringMatching(/; it has come$/)],
    ])
    expect(await tell('failed', 0, 'it has come', 'other')).toEqual([
      ['failed', expect.stringMatching(/^contacts failed.*; other$/)],
    ])
    expect(await tell('cancelled', 0, 'another')).toEqual([])
  })

  test('tell what a reconciliation left different; a retry says nothing new of its rejects', async () => {
    const hook = await receiver(accepts)
    const { changed, ledger } = await scene({ ops: hook.url })
    await changed(await ended(ledger, 'complete_with_rejects', 6))
    const compared = change({
      purpose: 'reconcile',
      to: 'complete_with_rejects',
      message: '3 differ: 3 stale',
      differences: 3,
    })
    await changed(compared)
    await changed({ ...compared, to: 'complete', differences: 0 })
    const retry = { purpose: 'retry', to: 'complete_with_rejects', books: books(2) } as const
    await changed(change(retry))
    await changed(await ended(ledger, 'complete_with_rejects', 6))
    expect(hook.received.map(({ body }) => body['text'])).toEqual([
      expect.stringContaining('ended with 6 rejected rows'),
      'contacts does not agree with the other side (run 7): 3 differ: 3 stale; "records-sync show 7" lists what differs',
    ])
  })

  test('tell differences, once for the same message; to those who want rejects, as rejects', async () => {
    const [all, rejects] = [await receiver(accepts), await receiver(accepts)]
    const { changed, ledger, config } = await scene({ all: all.url, rejects: rejects.url })
    const { notifications } = config as { notifications: Record<string, NotificationConfig> }
    notifications['rejects'] = { ...notifications['rejects']!, on: ['rejects'] }
    const message = '2 rows were accepted and read back otherwise: 2 different'
    const tell = async (text: string) =>
      await changed({
        ...(await ended(ledger, 'complete_with_differences', 0, text)),
        differences: 2,
      })
    await tell(message)
    await tell(message)
    await tell(message.replaceAll('2', '3'))
    await changed(await ended(ledger, 'complete'))
    expect(all.events()).toEqual(['differences', 'differences'])
    expect(rejects.events()).toEqual(['rejects', 'rejects'])
    expect(all.received[0]!.body).toMatchObject({ rejects: 0, differences: 2 })
    expect(all.received[0]!.body['text']).toContain(`does not agree with the other side`)
    expect(all.received[0]!.body['text']).toContain(message)
  })

  test('tell rejected links as rejects, and waiting ones as differences', async () => {
    const hook = await receiver(accepts)
    const { changed, ledger } = await scene({ ops: hook.url })
    const withLinks = async (state: RunState, states: Partial<Record<LinkState, number>>) => {
      const change = await ended(ledger, state, 0, 'links')
      const all = { ...zeroCounts(LINK_STATES), ...states }
      const links = { read: countAll(all), states: all }
      await changed({ ...change, books: { ...change.books!, links } })
    }
    await withLinks('complete_with_rejects', { linked: 5, refused: 2, target_missing: 1 })
    expect(hook.received[0]!.body).toMatchObject({ event: 'rejects', rejects: 2, differences: 1 })
    expect(hook.received[0]!.body['text']).toMatch(
      /ended with 2 rejected links \(run \d+\); "records-sync show \d+" counts them/,
    )
    await withLinks('complete_with_differences', { linked: 5, target_missing: 1 })
    expect(hook.received.at(-1)!.body).toMatchObject({ event: 'differences', differences: 1 })
  })

  test('tell differences of a run with rejects too, once for the same message', async () => {
    const [all, differences] = [await receiver(accepts), await receiver(accepts)]
    const { changed, ledger, config } = await scene({ all: all.url, differences: differences.url })
    const { notifications } = config as { notifications: Record<string, NotificationConfig> }
    notifications['differences'] = { ...notifications['differences']!, on: ['differences'] }
    const message = '584 rows were accepted and read back otherwise: 584 different'
    for (let time = 0; time < 2; time++) {
      const change = await ended(ledger, 'complete_with_rejects', 15, message)
      const readBack = { ...NOT_READ_BACK, different: 584 }
      await changed({ ...change, books: { ...change.books!, readBack } })
    }
    expect([all.events(), differences.events()]).toEqual([['rejects'], ['differences']])
    expect(all.received[0]!.body).toMatchObject({ rejects: 15, differences: 584 })
    expect(all.received[0]!.body['text']).toMatch(
      /ended with 15 rejected rows \(run \d+\).*; it does not agree with the other side: 584 rows were accepted and/,
    )
    expect(differences.received[0]!.body['text']).toContain('does not agree with the other side')
  })

  test('tell that a run was blocked and then succeeded, without a minute between', async () => {
    const hook = await receiver(accepts)
    const { changed, ledger, waiting } = await scene({ ops: hook.url })
    const end = await ended(ledger, 'complete')
    await changed(blocked('auth', { run: end.run }))
    await changed(change({ run: end.run, from: 'blocked', to: 'running' }))
    await changed(end)
    expect(hook.events()).toEqual(['blocked', 'recovered'])
    expect(waiting()).toBe(0)
  })

  test('tell once that no run can be opened, also where the broken configuration is the reason', async () => {
    const hook = await receiver(accepts)
    const loadConfig = () => Promise.reject(new Error('broken'))
    const { changed, ledger } = await scene({ ops: hook.url }, { loadConfig })
    const unopened = (message: string) => change({ run: null, from: null, to: 'failed', message })
    await changed(unopened('line 3: expected a mapping'))
    await changed(unopened('line 3: expected a mapping'))
    await changed(unopened('line 4: expected a mapping'))
    expect(hook.received.map(({ body }) => body['text'])).toEqual([
      'contacts could not be started: line 3: expected a mapping',
      'contacts could not be started: line 4: expected a mapping',
    ])
    await changed(await ended(ledger, 'complete'))
    expect(hook.events()).toEqual(['failed', 'failed', 'recovered'])
  })

  test('go to those who want them', async () => {
    const [blocks, others] = [await receiver(accepts), await receiver(accepts)]
    const { changed, config } = await scene({ blocks: blocks.url, others: others.url })
    const { notifications } = config as { notifications: Record<string, NotificationConfig> }
    notifications['blocks'] = { ...notifications['blocks']!, on: ['blocked'] }
    notifications['others'] = { ...notifications['others']!, syncs: ['companies'] }
    await changed(blocked('auth'))
    await changed(change({ to: 'failed' }))
    await changed(blocked('auth', { run: 8, sync: 'companies' }))
    expect(blocks.received.map(({ body }) => body['run'])).toEqual([7, 8])
    expect(others.received.map(({ body }) => body['run'])).toEqual([8])
  })

  test('never fail and never take longer than they may, whatever the receivers do; no URL is in the log', async () => {
    const good = await receiver(accepts)
    const hooks = {
      refusing: await receiver((response) => void response.writeHead(404).end()),
      failing: await receiver((response) => void response.writeHead(500).end()),
      mending: await receiver((response, tries) =>
        tries < 3 ? void response.writeHead(503).end() : accepts(response),
      ),
      hanging: await receiver(() => {}),
      redirecting: await receiver(
        (response) => void response.writeHead(307, { location: good.url }).end(),
      ),
      // The status is enough: whatever comes after it is not waited for.
      endless: await receiver((response) => void response.writeHead(200).write('x')),
      tearing: await receiver((response) => void response.destroy()),
    }
    const urls = Object.fromEntries(Object.entries(hooks).map(([name, { url }]) => [name, url]))
    const others = {
      plain: 'http://203.0.113.1/secret',
      credentials: 'https://user:secret@203.0.113.1/',
      nonsense: 'secret',
      missing: undefined as unknown as string,
    }
    const { changed, logged, count } = await scene({ good: good.url, ...urls, ...others })
    const since = performance.now()
    await changed(blocked('auth'))
    expect(performance.now() - since).toBeLessThan(10 * DELIVERY_MAX_MS)
    const why = Object.fromEntries(
      logged.map(({ fields }) => [fields['notification'], fields['why'] ?? 'sent']),
    )
    expect(why).toEqual({
      good: 'sent',
      endless: 'sent',
      mending: 'sent',
      refusing: 'it answered 404',
      failing: 'it answered 500',
      hanging: 'no answer came (timeout)',
      redirecting: 'it answered 307, and no redirect is followed',
      tearing: 'no answer came: the connection was closed; see its log',
      plain: expect.stringContaining('https:// (http:// only for localhost'),
      credentials: expect.stringContaining('user name or a password'),
      nonsense: expect.stringContaining('https://'),
      missing: 'The environment variable `missing` is not set',
    })
    const tries = Object.entries(hooks).map(([name, { received }]) => [name, received.length])
    expect(Object.fromEntries(tries)).toEqual({
      refusing: 1,
      failing: 3,
      mending: 3,
      hanging: 3,
      redirecting: 1,
      endless: 1,
      tearing: 3,
    })
    expect(good.received).toHaveLength(1)
    expect(JSON.stringify(logged)).not.toMatch(/secret|hooks|127\.0\.0\.1|203\.0/)
    expect([count('mending', 'sent'), count('failing', 'failed')]).toEqual([1, 1])
    const ids = hooks.failing.received.map(({ body }) => body['id'])
    expect(new Set(ids).size).toBe(1)
  })

  test('can be tried by command', async () => {
    const [hook, refusing] = [
      await receiver(accepts),
      await receiver((response) => void response.writeHead(410).end()),
    ]
    const dir = folder()
    const put = (name: string, text: string) => {
      writeFileSync(join(dir, name), text, { mode: 0o600 })
      return join(dir, name)
    }
    put('good', hook.url)
    put('bad', refusing.url)
    const config = put(
      'records-sync.yaml',
      'connections: {}\nsyncs: {}\nnotifications:\n  ops: { url: { file: ./good }, on: [blocked] }\n  old: { url: { file: ./bad } }\n',
    )
    const sent = await said(config, (context) => notify(context, 'ops'))
    expect(sent).toMatchObject({ code: 0, err: [] })
    expect(sent.out.join()).toContain('accepted a test message')
    expect(hook.received[0]!.body).toMatchObject({
      event: 'test',
      text: expect.stringContaining('"ops"'),
    })
    const failed = await said(config, (context) => notify(context, 'old'))
    expect(failed).toMatchObject({ code: 3, out: [] })
    expect(failed.err).toEqual(['Notification "old" was not accepted: it answered 410'])
    const json = await said(config, (context) => notify(context, 'old'), true)
    expect(JSON.parse(json.out[0]!)).toEqual({
      notification: 'old',
      sent: false,
      why: 'it answered 410',
    })
    const unknown = await said(config, (context) => notify(context, 'oops'))
    expect(unknown.code).toBe(2)
    expect(unknown.err.join()).toContain(
      'there is no notification "oops"; did you mean `ops`?; there is: ops, old',
    )
  })
})

describe('the documents', () => {
  /** Names of events: the last argument of every call of a logger. */
  const eventsOf = (source: string): string[] =>
    [...source.matchAll(/(?:\blogger\??\.(?:debug|info|warn|error)|say\.call)\(/g)].flatMap(
      (match) => {
        let depth = 1
        let last = match.index + match[0].length
        let end = last
        for (; depth > 0 && end < source.length; end++) {
          if ('([{'.includes(source[end]!)) depth++
          else if (')]}'.includes(source[end]!)) depth--
          // One that ends the list is followed by nothing.
          else if (source[end] === ',' && depth === 1 && !/^,\s*\)/.test(source.slice(end)))
            last = end
        }
        const names = [...source.slice(last, end).matchAll(/'([a-z_]+)'/g)].map(([, name]) => name!)
        return names.length > 0 ? names : [`(${source.slice(match.index, end)})`]
      },
    )

  test('list every event that is logged, and no other', () => {
    const logged = new Set(
      ['src', 'activities', 'workflows', 'config'].flatMap((layer) =>
        readdirSync(new URL(layer, root), { recursive: true, encoding: 'utf8' })
          .filter((name) => name.endsWith('.ts'))
          .flatMap((name) => eventsOf(read(`${layer}/${name}`))),
      ),
    )
    const section = read('docs/monitoring.md').split('\n## The log\n')[1]!
    const listed = [...section.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell]) =>
      [...cell!.matchAll(/`(\w+)`/g)].map(([, name]) => name!),
    )
    expect(listed.toSorted()).toEqual([...logged].toSorted())
    expect(logged.size).toBeGreaterThan(25)
  })

  test('are told from calls of every form', () => {
    const source = `
      logger.info({ run, text: 'not_this' }, 'one')
      logger?.warn(
        { list: [1, 2] },
        'two',
      )
      deps.logger.error({ id }, isParked ? 'three' : 'four')
      say.call(logger, { text }, 'five')
      logger.debug({}, name)`
    expect(eventsOf(source)).toEqual([
      'one',
      'two',
      'three',
      'four',
      'five',
      '(logger.debug({}, name))',
    ])
  })

  test('list every metric of ours, with its type, and no other', () => {
    const page = readPage(createMetrics(systemClock).text())
    const table = read('docs/monitoring.md').split('\n## Metrics\n')[1]!.split('\n## ')[0]!
    const listed = [...table.matchAll(/^\| `(records_sync_\w+)` \| (\w+) \|/gm)].map(
      ([, name, type]) => [name, type],
    )
    expect(listed.toSorted()).toEqual([...page.types].toSorted())
  })

  test('every alert says what is wrong and what to do, and leads to a section that is there', () => {
    const { groups } = parse(read('config/monitoring/prometheus-alerts.yaml')) as {
      groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[]
    }
    const rules = groups.flatMap((group) => group.rules)
    expect(rules.length).toBeGreaterThan(5)
    const page = read('docs/monitoring.md')
    const sections = [...page.matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
      title!.toLowerCase().replaceAll(' ', '-'),
    )
    const differences = rules.find(({ alert }) => alert === 'RecordsSyncDifferences')
    expect(differences!.expr).toBe('max by (sync) (records_sync_differences) == 1')
    for (const { alert, annotations } of rules) {
      expect(page.includes(`\`${alert}\``), alert).toBe(true)
      expect(annotations['summary'], alert).toMatch(/^.{10,120}$/)
      expect(annotations['description'], alert).toMatch(/.{60,}/s)
      expect(sections, alert).toContain(annotations['runbook']!.replace('docs/monitoring.md#', ''))
    }
  })

  test('the dashboard asks the data source that is chosen, and no panel lies over another', () => {
    interface Panel {
      readonly id: number
      readonly type: string
      readonly title: string
      readonly datasource?: object
      readonly targets?: readonly { expr: string; refId: string; datasource: object }[]
      readonly gridPos: { x: number; y: number; w: number; h: number }
    }
    const { panels, templating, schemaVersion, uid } = JSON.parse(
      read('config/monitoring/grafana-dashboard.json'),
    ) as {
      panels: Panel[]
      templating: { list: { name: string; type: string }[] }
      schemaVersion: number
      uid: string
    }
    expect([uid, schemaVersion > 30]).toEqual(['records-sync', true])
    const variables = templating.list.map(({ name, type }) => `${name}: ${type}`)
    expect(variables).toEqual(['datasource: datasource', 'sync: query'])
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const taken = new Map<string, string>()
    for (const { title, type, datasource, targets = [], gridPos } of panels) {
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect([title, taken.get(`${x} ${y}`)]).toEqual([title, undefined])
          taken.set(`${x} ${y}`, title)
        }
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24)
      if (type === 'row') continue
      expect(targets.length, title).toBeGreaterThan(0)
      for (const source of [datasource, ...targets.map((target) => target.datasource)])
        expect(source).toEqual({ type: 'prometheus', uid: '${datasource}' })
      expect(new Set(targets.map(({ refId }) => refId)).size, title).toBe(targets.length)
    }
  })
})
