// `plan` and `check` of a mirror, against the real service: what they ask for, what they say, and that they write nothing.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { check } from '../../../src/cli/commands/check.ts'
import { plan } from '../../../src/cli/commands/plan.ts'
import { RecordsClient } from '../../../src/client/index.ts'
import { startService, type RunningService } from '../../../src/service/index.ts'
import { said } from './said.ts'

let service: RunningService
beforeAll(async () => {
  service = await startService({ seedRecords: 250, limitPerMinute: 6_000 })
  const client = new RecordsClient({ baseUrl: service.url, key: service.key })
  for (const name of ['a', 'b', 'c']) await client.createRecord('svc_company', { svc_name: name })
  for (const name of ['d', 'e']) await client.createRecord('svc_deal', { svc_name: name })
  await client.close()
})
afterAll(() => service.close())

/** The configuration of one mirror, in a folder of its own. */
function project(
  mirror: string,
  { url = service.url, key = service.key, lake = './lake.duckdb' } = {},
) {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-plan-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'key'), key, { mode: 0o600 })
  const config = join(dir, 'records-sync.yaml')
  writeFileSync(
    config,
    `ledger: ./ledger.db
connections: { crm: { service: "${url}", key: { file: ./key } } }
warehouses: { lake: { duckdb: "${lake}" } }
syncs: { crm_tables: { mirror: { from: crm, to: lake, ${mirror} } } }
`,
  )
  return { dir, config }
}

const planned = (config: string, json = false) =>
  said(config, (context) => plan(context, 'crm_tables'), json)
/** What `check` finds of the mirror. */
async function checked(config: string) {
  const { code, out } = await said(config, (context) => check(context, { operations: false }), true)
  const { findings } = JSON.parse(out[0]!) as {
    findings: { subject: string; ok: boolean; message: string; warnings: string[] }[]
  }
  return { code, ...findings.find(({ subject }) => subject === 'sync crm_tables')! }
}

