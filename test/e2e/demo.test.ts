// The demo, as `npm run demo` runs it: every part embedded, real files, in a folder of its own.

import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { main } from './project.ts'
import { untilHung } from '../hang.ts'
import { STORY_FILE, storySvg } from '../picture/story.ts'
import { withoutColours } from '../picture/terminal-svg.ts'

/** What a terminal shows of `npm run demo` on a fresh clone is 60 lines at most; npm and the set-up print so many of them. */
const LINES_MAX = 60 - 12
const COLUMNS_MAX = 80

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'records-sync-demo-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

/** Environment without what would point the demo at another server. */
function demoEnv(): NodeJS.ProcessEnv {
  const { TEMPORAL_ADDRESS: _, NO_COLOR: _none, ...env } = process.env
  return { ...env, FORCE_COLOR: '1' }
}

/** The demo in a process of its own. */
function startDemo(...options: string[]) {
  const child = spawn(process.execPath, [main, 'demo', ...options], { cwd: dir, env: demoEnv() })
  let out = ''
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (out += chunk.toString()))
  let open = true
  const closed = new Promise((resolve) => child.once('close', resolve)).finally(() => {
    open = false
  })
  return {
    /** What it has printed. */
    coloured: () => out,
    text: () => withoutColours(out),
    /** Its exit code. */
    closed,
    interrupt: () => child.kill('SIGINT'),
    async untilSaid(text: string) {
      await vi.waitUntil(() => !open || withoutColours(out).includes(text), untilHung)
      expect(withoutColours(out)).toContain(text)
    },
  }
}

test('tells the story: import, rejects corrected, mirror, differences by key found and mended, what to do next', async () => {
  const demo = startDemo()
  expect(await demo.closed).toBe(0)
  const out = demo.text()
  expect(out).toMatch(/created +3,921 .*\n(?:.*\n)*? +sum +4,000 +rows read 4,000\n.*books balance/)
  expect(out).toMatch(/_line +667\n +_reason +not_an_email\n +_accepted +an e-mail address/)
  expect(out).toContain('sent again: 6 rows = 6 created\n')
  expect(out).toMatch(/svc_contact +3,927 += +3,927 /)
  expect(out).toMatch(/C-00001 +svc_job_title +Directeur général +Head of Everything +service\n/)
  expect(out.match(/C-0000\d +– +the record +no record/g)).toHaveLength(2)
  expect(out).toContain('5 of 5 mended, 5 read back as they were sent. The books balance.')
  expect(out).toMatch(/ init FILE\.csv .*\n.* run NAME --local\n.* rejects\n/)
  const lines = out.trimEnd().split('\n')
  expect(lines.length).toBeLessThanOrEqual(LINES_MAX)
  expect(lines.filter(({ length }) => length > COLUMNS_MAX)).toEqual([])
  // The picture of the README is of this output: `npm run picture`.
  expect(storySvg(demo.coloured())).toBe(readFileSync(STORY_FILE, 'utf8'))
})

test('stops at Ctrl-C, with an exit code that says so, and leaves no part running', async () => {
  const demo = startDemo()
  await demo.untilSaid('1. Import')
  demo.interrupt()
  expect(await demo.closed).toBe(4)
  expect(demo.text()).toContain('Stopped before the end of the demo.')
  const parts = join(dir, '.records-sync', 'demo', '.records-sync', 'dev.json')
  expect(existsSync(parts)).toBe(false)
})

test('--tour ends with balanced books, the rejects in files, nothing sent twice, both sides equal; --keep leaves the UI up', async () => {
  const demo = startDemo('--tour', '--keep')
  await demo.untilSaid('Everything stays up')
  const out = demo.text()
  const ui = /Temporal UI +(http\S+)/.exec(out)![1]!
  expect((await fetch(ui)).status).toBe(200)
  expect(out).toContain('Run 1 of contacts: complete_with_rejects')
  expect(out.match(/The books balance/g)).toHaveLength(7)
  expect(out).toMatch(/sum +4,000 +rows read 4,000/)
  // Three rows were corrected, and sent alone.
  expect(out).toMatch(/Run 2 of contacts: .*\n +retry of run 1\n +created +3 /)
  expect(out).toMatch(/Run 3 of contacts: .*\n(?:.*\n)*? +unchanged +3,921/)
  expect(out).toMatch(/svc_contact +complete +full .* 3,924 += +3,924/)
  expect(out).toMatch(/svc_contact +complete +incremental .* 3,922 += +3,922/)
  expect(out.match(/Head of Everything +false/g)).toHaveLength(3)
  expect(out.match(/ true$/gm)).toHaveLength(2)
  // What people changed and deleted in the CRM is found, and mended.
  expect(out).toMatch(/ missing +2 .*\n +different +3 /)
  expect(out).toMatch(/ missing +2, mended .*\n +different +3, mended /)
  expect(out).toContain('Nothing was found: every closed run is as it was sealed')
  const rejects = join(dir, '.records-sync', 'demo', 'rejects')
  const dates = readFileSync(join(rejects, 'row_invalid-not_a_date-svc_birthday.csv'), 'utf8')
  expect(dates).toContain('a day as DD.MM.YYYY, such as 31.01.2026')
  expect(existsSync(join(dir, '.records-sync', 'demo', 'reconcile.html'))).toBe(true)
  expect(existsSync(join(dir, '.records-sync', 'demo', 'ledger.db'))).toBe(true)
  demo.interrupt()
  expect(await demo.closed).toBe(0)
  await expect(fetch(ui)).rejects.toThrow()
})
