// docker-compose.yml and the Dockerfile, without an engine: their scripts, commands and health checks run here as they are
// written, against the real service, a real PostgreSQL and a real Temporal server. Only paths, names of hosts and ports differ.

import { execFile, spawn, type ChildProcess } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { get } from 'node:https'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { silentLogger } from '../../src/core/ports.ts'
import { startTemporal, type TemporalServer } from '../../src/dev/temporal-server.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { main } from './project.ts'
import { soakTest } from '../runs.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (name: string) => readFileSync(join(root, name), 'utf8')

interface Service {
  image: string
  build?: string
  user?: string
  entrypoint?: string[]
  command?: string[]
  environment?: Record<string, string>
  depends_on?: Record<string, { condition: string }>
  healthcheck?: { test?: string[] }
  ports?: string[]
  volumes?: string[]
  cap_drop?: string[]
  cap_add?: string[]
  security_opt?: string[]
  read_only?: boolean
  mem_limit?: string
  stop_grace_period?: string
}
const { services, volumes } = parse(read('docker-compose.yml'), { merge: true }) as {
  services: Record<string, Service>
  volumes: Record<string, null>
}
const all = Object.entries(services)
const ofOurs = all.filter(([, { build }]) => build !== undefined)
const dockerfile = read('Dockerfile')
  .replaceAll(/ *\\\n */g, ' ')
  .split('\n')
const instruction = (name: string) =>
  dockerfile
    .filter((line) => line.startsWith(`${name} `))
    .map((line) => line.slice(name.length + 1))

test('every image has a version, every port is of this machine, every volume is declared', () => {
  for (const [name, { image, build, ports = [], volumes: mounts = [] }] of all) {
    if (build === undefined) expect(image, name).toMatch(/:\d+\.\d+(\.\d+)?(-\w+)?$/)
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d*:\d+$/)
    for (const mount of mounts)
      expect(mount).toMatch(/^((\$\{PROJECT:-project\}|\w+):\/[\w./-]+(:ro)?|\/tmp)$/)
    for (const mount of mounts.filter((each) => each !== '/tmp'))
      expect(Object.keys(volumes)).toContain(
        mount.startsWith('$') ? 'project' : mount.split(':')[0],
      )
  }
  // Compose fills in what follows a single dollar.
  const single = JSON.stringify(services)
    .replaceAll('$$', '')
    .match(/\$[^"]{0,19}/g)
  expect(new Set(single)).toEqual(new Set(['${PROJECT:-project}:']))
  expect(instruction('ARG')).toEqual([
    expect.stringMatching(/^NODE=node:\d+\.\d+\.\d+-bookworm-slim$/),
  ])
})

test('whoever is waited for can be, and `up --wait` ends: what ends by itself is waited for', () => {
  const waits = all.flatMap(([, { depends_on: on = {} }]) => Object.entries(on))
  for (const [name, { condition }] of waits) {
    const { healthcheck } = services[name]!
    if (condition === 'service_healthy') expect(healthcheck?.test, name).toBeDefined()
  }
  const ended = waits.filter(([, { condition }]) => condition === 'service_completed_successfully')
  for (const name of ['setup', 'temporal-schema', 'temporal-namespace'])
    expect(ended.map(([one]) => one)).toContain(name)
})

test('nothing of ours runs as root but the set-up, and no secret is in a command or a variable', () => {
  expect(instruction('USER')).toEqual(['node'])
  for (const [name, { user }] of ofOurs) if (name !== 'setup') expect(user).toBeUndefined()
  for (const [, { environment = {} }] of all)
    for (const [name, value] of Object.entries(environment))
      if (/PASSWORD|PWD|KEY|SECRET/.test(name))
        expect([name, value]).toEqual([
          'POSTGRES_PASSWORD_FILE',
          '/docker-entrypoint-initdb.d/postgres-password',
        ])
})

test.each(all)('%s has no capability and gets no more rights', (name, service) => {
  expect(service.cap_drop).toEqual(['ALL'])
  expect(service.security_opt).toEqual(['no-new-privileges:true'])
  // It gives files to the users of the others.
  const added = name === 'setup' ? ['CHOWN', 'DAC_OVERRIDE', 'FOWNER'] : undefined
  expect(service.cap_add).toEqual(added)
  // They write their settings into their images.
  expect(service.read_only).toBe(['temporal', 'temporal-ui'].includes(name) ? undefined : true)
  if (name === 'worker' || name === 'console') expect(service.mem_limit).toBeDefined()
})

test('secrets of one container are in no other one, but for the set-up that makes them', () => {
  const secret = (mount: string) => /^(\w+)_secrets:/.exec(mount)?.[1]
  for (const [name, { volumes: mounts = [] }] of all) {
    const mounted = mounts.flatMap((mount) => secret(mount) ?? [])
    if (name === 'setup') continue
    const of = name === 'temporal-schema' ? 'temporal' : name
    expect(mounted.length, name).toBeLessThanOrEqual(1)
    for (const one of mounted) expect(one, name).toBe(of)
    for (const mount of mounts) if (secret(mount)) expect(mount).toMatch(/:ro$/)
  }
  const made = services['setup']!.volumes!.flatMap((mount) => secret(mount) ?? [])
  expect(made.toSorted()).toEqual(['console', 'postgres', 'records', 'setup', 'temporal', 'worker'])
})

test('a worker that is told to stop has longer than the 25 s that its batches may take', () => {
  const unit = read('config/examples/records-sync-worker.service')
  expect(unit).toMatch(/^TimeoutStopSec=30$/m)
  expect(unit).toMatch(/^KillSignal=SIGTERM$/m)
  expect(services['worker']).toMatchObject({ stop_grace_period: '30s' })
  expect(instruction('STOPSIGNAL')).toEqual(['SIGTERM'])
})

test('what the image is made of exists, and is not ignored', () => {
  const kept = new Set(
    read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1)),
  )
  const copied = instruction('COPY')
    .filter((line) => !line.startsWith('--from'))
    .flatMap((line) => line.split(' ').slice(0, -1))
  expect(copied.length).toBeGreaterThan(8)
  for (const name of copied) {
    expect(existsSync(join(root, name)), name).toBe(true)
    expect(kept, name).toContain(name.split('/')[0])
  }
})

