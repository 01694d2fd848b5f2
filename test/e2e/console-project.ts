// A console over a project with a worker, and a browser in front of it; `useConsole` is called by each file, for its hooks. With CONSOLE_SCREENSHOTS=folder it writes what it sees.

import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterEach, expect, vi } from 'vitest'
import { createContext } from '../../src/cli/shared/context.ts'
import { consolePartsOf, startConsole, type RunningConsole } from '../../src/console/index.ts'
import { silentLogger } from '../../src/core/ports.ts'
import type { Action, Run } from '../../src/ledger/ledger.ts'
import { untilHung } from '../hang.ts'
import { useBrowser, type FileBrowser } from '../setup/launched-browser.ts'
import { createProject, type Project } from './project.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const pictures = process.env['CONSOLE_SCREENSHOTS']

let browser: FileBrowser
let project: Project
let running: RunningConsole | null = null

/** A browser for the tests of a file; each test may open a console. */
export function useConsole(): void {
  browser = useBrowser()
  afterEach(async () => {
    await running?.close()
    running = null
    await project?.stop()
  })
}

/** A project with a worker, and its console: that of the worker, where the configuration says so. */
export async function openConsole(
  options: Parameters<typeof createProject>[0] = {},
): Promise<{ readonly project: Project; readonly url: string }> {
  project = await createProject(options)
  for (const [name, value] of Object.entries(project.env)) vi.stubEnv(name, value)
  const worker = await project.startWorker()
  if (worker.console !== null) return { project, url: worker.console }
  const quiet = { out: () => {}, err: () => {}, live: () => {}, endLive: () => {}, isScreen: false }
  const terminal = { ...quiet, style: (_: string, text: string) => text }
  const context = createContext({ config: project.configFile, json: false }, terminal)
  running = await startConsole({
    parts: consolePartsOf(context),
    host: '127.0.0.1',
    port: 0,
    logger: silentLogger,
  })
  return { project, url: running.url }
}

export async function openPage(options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ locale: 'en-GB', ...options })
  return await context.newPage()
}

export async function inLedger<Result>(
  read: (ledger: ReturnType<Project['ledger']>) => Promise<Result>,
): Promise<Result> {
  const ledger = project.ledger()
  try {
    return await read(ledger)
  } finally {
    await ledger.close()
  }
}
export const latest = async (): Promise<Run | undefined> =>
  (await inLedger((ledger) => ledger.runs({ limit: 1 })))[0]
export const untilLatest = (wanted: Partial<Run>) =>
  vi.waitFor(async () => expect(await latest()).toMatchObject(wanted), untilHung)
export const actions = (): Promise<readonly Action[]> =>
  inLedger((ledger) => ledger.actions({ limit: 50 }))

/** The page is for everybody, on a desk and on a phone. */
export async function look(page: Page, name: string): Promise<void> {
  const found = await page.evaluate(
    `${axe}; axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))`,
  )
  expect({ name, found }).toEqual({ name, found: [] })
  for (const width of [360, 1_280]) {
    await page.setViewportSize({ width, height: 900 })
    expect({
      name,
      width,
      over: await page.evaluate('document.documentElement.scrollWidth - innerWidth'),
    }).toEqual({ name, width, over: 0 })
    if (!pictures) continue
    mkdirSync(pictures, { recursive: true })
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await page.screenshot({
        path: join(pictures, `${name} ${width} ${colorScheme}.png`),
        fullPage: true,
      })
    }
  }
}
