// setup.mjs in a small checkout: npm, the compiler and the bundler are stand-ins that write down their calls.

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import { untilHung } from '../../hang.ts'
import { saysVersion, script, tempFolder } from './scripts.ts'

const devFolder = fileURLToPath(new URL('../../../src/dev', import.meta.url))

/** Copies each source into `--outDir` as JavaScript; a source that says `type error` fails. */
const fakeTsc = `
const fs = require('node:fs'), path = require('node:path')
fs.appendFileSync('calls.log', 'tsc\\n')
const out = process.argv[process.argv.indexOf('--outDir') + 1]
for (const folder of ['src', 'workflows']) {
  for (const name of fs.readdirSync(folder, { recursive: true })) {
    if (!name.endsWith('.ts')) continue
    const text = fs.readFileSync(path.join(folder, name), 'utf8')
    if (text.includes('type error')) { console.log(name + ': type error'); process.exit(2) }
    const target = path.join(out, folder, name.replace(/ts$/, 'js'))
    fs.mkdirSync(path.dirname(target), { recursive: true })
    fs.writeFileSync(target, text)
  }
}
`

const fakeBundler = `
const fs = require('node:fs')
exports.DefaultLogger = class {}
exports.bundleWorkflowCode = async ({ workflowsPath }) => {
  fs.appendFileSync('calls.log', 'bundle\\n')
  return { code: 'bundle of ' + fs.readFileSync(workflowsPath, 'utf8') }
}
`

function checkout() {
  const root = tempFolder()
  const at = (name: string) => path.join(root, name)
  const write = (name: string, text: string) => {
    fs.mkdirSync(path.dirname(at(name)), { recursive: true })
    fs.writeFileSync(at(name), text)
  }
  write('package.json', '{"type": "module"}')
  write('package-lock.json', '{"lockfileVersion": 3}')
  write('tsconfig.json', '{}')
  write('tsconfig.build.json', '{}')
  write('src/cli/main.ts', 'main')
  write('src/old.ts', 'old')
  write('workflows/index.ts', 'workflows')
  fs.mkdirSync(at('src/dev'), { recursive: true })
  for (const name of fs.readdirSync(devFolder).filter((file) => file.endsWith('.mjs')))
    fs.copyFileSync(path.join(devFolder, name), at(`src/dev/${name}`))
  write('registry/typescript/package.json', '{"type": "commonjs"}')
  write('registry/typescript/bin/tsc', fakeTsc)
  write('registry/@temporalio/worker/package.json', '{"main": "index.js"}')
  write('registry/@temporalio/worker/index.js', fakeBundler)
  script(
    at('bin/npm'),
    'echo "npm $1" >> calls.log',
    'rm -rf node_modules',
    'cp -r registry node_modules',
  )

  const setup = (args: string[] = [], node: string[] = [], heard = (_stderr: string) => {}) =>
    new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve, reject) => {
      const child = spawn(process.execPath, [...node, at('src/dev/setup.mjs'), ...args], {
        env: {
          ...process.env,
          PATH: `${at('bin')}${path.delimiter}${process.env.PATH}`,
          XDG_CACHE_HOME: at('cache'),
        },
      })
      let stdout = ''
      let stderr = ''
      child.stdout.on('data', (chunk) => (stdout += chunk))
      child.stderr.on('data', (chunk) => {
        stderr += chunk
        heard(stderr)
      })
      child.on('error', reject)
      child.on('close', (code) => resolve({ code, stdout, stderr }))
    })
  /** What was called since the last look. */
  const calls = () => {
    const text = fs.existsSync(at('calls.log')) ? fs.readFileSync(at('calls.log'), 'utf8') : ''
    fs.rmSync(at('calls.log'), { force: true })
    return text.split('\n').filter(Boolean)
  }
  return { at, write, setup, calls }
}

test('installs, compiles and bundles a fresh checkout, then has nothing to do or say', async () => {
  const { at, setup, calls } = checkout()
  const first = await setup()
  expect(first).toMatchObject({ code: 0, stdout: '' })
  expect(first.stderr).toContain('Installing the packages')
  expect(calls()).toEqual(['npm ci', 'tsc', 'bundle'])
  expect(fs.readFileSync(at('dist/workflow-bundle.js'), 'utf8')).toBe('bundle of workflows')
  expect(fs.statSync(at('dist/src/cli/main.js')).mode & 0o111).toBe(0o111)

  expect(await setup()).toEqual({ code: 0, stdout: '', stderr: '' })
  expect(calls()).toEqual([])
})

test('builds again after a change, leaves nothing of a source that is gone, and builds when told to', async () => {
  const { at, write, setup, calls } = checkout()
  await setup()
  calls()
  write('workflows/index.ts', 'workflows changed')
  fs.rmSync(at('src/old.ts'))
  expect(await setup()).toMatchObject({ code: 0 })
  expect(calls()).toEqual(['tsc', 'bundle'])
  expect(fs.readFileSync(at('dist/workflow-bundle.js'), 'utf8')).toBe('bundle of workflows changed')
  expect(fs.existsSync(at('dist/src/old.js'))).toBe(false)

  await setup(['--build'])
  expect(calls()).toEqual(['tsc', 'bundle'])
})

