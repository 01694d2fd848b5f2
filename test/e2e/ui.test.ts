// The walk of an operator through the real Temporal UI, in a real browser: links, a backfill from its start to its end, and
// what the UI says when something is wrong. With UI_SCREENSHOTS=folder it writes what it sees.

import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import { backfillLinks, backfillTemplate } from '../../src/cli/commands/links.ts'
import { findSync, loadConfig, type SyncConfig } from '../../config/index.ts'
import { listLink, runLink, startLink } from '../../src/core/temporal/temporal-ui.ts'
import { backfill } from '../../workflows/names.ts'
import { backfillId, taskQueueOf } from '../../workflows/queues.ts'
import { useBrowser } from '../setup/launched-browser.ts'
import { said } from '../unit/cli/said.ts'
import {
  formOf,
  openForm,
  openTab,
  openUpdates,
  pressStart,
  query,
  resultOf,
  screenshot,
  sendUpdate,
  setId,
  start,
  untilDetails,
  untilFilled,
  untilStatus,
  writeInput,
} from './ui-page.ts'
import { startUiSite, type UiSite } from './ui-site.ts'
import { HANG_MS } from '../hang.ts'
import { soakTest } from '../runs.ts'

/** At 10 requests a minute this takes six minutes: no run ends before the test lifts the limit. */
const rows = 3_000
const limitPerMinute = 10

const browser = useBrowser()
let site: UiSite
/** One for all pages: what the UI loads is loaded once. */
let context: BrowserContext
let page: Page

beforeAll(async () => {
  site = await startUiSite({ cliPath: inject('temporalCli'), rows, limitPerMinute })
  process.env['RECORDS_URL'] = site.service.url
  process.env['TEMPORAL_ADDRESS'] = site.address
  context = await browser.newContext({
    viewport: { width: 1_440, height: 1_200 },
    reducedMotion: 'reduce',
  })
  // Pictures that move all the time take as much of the processor as everything else.
  const still = '* { animation: none !important; transition: none !important }'
  await context.addInitScript({
    content: `const still = new CSSStyleSheet(); still.replaceSync('${still}'); document.adoptedStyleSheets = [still]`,
  })
  context.setDefaultTimeout(HANG_MS)
})

afterAll(async () => {
  await site?.stop()
})

beforeEach(async () => {
  page = await context.newPage()
})

afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await screenshot(page, `failed ${task.name.slice(0, 40)}`)
  await page.close()
})

interface Link {
  readonly sync: string
  readonly link: string
  readonly input: object
  readonly running: boolean
}

async function linksNow(): Promise<{
  syncs: readonly Link[]
  undo: Omit<Link, 'sync'>
  lists: { blocked: string }
}> {
  const { code, out, err } = await said(site.configFile, backfillLinks, true)
  expect({ code, err }).toEqual({ code: 0, err: [] })
  return JSON.parse(out[0]!)
}

const linkOf = async (sync: string): Promise<Link> =>
  (await linksNow()).syncs.find((one) => one.sync === sync)!

const formFor = (workflowId: string) =>
  startLink(site.place, {
    taskQueue: taskQueueOf(site.project),
    workflowType: backfill,
    workflowId,
  })

async function runsOf(workflowId: string): Promise<number> {
  let runs = 0
  for await (const _ of site.client.workflow.list({ query: `WorkflowId="${workflowId}"` })) runs++
  return runs
}

test('what a form is filled in with has a window where the sync has a time', async () => {
  const { syncs } = await loadConfig(site.configFile, process.env)
  const now = new Date('2026-01-31T23:59:59Z')
  const window = { from: '2025-12-01', to: '2026-01-01' }
  const withQuery = (text: string): SyncConfig => {
    const sync = findSync({ file: '', syncs } as never, 'contacts')
    if (sync.kind !== 'import') throw new Error('expected an import')
    return { ...sync, import: { ...sync.import, from: { query: text, warehouse: 'lake' } } }
  }
  expect(backfillTemplate(syncs['contacts']!, now)).toEqual({ sync: 'contacts' })
  expect(backfillTemplate(syncs['crm_copy']!, now)).toEqual({ sync: 'crm_copy', ...window })
  expect(backfillTemplate(withQuery('SELECT * FROM a'), now)).toEqual({ sync: 'contacts' })
  expect(backfillTemplate(withQuery('SELECT * FROM a WHERE day >= :from'), now)).toEqual({
    sync: 'contacts',
    ...window,
  })
})

