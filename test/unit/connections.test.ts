// Connections with a real service and a real quota file: whatever goes to one org goes through one row.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createClientRegistry, type RequestObserver } from '../../src/resources/client-registry.ts'
import { readQuotaView } from '../../src/client/pacer/view.ts'
import { silentLogger } from '../../src/core/ports.ts'
import type { QuotaStore } from '../../src/core/ports.ts'
import { openSqliteQuota } from '../../src/ledger/sqlite/quota.ts'
import { startService } from '../../src/service/index.ts'

interface ConnectionText {
  readonly service: string
  readonly key: string
  readonly quota?: string
}

/** A configuration with these connections, each with its key in a file of its own. */
async function start(connections: Record<string, ConnectionText>) {
  const folder = await mkdtemp(join(tmpdir(), 'connections-'))
  const configFile = join(folder, 'records-sync.yaml')
  const keyFile = (name: string) => join(folder, `${name}.key`)
  const write = async () => {
    const lines = ['syncs: {}', 'connections:']
    for (const [name, { service, key, quota }] of Object.entries(connections)) {
      await writeFile(keyFile(name), `${key}\n`, { mode: 0o600 })
      lines.push(`  ${name}:`, `    service: ${service}`, `    key: { file: ./${name}.key }`)
      if (quota) lines.push(`    quota: ${quota}`)
    }
    await writeFile(configFile, lines.join('\n'))
  }
  await write()
  const store = openSqliteQuota(join(folder, 'quota.db'))
  const processOf = (user: string, quotaStore: QuotaStore = store, watch?: RequestObserver) => {
    const quotas = { store: quotaStore, user }
    const options = { configFile, env: {}, logger: silentLogger, quotas }
    const process = createClientRegistry({ ...options, ...(watch && { watch }) })
    onTestFinished(() => process.close())
    return process
  }
  onTestFinished(async () => {
    await store.close()
    await rm(folder, { recursive: true })
  })
  const rows = async () => {
    const { nowMs, orgs } = await store.all()
    return orgs.map(({ org, state }) => readQuotaView(org, state, nowMs))
  }
  return { store, processOf, rows, connections, write }
}

async function serve(options: Parameters<typeof startService>[0] = {}) {
  const service = await startService({ limitPerMinute: 6_000, ...options })
  onTestFinished(() => service.close())
  return service
}

test('connections of one org, in two processes, use one row; the org is asked for once', async () => {
  const service = await serve()
  const { store, processOf, rows } = await start({
    one: { service: service.url, key: service.key },
    two: { service: service.url, key: service.mintKey() },
  })
  const [first, second] = [processOf('first'), processOf('second')]
  const { client, keyFingerprint } = await first.connect('one')
  const org = `${client.origin} org ${service.orgId}`
  expect(await store.orgOfKey(`${client.origin} key#${keyFingerprint}`)).toBe(org)
  const { client: other } = await first.connect('two')
  await client.listObjectTypes()
  await other.listObjectTypes()
  const asked = service.stats().requests
  const { client: elsewhere } = await second.connect('one')
  await first.connect('one')
  // Who knows the row asks nobody.
  expect(service.stats().requests).toBe(asked)
  await elsewhere.listObjectTypes()
  expect(client.quota.limitPerMinute()).toBe(6_000)
  await first.close()
  await second.close()
  const row = (await rows()).find((one) => one.org === org)!
  expect(row.totals.requests).toBe(3)
  expect(row.users.map(({ name }) => name).toSorted()).toEqual(['first', 'second'])
  expect(row.limitPerMinute).toBe(6_000)
})

test('of connections of one org, the strictest reserve counts, until it leaves the file', async () => {
  const service = await serve()
  const { processOf, rows, connections, write } = await start({
    strict: { service: service.url, key: service.key, quota: '{ reserve_percent: 35 }' },
    lax: { service: service.url, key: service.mintKey() },
  })
  const process = processOf('worker')
  const reserve = async (name: string) => {
    const { client } = await process.connect(name)
    await client.readSelf()
    const org = `${client.origin} org ${service.orgId}`
    return (await rows()).find((one) => one.org === org)!.reserve
  }
  expect(await reserve('strict')).toBe(0.35)
  expect(await reserve('lax')).toBe(0.35)
  // A permit that was granted before is used first.
  connections['strict'] = { ...connections['strict']!, quota: '{ reserve_percent: 20 }' }
  await write()
  await expect.poll(() => reserve('lax'), { timeout: 500_000 }).toBe(0.2)
  delete connections['strict']
  await write()
  await expect.poll(() => reserve('lax'), { timeout: 500_000 }).toBe(0)
}, 600_000)

