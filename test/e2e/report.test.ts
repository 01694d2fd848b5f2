// The report in a real browser: pages of runs of every kind, made from a real ledger. The browser refuses nothing of them,
// they ask nobody for anything, they fit a phone, and no text becomes markup. With REPORT_SCREENSHOTS=folder it writes what
// it sees; REPORT_TEXTS is how many hostile texts it tries.

import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite/index.ts'
import { collectReport } from '../../src/report/collect.ts'
import { renderReport } from '../../src/report/html.ts'
import type { RunReport } from '../../src/report/run-report.ts'
import { renderPlanPage } from '../../src/report/plan-page.ts'
import { useBrowser } from '../setup/launched-browser.ts'
import { comparedData, mirrorData, reportData } from '../unit/report/data.ts'
import { fullPlanPage, planPageData } from '../unit/report/plan-data.ts'
import * as scenes from '../unit/report/scenes.ts'

const browser = useBrowser()
let folder: string
let ledger: Ledger
let page: Page
/** What the browser said against the page that it shows. */
let complaints: string[] = []
/** Addresses. */
let requests: string[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'records-sync-report-'))
  ledger = openSqliteLedger(join(folder, 'ledger.db'))
  page = await (await browser.newContext()).newPage()
  page.on('console', (message) => complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('request', (request) => requests.push(request.url()))
  await page.addInitScript({
    content: `document.addEventListener('securitypolicyviolation', (event) =>
      console.log('violation of ' + event.violatedDirective))`,
  })
})

afterAll(async () => {
  await ledger?.close()
  await rm(folder, { recursive: true, force: true })
})

async function collect(id: number): Promise<RunReport> {
  const run = (await ledger.run(id))!
  return await collectReport(ledger, run, {
    madeAt: '2030-01-01T00:00:00.000Z',
    hint: (command) => `records-sync ${command}`,
    ui: { ui: 'http://127.0.0.1:8233', namespace: 'default' },
    limitPerMinute: 600,
  })
}

/** A run of every kind, of syncs whose names begin with that of `names`. */
async function everyKind(names: scenes.Names): Promise<Record<string, RunReport>> {
  const of = (kind: string): scenes.Names => ({ ...names, sync: `${names.sync} ${kind}` })
  const first = await scenes.importWithRejects(ledger, of('a'))
  const ids = {
    retry: await scenes.retry(ledger, first, of('a')),
    import: first,
    live: await scenes.liveImport(ledger, of('b')),
    unbalanced: await scenes.unbalancedImport(ledger, of('c')),
    empty: await scenes.emptyImport(ledger, of('d')),
    large: await scenes.largeImport(ledger, of('e')),
    blocked: await scenes.blockedImport(ledger, 'auth', of('f')),
    mirror: await scenes.mirror(ledger, of('g')),
    compared: await scenes.reconciledImport(ledger, { sample: 40 }, of('h')),
    mended: await scenes.reconciledImport(ledger, { repair: true }, of('i')),
    equal: await scenes.equalImport(ledger, of('j')),
    'compared mirror': await scenes.reconciledMirror(ledger, {}, of('k')),
    'mended mirror': await scenes.reconciledMirror(ledger, { repair: true }, of('l')),
  }
  const entries = Object.entries(ids).map(async ([kind, id]) => [kind, await collect(id)] as const)
  return Object.fromEntries(await Promise.all(entries))
}

/** Shows a page. What the browser said against the one before it, and what that asked for, is forgotten. */
async function show(text: string): Promise<void> {
  const file = join(folder, 'page.html')
  writeFileSync(file, text)
  const { href } = pathToFileURL(file)
  complaints = []
  requests = []
  await page.goto(href)
  expect(requests.shift()).toBe(href)
}

const looks = [
  { name: 'light desk', colorScheme: 'light', media: 'screen', width: 1_280 },
  { name: 'light phone', colorScheme: 'light', media: 'screen', width: 360 },
  { name: 'dark desk', colorScheme: 'dark', media: 'screen', width: 1_280 },
  { name: 'dark phone', colorScheme: 'dark', media: 'screen', width: 360 },
  { name: 'paper', colorScheme: 'dark', media: 'print', width: 720 },
] as const

