// What people do in the console, in a real browser, on a real Temporal server with a worker: run, approve, pause, resume, cancel, unblock,
// undo; two at once; by keyboard alone; without scripts. With CONSOLE_SCREENSHOTS=folder it writes what it sees.

import { randomUUID } from 'node:crypto'
import { DatabaseSync } from '@photostructure/sqlite'
import { expect, test, vi } from 'vitest'
import { slowly } from './batch-gate.ts'
import {
  actions,
  latest,
  look,
  openConsole,
  openPage,
  openRun,
  tabTo,
  untilLatest,
  useConsole,
} from './console-project.ts'
import { contactsConfig } from './contacts.ts'
import { contactsCsv, fastTuning } from './project.ts'
import { untilHung } from '../hang.ts'
import { blockedImport, liveImport, plainNames } from '../unit/report/scenes.ts'

useConsole()

const slow = { ...fastTuning, in_flight: 1, segments_in_flight: 1, rows_per_segment: 100_000 }

test('a person pauses, resumes and cancels a run, by keyboard alone', async () => {
  const { url, id, page } = await openRun({
    gate: { ...slowly, free: 2 },
    csv: contactsCsv(2_000),
    tuning: slow,
    until: { state: 'running', rowsRead: 2_000 },
  })
  await page.goto(`${url}/runs/${id}`)
  await look(page, 'live run')
  const press = async (name: string) => {
    await tabTo(page, name)
    await page.keyboard.press('Enter')
  }
  await press(`Pause run ${id}`)
  await page.waitForURL(/did=/)
  expect(await page.locator('.notice').textContent()).toContain('pauses after the requests')
  await untilLatest({ state: 'paused' })
  await page.goto(`${url}/runs/${id}`)
  await look(page, 'paused run')
  await press(`Resume run ${id}`)
  await page.waitForURL(/did=/)
  await untilLatest({ state: 'running' })
  await page.goto(`${url}/runs/${id}`)
  await press(`Cancel run ${id} …`)
  await page.waitForURL(/cancel$/)
  await look(page, 'asks before a cancel')
  expect((await latest())!.state).toBe('running')
  await press(`Cancel run ${id}`)
  await page.waitForURL(/did=/)
  await untilLatest({ state: 'cancelled' })
  expect((await actions()).map(({ action, state, via }) => [action, state, via])).toEqual([
    ['cancel', 'done', 'console'],
    ['resume', 'done', 'console'],
    ['pause', 'done', 'console'],
  ])
  await page.goto(`${url}/runs/${id}`)
  expect(await page.locator('#log').count()).toBe(1)
  await look(page, 'cancelled run')
  await page.context().close()
})

test('a run is started, its plan approved by one of two, and undone, without scripts', async () => {
  const { project, url } = await openConsole({
    config: contactsConfig({ settings: 'approve: plan' }),
  })
  project.write('contacts.csv', contactsCsv(120))
  const anna = await openPage({ javaScriptEnabled: false })
  await anna.goto(`${url}/syncs/contacts`)
  await anna.getByRole('link', { name: 'Run contacts now' }).click()
  await anna.getByRole('button', { name: 'Run contacts now' }).click()
  await anna.waitForURL(/\/runs\/1\?did=/)
  expect(await anna.locator('.notice').textContent()).toContain('The run was started')
  await untilLatest({ reason: 'approval' })
  const ben = await openPage()
  for (const page of [anna, ben]) {
    await page.goto(`${url}/runs/1`)
    await page.getByRole('link', { name: 'Approve plan 1' }).click()
    await page.waitForURL(/approve\?plan=[\da-f]{12}$/)
  }
  await look(ben, 'asks before an approval')
  expect(project.held().size).toBe(0)
  await ben.getByRole('button', { name: 'Approve plan 1' }).click()
  await ben.waitForURL(/did=/)
  expect(await ben.locator('.notice').textContent()).toContain('Approved')
  await anna.getByRole('button', { name: 'Approve plan 1' }).click()
  await anna.waitForURL(/already=/)
  expect(await anna.locator('.notice').textContent()).toMatch(/Already approved\s+by/)
  await untilLatest({ state: 'complete' })
  expect(project.held().size).toBe(120)
  await anna.goto(`${url}/runs/1`)
  await anna.getByRole('link', { name: 'Undo run 1' }).click()
  const asked = await anna.locator('#main').textContent()
  expect(asked).toMatch(/are deleted \(the run made them\)\s+120/)
  expect(asked).toContain('The next run of contacts sends 120 rows again')
  await ben.goto(`${url}/runs/1/undo`)
  await look(ben, 'asks before an undo')
  await anna.getByRole('button', { name: 'Undo run 1' }).click()
  await anna.waitForURL(/did=/)
  await untilLatest({ purpose: 'undo', state: 'complete' })
  expect(project.held().size).toBe(0)
  expect((await actions()).map(({ action, state }) => [action, state])).toEqual([
    ['undo', 'done'],
    ['approve', 'done'],
    ['run', 'done'],
  ])
  for (const page of [anna, ben]) await page.context().close()
})