test('links open the start form, filled in for a backfill of each sync', async () => {
  const { code, out } = await said(site.configFile, backfillLinks)
  expect(code).toBe(0)
  const contacts = await linkOf('contacts')
  expect(out.find((line) => line.startsWith('contacts '))).toContain(contacts.link)
  expect(await runsOf(backfillId('contacts', site.project))).toBe(1)

  await openForm(page, contacts.link, 'contacts')
  const form = await formOf(page)
  expect(form).toMatchObject({
    id: backfillId('contacts', site.project),
    queue: taskQueueOf(site.project),
    type: 'backfill',
  })
  expect(JSON.parse(form.input)).toEqual({ sync: 'contacts' })
  await screenshot(page, '01 link of an import')

  const mirror = await linkOf('crm_copy')
  await openForm(page, mirror.link, 'crm_copy')
  expect(JSON.parse((await formOf(page)).input)).toEqual(mirror.input)
  expect(mirror.input).toHaveProperty('from')
  await screenshot(page, '02 link of a mirror')

  await page.goto(runLink(site.place, backfillId('contacts', site.project)))
  await untilStatus(page, 'Completed')
  expect(await resultOf(page)).toEqual({ template: { sync: 'contacts' } })
  await screenshot(page, '03 template')
})

test('a link opens the start form for an undo, which takes no run before a person writes its number', async () => {
  const { undo, syncs } = await linksNow()
  await openForm(page, undo.link, '"run"')
  const form = await formOf(page)
  expect(form).toMatchObject({
    id: `undo-${site.project}`,
    queue: taskQueueOf(site.project),
    type: 'undo',
  })
  expect(JSON.parse(form.input)).toEqual({ run: 0 })
  expect(syncs.map(({ sync }) => sync)).not.toContain('undo')
  await page.goto(runLink(site.place, `undo-${site.project}`))
  await untilStatus(page, 'Completed')
  expect(await resultOf(page)).toEqual({ template: { run: 0 } })
  // As it is, the form undoes nothing.
  const handle = await site.client.workflow.start('undo', {
    taskQueue: taskQueueOf(site.project),
    workflowId: `undo-${site.project}`,
    args: [undo.input],
  })
  await expect(handle.result()).rejects.toThrow()
})

test('links ask for the address of the UI where it cannot be told', async () => {
  const file = join(dirname(site.configFile), 'elsewhere.yaml')
  const text = readFileSync(site.configFile, 'utf8')
  writeFileSync(file, text.replace(/^temporal: .*$/m, 'temporal: { address: "10.0.0.1:7233" }'))
  delete process.env['TEMPORAL_ADDRESS']
  const { code, err } = await said(file, backfillLinks)
  process.env['TEMPORAL_ADDRESS'] = site.address
  expect(code).toBe(2)
  expect(err.join()).toMatch(
    /temporal\.ui: expected the address of the Temporal UI.*10\.0\.0\.1:7233/,
  )
})

