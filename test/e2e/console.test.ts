// The console in a real browser: every page on a phone and on a desk, light and dark, without scripts, with hostile texts; it follows
// a run to its end, and comes back with its ledger. With CONSOLE_SCREENSHOTS=folder it writes what it sees.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { useBrowser } from '../setup/launched-browser.ts'
import { answered, outcome, send } from '../suites/ledger/scene.ts'
import { API_PATH } from '../../src/console/api.ts'
import { hashPassword } from '../../src/console/index.ts'
import type { RunView } from '../../src/console/views/run.ts'
import { arePicturesTaken, findings, photograph } from './console-looks.ts'
import { HOSTILE, HOSTILE_KEY, openHostileSite } from '../unit/console/hostile.ts'
import { CONSOLE_CONFIG, openSite, type ConsoleSite } from '../unit/console/site.ts'

const browser = useBrowser()
let site: ConsoleSite

beforeAll(async () => {
  site = await openSite({ quota: {} })
})

afterAll(async () => {
  await site?.close()
})

interface Seen {
  readonly page: Page
  /** What the browser said against the page. */
  readonly complaints: string[]
  /** Origins that were asked. */
  readonly origins: Set<string>
}

async function openPage(options: BrowserContextOptions = {}): Promise<Seen> {
  const context = await browser.newContext({
    timezoneId: 'Asia/Tokyo',
    locale: 'en-GB',
    ...options,
  })
  const page = await context.newPage()
  const complaints: string[] = []
  const origins = new Set<string>()
  page.on('console', (message) => complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('dialog', (dialog) => {
    complaints.push(`dialog ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => origins.add(new URL(request.url()).origin))
  await page.addInitScript({
    content: `document.addEventListener('securitypolicyviolation', (event) =>
      console.log('violation of ' + event.violatedDirective))`,
  })
  return { page, complaints, origins }
}

const looks = [
  { name: 'light desk', colorScheme: 'light', width: 1_280 },
  { name: 'dark phone', colorScheme: 'dark', width: 360 },
  // The same parts with the same styles: for people who look.
  ...(arePicturesTaken
    ? ([
        { name: 'dark desk', colorScheme: 'dark', width: 1_280 },
        { name: 'light phone', colorScheme: 'light', width: 360 },
      ] as const)
    : []),
] as const

/** Pages of every kind and state. */
const pathsOf = ({ runs }: ConsoleSite): string[] => [
  '/',
  '/quota',
  '/search?q=co',
  '/search?q=nothing',
  '/rows?key=SECRET%20key%2010',
  '/rows?record=SECRET%20record%201',
  '/nothing',
  ...['contacts', 'deals', 'invoices', 'crm_copy', 'orders'].map((name) => `/syncs/${name}`),
  ...Object.values(runs).map((run) => `/runs/${run}`),
  ...['rejects', 'compared', 'mirror', 'live'].map((name) => `/runs/${runs[name]}/report`),
  ...['rejects', 'retry', 'live'].map((name) => `/runs/${runs[name]}/rejects`),
  ...['planned', 'rejects'].map((name) => `/runs/${runs[name]}/plan`),
  ...['compared', 'compared mirror', 'rejects'].map((name) => `/runs/${runs[name]}/differences`),
  `/runs/${runs['planned']}/plan?verdict=update&property=svc_email`,
  `/runs/${runs['rejects']}/corrections`,
  // Nothing that may be done now.
  `/runs/${runs['rejects']}/cancel`,
]

/** Pages that ask before something is done: one for each action of imports and mirrors. */
async function askingPaths({ url, runs }: ConsoleSite): Promise<string[]> {
  const found = new Map<string, string>()
  const of = [
    ...['contacts', 'crm_copy'].map((name) => `/syncs/${name}`),
    ...['planned', 'rejects', 'live'].map((name) => `/runs/${runs[name]}`),
  ]
  for (const path of of) {
    const answer = await fetch(`${url}${API_PATH}${path}`)
    const { actions } = (await answer.json()) as Pick<RunView, 'actions'>
    for (const { asks, action, path: at } of actions)
      if (asks) found.set(`${action}${at.replace(/^[^?]*/, '')} ${path}`, at)
  }
  return [...found.values()]
}

/** Those that have more where values are shown. */
const shownPaths = ({ runs }: ConsoleSite): string[] => [
  `/runs/${runs['rejects']}/rejects`,
  `/runs/${runs['rejects']}/corrections`,
  `/runs/${runs['planned']}/plan`,
  `/runs/${runs['compared']}/differences`,
  '/rows?key=SECRET%20key%2010',
]

/** Those of a project whose syncs have not run yet. */
const newPaths = (): string[] => ['/', '/quota', '/syncs/contacts', '/syncs/crm_copy', '/search']

const outline = `({
  overflow: document.documentElement.scrollWidth - innerWidth,
  headings: document.querySelectorAll('h1').length,
  mains: document.querySelectorAll('main').length,
})`

test('axe finds what is wrong', async () => {
  const { page } = await openPage()
  await page.goto(site.url)
  await page.evaluate(
    "document.querySelector('label[for=q]').remove(); document.querySelector('#q').placeholder = ''",
  )
  expect((await findings(page)).join()).toContain('label')
  await page.context().close()
})

async function lookAtAll(of: ConsoleSite, paths: readonly string[], kind = ''): Promise<void> {
  for (const { name, width, colorScheme } of looks) {
    const { page, complaints, origins } = await openPage({
      colorScheme,
      viewport: { width, height: 900 },
    })
    for (const path of paths) {
      await page.goto(`${of.url}${path}`)
      const seen = await page.evaluate(outline)
      expect({ name, path, seen, findings: await findings(page) }).toEqual({
        name,
        path,
        seen: { overflow: 0, headings: 1, mains: 1 },
        findings: [],
      })
      await photograph(page, `${kind}${path.replaceAll(/\W+/g, '_')} ${name}`)
    }
    expect({
      name,
      complaints: complaints.filter((text) => !/status of 4\d\d/.test(text)),
    }).toEqual({
      name,
      complaints: [],
    })
    expect([...origins]).toEqual([of.url])
    await page.context().close()
  }
}

test('every page is for everybody, fits every screen, and asks nobody else', async () => {
  const asking = await askingPaths(site)
  expect(asking.length).toBeGreaterThan(6)
  await lookAtAll(site, [...pathsOf(site), ...asking])
})

test.each([
  ['with values', { config: `${CONSOLE_CONFIG}console: { values: shown }\n` } as const, shownPaths],
  ['before the first run', { fill: async () => ({}) } as const, newPaths],
])('so is every page %s', async (kind, options, paths) => {
  const own = await openSite(options)
  try {
    await lookAtAll(own, paths(own), `${kind} `)
  } finally {
    await own.close()
  }
})

test('times are in the zone of the reader, with UTC where they are pointed at', async () => {
  const { page } = await openPage()
  await page.goto(`${site.url}/runs/${site.runs['rejects']}`)
  const time = page.locator('.when time').first()
  const at = new Date((await time.getAttribute('datetime'))!)
  const shown = new Intl.DateTimeFormat('en-GB', {
    timeZone: 'Asia/Tokyo',
    dateStyle: 'medium',
    timeStyle: 'medium',
  }).format(at)
  expect(await time.textContent()).toBe(shown)
  expect(await time.getAttribute('title')).toContain('UTC')
  await page.context().close()
})

test('without scripts every page says the same', async () => {
  const { page } = await openPage({ javaScriptEnabled: false })
  await page.goto(site.url)
  const main = page.locator('main')
  expect(await main.textContent()).toContain('Waits for you')
  const approve = page.getByRole('link', {
    name: `Approve run ${site.runs['approval']} …, tickets`,
  })
  expect(await approve.getAttribute('href')).toBe(`/runs/${site.runs['approval']}/approve`)
  expect(await page.locator('time').first().textContent()).toContain('UTC')
  await page.locator('#q').fill('deals')
  await page.locator('#q').press('Enter')
  await page.getByRole('link', { name: 'deals' }).click()
  expect(await page.locator('h1').textContent()).toBe('deals')
  await page.context().close()
})

test('a person finds what is blocked, and the way to its run, by keyboard alone', async () => {
  const { page } = await openPage()
  await page.goto(site.url)
  await page.keyboard.press('Tab')
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content')
  await page.keyboard.press('Enter')
  // The first that needs a person is the worst.
  await page.keyboard.press('Tab')
  expect(await page.evaluate('document.activeElement.textContent')).toBe('invoices')
  await page.keyboard.press('Tab')
  expect(await page.evaluate('document.activeElement.textContent.trim()')).toBe('Try again now')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/runs/${site.runs['blocked']}`)
  expect(await page.locator('.verdict').textContent()).toContain('The service refuses the key')
  await page.context().close()
})

test('a page that is seen follows a run to its end', async () => {
  const own = await openSite()
  try {
    const { ledger, runs } = own
    const id = runs['live']!
    const { page, complaints } = await openPage()
    await page.goto(`${own.url}/runs/${id}`)
    await expect
      .poll(() => page.locator('.progress').getAttribute('aria-label'))
      .toBe('sending 50 %')
    const [segment] = await ledger.openSegments(id)
    const fence = await ledger.claimSegment(id, segment!)
    const batch = await send(ledger, { run: id, segment: segment!, fence }, 25)
    const outcomes = batch.items.map(({ ordinal }) => outcome(ordinal, 'updated'))
    await ledger.settle(id, segment!, fence, batch, answered, outcomes)
    // Nobody asks for the page again: the figures change where they stand.
    await page.evaluate("document.querySelector('h1').dataset.mine = 'yes'")
    await expect
      .poll(() => page.locator('.progress').getAttribute('aria-label'))
      .toBe('sending 75 %')
    expect(await page.locator('.legend').textContent()).toContain('updated 25')
    expect(await page.locator('h1').getAttribute('data-mine')).toBe('yes')
    await ledger.settleLeftovers(id)
    await ledger.closeRun(id, { state: 'cancelled', books: await ledger.books(id) })
    await expect.poll(() => page.locator('main').textContent()).toContain('Cancelled')
    expect(await page.locator('#books').count()).toBe(1)
    // Its books are closed, whatever ended it.
    const steps = page.locator('.timeline li')
    expect(await steps.evaluateAll((all) => all.map(({ className }) => className))).toEqual([
      's-done',
      's-ended',
      's-left',
      's-done',
    ])
    expect(complaints).toEqual([])
    await page.context().close()
  } finally {
    await own.close()
  }
})

test('a page comes back with its ledger', async () => {
  const own = await openSite()
  try {
    const { page } = await openPage()
    await page.goto(own.url)
    own.away.ledger = true
    await expect.poll(() => page.locator('.problem').count()).toBe(1)
    expect(await page.locator('.problem').textContent()).toContain('The ledger cannot be read now')
    expect(await findings(page)).toEqual([])
    await page.goto(`${own.url}/runs/${own.runs['rejects']}`)
    expect(await page.locator('h1').textContent()).toBe('The ledger cannot be read now')
    expect(await findings(page)).toEqual([])
    own.away.ledger = false
    await expect.poll(() => page.locator('h1').textContent()).toBe(`Run ${own.runs['rejects']}`)
    await page.context().close()
  } finally {
    await own.close()
  }
})

test('hostile texts do nothing, whoever brought them', async () => {
  const other = await openHostileSite()
  try {
    const { page, complaints, origins } = await openPage()
    let found = 0
    const more = [
      `/rows?key=${encodeURIComponent(HOSTILE_KEY)}`,
      `/search?q=${encodeURIComponent(HOSTILE)}`,
      `/runs/${other.runs['rejects']}/corrections`,
    ]
    for (const path of [...pathsOf(other), ...more]) {
      await page.goto(`${other.url}${path}`)
      found += (await page.locator('main').textContent())!.split('onerror=alert(1)').length - 1
      expect({ path, bad: await page.locator('main img, main script').count() }).toEqual({
        path,
        bad: 0,
      })
    }
    expect(found).toBeGreaterThan(300)
    expect(complaints.filter((text) => !text.includes('404'))).toEqual([])
    expect([...origins]).toEqual([other.url])
    await page.context().close()
  } finally {
    await other.close()
  }
})

test('the Temporal server is away, and comes back', async () => {
  const own = await openSite()
  try {
    const { page, complaints } = await openPage()
    own.away.temporal = true
    await page.goto(own.url)
    expect(await page.locator('.problem').textContent()).toContain(
      'The Temporal server does not answer: schedules and workers are not known now',
    )
    expect(await findings(page)).toEqual([])
    await photograph(page, 'Temporal away')
    // What the ledger has is there.
    expect(await page.locator('.needs').textContent()).toContain('Waits for you')
    await page.goto(`${own.url}/syncs/contacts`)
    expect(await findings(page)).toEqual([])
    expect(await page.locator('#settings ~ dl, dl.facts').first().textContent()).toContain(
      'not known',
    )
    own.away.temporal = false
    await expect
      .poll(async () => {
        await page.goto(own.url)
        return await page.locator('.problem').count()
      })
      .toBe(0)
    expect(complaints).toEqual([])
    await page.context().close()
  } finally {
    await own.close()
  }
})

test('a viewer logs in, sees all pages, and has no button', async () => {
  const secrets = await mkdtemp(join(tmpdir(), 'records-sync-console-users-'))
  const file = join(secrets, 'vera')
  await writeFile(file, await hashPassword('correct horse battery'), { mode: 0o600 })
  const users = `console: { users: { vera: { role: viewer, password: { file: ${file} } } } }`
  const own = await openSite({ config: `${CONSOLE_CONFIG}${users}\n` })
  try {
    const { page } = await openPage()
    await page.goto(`${own.url}/runs/${own.runs['approval']}`)
    await page.waitForURL(/login\?next=/)
    expect(await findings(page)).toEqual([])
    await photograph(page, 'login')
    await page.getByLabel('Name').fill('vera')
    await page.getByLabel('Password').fill('a wrong password')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.waitForSelector('[role=alert]')
    expect(await findings(page)).toEqual([])
    await photograph(page, 'login refused')
    await page.getByLabel('Name').fill('vera')
    await page.getByLabel('Password').fill('correct horse battery')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.waitForURL(`${own.url}/runs/${own.runs['approval']}`)
    expect(await page.locator('main button, main a.button').count()).toBe(0)
    await page.goto(own.url)
    expect(await findings(page)).toEqual([])
    await photograph(page, 'overview of a viewer')
    expect(await page.locator('main button').count()).toBe(0)
    await page.goto(`${own.url}/runs/${own.runs['live']}/cancel`)
    expect(await page.locator('main').textContent()).toContain('needs the role operator')
    expect(await findings(page)).toEqual([])
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.waitForURL(/login/)
    await page.context().close()
  } finally {
    await own.close()
    await rm(secrets, { recursive: true, force: true })
  }
})

test('a page is printed without what only a screen has', async () => {
  const { page } = await openPage()
  await page.emulateMedia({ media: 'print' })
  for (const path of ['/', `/runs/${site.runs['planned']}`, '/quota']) {
    await page.goto(`${site.url}${path}`)
    for (const part of ['header nav', 'form[role=search]', 'button', 'a.button'])
      expect({ path, part, seen: await page.locator(`${part} >> visible=true`).count() }).toEqual({
        path,
        part,
        seen: 0,
      })
    expect(await page.locator('h1').isVisible()).toBe(true)
    await photograph(page, `print ${path.replaceAll(/\W+/g, '_')}`)
  }
  await page.context().close()
})

test('on a screen of 4K a page is as wide as one reads', async () => {
  const { page } = await openPage({ viewport: { width: 3_840, height: 2_160 } })
  for (const path of ['/', '/quota', '/syncs/contacts', `/runs/${site.runs['live']}`]) {
    await page.goto(`${site.url}${path}`)
    expect(await page.evaluate(outline)).toEqual({ overflow: 0, headings: 1, mains: 1 })
    const { x, width } = (await page.locator('main').boundingBox())!
    expect(width).toBeLessThan(1_400)
    // In the middle.
    expect(Math.abs(x * 2 + width - 3_840)).toBeLessThan(20)
    await photograph(page, `4K ${path.replaceAll(/\W+/g, '_')}`)
  }
  await page.context().close()
})
