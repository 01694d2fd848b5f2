// docker-compose.yml and the Dockerfile, without an engine: their scripts, commands and health checks run here as they are
// written, against the real service, a real PostgreSQL and a real Temporal server. Only paths, names of hosts and ports differ.

import { execFile, spawn, type ChildProcess } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
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
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { parse } from 'yaml'
import { silentLogger } from '../../src/core/ports.ts'
import { startTemporal, type TemporalServer } from '../../src/dev/temporal-server.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { main } from './project.ts'

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
      expect(mount).toMatch(/^(\$\{PROJECT:-project\}|\w+):\/[\w/]+(:ro)?$/)
    for (const mount of mounts)
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
  for (const [name, { user, cap_drop: dropped }] of ofOurs) {
    if (name === 'setup') continue
    expect(user).toBeUndefined()
    expect(dropped).toEqual(['ALL'])
  }
  for (const [, { environment = {} }] of all)
    for (const [name, value] of Object.entries(environment))
      if (/PASSWORD|PWD|KEY|SECRET/.test(name))
        expect([name, value]).toEqual(['POSTGRES_PASSWORD_FILE', '/secrets/postgres-password'])
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
  for (const name of ['secrets', 'records', 'project', 'bin']) mkdirSync(join(dir, name))
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

/** A text of the compose file or the Dockerfile as it is here. `$$` is a dollar there. */
const here = (text: string) =>
  text
    .replaceAll('$$', '$')
    .replaceAll(/(?<=^|[\s'"=:])\/(secrets|records|project)(?=[/\s'"]|$)/g, `${dir}/$1`)
    .replaceAll('/app/', root)
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
    .replaceAll('--port=8080', `--port=${port}`)
    .replaceAll('--host=0.0.0.0', '--host=127.0.0.1')
    .replaceAll('//records:8080', `//127.0.0.1:${port}`)
    .replaceAll('9464', String(metricsPort))
    .replaceAll('0.0.0.0:8088', '127.0.0.1:8088')
    .replaceAll('8088', String(consolePort))

function envOf({ environment = {} }: Service): Record<string, string> {
  const given = Object.entries(environment).map(([name, value]) => [name, here(value)])
  const path = `${join(dir, 'bin')}:${process.env['PATH']}`
  return { PATH: path, HOME: dir, ...Object.fromEntries(given), TEMPORAL_ADDRESS: temporal.address }
}

/** A service of ours, as its container starts it. */
function start(name: string): ChildProcess {
  const service = services[name]!
  const [command, ...initial] = JSON.parse(instruction('ENTRYPOINT')[0]!) as string[]
  expect([command, ...initial]).toEqual(['tini', '--', 'records-sync'])
  const args = service.command ?? (JSON.parse(instruction('CMD')[0]!) as string[])
  const child = spawn('records-sync', args.map(here), {
    cwd: join(dir, 'project'),
    env: envOf(service),
    stdio: 'ignore',
  })
  children.push(child)
  return child
}

/** Whether a check such as `[CMD, …]` ends with 0. */
const passes = async ([, command, ...args]: string[], service: Service) =>
  await run(command!, args.map(here), { env: envOf(service) }).then(
    () => true,
    () => false,
  )

test('the set-up makes what is secret once; service, worker and console of the image start with it, and an import runs', async () => {
  const { setup, records, worker, console } = services as Record<
    'setup' | 'records' | 'worker' | 'console',
    Service
  >
  // Whoever runs the tests need not be root.
  const script = `chown() { :; }\n${here(setup.command![0]!)}`
  const secrets = [
    'postgres-password',
    'ledger-url',
    'records-certificate',
    'records-certificate-key',
    'records-key',
    'console-certificate',
    'console-certificate-key',
    'console-password',
    'console-hash',
  ]
  const kept = () => secrets.map((name) => readFileSync(join(dir, 'secrets', name), 'utf8'))
  await run('sh', ['-euc', script], { env: envOf(setup) })
  const first = kept()
  await run('sh', ['-euc', script], { env: envOf(setup) })
  expect(kept()).toEqual(first)
  for (const name of secrets)
    expect(statSync(join(dir, 'secrets', name)).mode & 0o077, name).toBe(0)
  expect(first[0]).toMatch(/^[0-9a-f]{48}\n$/)
  expect(first[1]).toBe(`postgres://records:${first[0]!.trim()}@postgres:5432/records_sync`)
  writeFileSync(join(dir, 'secrets', 'ledger-url'), await postgres.newDatabase())

  const healthy = records.healthcheck!.test!
  expect(await passes(healthy, records)).toBe(false)
  start('records')
  await expect.poll(() => passes(healthy, records), { interval: 500 }).toBe(true)

  const ready = [
    'CMD',
    ...(JSON.parse(instruction('HEALTHCHECK')[0]!.split(' CMD ')[1]!) as string[]),
  ]
  expect(await passes(ready, worker)).toBe(false)
  start('worker')
  await expect.poll(() => passes(ready, worker), { interval: 500 }).toBe(true)

  const sync = ['run', '--all', '--json']
  const ran = run('records-sync', sync, { cwd: join(dir, 'project'), env: envOf(worker) })
  const { stdout } = await ran.catch((error: unknown) => error as { stdout: string })
  expect(JSON.parse(stdout)).toMatchObject({
    state: 'complete_with_rejects',
    runs: [
      { sync: 'companies', balanced: true },
      { sync: 'contacts', balanced: true },
      { sync: 'deals', balanced: true, links: { states: { parked: 1 } } },
      { sync: 'crm_copy', state: 'complete' },
    ],
  })

  const answers = console.healthcheck!.test!
  expect(await passes(answers, console)).toBe(false)
  start('console')
  await expect.poll(() => passes(answers, console), { interval: 500 }).toBe(true)
  const overview = await readOverview(kept()[7]!.trim())
  expect(overview.syncs.map(({ sync }) => sync)).toContain('crm_copy')
  await expect(readOverview('another password')).rejects.toThrow('401')
})

/** What the console gives the user of the compose file. @throws Error with the status that it answers else */
async function readOverview(password: string): Promise<{ syncs: { sync: string }[] }> {
  const ca = readFileSync(join(dir, 'secrets', 'console-certificate'))
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
