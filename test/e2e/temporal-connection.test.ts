// The connection to Temporal for real: TLS in both directions, API keys, encrypted payloads, search attributes.

import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TLSConfig } from '@temporalio/client'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { loadConfig } from '../../config/index.ts'
import { SEARCH_ATTRIBUTES } from '../../src/core/temporal/search-attributes.ts'
import { silentLogger } from '../../src/core/ports.ts'
import {
  connectVerified,
  connectWithRetry,
  connectClient,
  credentialsOf,
  type Connected,
} from '../../src/temporal/client.ts'
import { startCodecServer } from '../../src/temporal/codec-server.ts'
import { ensureSearchAttributes } from '../../src/temporal/search-attributes.ts'
import { temporalSettings, type TemporalSettings } from '../../src/temporal/settings.ts'
import { connectWorker } from '../../src/temporal/worker.ts'
import { startWorker } from '../../src/worker.ts'
import { importSync } from '../../workflows/names.ts'
import { contactsCsv, createProject, fastTuning } from './project.ts'
import { fixture, pem, startGate } from './temporal-gate.ts'
import { untilHung } from '../hang.ts'

const dev = inject('temporalAddress')
const ca = pem('ca.pem')
const stranger = { crt: pem('other-client.pem'), key: pem('other-client-key.pem') }

function settings(
  address: string,
  tls: TLSConfig | false = false,
  given: { apiKey?: string; namespace?: string } = {},
): TemporalSettings {
  const { apiKey = null, namespace = 'default' } = given
  return {
    address,
    namespace,
    access: {
      credentials: async () => ({ tls, apiKey, metadata: {} }),
      codec: async () => null,
    },
  }
}

async function connected(of: TemporalSettings): Promise<Connected> {
  const connection = await connectClient(of)
  onTestFinished(() => connection.close())
  return connection
}

async function refusal(of: TemporalSettings, connect: (of: TemporalSettings) => Promise<unknown>) {
  const began = Date.now()
  const error: unknown = await connect(of).catch((caught: unknown) => caught)
  expect(Date.now() - began).toBeLessThan(8_000)
  expect((error as Error).message).not.toMatch(/SECRET|BEGIN/)
  return error
}