/** What a page is made of, as somebody finds it who does not see it, or whose window is narrow. */
const outline = `(() => {
  const all = (selector) => [...document.querySelectorAll(selector)]
  return {
    overflow: document.documentElement.scrollWidth - innerWidth,
    background: getComputedStyle(document.body).backgroundColor,
    headings: all('h1').length,
    landmarks: ['header', 'main', 'footer'].filter((name) => all(name).length === 1).length,
    unnamed: all('section').filter((part) => !document.getElementById(part.getAttribute('aria-labelledby'))).length,
    headless: all('th:not([scope])').length,
    mute: all('svg').filter((svg) => svg.getAttribute('aria-hidden') !== 'true' &&
      !(svg.querySelector('title')?.textContent && svg.querySelector('desc')?.textContent)).length,
    tall: all('svg').filter((svg) => svg.getBoundingClientRect().height > 200).length,
  }
})()`

async function look(name: string, ways: readonly (typeof looks)[number][] = looks): Promise<void> {
  const pictures = process.env['REPORT_SCREENSHOTS']
  for (const { name: way, width, ...media } of ways) {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia(media)
    const seen = (await page.evaluate(outline)) as Record<string, unknown>
    const isDark = media.colorScheme === 'dark' && media.media === 'screen'
    expect({ name, way, ...seen }).toEqual({
      name,
      way,
      overflow: 0,
      background: isDark ? 'rgb(20, 23, 27)' : 'rgb(255, 255, 255)',
      headings: 1,
      landmarks: 3,
      unnamed: 0,
      headless: 0,
      mute: 0,
      tall: 0,
    })
    if (!pictures) continue
    mkdirSync(pictures, { recursive: true })
    await page.screenshot({ path: join(pictures, `${name}, ${way}.png`), fullPage: true })
  }
}

test('pages of runs of every kind are shown as they are, and ask for nothing', async () => {
  const byHand = {
    full: reportData(),
    'full comparison': comparedData(),
    'full mirror': mirrorData(),
  }
  const pages = Object.entries({ ...(await everyKind(scenes.plainNames)), ...byHand })
  for (const [name, data] of pages) {
    await show(renderReport(data))
    await look(name)
    expect({ name, complaints, requests }).toEqual({ name, complaints: [], requests: [] })
    expect(await page.title()).toBe(`${data.run.sync}, run ${data.run.run}: ${data.verdict.words}`)
  }
  expect(pages).toHaveLength(16)
})

test('the page of a plan is shown as it is too, with all of its rows unfolded', async () => {
  const long = 'w'.repeat(400)
  for (const [name, data] of [
    ['plan', planPageData()],
    ['full plan', fullPlanPage('a text')],
    ['long plan', fullPlanPage(long)],
  ] as const) {
    await show(renderPlanPage(data))
    await page.evaluate(
      `document.querySelectorAll('details').forEach((each) => (each.open = true))`,
    )
    await look(name)
    expect({ name, complaints, requests }).toEqual({ name, complaints: [], requests: [] })
  }
})

test('names without a space to break them at fit a phone too', async () => {
  const long = (letter: string) => letter.repeat(180)
  const names = {
    sync: long('s'),
    property: long('p'),
    column: long('c'),
    reason: long('r'),
    message: long('m'),
    warning: long('w'),
  }
  for (const [name, data] of Object.entries(await everyKind(names))) {
    await show(renderReport(data))
    await look(`long ${name}`, looks.slice(0, 2))
  }
})

test('what the policy forbids would be noticed here', async () => {
  const text = renderReport(reportData())
  const planted = [
    ['<p style="color: red">x</p>', /style-src/],
    ['<style>p { color: red }</style>', /style-src/],
    ['<script>console.log("ran")</script>', /script-src/],
    ['<img src="http://127.0.0.1:9/x.png" alt="">', /img-src/],
    ['<iframe src="http://127.0.0.1:9/x.html"></iframe>', /frame-src/],
    ['<link rel="stylesheet" href="http://127.0.0.1:9/x.css">', /style-src/],
  ] as const
  for (const [markup, directive] of planted) {
    await show(text.replace('</main>', () => `${markup}</main>`))
    await expect.poll(() => complaints.join('\n')).toMatch(directive)
    expect(complaints).not.toContain('ran')
  }
})

