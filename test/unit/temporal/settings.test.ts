// Which place names the Temporal server, and that everything else about the connection is of the same place.

import { chmod, copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Environment } from '../../../config/index.ts'
import { ConfigError, SyncError } from '../../../src/core/errors.ts'
import { temporalSettings } from '../../../src/temporal/settings.ts'
import { folder, load } from '../config/project.ts'

const fixtures = fileURLToPath(new URL('../../fixtures/tls/', import.meta.url))
const rest = `connections:
  crm: { service: https://api.example.com, key: "\${KEY}" }
syncs:
  contacts:
    import:
      from: { csv: ./contacts.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      properties: { svc_external_id: id }
`

/** The settings of a project: its `temporal:`, the environment, and a temporal.toml in the home folder. */
async function settingsOf(given: { yaml?: string; env?: Environment; toml?: string }) {
  const home = await folder()
  if (given.toml !== undefined) {
    await mkdir(join(home, 'temporalio'))
    await writeFile(join(home, 'temporalio', 'temporal.toml'), given.toml)
  }
  // What XDG_CONFIG_HOME is on Linux, HOME is on macOS.
  await mkdir(join(home, 'Library', 'Application Support'), { recursive: true })
  const env = { XDG_CONFIG_HOME: home, HOME: home, KEY: 'k', ...given.env }
  const yaml = given.yaml === undefined ? '' : `temporal: ${given.yaml}\n`
  return temporalSettings(await load(rest + yaml, env), env)
}

/** What a connection would be made with. */
async function connectionOf(given: Parameters<typeof settingsOf>[0]) {
  const { address, namespace, access } = await settingsOf(given)
  return { address, namespace, ...(await access!.credentials()) }
}

async function refusal(given: Parameters<typeof settingsOf>[0]): Promise<string> {
  const error: unknown = await connectionOf(given).catch((caught: unknown) => caught)
  expect(error).toBeInstanceOf(ConfigError)
  return (error as ConfigError).message
}

const plain = { tls: false, apiKey: null, metadata: {} }
const linux = process.platform === 'linux'

describe('the address is of the first place that names one', () => {
  test.each([
    ['this machine', {}, { address: '127.0.0.1:7233', namespace: 'default', ...plain }],
    [
      'the configuration',
      { yaml: '{ address: "yaml:1", namespace: y }' },
      { address: 'yaml:1', namespace: 'y', ...plain },
    ],
    [
      'the environment, before the configuration',
      { yaml: '{ address: "yaml:1", namespace: y }', env: { TEMPORAL_ADDRESS: 'env:2' } },
      { address: 'env:2', namespace: 'y', ...plain },
    ],
    [
      'a namespace of the environment, with whatever address',
      { yaml: '{ address: "yaml:1", namespace: y }', env: { TEMPORAL_NAMESPACE: 'e' } },
      { address: 'yaml:1', namespace: 'e', ...plain },
    ],
    [
      'an empty variable says nothing',
      {
        yaml: '{ address: "yaml:1", api_key: "${K}" }',
        env: { TEMPORAL_ADDRESS: '', TEMPORAL_TLS: '', TEMPORAL_NAMESPACE: '', K: 'key' },
      },
      { address: 'yaml:1', namespace: 'default', tls: {}, apiKey: 'key', metadata: {} },
    ],
    [
      'an empty TEMPORAL_TLS does not switch TLS off',
      { env: { TEMPORAL_ADDRESS: 'env', TEMPORAL_TLS: '', TEMPORAL_API_KEY: 'key' } },
      { address: 'env:7233', namespace: 'default', tls: {}, apiKey: 'key', metadata: {} },
    ],
    [
      'headers of the environment',
      { env: { TEMPORAL_ADDRESS: 'env:1', TEMPORAL_GRPC_META_TEAM: 'a' } },
      { address: 'env:1', namespace: 'default', ...plain, metadata: { team: 'a' } },
    ],
  ])('%s', async (_, given, expected) => {
    expect(await connectionOf(given)).toEqual(expected)
  })

  test.runIf(linux)('temporal.toml: its default profile last, a chosen one first', async () => {
    const toml =
      '[profile.default]\naddress = "toml:1"\nnamespace = "t"\n[profile.prod]\naddress = "prod:2"\napi_key = "toml-key"\n'
    const yaml = '{ address: "yaml:3" }'
    const env = { TEMPORAL_PROFILE: 'prod' }
    expect(await connectionOf({ toml })).toEqual({ address: 'toml:1', namespace: 't', ...plain })
    expect(await connectionOf({ toml, yaml })).toMatchObject({ address: 'yaml:3', ...plain })
    const prod = { address: 'prod:2', apiKey: 'toml-key', tls: {} }
    expect(await connectionOf({ toml, yaml, env })).toMatchObject(prod)
    const both = { ...env, TEMPORAL_ADDRESS: 'env:4' }
    expect(await connectionOf({ toml, yaml, env: both })).toMatchObject({
      address: 'env:4',
      ...plain,
    })
    // Without a profile there, and with a file of nothing, the next place is asked.
    expect(await connectionOf({ toml: '' })).toMatchObject({ address: '127.0.0.1:7233' })
  })

  test('a file of TEMPORAL_CONFIG_FILE', async () => {
    const file = join(await folder(), 'mine.toml')
    await writeFile(file, '[profile.default]\naddress = "mine:1"\n')
    const yaml = '{ address: "yaml:3" }'
    const env = { TEMPORAL_CONFIG_FILE: file }
    expect(await connectionOf({ yaml, env })).toMatchObject({ address: 'mine:1' })
  })
})