test('orgs apart: each has its row, and a replaced key moves to that of its org', async () => {
  const service = await serve()
  const orgId = service.orgId + 1
  service.addOrg(orgId)
  const { processOf, rows, connections, write } = await start({
    one: { service: service.url, key: service.key },
  })
  const process = processOf('worker')
  const { client } = await process.connect('one')
  await client.listObjectTypes()
  connections['one'] = { service: service.url, key: service.mintKey({ orgId }) }
  service.revokeKey(service.key)
  await write()
  // The revoked key is noticed by its 401, and read again.
  await client.readSelf()
  await process.connect('one')
  await client.listObjectTypes()
  await process.close()
  const names = (await rows()).map(({ org }) => org)
  expect(names).toContain(`${client.origin} org ${service.orgId}`)
  expect(names).toContain(`${client.origin} org ${orgId}`)
})

test('while nobody says whose key it is, it has a row of its own; it is asked for again', async () => {
  const service = await serve()
  // Its document is there, and nothing else.
  let isBusy = true
  const gate = createServer((request, response) => {
    if (isBusy && !request.url!.includes('openapi')) return void response.destroy()
    const { authorization = '' } = request.headers
    void fetch(`${service.url}${request.url}`, { headers: { authorization } })
      .then(async (answer) => {
        response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type')! })
        response.end(await answer.text())
      })
      .catch((error: unknown) => response.destroy(error as Error))
  })
  await new Promise<void>((resolve) => gate.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void gate.close())
  const { port } = gate.address() as AddressInfo
  const { store, processOf, rows } = await start({
    one: { service: `http://127.0.0.1:${port}`, key: service.key },
  })
  const process = processOf('worker')
  const { client, keyFingerprint } = await process.connect('one')
  const key = `${client.origin} key#${keyFingerprint}`
  expect(await store.orgOfKey(key)).toBeNull()
  expect((await rows()).map(({ org }) => org)).toEqual([key])
  isBusy = false
  await process.connect('one')
  expect(await store.orgOfKey(key)).toBe(`${client.origin} org ${service.orgId}`)
})

test("the configuration's reserve and shares are the row's, and follow the file", async () => {
  const service = await serve()
  const one = { service: service.url, key: service.key }
  const { processOf, rows, connections, write } = await start({
    one: { ...one, quota: '{ reserve_percent: 20 }' },
  })
  const process = processOf('worker')
  const { client } = await process.connect('one')
  await client.listObjectTypes()
  connections['one'] = { ...one, quota: '{ reserve_percent: 35 }' }
  await write()
  await process.connect('one')
  await client.listObjectTypes()
  await process.close()
  const row = (await rows()).find(({ org }) => org.includes(' org '))!
  expect(row.reserve).toBe(0.35)
})

test('a store that is away stops nobody', async () => {
  const service = await serve()
  const { store, processOf } = await start({ one: { service: service.url, key: service.key } })
  await store.close()
  const process = processOf('worker')
  const { client } = await process.connect('one')
  expect((await client.listObjectTypes()).length).toBeGreaterThan(0)
  await process.close()
})

test('whoever watches is told of every request once: how it ended, what it told of the quota, how long it waited', async () => {
  const service = await serve({ limitPerMinute: 6_000 })
  const { store, processOf } = await start({ one: { service: service.url, key: service.key } })
  const ends: object[] = []
  const waits: string[] = []
  const process = processOf('worker', store, {
    answered: (connection, end) => void ends.push({ connection, ...end }),
    waited: (connection, { priority, ms }) =>
      void waits.push(`${connection} ${priority} ${Number.isFinite(ms) && ms >= 0}`),
  })
  // The first one asks whose key it is.
  const { client } = await process.connect('one')
  await client.listObjectTypes({ priority: 'import' })
  await expect(client.readObjectType('svc_nothing')).rejects.toThrow()
  const aborted = client.listObjectTypes({ signal: AbortSignal.abort(new Error('enough')) })
  await expect(aborted).rejects.toThrow('enough')
  service.setDown(true)
  await expect(client.listObjectTypes({ retries: 0 })).rejects.toThrow()
  const told = { deprecation: null, connection: 'one', priority: 'interactive', limit: 6_000 }
  const none = { limit: null, remaining: null }
  expect(ends).toEqual([
    { ...told, status: 200, remaining: expect.any(Number) },
    { ...told, priority: 'import', status: 200, remaining: expect.any(Number) },
    { ...told, status: 404, remaining: expect.any(Number) },
    { ...told, ...none, status: null },
  ])
  expect(waits.filter((wait) => wait === 'one import true')).toHaveLength(1)
  expect(waits.length).toBeGreaterThanOrEqual(ends.length)
  expect(waits.every((wait) => wait.endsWith('true'))).toBe(true)
})

