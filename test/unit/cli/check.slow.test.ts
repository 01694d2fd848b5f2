// `check` says how the operations of a service are requested: in one line where all is as expected, else what differs.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { check } from '../../../src/cli/commands/check.ts'
import { createContext } from '../../../src/cli/shared/context.ts'
import { quota } from '../../../src/cli/commands/quota.ts'
import type { OperationRow } from '../../../src/cli/views/operations.ts'
import { STARTER_CONFIG } from '../../../config/index.ts'
import { startService } from '../../../src/service/index.ts'
import { said } from './said.ts'
import { fixture, startVariant } from '../client/variant-service.ts'

interface Options {
  readonly operations?: boolean
  readonly json?: boolean
  /** Of the connection, as YAML. */
  readonly settings?: string
}

/** The lines that `check` prints for a project with one connection and no sync. */
async function checked(url: string, key: string, options: Options = {}): Promise<string[]> {
  const { operations = false, json = false, settings = '' } = options
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-check-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'key'), key, { mode: 0o600 })
  const config = join(dir, 'records-sync.yaml')
  const connection = `{ service: "${url}", key: { file: ./key }, ${settings} }`
  writeFileSync(config, `connections:\n  crm: ${connection}\nsyncs: {}\n`)
  const lines: string[] = []
  const context = createContext(
    { config, json },
    {
      out: (line = '') => void lines.push(...line.split('\n')),
      err: (line = '') => void lines.push(line),
      live: () => {},
      endLive: () => {},
      style: (_, text) => text,
    },
  )
  expect(await check(context, { operations })).toBe(0)
  return lines
}

test('what is wrong with a connection is said once; a file that is missing is said all the same', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-check-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const config = join(dir, 'records-sync.yaml')
  writeFileSync(config, STARTER_CONFIG)
  const nothing = await said(config, (context) => check(context, { operations: false }))
  expect(nothing.code).toBe(2)
  const text = nothing.out.join(' ').replace(/ +/g, ' ')
  expect(text.match(/There is no key file/g)).toHaveLength(1)
  expect(text).toContain('"records-sync dev", running in another terminal, writes it')
  expect(text).toMatch(/sync contacts: .*contacts\.csv/)
  writeFileSync(join(dir, 'contacts.csv'), 'id,first_name,last_name,email\n')
  const file = await said(config, (context) => check(context, { operations: false }))
  expect(file.out.join(' ').replace(/ +/g, ' ')).toContain(
    'sync contacts: not checked at the service: connection crm failed, see above',
  )
})

test('a web page at the address of the service is called one', async () => {
  const page = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
    response.end('<!doctype html>')
  })
  await new Promise<void>((resolve) => page.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void page.close())
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-check-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'key'), 'svc_key_1234567890', { mode: 0o600 })
  const config = join(dir, 'records-sync.yaml')
  const url = `http://127.0.0.1:${(page.address() as AddressInfo).port}`
  writeFileSync(
    config,
    `connections: { crm: { service: "${url}", key: { file: ./key } } }\nsyncs: {}\n`,
  )
  const { code, out } = await said(config, (context) => check(context, { operations: false }))
  expect(code).toBe(2)
  expect(out.join(' ').replace(/ +/g, ' ')).toContain(
    'it is a web page, not application/json; check that the base URL is that of the service',
  )
})

test('two connections of one org whose settings of the quota differ are named', async () => {
  const service = await startService({ limitPerMinute: 6_000 })
  onTestFinished(() => service.close())
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-check-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'one'), service.key, { mode: 0o600 })
  writeFileSync(join(dir, 'two'), service.mintKey(), { mode: 0o600 })
  const config = join(dir, 'records-sync.yaml')
  const write = (reserve: number) =>
    writeFileSync(
      config,
      `connections:
  one: { service: "${service.url}", key: { file: ./one }, quota: { reserve_percent: 35 } }
  two: { service: "${service.url}", key: { file: ./two }, quota: { reserve_percent: ${reserve} } }
syncs: {}
`,
    )
  write(0)
  const differ = await said(config, (context) => check(context, { operations: false }))
  expect(differ.code).toBe(0)
  expect(differ.out.join(' ').replace(/ +/g, ' ')).toContain(
    'warning: connections one and two use the quota of the same org, and their settings of "quota" differ: the strictest reserve counts for both, 35 %',
  )
  // What it has asked is in the row that all processes share.
  const quotas = await said(config, (context) => quota(context, undefined))
  expect(quotas.out.join('\n')).toMatch(new RegExp(`check ${process.pid} on .* interactive +\\d+`))
  expect(quotas.out.join('\n')).toMatch(/reserve +35 %/)
  write(35)
  const same = await said(config, (context) => check(context, { operations: false }))
  expect(same.out.join('\n')).not.toContain('differ')
})