soakTest('a backfill is started, watched, paused, resumed and seen to its end', async () => {
  const { link } = await linkOf('contacts')
  await openForm(page, link, 'contacts')
  await start(page)
  await untilStatus(page, 'Running')
  await untilDetails(page, /push/)
  await screenshot(page, '10 details')
  expect(await query(page, 'progress')).toMatchObject({ sync: 'contacts', state: 'running' })
  await screenshot(page, '11 query')
  await openTab(page, 'Pending Activities')
  await page.getByRole('heading', { name: 'pushSegment' }).waitFor()
  await screenshot(page, '12 pending activities')

  await openTab(page, 'History')
  await screenshot(page, '13 history')
  await openUpdates(page)
  await screenshot(page, '14 updates')
  await page.keyboard.press('Escape')
  await page.reload()
  await sendUpdate(page, 'pause', '{"reason": "maintenance"}')
  const paused = await untilDetails(page, /paused/)
  expect(paused).toContain('maintenance')
  await screenshot(page, '15 paused')
  expect(await query(page, 'progress')).toMatchObject({ state: 'paused', message: 'maintenance' })
  await openTab(page, 'Search Attributes')
  await screenshot(page, '16 search attributes')

  // A second one is refused before it is anything.
  expect(await linkOf('contacts')).toMatchObject({ running: true })
  const other = await context.newPage()
  await openForm(other, link, 'contacts')
  await pressStart(other)
  await other.getByText('Workflow execution is already running').first().waitFor()
  await screenshot(other, '17 already running')
  await other.close()

  await openTab(page, 'History')
  await sendUpdate(page, 'resume')
  await untilDetails(page, /running/)
  site.service.setLimit(null)
  await untilStatus(page, 'Completed')
  expect(await resultOf(page)).toMatchObject({ state: 'complete' })
  await screenshot(page, '18 result')
  await untilDetails(page, /complete/)
  await screenshot(page, '19 details of the end')
  expect(site.service.records('svc_contact')).toHaveLength(rows)
  await page.goto(listLink(site.place, { SyncName: 'contacts' }))
  await page
    .getByRole('link', { name: backfillId('contacts', site.project) })
    .first()
    .waitFor()
  await screenshot(page, '20 list')
})

test('the form of the last backfill can be asked for again, and does what it says', async () => {
  await page.goto(runLink(site.place, backfillId('contacts', site.project)))
  await page.getByRole('button', { name: 'More Actions' }).click()
  await page.getByRole('menuitem', { name: 'Start Workflow Like This One' }).click()
  await untilFilled(page, '"contacts"')
  await screenshot(page, '30 like this one')
  await pressStart(page)
  await page.getByRole('link', { name: 'Workflow started successfully' }).click()
  await untilStatus(page, 'Completed')
  expect(await resultOf(page)).toMatchObject({ state: 'complete' })

  // What a person ran last is no template: links put one before it.
  const runs = await runsOf(backfillId('contacts', site.project))
  expect(await linkOf('contacts')).toMatchObject({ running: false })
  expect(await runsOf(backfillId('contacts', site.project))).toBe(runs + 1)
})

test('a wrong input is answered at once with what to write', async () => {
  await openForm(page, formFor('backfill-wrong'))
  await writeInput(page, '{"snyc": "contacts"}')
  await start(page)
  await untilStatus(page, 'Failed')
  const { failure } = (await resultOf(page)) as { failure: { message: string } }
  expect(failure.message).toBe('snyc is unknown; did you mean sync? Copy what to write from below')
  expect(JSON.stringify(failure)).toContain('{"write":{"sync":"contacts"}}')
  expect(JSON.stringify(failure)).not.toContain('.ts:')
  await screenshot(page, '40 wrong input')
})

test('an empty object is answered with what can be written', async () => {
  await openForm(page, formFor('backfill-help'))
  await writeInput(page, '{}')
  await start(page)
  await untilStatus(page, 'Completed')
  const help = (await resultOf(page)) as { write: { sync: string }[] }
  expect(help.write.map(({ sync }) => sync)).toEqual(['contacts', 'crm_copy'])
  await screenshot(page, '41 empty input')
})

test('a blocked run is in the list of the blocked ones, and is cancelled', async () => {
  const { lists } = await linksNow()
  site.service.setDown(true)
  await openForm(page, formFor('backfill-blocked'))
  await setId(page, 'backfill-blocked')
  await writeInput(page, '{"sync": "crm_copy"}')
  await start(page)
  await untilDetails(page, /blocked/)
  await screenshot(page, '50 blocked')
  await page.goto(lists.blocked)
  await page.getByRole('link', { name: 'backfill-blocked' }).first().click()
  await page.getByRole('button', { name: 'Request Cancellation' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Confirm' }).click()
  await untilStatus(page, 'Canceled')
  await screenshot(page, '51 cancelled')
  site.service.setDown(false)
})