describe('a connection that cannot be made says why', () => {
  /** What the address answers that is no Temporal server. */
  async function silentServer(words: string | null): Promise<string> {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      if (words !== null) socket.end(words)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    return `127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  const gate = async () => (await startGate(dev)).address
  const mutual = async () => (await startGate(dev, { mutual: true })).address

  test.each<[string, () => Promise<TemporalSettings>, string, RegExp]>([
    ['nothing there', async () => settings('127.0.0.1:1'), 'temporal_unreachable', /:1\. Start/],
    [
      'no such host',
      async () => settings('nobody.invalid:7233'),
      'temporal_unreachable',
      /nobody\.invalid:\d+: the host name of nobody\.invalid:\d+ does not resolve.* Correct TEMPORAL_ADDRESS/,
    ],
    [
      'another server',
      async () => settings(await silentServer('HTTP/1.1 400 Bad Request\r\n\r\n')),
      'temporal_foreign',
      /not as a Temporal server/,
    ],
    [
      'another server, with TLS',
      async () => settings(await silentServer('HTTP/1.1 400 Bad Request\r\n\r\n'), {}),
      'temporal_foreign',
      /not as a Temporal server/,
    ],
    [
      'a server of another CA',
      async () => settings(await gate(), { serverRootCACertificate: pem('other-ca.pem') }),
      'temporal_tls_untrusted',
      /no CA that we know .*`server_ca`/,
    ],
    ['a CA of nobody', async () => settings(await gate(), {}), 'temporal_tls_untrusted', /CA/],
    [
      'a server of another name',
      async () =>
        settings(await gate(), { serverRootCACertificate: ca, serverNameOverride: 'other.test' }),
      'temporal_tls_untrusted',
      /for another name.*`server_name`/,
    ],
    [
      'no client certificate',
      async () => settings(await mutual(), { serverRootCACertificate: ca }),
      'temporal_tls_client_certificate',
      /asks for a client certificate.*`client_cert`/,
    ],
    [
      'a client certificate of another CA',
      async () =>
        settings(await mutual(), { serverRootCACertificate: ca, clientCertPair: stranger }),
      'temporal_tls_client_certificate',
      /does not accept our client certificate/,
    ],
    [
      'TLS to a server without',
      async () => settings(dev, { serverRootCACertificate: ca }, { apiKey: 'SECRET' }),
      'temporal_tls_absent',
      /speaks no TLS/,
    ],
    [
      'no TLS to a server with',
      async () => settings(await gate()),
      'temporal_tls_required',
      /expects TLS; set `tls: true`/,
    ],
    [
      'a namespace that is not there',
      async () => settings(dev, false, { namespace: 'nowhere' }),
      'temporal_namespace_unknown',
      /temporal operator namespace create --namespace nowhere/,
    ],
  ])('%s', async (_, given, code, message) => {
    const of = await given()
    const expected = { code, message: expect.stringMatching(message) }
    expect(await refusal(of, connectClient)).toMatchObject(expected)
    const asWorker = (settings: TemporalSettings) => connectWorker(settings, silentLogger)
    expect(await refusal(of, asWorker)).toMatchObject(expected)
  })

  test('a server that says nothing is called slow, and is asked again until it answers', async () => {
    const silent = settings(await silentServer(null))
    const attempt = connectVerified(silent, await credentialsOf(silent), { maxMs: 200 })
    await expect(attempt).rejects.toMatchObject({ code: 'temporal_slow' })

    let asked = 0
    const told: string[] = []
    const connection = await connectWithRetry(
      async () => {
        const of = asked++ < 2 ? silent : settings(dev)
        return await connectVerified(of, await credentialsOf(of), {
          maxMs: asked > 2 ? 60_000 : 200,
        })
      },
      { maxMs: 600_000, report: (why) => void told.push(why) },
    )
    await connection.close()
    expect([asked, told.length]).toEqual([3, 1])
    expect(told[0]).toMatch(/takes connections, but does not answer in time/)

    const foreign = settings(await silentServer('HTTP/1.1 400 Bad Request\r\n\r\n'))
    await expect(
      connectWithRetry(async () => await connectVerified(foreign, await credentialsOf(foreign)), {
        maxMs: 600_000,
        report: () => {},
      }),
    ).rejects.toMatchObject({ code: 'temporal_foreign' })
  })

  test('an API key that is missing, wrong, or of another namespace', async () => {
    const { address, authorizations } = await startGate(dev, {
      refuse: (_, authorization) =>
        authorization === 'Bearer SECRET-good'
          ? null
          : authorization === 'Bearer SECRET-other'
            ? 7
            : 16,
    })
    const tls = { serverRootCACertificate: ca }
    const attempt = (apiKey?: string) =>
      refusal(settings(address, tls, apiKey === undefined ? {} : { apiKey }), connectClient)
    expect(await attempt()).toMatchObject({
      code: 'temporal_key_refused',
      message: expect.stringContaining('a key from another place is not sent to it'),
    })
    expect(await attempt('SECRET-bad')).toMatchObject({
      code: 'temporal_key_refused',
      message: expect.stringContaining('does not accept the API key'),
    })
    expect(await attempt('SECRET-other')).toMatchObject({
      code: 'temporal_forbidden',
      message: expect.stringMatching(/namespace default; .*permissions of the API key/),
    })
    await connected(settings(address, tls, { apiKey: 'SECRET-good' }))
    const worker = await connectWorker(
      settings(address, tls, { apiKey: 'SECRET-good' }),
      silentLogger,
    )
    await worker.close()
    expect(authorizations.size).toBe(4)
    // Not even a server whose certificate is not trusted gets to see a key.
    const other = await startGate(dev)
    await refusal(settings(other.address, {}, { apiKey: 'SECRET-good' }), connectClient)
    await refusal(settings(other.address, {}, { apiKey: 'SECRET-good' }), (of) =>
      connectWorker(of, silentLogger),
    )
    expect(other.authorizations.size).toBe(0)
  })
})

describe('search attributes', () => {
  const numbers = { Keyword: 2, Int: 3 } as const
  const ours = Object.fromEntries(
    Object.entries(SEARCH_ATTRIBUTES).map(([name, type]) => [name, numbers[type]]),
  )
  let serial = 0

  /** A namespace without any, and a connection to it. */
  async function namespace(searchAttributes?: Record<string, number>) {
    const name = `attributes-${process.pid}-${Date.now()}-${serial++}`
    const { client } = await connected(settings(dev))
    const { connection } = client
    await connection.workflowService.registerNamespace({
      namespace: name,
      workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
    })
    const { operatorService } = connection
    if (searchAttributes)
      await operatorService.addSearchAttributes({ namespace: name, searchAttributes })
    const listed = async () =>
      (await operatorService.listSearchAttributes({ namespace: name })).customAttributes
    return { name, connection, listed }
  }

  test('are registered once, by however many workers at once', async () => {
    const { name, connection, listed } = await namespace({ SyncKind: 2, Theirs: 1 })
    await Promise.all(Array.from({ length: 8 }, () => ensureSearchAttributes(connection, name)))
    await ensureSearchAttributes(connection, name)
    expect(await listed()).toEqual({ ...ours, Theirs: 1 })
  })

  test('of another type are said, with the commands', async () => {
    const { name, connection } = await namespace({ RowsFailed: 2 })
    await expect(ensureSearchAttributes(connection, name)).rejects.toMatchObject({
      code: 'search_attributes',
      message: expect.stringContaining(
        `remove --namespace ${name} --name RowsFailed\ntemporal operator search-attribute create --namespace ${name} --name RowsFailed --type Int`,
      ),
    })
  })

  test('are there before a worker polls, or it does not start', async () => {
    const { name } = await namespace({ RowsFailed: 2 })
    const dir = mkdtempSync(join(tmpdir(), 'records-sync-test-'))
    onTestFinished(() => rmSync(dir, { recursive: true }))
    const configFile = join(dir, 'records-sync.yaml')
    writeFileSync(configFile, config('"${CODEC_KEY}"'))
    const env = { RECORDS_URL: 'http://127.0.0.1:1', CODEC_KEY: randomBytes(32).toString('base64') }
    const of = {
      configFile,
      env,
      temporal: { address: dev, namespace: name },
      logger: silentLogger,
    }
    await expect(startWorker(of)).rejects.toMatchObject({ code: 'search_attributes' })
    const keyless = { ...of, env: { ...env, CODEC_KEY: 'SECRET' } }
    await expect(startWorker(keyless)).rejects.toMatchObject({ code: 'codec_key_invalid' })
  })

  test('for which there is no room are said', async () => {
    const taken = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`K${index}`, 2]))
    const { name, connection } = await namespace(taken)
    await expect(ensureSearchAttributes(connection, name)).rejects.toMatchObject({
      code: 'search_attributes',
      message: expect.stringContaining(`--namespace ${name} --name SyncName --type Keyword`),
    })
  })

  test.each([7, 12])('that may not be added (status %i) are searched for', async (code) => {
    const { address } = await startGate(dev, {
      refuse: (path) => (path.includes('OperatorService') ? code : null),
    })
    const tls = { serverRootCACertificate: ca }
    const worker = await connectWorker(settings(address, tls), silentLogger)
    onTestFinished(() => worker.close())
    const { client } = await connected(settings(address, tls))
    for (const connection of [worker, client.connection]) {
      await ensureSearchAttributes(connection, 'default')
      await expect(ensureSearchAttributes(connection, 'temporal-system')).rejects.toMatchObject({
        code: 'search_attributes',
        message: expect.stringMatching(/may not add them[^]*--name SyncState --type Keyword/),
      })
    }
  })
})

const config = (keys: string) => `
ledger: ./ledger.db
connections:
  crm: { service: "\${RECORDS_URL}", key: { file: ./key } }
temporal: { encryption_keys: [${keys}] }
syncs:
  contacts:
    import:
      from: { csv: ./contacts.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      verify: none
      properties: { svc_external_id: id, svc_first_name: first_name }
`

test('certificates of both sides, and nothing plain in Temporal; a renewed key, and a run of the old one', async () => {
  const project = await createProject({ config: config('{ file: ./old }') })
  onTestFinished(() => project.stop())
  for (const name of ['old', 'new']) project.write(name, randomBytes(32).toString('base64'))
  project.write('contacts.csv', contactsCsv(20))
  const { address } = await startGate(project.address, { mutual: true })
  Object.assign(project.env, {
    TEMPORAL_ADDRESS: address,
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: fixture('ca.pem'),
    TEMPORAL_TLS_CLIENT_CERT_PATH: fixture('client.pem'),
    TEMPORAL_TLS_CLIENT_KEY_PATH: project.write('client-key.pem', pem('client-key.pem').toString()),
  })
  const own = async () =>
    temporalSettings(await loadConfig(project.configFile, project.env), project.env)
  const start = {
    taskQueue: await project.queue(),
    args: [{ sync: 'contacts', tuning: fastTuning }],
  }
  const resultOf = async ({ client }: Pick<Connected, 'client'>, workflowId: string) =>
    (await client.workflow.getHandle(workflowId).result()) as unknown
  const complete = expect.objectContaining({ state: 'complete' })
  const [old, plain] = [project.workflowId('old'), project.workflowId('plain')]

  const before = await connected(await own())
  await before.client.workflow.start(importSync, { ...start, workflowId: old })
  project.write('records-sync.yaml', config('{ file: ./new }, { file: ./old }'))
  project.spawnWorker()
  const after = await connected(await own())
  expect(await resultOf(after, old)).toEqual(complete)

  const run = await project.cli('run', 'contacts', '--json')
  expect(run.code).toBe(0)
  const { state, workflow_id: workflowId } = JSON.parse(run.out) as Record<string, string>
  expect(state).toBe('complete')
  expect(await resultOf(after, workflowId!)).toEqual(complete)
  const history = await project.client.workflow.getHandle(workflowId!).fetchHistory()
  const encodings = payloadsOf(history).filter(({ path }) => !path.includes('indexedFields'))
  expect(encodings.length).toBeGreaterThan(5)
  expect(encodings.filter(({ encoding }) => encoding !== 'binary/encrypted')).toEqual([])
  await expect(resultOf(before, workflowId!)).rejects.toThrow(
    /It is encrypted with key [0-9a-f]{16}, and temporal\.encryption_keys has [0-9a-f]{16}; add/,
  )

  // A run that somebody starts in the UI, without any codec, is taken too; what it gives is encrypted.
  await project.client.workflow.start(importSync, { ...start, workflowId: plain })
  expect(await resultOf(after, plain)).toEqual(complete)
  await expect(resultOf(project, plain)).rejects.toThrow(/binary\/encrypted/)

  const codec = (await (await own()).access!.codec())!
  const server = await startCodecServer({ codec, namespace: 'default', origins: [], port: 0 })
  onTestFinished(() => server.close())
  const shown = await promisify(execFile)(
    inject('temporalCli'),
    `workflow show --address ${project.address} -w ${workflowId} -o json --codec-endpoint ${server.url}`.split(
      ' ',
    ),
    untilHung,
  )
  expect(shown.stdout).toContain(Buffer.from('{"sync":"contacts"').toString('base64'))
  expect(shown.stdout).not.toContain(Buffer.from('binary/encrypted').toString('base64'))
  // A CA that Node trusts, and the operating system does not.
  delete project.env['TEMPORAL_TLS_SERVER_CA_CERT_PATH']
  project.env['NODE_EXTRA_CA_CERTS'] = fixture('ca.pem')
  expect(await project.cli('worker')).toMatchObject({
    code: 3,
    err: expect.stringContaining('accepts commands, but no worker'),
  })
})

/** Every payload that is anywhere in a history. */
function payloadsOf(value: unknown, path = ''): { path: string; encoding: string }[] {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return []
  const { metadata } = value as { metadata?: Record<string, Uint8Array> | null }
  if (metadata?.['encoding'] instanceof Uint8Array)
    return [{ path, encoding: Buffer.from(metadata['encoding']).toString() }]
  return Object.entries(value).flatMap(([name, inner]) => payloadsOf(inner, `${path}.${name}`))
}