test('imports that write the same properties are named, in one warning for each sync', async () => {
  const service = await startService({ limitPerMinute: 6_000 })
  onTestFinished(() => service.close())
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-check-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'key'), service.key, { mode: 0o600 })
  writeFileSync(join(dir, 'rows.csv'), 'id,name\n1,Ada\n')
  const config = join(dir, 'records-sync.yaml')
  const sync = (property: string) =>
    `import: { from: { csv: rows.csv }, to: crm, object_type: svc_contact, matching_property: svc_external_id, properties: { svc_external_id: id, ${property}: name } }`
  writeFileSync(
    config,
    `connections:
  crm: { service: "${service.url}", key: { file: ./key } }
syncs:
  one: { ${sync('svc_first_name')} }
  two: { ${sync('svc_first_name')} }
  three: { ${sync('svc_last_name')} }
  four: { ${sync('svc_first_name')} }
`,
  )
  const { code, out } = await said(config, (context) => check(context, { operations: false }))
  expect(code).toBe(0)
  const text = out.join(' ').replace(/ +/g, ' ')
  expect(text).toContain('warning: sync one writes svc_first_name of svc_contact as well')
  expect(text).toContain('warning: syncs one, two write svc_first_name of svc_contact as well')
  expect(text.match(/as well/g)).toHaveLength(2)
})

test('imports that link the same association, of which a record has one, are named', async () => {
  const service = await startService({ limitPerMinute: 6_000 })
  onTestFinished(() => service.close())
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-check-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'key'), service.key, { mode: 0o600 })
  writeFileSync(join(dir, 'rows.csv'), 'id,other\n1,2\n')
  const config = join(dir, 'records-sync.yaml')
  const sync = (type: string, association: string, to: string) =>
    `import: { from: { csv: rows.csv }, to: crm, object_type: ${type}, matching_property: svc_external_id, properties: { svc_external_id: id }, links: [{ association: ${association}, to: ${to}, by: svc_external_id, column: other }] }`
  const companies = sync('svc_contact', 'svc_contact_company', 'svc_company')
  const many = sync('svc_deal', 'svc_deal_contact', 'svc_contact')
  writeFileSync(
    config,
    `connections:
  crm: { service: "${service.url}", key: { file: ./key } }
syncs:
  one: { ${companies} }
  two: { ${companies} }
  three: { ${many} }
  four: { ${many} }
`,
  )
  const { out } = await said(config, (context) => check(context, { operations: false }))
  const text = out.join(' ').replace(/ +/g, ' ')
  expect(text).toContain(
    'warning: sync one links svc_contact_company as well, which allows a record one link',
  )
  expect(text.match(/as well/g)).toHaveLength(1)
})

const self = {
  'GET /rest/v1/self/': () => ['GET /self/'] as const,
  'GET /rest/v1/objects/': () => ['GET /objects/'] as const,
}

test('our own service: one line, and with --operations all of them', async () => {
  const service = await startService()
  onTestFinished(() => service.close())
  const lines = await checked(service.url, service.key)
  expect(lines[0]).toContain(`ok      connection crm: ${service.url}, org ${service.orgId}`)
  expect(lines).toContain('        20 operations as expected')
  expect(lines.at(-1)).toMatch(/^ok {6}ledger: .*ledger\.db; the first run makes it$/)
  const all = await checked(service.url, service.key, { operations: true })
  expect(all).toHaveLength(lines.length + 2 * 21)
  for (const line of all) expect(line.length).toBeLessThanOrEqual(100)
  expect(all.slice(-3, -1)).toEqual([
    '    associateRecords      PUT /objects/{object_type}/records/{id}/associations/{association_type}/',
    '                          the document has it where it is expected',
  ])
})

test('a variant: what differs, with the reason, and the configured as it is written', async () => {
  const { url, service } = await startVariant({ document: fixture('put-batch'), rules: self })
  const settings = 'operations: { queryRecords: "POST /objects/{object_type}/find/" }'
  const lines = await checked(url, service.key, { settings })
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(100)
  expect(
    lines.slice(
      lines.findIndex((line) => line.includes('as expected')),
      -1,
    ),
  ).toEqual([
    '        13 operations as expected, 6 found elsewhere, 1 configured',
    '    upsertRecord          PUT /objects/{object_type}/records/',
    '                          told by its path, operation id, body and answer',
    '                          matching_property beside data',
    '    queryRecords          POST /objects/{object_type}/find/',
    '                          the configuration says so',
    '    batchCreate           POST /objects/{object_type}/records/batch/',
    '                          told by its path, operation id, body and answer',
    '    batchUpdate           PATCH /objects/{object_type}/records/batch/',
    '                          told by its path, operation id, body and answer',
    '    batchUpsert           PUT /objects/{object_type}/records/batch/',
    '                          told by its path, operation id, body and answer',
    '                          matching_property beside data',
    '    batchDelete           DELETE /objects/{object_type}/records/batch/',
    '                          told by its path, operation id, body and answer',
    '    associateRecords      PUT /objects/{object_type}/records/{id}/associations/',
    '                          told by its path, operation id, body and answer',
    '                          association_type within data',
    '        warning: the document names https://api.example.com as its server; requests go to the',
    '        configured one',
  ])
})