test('no name, message or warning becomes markup, as the browser parses it', async () => {
  await page.goto('about:blank')
  /** The elements with the names of their attributes, and the text of it all. */
  const parsed = async (text: string) =>
    (await page.evaluate(
      `(() => {
        const page = new DOMParser().parseFromString(${JSON.stringify(text)}, 'text/html')
        const names = (element) => [element.localName, ...element.getAttributeNames()].join(' ')
        return {
          elements: [...page.querySelectorAll('*')].map(names).join('\\n'),
          text: page.body.textContent,
          title: page.title,
        }
      })()`,
    )) as { elements: string; text: string; title: string }
  const made = await everyKind({ ...scenes.plainNames, sync: 'hostile' })
  const marker = 'a marker of the test'
  const fill = (data: RunReport, text: string): RunReport =>
    JSON.parse(
      JSON.stringify(withTexts(data, marker)).replaceAll(JSON.stringify(marker), () =>
        JSON.stringify(text),
      ),
    ) as RunReport
  const plain = new Map<string, string>()
  for (const [kind, data] of Object.entries(made)) {
    const { elements, text } = await parsed(renderReport(fill(data, 'plain')))
    expect(text).toContain('plain')
    plain.set(kind, elements)
  }
  const { elements: plainPlan } = await parsed(renderPlanPage(fullPlanPage('plain')))
  const breakers = [
    '<',
    '>',
    '"',
    "'",
    '`',
    '&',
    '/',
    '=',
    '</style>',
    '</title>',
    '-->',
    '<!--',
    ']]>',
    '<script>',
    'on',
    'x',
    '&lt;',
    '\u0000',
    '\u202E',
    '\n',
  ]
  const hostile = fc.oneof(
    fc
      .array(fc.constantFrom(...breakers), { minLength: 1, maxLength: 12 })
      .map((parts) => `x${parts.join('')}x`),
    fc.string({ unit: 'binary', minLength: 1 }).map((text) => `x${text}x`),
  )
  await fc.assert(
    fc.asyncProperty(hostile, fc.constantFrom(...plain.keys()), async (text, kind) => {
      const seen = await parsed(renderReport(fill(made[kind]!, text)))
      expect(seen.elements).toBe(plain.get(kind))
      expect(visible(seen.text)).toContain(visible(text))
      const planned = await parsed(renderPlanPage(fullPlanPage(text)))
      expect(planned.elements).toBe(plainPlan)
    }),
    { numRuns: Number(process.env['REPORT_TEXTS'] ?? 30) },
  )
})

/** What is left of a text for the eye: without spaces, control characters and the like, and well-formed. */
const visible = (text: string): string =>
  Buffer.from(text)
    .toString()
    .replaceAll(/[\p{C}\p{Z}]/gu, '')

/** A report with one text in place of all that people and services choose. */
function withTexts(data: RunReport, text: string): RunReport {
  const { run, errors, streams, comparison, provenance } = data
  return {
    ...data,
    run: { ...run, sync: text, message: text, limits: text },
    verdict: { ...data.verdict, next: [{ text, command: text }], words: text, meaning: text },
    errors: {
      ...errors,
      groups: errors.groups.map((group) => ({
        ...group,
        reason: text,
        code: text,
        property: text,
        column: text,
      })),
    },
    streams:
      streams && streams.map((stream) => ({ ...stream, stream: text, table: text, message: text })),
    comparison: comparison && {
      ...comparison,
      fields: comparison.fields.map((field) => ({
        ...field,
        stream: text,
        field: field.field && text,
      })),
    },
    provenance: {
      ...provenance,
      from: text,
      to: text,
      source_digest: text,
      key_fingerprint: text,
      warnings: [text],
      workflow_id: text,
      workflow_run_id: text,
      workflow_url: `http://127.0.0.1/${text}`,
    },
  }
}
