// `npm run picture`: makes the pictures of the README from a real run of the demo: what it prints as an SVG, and the console and the
// report of its deals as PNGs. `test/e2e/demo.test.ts` fails where the SVG is not what the demo prints.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { main } from '../e2e/main.ts'
import { launchBrowser } from '../setup/browser.ts'
import { STORY_FILE, storySvg } from './story.ts'

const REPORT_FILE = 'docs/picture/report.png'
const CONSOLE_FILE = 'docs/picture/console.png'
const PICTURE_BYTES_MAX = 200_000
const WIDTH = 900
const MARGIN = 24
/** The demo takes half a minute on an idle machine. */
const COMMAND_MAX_MS = 10 * 60_000

const folder = mkdtempSync(join(tmpdir(), 'records-sync-picture-'))
try {
  mkdirSync('docs/picture', { recursive: true })
  writeFileSync(STORY_FILE, storySvg(await records(folder, 'demo')))
  const project = join(folder, '.records-sync', 'demo')
  await records(project, 'report', '3', '-o', 'report.html')
  await photograph(join(project, 'report.html'), REPORT_FILE)
  await photographConsole(project, CONSOLE_FILE)
  for (const file of [REPORT_FILE, CONSOLE_FILE]) {
    const { size } = statSync(file)
    if (size > PICTURE_BYTES_MAX) throw new Error(`${file} has ${size} bytes`)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** Runs the command in a folder. Returns what it printed, with colours. */
async function records(cwd: string, ...args: string[]): Promise<string> {
  const env = { ...process.env, FORCE_COLOR: '1', RECORDS_API_KEY: 'none' }
  const child = spawn(process.execPath, [main, ...args], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: COMMAND_MAX_MS,
  })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (code !== 0) throw new Error(`records-sync ${args.join(' ')} ended with ${code}:\n${out}`)
  return out
}

/** The overview of the console of a project. */
async function photographConsole(cwd: string, file: string): Promise<void> {
  const env = { ...process.env, RECORDS_API_KEY: 'none' }
  const child = spawn(process.execPath, [main, '--json', 'console', '--port', '0'], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const browser = await launchBrowser()
  try {
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    const { url } = JSON.parse(line.toString()) as { url: string }
    const tab = await browser.newPage({ viewport: { width: 1_120, height: 760 } })
    await tab.goto(url)
    await tab.screenshot({ path: file })
  } finally {
    await browser.close()
    child.kill('SIGINT')
  }
}

/** The page of a report down to its books. */
async function photograph(page: string, file: string): Promise<void> {
  const browser = await launchBrowser()
  try {
    const tab = await browser.newPage({ viewport: { width: WIDTH, height: 2_000 } })
    await tab.goto(`file://${page}`)
    const books = await tab.locator('[aria-labelledby=books]').boundingBox()
    if (books === null) throw new Error('the report shows no books')
    const height = books.y + books.height + MARGIN
    await tab.screenshot({ path: file, clip: { x: 0, y: 0, width: WIDTH, height } })
  } finally {
    await browser.close()
  }
}