test('what is absent or uncertain is a warning, and --json has every row', async () => {
  const { url, service } = await startVariant({ document: fixture('single-only'), rules: self })
  const lines = await checked(url, service.key)
  expect(lines).toContain(
    '        12 operations as expected, 1 found elsewhere, 7 not in the document',
  )
  expect(lines.join(' ')).toContain('no batch upsert: records are upserted one by one')
  const [line] = await checked(url, service.key, { json: true })
  const { ok, findings } = JSON.parse(line!) as {
    ok: boolean
    findings: { operations: OperationRow[]; warnings: string[] }[]
  }
  expect(ok).toBe(true)
  expect(findings[0]!.operations).toHaveLength(21)
  expect(findings[0]!.operations.find(({ operation }) => operation === 'associateRecords')).toEqual(
    {
      operation: 'associateRecords',
      request: 'PUT /objects/{object_type}/records/{id}/associations/{association_type}/',
      places: {
        association_type: { in: 'path', name: 'association_type' },
        target_id: { in: 'body', name: 'target_id' },
      },
      source: 'openapi',
      expected: false,
      reason: 'told by its path, operation id, body and answer',
    },
  )
})

test.each([
  ['a quote that is not closed', '1,Ada\n2,"Bob\n', 2, /rows\.csv:3:2: the quote .* not closed/],
  ['a last row that is short', '1,Ada\n2\n', 2, /rows\.csv:3:2: the last row has 1 cell/],
  ['ragged rows', '1,Ada\n2\n3,Bob,x\n4,Eve\n', 0, /warning: 2 rows have .* first on line 3/],
  ['no rows', '', 0, /warning: the source has no rows/],
])('a small file is read to its end: %s', async (_, rows, code, message) => {
  const service = await startService()
  onTestFinished(() => service.close())
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-check-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'key'), service.key, { mode: 0o600 })
  writeFileSync(join(dir, 'rows.csv'), `id,name\n${rows}`)
  const config = join(dir, 'records-sync.yaml')
  writeFileSync(
    config,
    `connections: { crm: { service: "${service.url}", key: { file: ./key } } }
syncs:
  contacts:
    import:
      from: { csv: ./rows.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      properties: { svc_external_id: id, svc_first_name: name }
`,
  )
  const found = await said(config, (context) => check(context, { operations: false }))
  expect(found.out.join(' ').replace(/ +/g, ' ')).toMatch(message)
  expect(found.code).toBe(code)
})

test('the place of each notification is read, and nothing is posted', async () => {
  const posted: string[] = []
  const receiver = createServer((request, response) => {
    posted.push(request.url!)
    response.end()
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void receiver.close())
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-check-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const config = join(dir, 'records-sync.yaml')
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/secret-path`
  const write = (...notifications: string[]) =>
    writeFileSync(
      config,
      `connections: {}\nsyncs: {}\nnotifications:\n${notifications.map((each) => `  ${each}\n`).join('')}`,
    )
  const found = async () => {
    const { code, out } = await said(config, (context) => check(context, { operations: false }))
    return { code, text: out.join(' ').replace(/ +/g, ' ') }
  }
  writeFileSync(join(dir, 'hook'), url, { mode: 0o600 })
  writeFileSync(join(dir, 'page'), 'ftp://example.com/secret-path', { mode: 0o600 })
  write('good: { url: { file: ./hook } }')
  const good = await found()
  expect(good.code).toBe(0)
  expect(good.text).toMatch(
    /ok notification good: its URL can be read; .*notify good sends a test message/,
  )
  write(
    'good: { url: { file: ./hook } }',
    'unset: { url: "${RECORDS_SYNC_TEST_UNSET}" }',
    'lost: { url: { file: ./lost } }',
    'strange: { url: { file: ./page } }',
  )
  const bad = await found()
  expect(bad.code).toBe(2)
  expect(bad.text).toContain('ok notification good')
  expect(bad.text).toMatch(/failed notification unset: .*`RECORDS_SYNC_TEST_UNSET` is not set/)
  expect(bad.text).toMatch(/failed notification lost: There is no .*lost/)
  expect(bad.text).toMatch(/failed notification strange: its URL was expected to begin with https/)
  expect(bad.text).not.toContain('secret-path')
  expect(posted).toEqual([])
})
