// The demo, as `npm run demo` runs it: every part embedded, real files, in a folder of its own.

import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { main } from './project.ts'
import { untilHung } from '../hang.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'records-sync-demo-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

/** Environment without what would point the demo at another server. */
function demoEnv(): NodeJS.ProcessEnv {
  const { TEMPORAL_ADDRESS: _, ...env } = process.env
  return env
}

test('ends with balanced books, the rejects in files, nothing sent twice, both sides equal; --keep leaves the UI up', async () => {
  const child = spawn(process.execPath, [main, 'demo', '--keep'], { cwd: dir, env: demoEnv() })
  let out = ''
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (out += chunk.toString()))
  let open = true
  const closed = new Promise((resolve) => child.once('close', resolve)).finally(() => {
    open = false
  })
  await vi.waitUntil(() => !open || out.includes('Everything stays up'), untilHung)
  expect(out).toContain('Everything stays up')
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
  child.kill('SIGINT')
  expect(await closed).toBe(0)
  await expect(fetch(ui)).rejects.toThrow()
})
