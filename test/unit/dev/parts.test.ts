// `dev.json`: commands find the parts of their own project that run now, and believe no other file.

import { execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { claimParts } from '../../../src/dev/claim.ts'
import {
  findParts,
  readParts,
  stateDirOf,
  untilPartsStarted,
  withDevService,
} from '../../../src/dev/parts.ts'
import { createContext } from '../../../src/cli/shared/context.ts'
import { startLocal } from '../../../src/cli/shared/local.ts'
import { loadConfig } from '../../../config/index.ts'
import { untilHung } from '../../hang.ts'
import { tempFolder } from './scripts.ts'

const running = {
  command: 'dev',
  sync: null,
  temporal: { address: '127.0.0.1:7243', namespace: 'default', ui: 'http://127.0.0.1:8243' },
  service: 'http://127.0.0.1:8081',
  isReady: true,
}

function project(): { configFile: string; stateDir: string } {
  const configFile = join(tempFolder(), 'records-sync.yaml')
  writeFileSync(configFile, '')
  return { configFile, stateDir: stateDirOf(configFile) }
}

async function claimed(parts: object = {}) {
  const { configFile, stateDir } = project()
  const claim = await claimParts(configFile, stateDir)
  onTestFinished(() => claim.release())
  claim.write({ ...running, ...parts })
  return { configFile, stateDir, claim, file: join(stateDir, 'dev.json') }
}

test('the parts are found while they run, by any path of the configuration, and by nobody else read', async () => {
  const { configFile, stateDir, claim, file } = await claimed()
  expect(findParts(configFile)).toMatchObject({ ...running, pid: process.pid, host: hostname() })
  const link = join(tempFolder(), 'linked')
  symlinkSync(dirname(configFile), link)
  expect(findParts(join(link, 'records-sync.yaml'))).toMatchObject(running)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  claim.release()
  expect(findParts(configFile)).toBeNull()
  expect(existsSync(file)).toBe(false)
  expect(stateDir).toContain('.records-sync')
})

test('parts that are only starting are not found', async () => {
  const { configFile } = await claimed({ isReady: false })
  expect(findParts(configFile)).toBeNull()
})

test('a file that its process left behind counts for nothing', async () => {
  const { configFile, claim, file } = await claimed()
  const text = readFileSync(file)
  claim.release()
  writeFileSync(file, text, { mode: 0o600 })
  expect(findParts(configFile)).toBeNull()
  const next = await claimParts(configFile, dirname(file))
  onTestFinished(() => next.release())
  // Its server may be about to end.
  expect(next.left?.temporal.address).toBe(running.temporal.address)
})

test('nor does that of a killed process, whose lock has ended with it', async () => {
  const { configFile, stateDir } = project()
  const holder = fileURLToPath(new URL('parts-holder.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', holder, configFile], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  await vi.waitUntil(() => findParts(configFile) !== null, untilHung)
  expect(findParts(configFile)).toMatchObject({ pid: child.pid })
  await expect(claimParts(configFile, stateDir)).rejects.toThrow(
    `"records-sync run contacts --local" (process ${child.pid}) runs the parts of`,
  )
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
  expect(existsSync(join(stateDir, 'dev.json'))).toBe(true)
  expect(findParts(configFile)).toBeNull()
  ;(await claimParts(configFile, stateDir)).release()
})

test('a command waits for parts that are about to start, and then uses them', async () => {
  const { configFile, stateDir } = project()
  const holder = fileURLToPath(new URL('parts-holder.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', holder, configFile, 'starting'], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  await vi.waitUntil(() => readParts(stateDir) !== null, untilHung)
  expect(findParts(configFile)).toBeNull()
  const lines: string[] = []
  const waiting = untilPartsStarted(configFile, (line) => {
    lines.push(line)
    child.stdin.write('go\n')
  })
  expect(await waiting).toBe(true)
  expect(findParts(configFile)).toMatchObject({ pid: child.pid })
  expect(lines).toEqual([
    `"records-sync run contacts --local" (process ${child.pid}) is starting; waiting for it`,
  ])
  expect(await untilPartsStarted(configFile, (line) => void lines.push(line))).toBe(false)
  expect(lines).toHaveLength(1)
})

test('a folder that was copied does not have the parts of the first', async () => {
  const { configFile } = await claimed()
  const copy = join(tempFolder(), 'copy')
  // By another process: one that closes the file of its lock would lose that.
  execFileSync('cp', ['-R', dirname(configFile), copy])
  const copied = join(copy, 'records-sync.yaml')
  expect(findParts(copied)).toBeNull()
  // Nor does it wait for the end of their server.
  const claim = await claimParts(copied, stateDirOf(copied))
  onTestFinished(() => claim.release())
  expect(claim.left).toBeNull()
  expect(findParts(configFile)).not.toBeNull()
})

test('another configuration of the folder does not find them, and may start none', async () => {
  const { configFile, stateDir } = await claimed()
  const other = join(dirname(configFile), 'other.yaml')
  writeFileSync(other, '')
  expect(findParts(other)).toBeNull()
  const refused = claimParts(other, stateDir)
  await expect(refused).rejects.toMatchObject({
    code: 'parts_running',
    details: { pid: process.pid },
  })
  await expect(refused).rejects.toThrow(
    /^"records-sync dev" \(process \d+\) runs the parts of .+\/records-sync\.yaml already\. .* a folder of its own$/,
  )
})

test.each([
  ['another machine', { host: 'elsewhere' }],
  [
    'a server beyond loopback',
    { temporal: { ...running.temporal, address: 'crm.example.com:7233' } },
  ],
  ['a service beyond loopback', { service: 'http://crm.example.com' }],
  [
    'a page beyond loopback',
    { temporal: { ...running.temporal, ui: 'http://127.0.0.1:1@evil.example' } },
  ],
  ['no process', { pid: null }],
])('a file that names %s is not believed', async (_, change) => {
  const { configFile, file } = await claimed()
  const parts = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(file, JSON.stringify({ ...parts, ...change }))
  expect(findParts(configFile)).toBeNull()
})

test('a file that others may write is not believed', async () => {
  const { configFile, file } = await claimed()
  chmodSync(file, 0o620)
  expect(findParts(configFile)).toBeNull()
})

test('whatever the file holds, reading it ends with parts on this machine, or none', () => {
  const stateDir = tempFolder()
  const file = join(stateDir, 'dev.json')
  const piece = fc.oneof(
    fc.json(),
    fc.constantFrom(...Object.values(running).map((part) => JSON.stringify(part))),
  )
  const record = fc.dictionary(
    fc.constantFrom(...Object.keys(running), 'pid', 'host', 'config'),
    piece,
  )
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    record.map(
      (parts) =>
        `{${Object.entries(parts)
          .map(([name, value]) => `"${name}":${value}`)
          .join()}}`,
    ),
  )
  mkdirSync(stateDir, { recursive: true })
  fc.assert(
    fc.property(text, (content) => {
      writeFileSync(file, content, { mode: 0o600 })
      const parts = readParts(stateDir)
      expect(parts?.temporal.address ?? '127.0.0.1:1').toMatch(/^127\.0\.0\.1:\d+$/)
    }),
  )
})

test('RECORDS_URL and RECORDS_API_KEY are those of the service that runs, where nobody has set them', async () => {
  const { configFile, stateDir, claim } = await claimed()
  writeFileSync(join(stateDir, 'dev.key'), 'rsk_1\n', { mode: 0o600 })
  expect(withDevService({ A: 'b' }, configFile)).toEqual({
    A: 'b',
    RECORDS_URL: running.service,
    RECORDS_API_KEY: 'rsk_1',
  })
  expect(withDevService({ RECORDS_URL: 'https://crm' }, configFile)).toMatchObject({
    RECORDS_URL: 'https://crm',
  })
  claim.release()
  expect(withDevService({ A: 'b' }, configFile)).toEqual({ A: 'b' })
})

const terminalInto = (said: string[]) => ({
  out: () => {},
  err: (line = '') => void said.push(line),
  live: () => {},
  endLive: () => {},
  style: (_: string, text: string) => text,
})

test('a run that the parts of another process do says at once which one that is', async () => {
  const { configFile } = await claimed({ command: 'run a --local', sync: 'a' })
  writeFileSync(configFile, 'connections: {}\nsyncs: {}\n')
  const said: string[] = []
  const terminal = terminalInto(said)
  const context = createContext({ config: configFile, json: false }, terminal)
  const again = 'run a --local'
  const wanted = { sync: 'a', command: 'run a', again, goOn: again }
  const local = await startLocal(context, await loadConfig(configFile, {}), wanted)
  await local.stop()
  expect(said).toEqual([
    `The run is done by "records-sync run a --local" (process ${process.pid}), and waits while that process stands still`,
  ])
})

test('a run that another process does ends when that process does', async () => {
  const { configFile } = project()
  writeFileSync(configFile, 'connections: {}\nsyncs: {}\n')
  const holder = fileURLToPath(new URL('parts-holder.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', holder, configFile], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  await vi.waitUntil(() => findParts(configFile) !== null, untilHung)
  const context = createContext({ config: configFile, json: false }, terminalInto([]))
  const again = 'run contacts --local'
  const wanted = { sync: 'contacts', command: 'run contacts', again, goOn: again }
  const local = await startLocal(context, await loadConfig(configFile, {}), wanted)
  child.kill('SIGKILL')
  expect(await local.failed).toMatchObject({
    code: 'parts_ended',
    message: `"records-sync run contacts --local" (process ${child.pid}), whose Temporal server and worker did the run, has ended`,
  })
  await local.stop()
})
