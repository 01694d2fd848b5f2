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
import { soakTest } from '../runs.ts'

/** What a terminal shows of `npm run demo` on a fresh clone is 66 lines at most; npm and the set-up print so many of them. */
const LINES_MAX = 66 - 12
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

test('tells the story: a group, rejects corrected, the link that waited, mirror, differences by key found and mended, a plan done and taken back, what to do next', async () => {
  const demo = startDemo()
  expect(await demo.closed).toBe(0)
  const out = demo.text()
  expect(out).toMatch(/deals +companies, contacts +1,350 +1,348 +2 +3,045 +1\n/)
  expect(out).toMatch(/4,000 rows read = 3,966 created [^]*?\. The books\s+balance\.\n/)
  expect(out).toMatch(/companies\.csv:159 +revenue +1\.234,50 +not_an_amount\n/)
  expect(out).toMatch(/contacts\.csv:864 +email +not an address +not_an_email\n/)
  expect(out).toMatch(
    /deals\.csv:46 +company +company117\.example\.com +no such company: waiting\n/,
  )
  expect(out).toMatch(
    /run 5 of contacts +2 rows read = 2 created\n.*run 6 of companies +1 row read = 1 created\n/,
  )
  expect(out).toMatch(/run 7 of deals +1 link = 1 linked; begun by itself/)
  expect(out).toMatch(/crm_copy +deals +– +3,966 /)
  expect(out).toMatch(/ svc_contact 2,372 = 2,372 /)
  expect(out).toMatch(/D-00001 +svc_stage +lost +won +service\n/)
  expect(out).toMatch(/D-00004 +– +the record +no record/)
  expect(out.match(/D-00004 +svc_deal_\w+ .* no link/g)).toHaveLength(2)
  expect(out).toContain('5 of 5 mended, 3 rows read back as sent. The books balance.')
  expect(out).toContain('plan 1 of companies, whose file was corrected: 1 create, 3 update\n')
  expect(demo.coloured()).toContain(
    'svc_lifecycle_stage: \u001B[31mformer\u001B[39m → \u001B[32mcustomer\u001B[39m\n',
  )
  expect(out).toMatch(/\+ company251\.example\.com +new, with 6 properties\n/)
  expect(out).toContain('run 11 does just that: ')
  expect(out).toContain('undo 11 --dry-run: 2 records to restore, 1 to delete, 1 to leave\n')
  expect(out).toContain('run 12: 2 restored, 1 deleted, 1 left, because a person changed it\n')
  expect(out).toMatch(/ init FILE\.csv .*\n.* run NAME --local\n.* rejects\n/)
  const lines = out.trimEnd().split('\n')
  expect(lines.length).toBeLessThanOrEqual(LINES_MAX)
  expect(lines.filter(({ length }) => length > COLUMNS_MAX)).toEqual([])
  // The picture of the README is of this output: `npm run picture`.
  expect(storySvg(demo.coloured())).toBe(readFileSync(STORY_FILE, 'utf8'))
})

test('stops at Ctrl-C, with an exit code that says so, and leaves no part running', async () => {
  const demo = startDemo()
  await demo.untilSaid('1. Companies')
  demo.interrupt()
  expect(await demo.closed, demo.text()).toBe(4)
  expect(demo.text()).toContain('Stopped before the end of the demo.')
  const parts = join(dir, '.records-sync', 'demo', '.records-sync', 'dev.json')
  expect(existsSync(parts)).toBe(false)
})

soakTest(
  '--tour ends with balanced books, the rejects in files, nothing sent twice, both sides equal; --keep leaves the UI up',
  async () => {
    const demo = startDemo('--tour', '--keep')
    await demo.untilSaid('Everything stays up')
    const out = demo.text()
    const ui = /Temporal UI +(http\S+)/.exec(out)![1]!
    expect((await fetch(ui)).status).toBe(200)
    const console = /Console +(http\S+)/.exec(out)![1]!
    expect(await (await fetch(console)).text()).toContain('/syncs/contacts')
    expect(out).toContain('Group all: complete_with_rejects')
    expect(out).toContain('Run 3 of deals: complete_with_rejects')
    expect(out.match(/rows? read = /g)).toHaveLength(10)
    expect(out).toMatch(/3,046 links = 3,045 linked \+ 1 waiting \(target_missing 1\)/)
    // Two rows were corrected, and sent alone.
    expect(out).toMatch(/Run 5 of contacts: .*\n +retry of run 2\n +2 rows read = 2 created/)
    expect(out).toMatch(/Run 7 of deals: complete\n(?:.*\n)*? +1 link = 1 linked\n/)
    expect(out).toMatch(
      /Run 8 of contacts: [^]*? 2,370 unchanged[^]*?1,441 links = 1,441 unchanged/,
    )
    expect(out).toMatch(/svc_deal +complete +incremental .* 1,347 += +1,347/)
    expect(out.match(/D-0000[12] +won +false/g)).toHaveLength(2)
    expect(out.match(/ true$/gm)).toHaveLength(1)
    expect(out).toMatch(/\ncompany +won\n─+ +─+\n(?:.* \d+\n){5}5 rows\n/)
    // What people changed and deleted in the CRM is found, and mended.
    expect(out).toMatch(/ missing +3 .*\n +different +2 /)
    expect(out).toMatch(/ missing +3, mended .*\n +different +2, mended /)
    // What a corrected file changes is planned, done and taken back.
    expect(out).toMatch(/create +1 .*\n *update +3 /)
    expect(out).toMatch(/Run 12 of companies: [^]*? rows read = 1 created \+ 3 updated/)
    expect(out).toMatch(/get values back +2\n.* made them\) +1\n.* since +1\n/)
    expect(out).toMatch(
      /Run 13 of companies: complete\n +undo of run 12\n[^]*?\n +3 rows read = 2 updated \+ 1 skipped \(protected 1\)/,
    )
    expect(out).toContain('Nothing was found: every closed run is as it was sealed')
    const rejects = join(dir, '.records-sync', 'demo', 'rejects', 'contacts')
    const dates = readFileSync(join(rejects, 'row_invalid-not_a_date-svc_birthday.csv'), 'utf8')
    expect(dates).toContain('a day as DD.MM.YYYY, such as 31.01.2026')
    expect(existsSync(join(dir, '.records-sync', 'demo', 'reconcile.html'))).toBe(true)
    expect(existsSync(join(dir, '.records-sync', 'demo', 'ledger.db'))).toBe(true)
    demo.interrupt()
    expect(await demo.closed).toBe(0)
    await expect(fetch(ui)).rejects.toThrow()
  },
)
