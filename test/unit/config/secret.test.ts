import { execFileSync, spawnSync } from 'node:child_process'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { nameEnvironment, readSecret } from '../../../config/index.ts'
import type { Environment, SecretSource } from '../../../config/index.ts'
import { SyncError } from '../../../src/core/errors.ts'
import { folder } from './project.ts'

const secret = 'sk_live_51x'
const { PATH } = process.env

async function refusal(
  source: SecretSource,
  env: Environment = {},
  timeoutMs?: number,
): Promise<string> {
  const options = timeoutMs === undefined ? {} : { timeoutMs }
  const error: unknown = await readSecret(source, env, options).catch((caught: unknown) => caught)
  expect(error).toBeInstanceOf(SyncError)
  const { code, message, details, stack } = error as SyncError
  expect(code).toBe('secret_unavailable')
  expect(`${message} ${JSON.stringify(details)} ${stack}`).not.toContain(secret)
  return message
}

describe('from the environment', () => {
  test('is read at each call', async () => {
    const env: Record<string, string> = { KEY: 'old' }
    expect(await readSecret({ env: 'KEY' }, env)).toBe('old')
    env['KEY'] = secret
    expect(await readSecret({ env: 'KEY' }, env)).toBe(secret)
  })

  test.each([
    [{}, 'The environment variable `KEY` is not set'],
    [{ KEY: '' }, 'The environment variable `KEY` gives an empty key'],
    [
      { KEY: `${secret}\n` },
      'The environment variable `KEY` gives a key with a space, a new line or a character that is not ASCII',
    ],
  ])('is refused where it cannot be sent', async (env, message) => {
    expect(await refusal({ env: 'KEY' }, env)).toBe(message)
  })

  test('that a worker lacks is named with the worker', async () => {
    const env = { PATH }
    nameEnvironment(env, 'worker 7 on db1, started 2026-01-02T03:04:05Z')
    expect(await refusal({ env: 'KEY' }, env)).toBe(
      'The environment variable `KEY` is not set for worker 7 on db1, started 2026-01-02T03:04:05Z: set it where that worker starts, and start it again',
    )
    expect(await refusal({ file: '/nonexistent/key' }, env)).toMatch(
      /^There is no key file .*key\. It is read by worker 7 on db1, started/,
    )
    expect(await refusal({ command: 'exit 3' }, env)).toMatch(
      /exit status 3\. It is read by worker 7 on db1/,
    )
    // A command of the same machine has an environment of its own.
    expect(await refusal({ env: 'KEY' }, { PATH })).toBe(
      'The environment variable `KEY` is not set',
    )
  })
})

describe('from a file', () => {
  async function keyFile(content: string, mode: number): Promise<string> {
    const path = join(await folder(), 'key')
    await writeFile(path, content)
    await chmod(path, mode)
    return path
  }

  test.each([secret, `${secret}\n`, `${secret}\r\n`])(
    'one new line at its end is trimmed',
    async (content) => {
      expect(await readSecret({ file: await keyFile(content, 0o600) }, {})).toBe(secret)
    },
  )

  test('two new lines are not', async () => {
    expect(await refusal({ file: await keyFile(`${secret}\n\n`, 0o600) })).toContain('a new line')
  })

  test.runIf(process.platform !== 'win32').each([0o640, 0o604, 0o620])(
    'is refused while others may read or write it (%o)',
    async (mode) => {
      const file = await keyFile(secret, mode)
      expect(await refusal({ file })).toBe(
        `Others may read the key file ${file}; run: chmod 600 ${file}`,
      )
    },
  )

  test('is refused where there is none, or too much', async () => {
    const path = join(await folder(), 'none')
    expect(await refusal({ file: path })).toBe(`There is no key file ${path}`)
    await mkdir(path, { mode: 0o700 })
    expect(await refusal({ file: path })).toBe(`The key file ${path} is not a regular file`)
    expect(await refusal({ file: await keyFile(secret.repeat(10_000), 0o600) })).toContain(
      'larger than 64 KiB',
    )
  })
})

test.runIf(process.platform !== 'win32')(
  'a pipe is refused, and not waited for',
  async () => {
    const path = join(await folder(), 'pipe')
    execFileSync('mkfifo', ['-m', '600', path])
    expect(await refusal({ file: path })).toBe(`The key file ${path} is not a regular file`)
  },
  5_000,
)

describe('from a command', () => {
  test('is what it prints, without line ends', async () => {
    expect(await readSecret({ command: 'echo "$KEY"' }, { PATH, KEY: secret })).toBe(secret)
  })

  test.each([
    [`echo ${secret}; echo ${secret} >&2; exit 3`, 'The key command failed: exit status 3'],
    [`: ${secret}`, 'The key command gives an empty key'],
    [
      `echo ${secret}; echo second`,
      'The key command gives a key with a space, a new line or a character that is not ASCII',
    ],
    [`: ${secret}; head -c 200000 /dev/zero`, 'The key command printed more than 64 KiB'],
  ])('is refused: %s', async (command, message) => {
    expect(await refusal({ command }, { PATH })).toBe(message)
  })

  test('is stopped, with all it has started, when it takes too long', async () => {
    const file = join(await folder(), 'pid')
    const command = `echo ${secret}; sleep 60 & echo $! > ${file}; wait`
    expect(await refusal({ command }, { PATH }, 5_000)).toBe(
      'The key command took longer than 5 s and was stopped',
    )
    const pid = (await readFile(file, 'utf8')).trim()
    // Gone, or dead and not yet collected.
    const state = () =>
      spawnSync('ps', ['-o', 'stat=', '-p', pid], { encoding: 'utf8' }).stdout.trim()
    await expect.poll(state).toMatch(/^(Z.*)?$/)
  })
})
