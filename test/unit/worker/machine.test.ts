// What a worker needs of its machine is looked at before it works, and each message names what is, what has to be, and the command.

import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { needFindings, temporaryFinding } from '../../../src/cli/doctor/machine.ts'
import { silentLogger } from '../../../src/core/ports.ts'
import { temporaryProblem } from '../../../src/warehouses/duckdb/temporary.ts'
import {
  filesInDisguise,
  machineNeeds,
  openFilesLimit,
  requireMachine,
} from '../../../src/worker/machine.ts'

const main = fileURLToPath(new URL('../../../dist/src/cli/main.js', import.meta.url))

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'records-sync-machine-'))
  onTestFinished(async () => await rm(made, { recursive: true, force: true }))
  return made
}

/** A command in a shell that limits it. */
const limited = (limits: string, args: readonly string[], cwd: string, env: object = {}) =>
  new Promise<{ code: unknown; text: string }>((resolve) => {
    execFile(
      '/bin/sh',
      ['-c', `${limits}; exec "$0" "$@"`, process.execPath, main, ...args],
      { cwd, env: { ...process.env, NODE_OPTIONS: '', ...env } },
      (error, out, err) =>
        resolve({ code: error?.code ?? 0, text: (out + err).replaceAll(/\s+/g, ' ') }),
    )
  })

async function project(): Promise<string> {
  const made = await folder()
  await writeFile(join(made, 'records-sync.yaml'), 'connections: {}\nsyncs: {}\n')
  return made
}

test.each([
  [null, 4_096, [true, true]],
  [1_048_576, 2_096, [true, true]],
  [256, 128, [true, true]],
  [255, 128, [false, true]],
  [64, 4_096, [false, true]],
  [4_096, 127, [true, false]],
  [1, 1, [false, false]],
])('%s files and %d MB: %j', (files, heapMb, met) => {
  const needs = machineNeeds(files, heapMb)
  expect(needs.map(({ isMet }) => isMet)).toEqual(met)
  expect(needFindings(needs).map(({ verdict }) => verdict === 'ok')).toEqual(met)
  const isEnough = met.every(Boolean)
  const required = () => requireMachine(needs)
  if (isEnough) expect(required).not.toThrow()
  else
    expect(required).toThrow(
      /too little for a worker\. .*\((256|128 MB) or more\)\. .*(ulimit -n 4096|--max-old-space-size=512)/,
    )
})

test('the limit of this process is known', () => {
  expect(openFilesLimit()).toBeGreaterThan(255)
})

test.each(['worker', 'dev', 'demo'])(
  '%s with 64 files says which limit is too low',
  async (command) => {
    const { code, text } = await limited('ulimit -n 64', [command], await project())
    expect(text).toMatch(/open files: 64 \(256 or more\)\. Raise the limit .*ulimit -n 4096/)
    expect(text).not.toMatch(/Cannot find package|EMFILE/)
    expect(code).toBe(3)
  },
)

test('a worker with a small heap says so', async () => {
  const { code, text } = await limited(':', ['worker'], await project(), {
    NODE_OPTIONS: '--max-old-space-size=48',
  })
  expect(text).toMatch(/heap: \d+ MB \(128 MB or more\)\. .*NODE_OPTIONS=--max-old-space-size=512/)
  expect(code).toBe(3)
})

test('doctor says both, and where temporary files cannot be', async () => {
  const { text } = await limited('ulimit -n 128', ['doctor'], await project(), {
    NODE_OPTIONS: '--max-old-space-size=48',
    TMPDIR: '/no/such/folder',
  })
  expect(text).toMatch(/FAIL open files: 128 \(256 or more\)/)
  expect(text).toMatch(/FAIL heap: \d+ MB \(128 MB or more\)/)
  expect(text).toMatch(
    /FAIL temporary files: the folder for temporary files, \/no\/such\/folder \(TMPDIR\), does not exist → make it: mkdir -p \/no\/such\/folder; or name another: export TMPDIR=\/tmp/,
  )
})

test('a package that is not found for want of open files is told as that', () => {
  const error = Object.assign(new Error("Cannot find package 'x'"), {
    code: 'ERR_MODULE_NOT_FOUND',
  })
  // This process may open more.
  expect(filesInDisguise(error)).toBeNull()
  expect(filesInDisguise(error, 64)?.message).toMatch(
    /its limit is 64 \(256 or more\)\. Raise the limit/,
  )
  expect(filesInDisguise(new Error('other'), 64)).toBeNull()
  expect(filesInDisguise(null, 64)).toBeNull()
})

test('each fault of TMPDIR has its command', async () => {
  const made = await folder()
  const file = join(made, 'file')
  await writeFile(file, '')
  expect(temporaryProblem(made)).toBeNull()
  expect(temporaryFinding(made).verdict).toBe('ok')
  expect(temporaryProblem(file)).toMatch(/is a file; set it to a folder: export TMPDIR/)
  expect(temporaryProblem(join(file, 'below'))).toMatch(/does not exist; make it: mkdir -p /)
  expect(temporaryProblem(join(made, 'none'))).toMatch(/does not exist; make it: mkdir -p /)
  expect(temporaryFinding(join(made, 'none'))).toMatchObject({ verdict: 'failed' })
  await chmod(made, 0o500)
  // Root may write everywhere.
  if (process.getuid?.() !== 0)
    expect(temporaryProblem(made)).toMatch(/cannot be written by this user/)
  await chmod(made, 0o700)
})

test('a run that needs a missing TMPDIR waits, blocked by the disk', async () => {
  // Another test of this process may have made the folder, which is kept.
  vi.resetModules()
  const { temporaryFolder } = await import('../../../src/warehouses/duckdb/temporary.ts')
  const { toApplicationFailure } = await import('../../../activities/failure.ts')
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = '/no/such/folder'
  onTestFinished(() => {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
  })
  let thrown: unknown
  try {
    temporaryFolder('test', '/x')
  } catch (error) {
    thrown = error
  }
  const context = { attempt: 1, serviceProbeMs: 1, blockedProbeMs: 1, logger: silentLogger }
  const { failure, blocked } = toApplicationFailure(thrown, context)
  expect(blocked?.reason).toBe('disk')
  expect(failure.nonRetryable).toBe(false)
  expect(failure.message).toMatch(
    /\/no\/such\/folder \(TMPDIR\), does not exist; make it: mkdir -p/,
  )
})
