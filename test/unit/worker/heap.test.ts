// A process that runs a worker bounds its heaps, in every form in which it is started. Each case is a process of its own.

import { execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'

const dist = new URL('../../../dist/src/', import.meta.url)
const main = fileURLToPath(new URL('cli/main.js', dist))
const fileOf = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url))

const OLD = 'heap-growing-percent=80'
const THREADS = 'max-semi-space-size=2'
const YOUNG = 'semi-space-growth-factor=1'

/** Loaded first: writes what the process tells V8. */
const recorder = `data:text/javascript,${encodeURIComponent(`
import v8 from 'node:v8'
import { syncBuiltinESMExports } from 'node:module'
const { setFlagsFromString } = v8
v8.setFlagsFromString = (flag) => {
  process.stderr.write('V8 ' + flag + '\\n')
  setFlagsFromString(flag)
}
syncBuiltinESMExports()
`)}`

/** The first settings of a process, until it set the last of ours or ended. */
async function settingsOf(args: readonly string[], options = '') {
  const child = spawn(process.execPath, ['--import', recorder, ...args], {
    cwd: tmpdir(),
    env: { PATH: process.env['PATH'], HOME: tmpdir(), NODE_OPTIONS: options },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const set: string[] = []
  for await (const line of createInterface(child.stderr)) {
    if (!line.startsWith('V8 --')) continue
    set.push(line.slice('V8 --'.length))
    // What the command would do next is not of interest.
    if (line.includes('growth-factor')) child.kill('SIGKILL')
  }
  return set.slice(0, 3)
}

const textOf = (text: string) => ['--input-type=module', '--eval', text]
/** Twice, as a command does, and the worker that it starts. */
const bounding = textOf(`
const { boundHeap } = await import('${new URL('worker/heap.js', dist).href}')
boundHeap()
boundHeap()`)

describe.concurrent('it is bounded', () => {
  test.each(['worker', 'dev', 'demo'])('%s', async (command) => {
    const args = [main, '--config', '/nowhere/records-sync.yaml', command]
    expect(await settingsOf(args)).toEqual([OLD, THREADS, YOUNG])
  })

  test('whatever starts a worker', async () => {
    const started = `
      const { startWorker } = await import('${new URL('worker.js', dist).href}')
      await startWorker({ configFile: '/nowhere/records-sync.yaml', env: {} }).catch(() => {})`
    const [old, threads] = await settingsOf(textOf(started))
    expect([old, threads]).toEqual([OLD, THREADS])
  })

  test('no command without a worker', async () => {
    expect(await settingsOf([main, '--config', '/nowhere/records-sync.yaml', 'check'])).toEqual([])
  })
})

describe.concurrent('what its user settled counts', () => {
  test.each([
    ['--max-old-space-size=4096', [OLD, THREADS, YOUNG]],
    ['--heap_growing_percent=300', [THREADS, YOUNG]],
    ['--max-semi-space-size=32', [OLD]],
    ['--min_semi_space_size=16', [OLD]],
    ['--semi-space-growth-factor=3', [OLD]],
  ])('%s', async (flag, expected) => {
    expect(await settingsOf([flag, ...bounding])).toEqual(expected)
  })

  test('in NODE_OPTIONS', async () => {
    expect(await settingsOf(bounding, '--max-semi-space-size=32')).toEqual([OLD])
  })
})

test.each([
  'package.json',
  'Dockerfile',
  'docker-compose.yml',
  'config/examples/records-sync-worker.service',
])('%s has no flags of its own', (path) => {
  const text = readFileSync(fileOf(path), 'utf8')
  expect(text).not.toMatch(/(?:semi|old)[-_]space|heap[-_]growing|NODE_OPTIONS/)
})

/** Keeps what it makes for a while, twice; prints the most that the young generation took each time, MB. */
const busy = (isBounded: boolean) => `
import { setImmediate } from 'node:timers/promises'
import { getHeapSpaceStatistics } from 'node:v8'
const { boundHeap, letYoungGrow } = await import('${new URL('worker/heap.js', dist).href}')
async function work() {
  const chunks = []
  let most = 0
  for (let chunk = 0; chunk < 1_000; chunk++) {
    chunks.push(Array.from({ length: 1_000 }, (_, row) => ({ row, text: 'x' + row, cells: [row, chunk] })))
    if (chunks.length > 100) chunks.shift()
    const { space_size } = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
    most = Math.max(most, space_size)
    await setImmediate()
  }
  return most / 2 ** 20
}
if (${isBounded}) boundHeap()
const loading = await work()
if (${isBounded}) letYoungGrow()
process.stdout.write(JSON.stringify([loading, await work()]))
`

test('the young generation stays small while a program is loaded, then grows to 16 MB; without a bound beyond', async () => {
  const mostOf = async (isBounded: boolean) => {
    const { stdout } = await promisify(execFile)(process.execPath, textOf(busy(isBounded)))
    return JSON.parse(stdout) as [number, number]
  }
  const unbounded = await mostOf(false)
  let [loading, working] = await mostOf(true)
  // It looks a few times a second: on a busy machine it may grow once more before the next look.
  for (let tries = 1; tries < 5 && working > 17; tries++) [loading, working] = await mostOf(true)
  expect(loading).toBeLessThanOrEqual(9)
  expect(working).toBeGreaterThan(9)
  expect(working).toBeLessThanOrEqual(17)
  expect(unbounded[1]).toBeGreaterThan(30)
})