let dir: string
let port: number
let metricsPort: number
let consolePort: number
let postgres: Postgres
let temporal: TemporalServer
const children: ChildProcess[] = []
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'records-sync-compose-'))
  const secrets = services['setup']!.volumes!.flatMap(
    (mount) => /_secrets:\/(secrets\/\w+)$/.exec(mount)?.[1] ?? [],
  )
  for (const name of ['secrets', 'records', 'bin', ...secrets, 'project'])
    mkdirSync(join(dir, name))
  symlinkSync(main, join(dir, 'bin', 'records-sync'))
  ;[port, metricsPort, consolePort] = [await freePort(), await freePort(), await freePort()]
  postgres = await startPostgres()
  temporal = await startTemporal({
    cliPath: inject('temporalCli'),
    port: 0,
    headless: true,
    logger: silentLogger,
  })
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await temporal.stop()
  await postgres.stop()
  rmSync(dir, { recursive: true })
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const free = (server.address() as AddressInfo).port
  await new Promise((resolve) => server.close(resolve))
  return free
}

/**
 * A text of the compose file or the Dockerfile as it is here. `$$` is a dollar there.
 * @param of the container, whose secrets are in a folder of its own; of the set-up, all are
 */
const here = (text: string, of = 'setup') =>
  text
    .replaceAll('$$', '$')
    .replaceAll(/(?<=^|[\s'"=:])\/(records|project)(?=[/\s'"]|$)/g, `${dir}/$1`)
    .replaceAll(/(?<=cd )\/secrets$/gm, `${dir}/secrets`)
    .replaceAll(
      /(?<=[\s'"=:]|^)\/secrets(?=\/)/g,
      of === 'setup' ? '/secrets' : `${dir}/secrets/${of}`,
    )
    .replaceAll('/app/', root)
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
    .replaceAll('--port=8080', `--port=${port}`)
    .replaceAll('--host=0.0.0.0', '--host=127.0.0.1')
    .replaceAll('//records:8080', `//127.0.0.1:${port}`)
    .replaceAll('9464', String(metricsPort))
    .replaceAll('0.0.0.0:8088', '127.0.0.1:8088')
    .replaceAll('8088', String(consolePort))

function envOf({ environment = {} }: Service, of: string): Record<string, string> {
  const given = Object.entries(environment).map(([name, value]) => [name, here(value, of)])
  const path = `${join(dir, 'bin')}:${process.env['PATH']}`
  return { PATH: path, HOME: dir, ...Object.fromEntries(given), TEMPORAL_ADDRESS: temporal.address }
}

/** The project as a container sees it: its secrets are at their places there. */
function projectOf(name: string): string {
  const folder = join(dir, `project-${name}`)
  if (existsSync(folder)) return folder
  cpSync(join(dir, 'project'), folder, { recursive: true })
  const file = join(folder, 'records-sync.yaml')
  writeFileSync(file, here(readFileSync(file, 'utf8'), name))
  return folder
}

/** A service of ours, as its container starts it. */
function start(name: string): ChildProcess {
  const service = services[name]!
  const [command, ...initial] = JSON.parse(instruction('ENTRYPOINT')[0]!) as string[]
  expect([command, ...initial]).toEqual(['tini', '--', 'records-sync'])
  const args = service.command ?? (JSON.parse(instruction('CMD')[0]!) as string[])
  const child = spawn(
    'records-sync',
    args.map((arg) => here(arg, name)),
    {
      cwd: projectOf(name),
      env: envOf(service, name),
      stdio: 'ignore',
    },
  )
  children.push(child)
  return child
}

/** Whether a check such as `[CMD, …]` ends with 0. */
const passes = async ([, command, ...args]: string[], name: string) =>
  await run(
    command!,
    args.map((arg) => here(arg, name)),
    { env: envOf(services[name]!, name) },
  ).then(
    () => true,
    () => false,
  )

/** What each container finds at /secrets. */
const SECRETS: Readonly<Record<string, readonly string[]>> = {
  setup: ['console-password', 'ledger-password'],
  postgres: ['postgres-password', 'roles.sql'],
  temporal: ['postgres-password'],
  records: ['records-certificate', 'records-certificate-key'],
  worker: ['ledger-url', 'records-certificate', 'records-key'],
  console: [
    'console-certificate',
    'console-certificate-key',
    'console-hash',
    'ledger-url',
    'records-certificate',
    'records-key',
  ],
}

const secretOf = (name: string, file: string) =>
  readFileSync(join(dir, 'secrets', name, file), 'utf8')

/** Runs statements of the database's administrator on the server of the tests, under names that nobody else has. */
async function makeRoles(text: string, url: string): Promise<(role: string, on: string) => string> {
  const suffix = `_${process.pid}_${Date.now()}`
  const own = text
    .replaceAll(/\b(ROLE|OWNER) (records|temporal)\b/g, `$1 $2${suffix}`)
    .replaceAll(/\b(DATABASE|,) ?(records_sync|temporal_visibility|temporal)\b/g, `$1 $2${suffix}`)
    .replace(', postgres FROM', ' FROM')
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  onTestFinished(async () => {
    for (const name of ['records_sync', 'temporal', 'temporal_visibility'])
      await admin.query(`DROP DATABASE IF EXISTS ${name}${suffix} WITH (FORCE)`)
    for (const role of ['records', 'temporal'])
      await admin.query(`DROP ROLE IF EXISTS ${role}${suffix}`)
    await admin.end()
  })
  for (const statement of own.split(';').filter((each) => each.trim() !== ''))
    await admin.query(statement)
  const passwords = [...text.matchAll(/ROLE (\w+) LOGIN PASSWORD '(\w+)'/g)]
  return (role, on) => {
    const place = new URL(url)
    place.username = role + suffix
    place.password = passwords.find(([, name]) => name === role)![2]!
    place.pathname = `/${on}${suffix}`
    return place.href
  }
}

test('the set-up makes what is secret once, for each container; each login of the database has its own databases alone', async () => {
  // Whoever runs the tests need not be root.
  const script = `chown() { :; }\n${here(services['setup']!.command![0]!)}`
  const env = envOf(services['setup']!, 'setup')
  const found = () =>
    Object.keys(SECRETS).map((name) => [name, readdirSync(join(dir, 'secrets', name)).toSorted()])
  const kept = () =>
    Object.entries(SECRETS).flatMap(([name, files]) => files.map((file) => secretOf(name, file)))
  await run('sh', ['-euc', script], { env })
  const first = kept()
  await run('sh', ['-euc', script], { env })
  expect(kept()).toEqual(first)
  expect(found()).toEqual(Object.entries(SECRETS))
  for (const [name, files] of Object.entries(SECRETS))
    for (const file of files)
      expect(statSync(join(dir, 'secrets', name, file)).mode & 0o077, `${name}/${file}`).toBe(0)
  const password = secretOf('setup', 'ledger-password')
  expect(password).toMatch(/^[0-9a-f]{48}\n$/)
  expect(secretOf('worker', 'ledger-url')).toBe(
    `postgres://records:${password.trim()}@postgres:5432/records_sync`,
  )
  // Whoever holds one of them has no other one.
  const own = ['postgres/postgres-password', 'temporal/postgres-password', 'setup/ledger-password']
  const three = own.map((place) => readFileSync(join(dir, 'secrets', place), 'utf8'))
  expect(new Set(three).size).toBe(3)
  expect(secretOf('worker', 'records-key')).not.toBe(secretOf('console', 'records-key'))

  const url = await makeRoles(secretOf('postgres', 'roles.sql'), await postgres.newDatabase())
  const ask = async (role: string, on: string, text: string) => {
    const client = new pg.Client({ connectionString: url(role, on) })
    try {
      await client.connect()
      return (await client.query(text)).rows as object[]
    } finally {
      await client.end()
    }
  }
  const databases = { records: ['records_sync'], temporal: ['temporal', 'temporal_visibility'] }
  for (const [role, its] of Object.entries(databases)) {
    for (const on of its) {
      await ask(role, on, 'CREATE SCHEMA a; CREATE TABLE b (c int); CREATE TABLE a.b (c int)')
      const isSuper =
        'SELECT rolsuper OR rolcreaterole OR rolcreatedb AS is FROM pg_roles WHERE rolname = current_user'
      expect(await ask(role, on, isSuper)).toEqual([{ is: false }])
    }
    for (const on of Object.values(databases)
      .flat()
      .filter((each) => !its.includes(each)))
      await expect(ask(role, on, 'SELECT 1'), `${role} on ${on}`).rejects.toThrow(
        /permission denied/,
      )
  }
  // What Temporal's tables of visibility need.
  await ask('temporal', 'temporal_visibility', 'CREATE EXTENSION IF NOT EXISTS btree_gin')
})

soakTest(
  'service, worker and console of the image start with their own secrets, and an import runs',
  async () => {
    const { records, worker, console } = services as Record<
      'records' | 'worker' | 'console',
      Service
    >
    const database = await postgres.newDatabase()
    for (const name of ['worker', 'console'])
      writeFileSync(join(dir, 'secrets', name, 'ledger-url'), database)

    const healthy = records.healthcheck!.test!
    expect(await passes(healthy, 'records')).toBe(false)
    start('records')
    await expect.poll(() => passes(healthy, 'records'), { interval: 500 }).toBe(true)

    const ready = [
      'CMD',
      ...(JSON.parse(instruction('HEALTHCHECK')[0]!.split(' CMD ')[1]!) as string[]),
    ]
    expect(await passes(ready, 'worker')).toBe(false)
    start('worker')
    await expect.poll(() => passes(ready, 'worker'), { interval: 500 }).toBe(true)

    const sync = ['run', '--all', '--json']
    const env = envOf(worker, 'worker')
    const ran = run('records-sync', sync, { cwd: projectOf('worker'), env })
    const { stdout } = await ran.catch((error: unknown) => error as { stdout: string })
    expect(JSON.parse(stdout)).toMatchObject({
      state: 'complete_with_rejects',
      runs: [
        { sync: 'companies', balanced: true },
        { sync: 'contacts', balanced: true },
        { sync: 'deals', balanced: true, links: { waiting: 1 } },
        { sync: 'crm_copy', state: 'complete' },
      ],
    })

    const answers = console.healthcheck!.test!
    expect(await passes(answers, 'console')).toBe(false)
    start('console')
    await expect.poll(() => passes(answers, 'console'), { interval: 500 }).toBe(true)
    const overview = await readOverview(secretOf('setup', 'console-password').trim())
    expect(overview.syncs.map(({ sync }) => sync)).toContain('crm_copy')
    await expect(readOverview('another password')).rejects.toThrow('401')
  },
)

/** What the console gives the user of the compose file. @throws Error with the status that it answers else */
async function readOverview(password: string): Promise<{ syncs: { sync: string }[] }> {
  const ca = readFileSync(join(dir, 'secrets', 'console', 'console-certificate'))
  const options = { ca, auth: `admin:${password}` }
  return await new Promise((resolve, reject) => {
    get(`https://localhost:${consolePort}/api/v1/overview`, options, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => (text += part))
      answer.on('end', () =>
        answer.statusCode === 200
          ? resolve(JSON.parse(text) as { syncs: { sync: string }[] })
          : reject(new Error(String(answer.statusCode))),
      )
    }).on('error', reject)
  })
}
