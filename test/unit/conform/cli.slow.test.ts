// `records-sync conform`: where the key comes from, what is printed, exit codes, and its page.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createContext } from '../../../src/cli/shared/context.ts'
import { describeConform } from '../../../src/cli/commands/conform-options.ts'
import type { Terminal } from '../../../src/cli/shared/terminal.ts'
import { RULES } from '../../../src/conform/index.ts'
import type { RunningService } from '../../../src/service/index.ts'
import { startBroken } from './breaking.ts'
import { startScene } from './scene.ts'

let service: RunningService
let folder: string
beforeAll(async () => {
  service = await startScene()
  folder = mkdtempSync(join(tmpdir(), 'records-sync-conform-'))
  writeFileSync(join(folder, 'key'), `${service.key}\n`, { mode: 0o600 })
})
afterAll(async () => {
  await service.close()
  rmSync(folder, { recursive: true })
})

/** Runs the command in this process; what it printed, and its exit code. */
async function run(
  args: readonly string[],
  { env = {}, json = false }: { env?: NodeJS.ProcessEnv; json?: boolean } = {},
): Promise<{ code: number; out: string; err: string }> {
  const printed = { out: '', err: '' }
  const terminal: Terminal = {
    out: (line = '') => void (printed.out += `${line}\n`),
    err: (line = '') => void (printed.err += `${line}\n`),
    live: () => {},
    endLive: () => {},
    style: (_, text) => text,
  }
  let code = -1
  const command = new Command('conform').exitOverride()
  describeConform(command, async (work) => {
    const context = createContext({ config: 'records-sync.yaml', json }, terminal)
    code = await work({ ...context, env })
  })
  await command.parseAsync(args, { from: 'user' })
  return { code, ...printed }
}

/** What a service answers that takes no new record. */
const forbidden = {
  status: 403,
  headers: {
    'content-type': 'application/problem+json',
    'svc-request-id': 'req_1',
    'cache-control': 'no-store',
    'ratelimit-limit': '600',
    'ratelimit-remaining': '600',
  },
  body: {
    type: 'https://example.com/docs/errors/permission_denied',
    title: 'Forbidden',
    status: 403,
    detail: 'No more records',
    code: 'permission_denied',
    request_id: 'req_1',
  },
}

const at = (url: string, ...more: string[]) => ['--service', url, ...more]

describe('the key', () => {
  test('comes from RECORDS_API_KEY, another variable, or a file', async () => {
    const env = { RECORDS_API_KEY: service.key, OTHER: service.key }
    const file = join(folder, 'key')
    for (const given of [
      [],
      ['--key', 'env:OTHER'],
      ['--key-env', 'OTHER'],
      ['--key', `file:${file}`],
      ['--key-file', file],
    ]) {
      expect(await run(at(service.url, ...given), { env })).toMatchObject({ code: 0, err: '' })
    }
  })

  test('is not taken as an argument, and not repeated', async () => {
    const said = await run(at(service.url, '--key', service.key))
    expect(said.code).toBe(2)
    expect(said.err).toMatch(/^--key: env:NAME or file:PATH was expected/)
    expect(said.err + said.out).not.toContain(service.key)
    const other = await run(
      at(service.url, '--key-file', join(folder, 'key'), '--other-key', 'rsk_a'),
    )
    expect(other.code).toBe(2)
    expect(other.err).toMatch(/^--other-key: env:NAME/)
    expect(other.err).not.toContain('rsk_a')
  })

  test('that is not there, or given twice, is a clear error', async () => {
    expect(await run(at(service.url))).toMatchObject({
      code: 2,
      err: 'The environment variable `RECORDS_API_KEY` is not set\n',
    })
    const twice = await run(at(service.url, '--key-env', 'A', '--key-file', 'b'))
    expect(twice).toMatchObject({ code: 2, err: 'Give one of --key, --key-env and --key-file\n' })
  })
})