test.runIf(linux)('a key goes to no server that another place named', async () => {
  const place = fc.record({ address: fc.boolean(), key: fc.boolean() })
  const places = { env: place, chosen: place, yaml: place, toml: place }
  const wanted = (name: string, { address, key }: { address: boolean; key: boolean }) =>
    [address && `address = "${name}:1"`, key && `api_key = "${name}"`].filter(Boolean).join('\n')
  await fc.assert(
    fc.asyncProperty(fc.record({ ...places, choose: fc.boolean() }), async (given) => {
      const { env, chosen, yaml, toml, choose } = given
      const ofYaml = [
        yaml.address && 'address: "yaml:1"',
        yaml.key && 'api_key: "${YAML_KEY}"',
      ].filter(Boolean)
      const outcome = connectionOf({
        env: {
          YAML_KEY: 'yaml',
          ...(env.address && { TEMPORAL_ADDRESS: 'env:1' }),
          ...(env.key && { TEMPORAL_API_KEY: 'env' }),
          ...(choose && { TEMPORAL_PROFILE: 'chosen' }),
        },
        ...(ofYaml.length > 0 && { yaml: `{ ${ofYaml.join(', ')} }` }),
        toml: `[profile.default]\n${wanted('toml', toml)}\n[profile.chosen]\n${wanted('chosen', chosen)}\n`,
      })
      const expected = env.address
        ? 'env'
        : choose
          ? chosen.address
            ? 'chosen'
            : 'refused'
          : yaml.address
            ? 'yaml'
            : yaml.key
              ? 'refused'
              : toml.address
                ? 'toml'
                : '127.0.0.1'
      if (expected === 'refused') {
        await expect(outcome).rejects.toThrow(ConfigError)
        return
      }
      const { address, apiKey, tls } = await outcome
      const hasKey = expected !== '127.0.0.1' && given[expected].key
      expect(address).toBe(expected === '127.0.0.1' ? '127.0.0.1:7233' : `${expected}:1`)
      expect(apiKey).toBe(hasKey ? expected : null)
      expect(tls).toEqual(hasKey ? {} : false)
    }),
    { numRuns: 60 },
  )
})

test('nothing secret is in what may be logged', async () => {
  const file = join(await folder(), 'mine.toml')
  await writeFile(file, '[profile.default]\naddress = "mine:1"\napi_key = "SECRET"\n')
  const all = await Promise.all([
    settingsOf({ env: { TEMPORAL_ADDRESS: 'a:1', TEMPORAL_API_KEY: 'SECRET' } }),
    settingsOf({ env: { TEMPORAL_CONFIG_FILE: file } }),
    settingsOf({ yaml: '{ address: "a:1", api_key: "${K}" }', env: { K: 'SECRET' } }),
  ])
  for (const settings of all) {
    const shown =
      inspect({ ...settings }, { depth: 9, showHidden: true }) + JSON.stringify(settings)
    expect(shown).not.toContain('SECRET')
    expect((await settings.access!.credentials()).apiKey).toBe('SECRET')
  }
})