test.each([
  [
    '${CRM_KEY}',
    'environment variable `CRM_KEY`',
    'set it to a working key and start again what uses it',
  ],
  ['{ file: ./crm.key }', 'key file FOLDER/crm.key', 'write a working key into it'],
  ['{ command: "cat crm.key" }', 'key command', 'make it print a working key'],
])(
  'a key that is refused, from %s: the message says where it comes from',
  async (key, from, remedy) => {
    const service = await serve()
    const folder = await mkdtemp(join(tmpdir(), 'connections-'))
    onTestFinished(async () => await rm(folder, { recursive: true }))
    const secret = service.mintKey()
    service.revokeKey(secret)
    await writeFile(join(folder, 'crm.key'), secret, { mode: 0o600 })
    const file = join(folder, 'records-sync.yaml')
    const text = `syncs: {}\nconnections:\n  crm:\n    service: ${service.url}\n    key: ${key}\n`
    await writeFile(file, text.replace('cat crm.key', `cat ${folder}/crm.key`))
    const env = { CRM_KEY: secret }
    const connections = createClientRegistry({ configFile: file, env, logger: silentLogger })
    onTestFinished(() => connections.close())
    const { client, keyFingerprint } = await connections.connect('crm')
    const words = [
      `the key of connection "crm" (key#${keyFingerprint}) is refused (readSelf: the service answered 401 unauthenticated).`,
      `It comes from the ${from.replace('FOLDER', folder)}, as ${file}:5:10 says: ${remedy}`,
    ]
    const refused = expect.objectContaining({
      message: words.join(' '),
      block: 'auth',
      status: 401,
      problemCode: 'unauthenticated',
    })
    await expect(client.readSelf()).rejects.toEqual(refused)
    expect(words.join(' ')).not.toContain(secret)
    const { said } = await import('./cli/said.ts')
    const { check } = await import('../../src/cli/commands/check.ts')
    process.env['CRM_KEY'] = secret
    onTestFinished(() => void delete process.env['CRM_KEY'])
    const { out } = await said(file, (context) => check(context, { operations: false }), true)
    const { findings } = JSON.parse(out[0]!) as { findings: { message: string }[] }
    expect(findings[0]).toMatchObject({ subject: 'connection crm', message: words.join(' ') })
  },
)

test('a key that cannot be read: the message names the connection and the place', async () => {
  const service = await serve()
  const folder = await mkdtemp(join(tmpdir(), 'connections-'))
  onTestFinished(async () => await rm(folder, { recursive: true }))
  const file = join(folder, 'records-sync.yaml')
  await writeFile(
    file,
    `syncs: {}\nconnections: { crm: { service: "${service.url}", key: "\${NO_SUCH_KEY}" } }\n`,
  )
  const connections = createClientRegistry({ configFile: file, env: {}, logger: silentLogger })
  onTestFinished(() => connections.close())
  await expect(connections.connect('crm')).rejects.toThrow(
    `The API key could not be read: the key of connection "crm" (${file}:2:`,
  )
})

test.each([
  ['"${CRM_KEY}"', 'environment variable `CRM_KEY`'],
  ['{ command: "echo falsch" }', 'key command'],
])('a key of the wrong form, from %s: connection and place are named', async (key, from) => {
  const service = await serve()
  const folder = await mkdtemp(join(tmpdir(), 'connections-'))
  onTestFinished(async () => await rm(folder, { recursive: true }))
  const file = join(folder, 'records-sync.yaml')
  await writeFile(
    file,
    `syncs: {}\nconnections:\n  crm:\n    service: ${service.url}\n    key: ${key}\n`,
  )
  const env = { ...process.env, CRM_KEY: 'falsch' }
  const connections = createClientRegistry({ configFile: file, env, logger: silentLogger })
  onTestFinished(() => connections.close())
  const asking = connections.connect('crm')
  await expect(asking).rejects.toMatchObject({ disposition: 'halt', block: 'auth' })
  await expect(asking).rejects.toThrow(
    `The API key could not be read: the key of connection "crm" (${file}:5:10): The ${from} gives 6 characters; 8 to 512 printable ASCII characters without spaces were expected`,
  )
})
