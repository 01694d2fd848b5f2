// `records-sync quota` on a real store: what it says of every org, of one connection, of none; and the forecasts of `plan`,
// which rest on the same rows.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createContext, reportError, type CommandContext } from '../../../src/cli/shared/context.ts'
import { readKeyQuota } from '../../../src/resources/run-quota.ts'
import { plan } from '../../../src/cli/commands/plan.ts'
import { quota } from '../../../src/cli/commands/quota.ts'
import type { QuotaStore } from '../../../src/core/ports.ts'
import { startService } from '../../../src/service/index.ts'
import { quotaRow, type Work } from './quota-row.ts'

interface Project {
  readonly said: { out: string[]; err: string[] }
  readonly context: CommandContext
  /** Puts the row of an org into the store, as of now. */
  put(org: string, work: Omit<Work, 'startMs'>): Promise<void>
  noteOrgOfKey(key: string, org: string): Promise<void>
}

const secret = 'sk_live_hidden_0123456789'

/** A project with a configuration of its own and everything that a command says. */
function project(config: string, options: { readonly json?: boolean } = {}): Project {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-quota-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'records-sync.yaml'), config)
  writeFileSync(join(dir, 'key'), secret, { mode: 0o600 })
  writeFileSync(join(dir, 'contacts.csv'), `id\n${'abcdefghij'.split('').join('\n')}\n`)
  const said = { out: [] as string[], err: [] as string[] }
  const context = createContext(
    { config: join(dir, 'records-sync.yaml'), json: options.json ?? false },
    {
      out: (line = '') => void said.out.push(...line.split('\n')),
      err: (line = '') => void said.err.push(line),
      live: () => {},
      endLive: () => {},
      style: (_, text) => text,
    },
  )
  const withStore = async (work: (store: QuotaStore) => Promise<void>) => {
    const store = await context.openQuotas()
    await work(store)
    await store.close()
  }
  return {
    said,
    context,
    put: (org, work) =>
      withStore(async (store) => {
        const { state } = quotaRow({ ...work, startMs: Date.now() - work.seconds * 1_000 })
        await store.update(org, () => ({ state, result: undefined }))
      }),
    noteOrgOfKey: (key, org) => withStore((store) => store.noteOrgOfKey(key, org)),
  }
}

const twoServices = `
ledger: ./ledger.db
connections:
  crm: { service: https://api.example.com/eu, key: { file: ./key } }
  billing: { service: "https://billing.example.com", key: { file: ./key } }
syncs: {}
`
// Two minutes, so that a reset is seen whatever the second it begins at.
const work = { limit: 600, seconds: 130, users: { 'worker 1 on a': { import: 5 } } }
const orgs = ['https://api.example.com org 1', 'https://billing.example.com org 2']

test('nothing is known yet: where it will appear', async () => {
  const { context, said } = project(twoServices)
  expect(await quota(context, undefined)).toBe(0)
  expect(said.out).toHaveLength(1)
  expect(said.out[0]).toMatch(
    /^Nothing is known of any quota yet: it appears in .* with the first request of a run or a plan\.$/,
  )
  expect(await quota(context, 'billing')).toBe(0)
  expect(said.out[1]).toContain('Nothing is known of the quota of billing yet')
})

test('every org, or those at the service of a connection; no service is asked, no key shown', async () => {
  const { context, said, put } = project(twoServices)
  for (const org of orgs) await put(org, work)
  await put('https://api.example.com.evil.example org 3', work)
  expect(await quota(context, undefined)).toBe(0)
  expect(said.out.filter((line) => line.startsWith('https://'))).toEqual([
    orgs[0],
    'https://api.example.com.evil.example org 3',
    orgs[1],
  ])
  expect(said.out.join('\n')).toContain('limit      600 requests a minute')
  said.out.length = 0
  expect(await quota(context, 'crm')).toBe(0)
  expect(said.out.filter((line) => line.startsWith('https://'))).toEqual([orgs[0]])
  expect([...said.out, ...said.err].join('\n')).not.toContain(secret)
})

test('--open: what a Retry-After has closed is asked again at once, at the service of one connection', async () => {
  const { context, said, put } = project(twoServices)
  const last = { status: 429, limit: '600', remaining: '0', retryAfter: '1000000000' }
  for (const org of orgs) await put(org, { ...work, last })
  expect(await quota(context, undefined)).toBe(0)
  const text = said.out.join('\n').replace(/\s+/g, ' ')
  expect(text.match(/closed for (5 min|4 min \d+ s)/g)).toHaveLength(2)
  expect(text).toContain('a longer wait than a quota a minute can need')
  expect(text).toMatch(/can expect requests a minute rows a minute [─ ]+ import 0 0 mirror 0 0/)
  const without = await quota(context, undefined, { open: true }).catch((error: unknown) =>
    reportError(error, context),
  )
  expect(without).not.toBe(0)
  expect(said.err.join()).toContain('quota --open CONNECTION')
  said.out.length = 0
  expect(await quota(context, 'crm', { open: true })).toBe(0)
  expect(said.out[0]).toContain(`Opened ${orgs[0]}`)
  expect(said.out.join('\n')).not.toContain('closed')
  said.out.length = 0
  expect(await quota(context, 'billing')).toBe(0)
  expect(said.out.join('\n')).toContain('closed for')
  said.out.length = 0
  expect(await quota(context, 'crm', { open: true })).toBe(0)
  expect(said.out[0]).toMatch(/^Nothing is closed at https:\/\/api\.example\.com/)
})