test('a person finds a sync that is blocked, and unblocks it, in the console of a worker', async () => {
  const { project, url } = await openConsole({
    config: `${contactsConfig()}\nworker: { console: "127.0.0.1:0" }\n`,
  })
  const key = project.service.key
  project.write('contacts.csv', contactsCsv(60))
  project.write('key', 'svc_wrong_key')
  // It asks again so late that nobody waits for it.
  await project.start('contacts', { ...fastTuning, blocked_probe_ms: 3_600_000 })
  await untilLatest({ state: 'blocked', reason: 'auth' })
  const page = await openPage()
  await page.goto(url)
  await page.goto(`${url}/runs/${(await latest())!.id}`)
  await look(page, 'blocked run')
  await page.goto(url)
  await look(page, 'overview with a blocked sync')
  project.write('key', key)
  await page.locator('.needs').getByRole('button', { name: 'Try again now, contacts' }).click()
  await page.waitForURL(/did=/)
  await untilLatest({ state: 'complete' })
  expect(project.held().size).toBe(60)
  await page.context().close()
})

test('a program hears what is the matter where no worker and no server takes what it asks', async () => {
  const { project, url, worker } = await openConsole({ config: contactsConfig() })
  project.write('contacts.csv', contactsCsv(3))
  const session = await fetch(`${url}/api/v1/session`)
  const { csrf } = (await session.json()) as { csrf: string }
  const headers = {
    'x-csrf-token': csrf,
    cookie: session.headers.get('set-cookie')!.split(';')[0]!,
  }
  const post = async (path: string) => {
    const answer = await fetch(`${url}/api/v1${path}`, { method: 'POST', headers })
    return [answer.status, await answer.json()] as const
  }
  // A run of another server: its workflow is not known to this one.
  const ledger = project.ledger()
  const other = await liveImport(ledger, { ...plainNames, sync: 'moved' })
  const asks = await blockedImport(ledger, 'approval', { ...plainNames, sync: 'deals' })
  await ledger.close()
  const db = new DatabaseSync(project.ledgerFile)
  db.prepare('UPDATE runs SET workflow_run_id = ?').run(randomUUID())
  db.close()
  for (const path of [`/runs/${other}/cancel`, `/runs/${other}/pause`, `/runs/${asks}/approve`])
    expect([path, ...(await post(path))]).toEqual([
      path,
      409,
      {
        error: {
          code: 'run_unknown',
          message: expect.stringContaining(`${project.address} does not know`) as string,
        },
      },
    ])
  // The server names a worker for some minutes after it has ended.
  worker.shutdown()
  await worker.stopped
  expect(await post('/syncs/contacts/run')).toEqual([
    200,
    { action: expect.any(Number), run: null },
  ])
  expect(await post('/syncs/contacts/run')).toEqual([
    409,
    {
      error: {
        code: 'run_waiting',
        message: expect.stringContaining('waits for a worker') as string,
      },
    },
  ])
})

/** 200,000 when it is asked for: that takes a minute on two idle cores. */
const FOLLOWED_ROWS = Number(process.env['CONSOLE_FOLLOWED_ROWS'] ?? 6_000)

test('a person follows a run to its end, on one page that is loaded once', async () => {
  const { project, url, id, page } = await openRun({
    gate: { ...slowly, free: 5 },
    csv: contactsCsv(FOLLOWED_ROWS),
    tuning: slow,
    until: { state: 'running', rowsRead: FOLLOWED_ROWS },
  })
  const loads: string[] = []
  page.on('request', (request) => {
    if (request.isNavigationRequest()) loads.push(request.url())
  })
  await page.goto(`${url}/runs/${id}`)
  const percent = async () => {
    const said = await page
      .locator('.progress')
      .first()
      .getAttribute('aria-label', { timeout: 500 })
    return Number(/(\d+) %/.exec(said ?? '')?.[1] ?? 0)
  }
  await expect.poll(percent).toBeGreaterThanOrEqual(0)
  project.gate.open()
  const seen = new Set<number>()
  await vi.waitFor(async () => {
    if ((await page.locator('.progress').count()) > 0) seen.add(await percent().catch(() => 0))
    expect(await page.locator('#books').count()).toBe(1)
  }, untilHung)
  expect(seen.size).toBeGreaterThan(1)
  const main = await page.locator('main').textContent()
  expect(main).toContain('Complete')
  expect(main).toMatch(new RegExp(`${FOLLOWED_ROWS.toLocaleString('en')} rows read`))
  expect(loads).toHaveLength(1)
  expect(project.held().size).toBe(FOLLOWED_ROWS)
  await page.context().close()
})