test('installs again when the lock file changed, and when nobody knows what node_modules holds', async () => {
  const { at, write, setup, calls } = checkout()
  await setup()
  write('package-lock.json', '{"lockfileVersion": 3, "packages": {}}')
  await setup()
  expect(calls().filter((call) => call === 'npm ci')).toHaveLength(2)

  fs.rmSync(at('node_modules/.records-sync-lock'))
  fs.writeFileSync(at('node_modules/.package-lock.json'), '{}')
  await setup()
  expect(calls()).toEqual(['npm ci'])
})

test('a compile error ends with exit code 1 and keeps the last good dist', async () => {
  const { at, write, setup } = checkout()
  await setup()
  write('src/cli/main.ts', 'type error')
  const failed = await setup()
  expect(failed.code).toBe(1)
  expect(failed.stderr).toContain('main.ts: type error')
  expect(failed.stderr).toContain('setup: Compiling failed (exit code 2)')
  expect(fs.readFileSync(at('dist/src/cli/main.js'), 'utf8')).toBe('main')
  expect((await setup()).code).toBe(1)
})

test('a failed npm ends with exit code 1 and is tried again the next time', async () => {
  const { at, setup, calls } = checkout()
  const good = fs.readFileSync(at('bin/npm'), 'utf8')
  script(at('bin/npm'), 'exit 7')
  const failed = await setup()
  expect(failed.code).toBe(1)
  expect(failed.stderr).toContain('setup: npm ci failed (exit code 7)')
  fs.writeFileSync(at('bin/npm'), good)
  expect((await setup()).code).toBe(0)
  expect(calls()).toEqual(['npm ci', 'tsc', 'bundle'])
})

test('of several at once one works and the others wait', async () => {
  const { at, setup, calls } = checkout()
  const ended = await Promise.all([setup(), setup(), setup()])
  expect(ended.map((one) => one.code)).toEqual([0, 0, 0])
  expect(calls()).toEqual(['npm ci', 'tsc', 'bundle'])
  expect(fs.readdirSync(at('.records-sync'))).toEqual([])
})

test('a lock whose owner is dead is no lock', async () => {
  const { write, setup, calls } = checkout()
  const dead = spawn(process.execPath, ['-e', ''])
  await new Promise((resolve) => dead.once('exit', resolve))
  write('.records-sync/setup.lock/owner', String(dead.pid))
  expect((await setup()).code).toBe(0)
  expect(calls()).toEqual(['npm ci', 'tsc', 'bundle'])
})

test('a lock whose owner lives is waited for', async () => {
  const { at, write, setup, calls } = checkout()
  write('.records-sync/setup.lock/owner', String(process.pid))
  let callsWhileWaiting: string[] | undefined
  const ended = await setup([], [], (stderr) => {
    if (callsWhileWaiting || !stderr.includes('Waiting for another setup')) return
    callsWhileWaiting = calls()
    fs.rmSync(at('.records-sync/setup.lock'), { recursive: true })
  })
  expect(ended.code).toBe(0)
  expect(callsWhileWaiting).toEqual([])
  expect(calls()).toEqual(['npm ci', 'tsc', 'bundle'])
})

test('an old Node is refused in one line', async () => {
  const { write, at, setup, calls } = checkout()
  write(
    'old-node.cjs',
    `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.18.3' } })`,
  )
  const refused = await setup([], ['--require', at('old-node.cjs')])
  expect(refused.code).toBe(1)
  expect(refused.stderr).toMatch(
    /^setup: records-sync needs Node\.js 20\.19 or newer; this is 20\.18\.3/,
  )
  expect(calls()).toEqual([])
})

test('the stamp is the hash of the lock file, so that an image build can lay it down too', async () => {
  const { at, setup } = checkout()
  await setup()
  const hash = createHash('sha256')
    .update(fs.readFileSync(at('package-lock.json')))
    .digest('hex')
  expect(fs.readFileSync(at('node_modules/.records-sync-lock'), 'utf8')).toBe(hash)
})

test('--temporal waits for the Temporal CLI beside what it does, as another process gets it; it takes no second one', async () => {
  const { at, write, setup, calls } = checkout()
  const lock = 'cache/records-sync/temporal-1.5.1/making.json'
  const job = { origin: 'go', began: Date.now(), why: null }
  write(lock, JSON.stringify({ pid: process.pid, host: os.hostname(), job }))
  // As if its owner had just touched it, however slow this machine is.
  const later = new Date(Date.now() + 3_600_000)
  fs.utimesSync(at(lock), later, later)
  // The PATH of this machine may have one.
  script(at('bin/temporal'), 'exit 1')
  const done = setup(['--temporal'])
  await vi.waitUntil(() => fs.existsSync(at('dist/.build')), untilHung)
  script(at('cache/records-sync/temporal-1.5.1/temporal'), saysVersion('1.5.1'))
  fs.rmSync(at(lock))
  const { code, stdout, stderr } = await done
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
  expect(stderr).toMatch(/^Temporal CLI: no download, Go builds it, once: \d+ /m)
  expect(calls()).toEqual(['npm ci', 'tsc', 'bundle'])
  expect(await setup(['--temporal'])).toEqual({ code: 0, stdout: '', stderr: '' })
})