test('an unknown connection: the names there are, and exit code 2', async () => {
  const { context, said } = project(twoServices)
  const code = await quota(context, 'crn').catch((error: unknown) => reportError(error, context))
  expect(code).toBe(2)
  expect(said.err.join()).toMatch(
    /: there is no connection "crn"; did you mean `crm`\?; there is: crm, billing$/,
  )
})

test('--json has everything, in requests and times of ISO 8601', async () => {
  const { context, said, put } = project(twoServices, { json: true })
  await quota(context, undefined)
  expect(JSON.parse(said.out[0]!)).toMatchObject({ orgs: [] })
  await put(orgs[0]!, { ...work, settings: { reserve: 0.2 } })
  expect(await quota(context, 'crm')).toBe(0)
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string
  const counts = expect.objectContaining({ interactive: 0, import: expect.any(Number) }) as object
  expect(JSON.parse(said.out[1]!)).toEqual({
    at: time,
    orgs: [
      {
        org: orgs[0],
        limit_per_minute: 600,
        limit_is_guessed: false,
        regime: 'window',
        remaining: expect.any(Number),
        remaining_ignored_until: null,
        resets_at: { from: time, to: time },
        closed_until: null,
        closed_for_long: false,
        refuses_all: null,
        deprecation: null,
        reserve_percent: 20,
        last_minute: { ours: expect.any(Number), others: 0 },
        users: [{ name: 'worker 1 on a', last_seen: time, last_minute: counts, waiting: counts }],
        totals: { since: time, requests: expect.any(Number), refused: 0, unavailable: 0 },
        requests_per_minute: {
          import: 480,
          mirror: expect.any(Number),
          backfill: expect.any(Number),
        },
        rows_per_request: 50,
      },
    ],
  })
})

/** A project whose service allows 600 requests a minute, and a sync of ten rows. */
async function plannable(options: { readonly json?: boolean; readonly reserve?: number } = {}) {
  const service = await startService({ limitPerMinute: 600 })
  onTestFinished(() => service.close())
  const made = project(
    `
ledger: ./ledger.db
connections:
  crm:
    service: ${service.url}
    key: "\${KEY}"
    quota: { reserve_percent: ${options.reserve ?? 0} }
syncs:
  contacts:
    import:
      from: { csv: ./contacts.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      properties: { svc_external_id: id }
`,
    options,
  )
  return { ...made, context: { ...made.context, env: { KEY: service.key } }, service }
}

test('plan tells the minutes, and what they rest on', async () => {
  const { context, said } = await plannable({ reserve: 20 })
  expect(await plan(context, 'contacts')).toBe(0)
  expect(said.out).toContain(
    '1 request, less than a minute: 480 of 600 requests a minute, 20 % is kept for others',
  )
})

test('what a plan has asked is seen in the quota of its org', async () => {
  const { context, said, service } = await plannable({ reserve: 20 })
  expect(await plan(context, 'contacts')).toBe(0)
  said.out.length = 0
  expect(await quota(context, 'crm')).toBe(0)
  expect(said.out[0]).toBe(`${service.url} org ${service.orgId}`)
  expect(said.out.join('\n')).toMatch(/limit +600 requests a minute/)
  expect(said.out.join('\n')).toMatch(new RegExp(`plan ${process.pid} on .* import +\\d+ +0`))
  expect(said.out.join('\n')).not.toContain(service.key)
})

test('the quota of a key is found by its org, or by the key before the org is known', async () => {
  const { context, put, noteOrgOfKey } = project(twoServices)
  const [known, lonely] = ['0123456789ab', 'ba9876543210']
  await put(orgs[0]!, work)
  await put(`https://api.example.com key#${lonely}`, { ...work, limit: 60 })
  await noteOrgOfKey(`https://api.example.com key#${known}`, orgs[0]!)
  const store = await context.openQuotas()
  const limitOf = async (origin: string, fingerprint: string) =>
    (await readKeyQuota(store, { origin, fingerprint }))?.limitPerMinute
  expect(await limitOf('https://api.example.com', known)).toBe(600)
  expect(await limitOf('https://api.example.com', lonely)).toBe(60)
  expect(await limitOf('https://billing.example.com', known)).toBeUndefined()
  await store.close()
})

test('plan --json has requests a minute and minutes', async () => {
  const { context, said } = await plannable({ json: true })
  expect(await plan(context, 'contacts')).toBe(0)
  expect(JSON.parse(said.out[0]!)).toMatchObject({
    requests: 1,
    requests_per_minute: 600,
    minutes: 1 / 600,
  })
})