/** The service, but no property of its types is known to tell when a record was changed. */
async function withoutClocks(): Promise<string> {
  const server = createServer((request, response) => {
    const forward = async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const answer = await fetch(service.url + request.url!, {
        method: request.method!,
        headers: {
          authorization: request.headers.authorization ?? '',
          'content-type': 'application/json',
        },
        ...(request.method === 'POST' && { body: Buffer.concat(chunks) }),
      })
      const text = (await answer.text()).replaceAll('svc_updated_at', 'svc_touched_at')
      const headers = [...answer.headers].filter(([name]) => name !== 'content-length')
      response.writeHead(answer.status, Object.fromEntries(headers)).end(text)
    }
    forward().catch(() => response.writeHead(500).end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('plan: records by the service, requests by their pages, and nothing is written', async () => {
  const { dir, config } = project('object_types: [svc_company, svc_contact]')
  const { code, out, err } = await planned(config)
  expect({ code, err }).toEqual({ code: 0, err: [] })
  expect(out.slice(0, 5)).toEqual([
    'Plan of crm_tables (nothing was written): tables in lake, schema crm_tables',
    'object type  records  properties  changes found by  pages',
    '───────────  ───────  ──────────  ────────────────  ─────',
    'svc_company        3          20  svc_updated_at        1',
    'svc_contact      250          21  svc_updated_at        3',
  ])
  // Four, five for each type, and the pages; four and three for each type.
  expect(out.slice(5)).toEqual([
    'All 253 records: 18 requests, less than a minute: all 6,000 requests a minute',
    'A run after which nothing changed: 10 requests, less than a minute: all 6,000 requests a minute',
  ])
  expect(existsSync(join(dir, 'ledger.db'))).toBe(false)
  expect(
    readdirSync(dir)
      .filter((name) => !name.startsWith('quota.db'))
      .toSorted(),
  ).toEqual(['key', 'records-sync.yaml'])
})

test('plan: links cost a request for each record that they begin at, once for a type', async () => {
  const { config } = project(
    'associations: [svc_contact_company, svc_company_parent, svc_deal_contact, svc_deal_company]',
  )
  const { out } = await planned(config)
  expect(out.slice(-8)).toEqual([
    'association          from         to           requests',
    '───────────────────  ───────────  ───────────  ────────',
    'svc_contact_company  svc_contact  svc_company       250',
    'svc_company_parent   svc_company  svc_company         3',
    'svc_deal_contact     svc_deal     svc_contact         2',
    'svc_deal_company     svc_deal     svc_company         2',
    'All links, one request for each record that they begin at: 255 requests, less than a minute: all',
    '6,000 requests a minute',
  ])
  const json = JSON.parse((await planned(config, true)).out[0]!)
  expect(json.edges).toMatchObject({ requests: 255, requests_per_minute: 6_000 })
  expect(json.associations[0]).toEqual({
    name: 'svc_contact_company',
    source: 'svc_contact',
    target: 'svc_company',
    requests: 250,
  })
})

test('plan --json has every figure', async () => {
  const { config } = project('object_types: [svc_contact]')
  const { out } = await planned(config, true)
  expect(JSON.parse(out[0]!)).toEqual({
    sync: 'crm_tables',
    kind: 'mirror',
    object_types: [
      {
        name: 'svc_contact',
        records: 250,
        properties: 21,
        modification_property: 'svc_updated_at',
        pages: 3,
      },
    ],
    associations: [],
    full: { requests: 12, requests_per_minute: 6_000, minutes: 12 / 6_000 },
    unchanged: { requests: 7, requests_per_minute: 6_000, minutes: 7 / 6_000 },
    edges: { requests: 0, requests_per_minute: null, minutes: 0 },
    warnings: [],
  })
})

test('all object types but the exceptions', async () => {
  const { config } = project('except: [svc_contact, svc_file]')
  const json = JSON.parse((await planned(config, true)).out[0]!)
  const names = json.object_types.map(({ name }: { name: string }) => name)
  expect(names).toHaveLength(15)
  expect(names).toEqual(names.toSorted())
  expect(names).not.toContain('svc_contact')
})

test('only what the key can read is there', async () => {
  const key = service.mintKey({ grants: { svc_company: { read: true, write: false } } })
  const { config } = project('object_types: all', { key })
  const json = JSON.parse((await planned(config, true)).out[0]!)
  expect(json.object_types.map(({ name }: { name: string }) => name)).toEqual(['svc_company'])
  const other = project('object_types: [svc_contact]', { key })
  expect(await checked(other.config)).toMatchObject({
    code: 2,
    ok: false,
    message: `Sync "crm_tables": ${other.config}:4:70: object_types: there is no object type svc_contact, or the key cannot read it; object types: \`svc_company\``,
  })
})

test('types of which nothing tells their changes are read whole, and a property can be named', async () => {
  const url = await withoutClocks()
  const types = 'object_types: [svc_company, svc_contact]'
  const { out } = await planned(project(types, { url }).config)
  expect(out[3]).toBe('svc_company        3          20  reading all, each run      1')
  expect(out[6]).toContain('A run after which nothing changed: 14 requests')
  expect(out.at(-1)).toContain(
    'warning: no property has the time of the last change of `svc_company`, `svc_contact`: up to 1,000 records are read whole by every run; above that, changes are found only by the full listing every 24 h.',
  )
  const named = project(`${types}, modification_property: { svc_contact: svc_touched_at }`, { url })
  const json = JSON.parse((await planned(named.config, true)).out[0]!)
  expect(json.object_types).toMatchObject([
    { modification_property: null },
    { modification_property: 'svc_touched_at' },
  ])
  expect(json.unchanged.requests).toBe(11)
})

test('check: a mirror that can run, and a file that is made later', async () => {
  const { dir, config } = project('associations: [svc_contact_company]')
  expect(await checked(config)).toMatchObject({
    code: 0,
    ok: true,
    warnings: [],
    message:
      '17 object types and 1 association of crm, into lake, schema crm_tables; the file is made by the first run',
  })
  expect(existsSync(join(dir, 'lake.duckdb'))).toBe(false)
})

test.each([
  [
    'object_types: [svc_contcat, svc_company]',
    'FILE:4:70: object_types: there is no object type svc_contcat, or the key cannot read it; did you mean `svc_contact`?',
  ],
  [
    'except: [svc_companies]',
    'FILE:4:64: except: there is no object type svc_companies, or the key cannot read it; did you mean `svc_company`?',
  ],
  [
    'associations: [svc_contact_compan]',
    'FILE:4:70: associations: there is no association svc_contact_compan, or the key cannot read what it links; did you mean `svc_contact_company`?',
  ],
  [
    'object_types: [svc_company], associations: [svc_contact_company]',
    'FILE:4:99: associations: svc_contact_company begins at svc_contact, which is not mirrored; add it to object_types',
  ],
  [
    'modification_property: { svc_contcat: svc_created_at }',
    'FILE:4:80: modification_property: there is no object type svc_contcat, or the key cannot read it; did you mean `svc_contact`?',
  ],
  [
    'object_types: [svc_company], modification_property: { svc_contact: svc_created_at }',
    'FILE:4:109: modification_property: svc_contact is not mirrored; it is not in object_types',
  ],
  [
    'object_types: [svc_company], modification_property: { svc_company: svc_name }',
    'FILE:4:122: modification_property of svc_company: svc_name is of field type text; expected a datetime; these would do: svc_last_contacted_at, svc_created_at, svc_updated_at',
  ],
])('check and plan name what is wrong: %s', async (mirror, problem) => {
  const { config } = project(mirror)
  const message = `Sync "crm_tables": ${problem.replace('FILE', config)}`
  expect(await checked(config)).toMatchObject({ code: 2, ok: false, message })
  expect(await planned(config)).toMatchObject({ code: 2, out: [], err: [message] })
})

test('every slip is named at once', async () => {
  const { config } = project('object_types: [svc_a, svc_contact], associations: [b]')
  const { message } = await checked(config)
  expect(message).toMatch(
    /:4:70: object_types: there is no object type svc_a, .*:4:106: associations: there is no association b, /,
  )
})

test('a link to records that are not mirrored is a warning', async () => {
  const { config } = project('object_types: [svc_contact], associations: [svc_contact_company]')
  expect(await checked(config)).toMatchObject({
    ok: true,
    warnings: ['svc_contact_company leads to svc_company, whose records are not mirrored'],
  })
})

test('check: a warehouse that cannot be', async () => {
  const nowhere = project('object_types: [svc_contact]', { lake: './none/lake.duckdb' })
  expect(await checked(nowhere.config)).toMatchObject({
    code: 2,
    message: `Warehouse lake: there is no folder ${join(nowhere.dir, 'none')}`,
  })
  const folder = project('object_types: [svc_contact]', { lake: './a.duckdb' })
  mkdirSync(join(folder.dir, 'a.duckdb'))
  expect((await checked(folder.config)).message).toContain('is no DuckDB file; expected one')
})