describe('certificates', () => {
  /** A folder with the certificates of the tests, the keys readable for their owner only. */
  async function certificates(): Promise<string> {
    const dir = await folder()
    for (const name of ['ca.pem', 'client.pem', 'client-key.pem', 'other-client-key.pem']) {
      await copyFile(join(fixtures, name), join(dir, name))
      await chmod(join(dir, name), name.includes('key') ? 0o600 : 0o644)
    }
    return dir
  }
  const yamlWith = (dir: string, { ca = 'ca.pem', cert = 'client.pem', key = 'client-key.pem' }) =>
    `{ address: "a:1", tls: { server_ca: ${dir}/${ca}, client_cert: ${dir}/${cert}, client_key: ${dir}/${key}, server_name: temporal.test } }`

  test('of the configuration and of the environment', async () => {
    const dir = await certificates()
    const expected = {
      serverNameOverride: 'temporal.test',
      serverRootCACertificate: expect.any(Buffer),
      clientCertPair: { crt: expect.any(Buffer), key: expect.any(Buffer) },
    }
    expect((await connectionOf({ yaml: yamlWith(dir, {}) })).tls).toEqual(expected)
    const env = {
      TEMPORAL_ADDRESS: 'a:1',
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: `${dir}/ca.pem`,
      TEMPORAL_TLS_CLIENT_CERT_PATH: `${dir}/client.pem`,
      TEMPORAL_TLS_CLIENT_KEY_PATH: `${dir}/client-key.pem`,
      TEMPORAL_TLS_SERVER_NAME: 'temporal.test',
    }
    expect((await connectionOf({ env })).tls).toEqual(expected)
  })

  test('that cannot be used', async () => {
    const dir = await certificates()
    await writeFile(join(dir, 'bad.pem'), 'SECRET text', { mode: 0o600 })
    await copyFile(join(dir, 'client-key.pem'), join(dir, 'open.pem'))
    await chmod(join(dir, 'open.pem'), 0o640)
    const of = (files: Parameters<typeof yamlWith>[1]) => refusal({ yaml: yamlWith(dir, files) })
    expect(await of({ ca: 'none.pem' })).toContain(
      `records-sync.yaml: temporal.tls.server_ca: there is no file ${dir}/none.pem`,
    )
    expect(await of({ ca: 'bad.pem' })).toMatch(/temporal\.tls\.server_ca: expected certificates/)
    expect(await of({ key: 'bad.pem' })).toMatch(
      /temporal\.tls\.client_key: expected a private key/,
    )
    expect(await of({ key: 'open.pem' })).toMatch(
      /temporal\.tls\.client_key: others may read .*open\.pem; make it readable for its owner only/,
    )
    expect(await of({ key: 'other-client-key.pem' })).toMatch(
      /temporal\.tls\.client_key: it is not the key of temporal\.tls\.client_cert/,
    )
    expect(await of({ cert: 'bad.pem' })).not.toContain('SECRET')
    const half = { TEMPORAL_ADDRESS: 'a:1', TEMPORAL_TLS_CLIENT_CERT_PATH: `${dir}/client.pem` }
    expect(await refusal({ env: half })).toBe(
      'environment: TEMPORAL_TLS_CLIENT_CERT_PATH: a certificate and its key come together',
    )
  })
})

describe('what is refused', () => {
  const address = { TEMPORAL_ADDRESS: 'a:1' }
  test.each([
    ['TLS by a misspelt word', { ...address, TEMPORAL_TLS: 'yes' }, /TEMPORAL_TLS: expected true/],
    [
      'a key without TLS',
      { ...address, TEMPORAL_TLS: 'false', TEMPORAL_API_KEY: 'SECRET' },
      /an API key is sent over TLS only/,
    ],
    [
      'a key as a header, without TLS',
      { ...address, TEMPORAL_GRPC_META_AUTHORIZATION: 'Bearer SECRET' },
      /an API key is sent over TLS only/,
    ],
    [
      'certificates with TLS off',
      { ...address, TEMPORAL_TLS: '0', TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/x' },
      /TLS is switched off although/,
    ],
    [
      'not to look at the certificate',
      { ...address, TEMPORAL_TLS_DISABLE_HOST_VERIFICATION: 'true' },
      /certificate is always checked/,
    ],
    [
      'a certificate twice',
      {
        ...address,
        TEMPORAL_TLS_CLIENT_CERT_PATH: '/x',
        TEMPORAL_TLS_CLIENT_CERT_DATA: 'SECRET',
      },
      /Cannot specify both client_cert_path and client_cert_data/,
    ],
    ['a URL', { TEMPORAL_ADDRESS: 'https://SECRET@a' }, /address: expected host:port/],
    ['a file that is not there', { TEMPORAL_CONFIG_FILE: '/none.toml' }, /no file \/none\.toml/],
  ])('%s', async (_, env, message) => {
    const said = await refusal({ env })
    expect(said).toMatch(message)
    expect(said).not.toContain('SECRET')
  })

  test.each([
    ['[profile.default]\napi_key = "SECRET\n', /line 2, column \d+: expected TOML/],
    ['[profile.other]\napi_key = "SECRET"\n', /profile\.prod, chosen .*no such profile/],
    ['[profile.prod]\napi_key = "SECRET"\n', /profile\.prod, chosen .*no `address`/],
    ['profile = "SECRET"\n', /expected tables|no such profile/],
  ])('a temporal.toml such as %j', async (toml, message) => {
    const file = join(await folder(), 'mine.toml')
    await writeFile(file, toml)
    const said = await refusal({ env: { TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: 'prod' } })
    expect(said).toMatch(message)
    expect(said).not.toContain('SECRET')
  })

  test('a key or TLS without the address that it is for', async () => {
    const yaml = '{ api_key: "${K}" }'
    expect(await refusal({ yaml, env: { K: 'SECRET' } })).toMatch(/temporal\.api_key: it is for/)
    expect(await refusal({ yaml: '{ tls: true }' })).toMatch(/temporal\.tls: it is for the server/)
  })

  test('keys of encryption that are no keys', async () => {
    const { access } = await settingsOf({
      yaml: '{ encryption_keys: ["${GOOD}", "${BAD}"] }',
      env: { GOOD: Buffer.alloc(32, 7).toString('base64'), BAD: 'SECRET' },
    })
    const error: unknown = await access!.codec().catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(SyncError)
    expect((error as SyncError).message).toBe(
      'temporal.encryption_keys[1]: expected 32 bytes in base64; make some with: openssl rand -base64 32',
    )
  })
})
