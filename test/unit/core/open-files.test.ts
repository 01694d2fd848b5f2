// No more files can be opened: whoever meets it says so, and what to do about it.

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { toApplicationFailure } from '../../../activities/failure.ts'
import { classifyNetworkError } from '../../../src/client/network-errors.ts'
import { SyncError } from '../../../src/core/errors.ts'
import { tooManyOpenFiles } from '../../../src/core/open-files.ts'
import { silentLogger } from '../../../src/core/ports.ts'

const dist = new URL('../../../dist', import.meta.url).href

const raw = (code: string) =>
  Object.assign(new Error(`${code}: too many open files, open '/secret/place'`), { code })

/** Runs Node in a shell that limits open files. */
const limited = (files: number, args: readonly string[], cwd: string) =>
  new Promise<{ code: unknown; out: string; err: string }>((resolve) => {
    execFile(
      '/bin/sh',
      ['-c', `ulimit -n ${files}; exec "$0" "$@"`, process.execPath, ...args],
      { cwd },
      (error, out, err) => resolve({ code: error?.code, out, err }),
    )
  })

async function project(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'records-sync-files-'))
  onTestFinished(async () => await rm(folder, { recursive: true }))
  await writeFile(join(folder, 'records-sync.yaml'), 'syncs: {}\n')
  await writeFile(join(folder, 'rows.csv'), 'id\n1\n')
  await writeFile(join(folder, 'key'), 'abc', { mode: 0o600 })
  return folder
}

const EXHAUST = `
  const { openSync } = await import('node:fs')
  try { for (;;) openSync('/dev/null') } catch {}`

test('a command that cannot load its parts for it says how to raise the limit', async () => {
  const folder = await project()
  const ended = async (json: boolean) => {
    const script = `
      const { createContext, reportError } = await import('${dist}/src/cli/shared/context.js')
      const context = createContext({ config: 'records-sync.yaml', json: ${json} })
      ${EXHAUST}
      process.exitCode = await import('${dist}/src/cli/commands/check.js').catch((error) => reportError(error, context))`
    return await limited(256, ['--input-type=module', '-e', script], folder)
  }
  const words = await ended(false)
  expect(words.err).toMatch(/^This process may open no more files: .*ulimit -n 4096/)
  expect(words.err).not.toContain('EMFILE')
  expect(words.code).toBe(3)
  const { out } = await ended(true)
  expect(JSON.parse(out)).toMatchObject({ error: { code: 'too_many_open_files' } })
})

test('a file that cannot be opened for it is not called unreadable', async () => {
  const folder = await project()
  const script = `
    const { loadConfig } = await import('${dist}/config/index.js')
    const { readSecret } = await import('${dist}/config/secret.js')
    const { openCsv } = await import('${dist}/src/sources/csv/index.js')
    ${EXHAUST}
    for (const work of [
      () => openCsv({ path: 'rows.csv' }),
      () => loadConfig('records-sync.yaml', {}),
      () => readSecret({ file: process.cwd() + '/key' }, {}),
    ]) await work().then(() => console.log('opened'), ({ code }) => console.log(code))`
  const { out, err } = await limited(256, ['--input-type=module', '-e', script], folder)
  expect(out.trim().split('\n'), err).toEqual(
    Array.from({ length: 3 }, () => 'too_many_open_files'),
  )
})

test('it is known beneath other errors, and of the machine', () => {
  const machine = tooManyOpenFiles(new Error('outside', { cause: raw('ENFILE') }))
  expect(machine?.message).toMatch(/^This machine may open no more files/)
  expect(tooManyOpenFiles(new AggregateError([raw('EMFILE')]))?.message).toContain('ulimit -n')
  expect(tooManyOpenFiles(new SyncError('other', 'EMFILE'))).toBeNull()
  expect(tooManyOpenFiles(raw('EACCES'))).toBeNull()
})

test('a run tries again, and names it', () => {
  const context = { attempt: 1, serviceProbeMs: 1, blockedProbeMs: 1, logger: silentLogger }
  for (const error of [raw('EMFILE'), tooManyOpenFiles(raw('EMFILE'))]) {
    const { failure } = toApplicationFailure(error, context)
    expect(failure).toMatchObject({ type: 'TooManyOpenFiles', nonRetryable: false })
    expect(failure.message).toContain('ulimit -n')
    expect(failure.message).not.toContain('/secret/place')
  }
})

test('a request that cannot be sent for it says so', () => {
  const { message, mayBeSent } = classifyNetworkError(
    raw('EMFILE'),
    'https://crm.example.com',
    false,
    false,
  )
  expect(message).toMatch(
    /^no connection to crm\.example\.com:443: this process may open no more files; raise its limit .*ulimit -n 4096/,
  )
  expect(mayBeSent).toBe(false)
})