describe('the report', () => {
  const env = () => ({ RECORDS_API_KEY: service.key })

  test('lists every rule by section, with totals, and exits with 0', async () => {
    const { code, out } = await run(at(service.url, '--write', 'svc_contact', 'svc_company'), {
      env: env(),
    })
    expect(code).toBe(0)
    for (const { id } of RULES) expect(out).toContain(` ${id} `)
    expect(out).toMatch(/^8 {2}Limits {2}\d+ kept, /m)
    expect(out).toMatch(new RegExp(`^${RULES.length} rules: \\d+ kept, `, 'm'))
    expect(out).toMatch(/^\d+ requests of at most 1,000$/m)
    expect(out).toMatch(/^\d+ scratch records, marked conform-[0-9a-f]{8}, were made and removed$/m)
    expect(out).not.toContain(service.key)
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(100)
  })

  test('shows the evidence of what is broken, and exits with 1', async () => {
    const proxy = await startBroken(service.url, {
      answer: ({ status, body }) =>
        void (status === 404 && (body.title = 'Gone \u001b[31mfishing')),
    })
    try {
      const { code, out } = await run(at(proxy.url), { env: env() })
      expect(code).toBe(1)
      expect(out).toContain(
        [
          '  BROKEN      2.12.title  title is the HTTP reason phrase of the status.',
          '              GET /rest/v1/objects/conform_no_such_type/ was answered 404, request',
        ].join('\n'),
      )
      expect(out).toMatch(/^ {14}at {8}\/title$/m)
      expect(out).toMatch(/^ {14}expected {2}Not Found$/m)
      expect(out).toMatch(/^ {14}got {7}a text$/m)
      expect(out).not.toContain('\u001b')
    } finally {
      proxy.close()
    }
  })

  test('is JSON for programs', async () => {
    const { code, out } = await run(at(service.url), { env: env(), json: true })
    expect(code).toBe(0)
    const report = JSON.parse(out)
    expect(report).toMatchObject({
      ok: true,
      interrupted: false,
      requests_max: 1_000,
      leftovers: [],
    })
    expect(report.rules).toHaveLength(RULES.length)
    const { kept, broken, not_applicable, unchecked } = report.totals
    expect(kept + broken + not_applicable + unchecked).toBe(RULES.length)
    expect(report.rules[0]).toMatchObject({ id: RULES[0]!.id, verdict: 'kept' })
  })

  test('is not made where the kit cannot run: 2', async () => {
    expect(await run(at('http://127.0.0.1:1'), { env: env() })).toMatchObject({ code: 2, out: '' })
    expect(await run(at('ftp://example.com'), { env: env() })).toMatchObject({ code: 2, out: '' })
    const write = await run(at(service.url, '--write', 'svc_risk'), { env: env() })
    expect(write.err).toMatch(/^--write: svc_risk does not accept create/)
    expect(write.code).toBe(2)
  })

  test('is no success where what --write allowed could not be written: 2', async () => {
    const proxy = await startBroken(service.url, {
      request: ({ method, path }) =>
        method === 'POST' && path.endsWith('/svc_contact/records/') ? forbidden : undefined,
    })
    try {
      const { code, out } = await run(at(proxy.url, '--write', 'svc_contact'), {
        env: env(),
        json: true,
      })
      const report = JSON.parse(out)
      expect(report).toMatchObject({
        ok: false,
        unprepared: [{ object_type: 'svc_contact', why: expect.stringContaining('403') }],
      })
      expect(report.totals.broken).toBe(0)
      expect(code).toBe(2)
    } finally {
      proxy.close()
    }
  })
})

test('docs/conform.md names every option, and its sample shows rules that there are', () => {
  const page = readFileSync(new URL('../../../docs/conform.md', import.meta.url), 'utf8')
  const command = new Command('conform')
  describeConform(command, async () => {})
  for (const { long } of command.options) expect(page).toContain(`\`${long}`)
  const shown = [...page.matchAll(/^ {2}(?:kept|BROKEN|n\/a|not checked) +(\S+) {2}/gm)]
  expect(shown.length).toBeGreaterThan(5)
  for (const [, id] of shown) expect(RULES.map((rule) => rule.id)).toContain(id)
})
