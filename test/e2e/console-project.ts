// A console over a project with a worker, and a browser in front of it; `useConsole` is called by each file, for its hooks.

import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterEach, expect, vi } from 'vitest'
import { createContext } from '../../src/cli/shared/context.ts'
import { consolePartsOf, startConsole, type RunningConsole } from '../../src/console/index.ts'
import { silentLogger } from '../../src/core/ports.ts'
import type { Action, Run } from '../../src/ledger/ledger.ts'
import { untilHung } from '../hang.ts'
import { useBrowser, type FileBrowser } from '../setup/launched-browser.ts'
import { arePicturesTaken, findings, overflow, photograph } from './console-looks.ts'
import { createProject, type Project } from './project.ts'
import type { RunningWorker } from './worker.ts'

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

type ConsoleOptions = NonNullable<Parameters<typeof createProject>[0]> & {
  /** Files of the folder, by name. */
  readonly files?: Readonly<Record<string, string>>
}

/** A project with a worker, and its console: that of the worker, where the configuration says so. */
export async function openConsole({ files = {}, ...options }: ConsoleOptions = {}): Promise<{
  readonly project: Project
  readonly url: string
  readonly worker: RunningWorker
}> {
  project = await createProject(options)
  for (const [name, text] of Object.entries(files)) project.write(name, text)
  for (const [name, value] of Object.entries(project.env)) vi.stubEnv(name, value)
  const worker = await project.startWorker()
  if (worker.console !== null) return { project, url: worker.console, worker }
  const quiet = { out: () => {}, err: () => {}, live: () => {}, endLive: () => {}, isScreen: false }
  const terminal = { ...quiet, style: (_: string, text: string) => text }
  const context = createContext({ config: project.configFile, json: false }, terminal)
  running = await startConsole({
    parts: consolePartsOf(context),
    host: '127.0.0.1',
    port: 0,
    logger: silentLogger,
  })
  return { project, url: running.url, worker }
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

interface RunOptions extends ConsoleOptions {
  readonly csv: string
  readonly tuning?: Parameters<Project['start']>[1]
  /** How far the run goes before the page is opened. */
  readonly until: Partial<Run>
  readonly browser?: BrowserContextOptions
}

/** A console over a project whose contacts are being imported, and a page of it. */
export async function openRun({ csv, tuning, until, browser: how, ...options }: RunOptions) {
  const { url } = await openConsole(options)
  project.write('contacts.csv', csv)
  await project.start('contacts', tuning)
  await untilLatest(until)
  const { id } = (await latest())!
  return { project, url, id, page: await openPage(how) }
}

/** The label and the text of what has the focus. */
const FOCUSED = `[document.activeElement].filter((at) => at && at !== document.body)
  .map((at) => (at.getAttribute('aria-label') ?? '') + ' ' + at.textContent).join()`

/** By keyboard alone: to what has this label or text. */
export async function tabTo(page: Page, name: string): Promise<void> {
  // Bounded by what a page has.
  for (let tab = 0; tab < 60; tab++) {
    await page.keyboard.press('Tab')
    // Behind the last link the focus leaves the page for one press, and nothing of it has the focus.
    const text = await page.evaluate<string>(FOCUSED)
    if (text.includes(name)) return
  }
  throw new Error(`${name} is not reached by Tab`)
}

/** The page is for everybody, on a desk and on a phone. */
export async function look(page: Page, name: string): Promise<void> {
  expect({ name, found: await findings(page) }).toEqual({ name, found: [] })
  for (const width of [360, 1_280]) {
    await page.setViewportSize({ width, height: 900 })
    expect({ name, width, over: await overflow(page) }).toEqual({ name, width, over: 0 })
    if (!arePicturesTaken) continue
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await photograph(page, `${name} ${width} ${colorScheme}`)
    }
  }
}
