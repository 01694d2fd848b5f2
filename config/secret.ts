// Where an API key is, and how it is read: again each time, so that a renewed key is found.
// Promise kept here: no error holds anything of a key, of a command or of its output.

import { spawn } from 'node:child_process'
import { constants, open } from 'node:fs/promises'
import { basename } from 'node:path'
import { SyncError } from '../src/core/errors.ts'
import { tooManyOpenFiles } from '../src/core/open-files.ts'
import type { SecretSource } from '../src/settings/parts.ts'
import { notSetText, ownerOf, type Environment } from './environment.ts'

const secretBytesMax = 65_536
/** The file that `records-sync dev` writes the key of its service to. */
const DEV_KEY = 'dev.key'
const commandTimeoutMs = 10_000

/**
 * Reads a secret. Line ends at its end are trimmed: one of a file, all of a command's output.
 * @throws SyncError `secret_unavailable` that says what to do
 */
export async function readSecret(
  source: SecretSource,
  env: Environment,
  options: { readonly timeoutMs?: number } = {},
): Promise<string> {
  if ('env' in source && env[source.env] === undefined)
    throw unavailable(`The ${notSetText(source.env, env)}`)
  try {
    return await readPlace(source, env, options.timeoutMs ?? commandTimeoutMs)
  } catch (error) {
    const owner = ownerOf(env)
    if (owner === undefined || !(error instanceof SyncError)) throw error
    throw new SyncError(error.code, `${error.message}. It is read by ${owner}`, error.details)
  }
}

async function readPlace(source: SecretSource, env: Environment, timeoutMs: number) {
  const secret =
    'env' in source
      ? env[source.env]!
      : 'file' in source
        ? await readSecretFile(source.file)
        : await runCommand(source.command, env, timeoutMs)
  const from = secretOrigin(source)
  if (secret === '') throw unavailable(`The ${from} gives an empty key`)
  // Only these characters can travel in an Authorization header.
  if (!/^[\x21-\x7e]+$/.test(secret))
    throw unavailable(
      `The ${from} gives a key with a space, a new line or a character that is not ASCII`,
    )
  return secret
}

/**
 * Reads a secret as `readSecret` does; the message says which one it is, such as `URL of the ledger`.
 * @throws SyncError `secret_unavailable`
 */
export async function readNamedSecret(
  name: string,
  source: SecretSource,
  env: Environment,
): Promise<string> {
  return await readSecret(source, env).catch((error: unknown) => {
    if (!(error instanceof SyncError)) throw error
    throw new SyncError(error.code, `The ${name}: ${error.message}`)
  })
}

/** Where a secret is, in words. The command itself is not shown: it may hold a secret. */
export function secretOrigin(source: SecretSource): string {
  if ('env' in source) return `environment variable \`${source.env}\``
  return 'file' in source ? `key file ${source.file}` : 'key command'
}

/** What to do about the place of a key that is refused. */
export function secretRemedy(source: SecretSource): string {
  if ('env' in source) return 'set it to a working key and start again what uses it'
  return 'file' in source ? 'write a working key into it' : 'make it print a working key'
}

function unavailable(message: string): SyncError {
  return new SyncError('secret_unavailable', message)
}

async function readSecretFile(path: string): Promise<string> {
  let handle
  try {
    // Without O_NONBLOCK the opening of a named pipe would wait for its writer, for ever.
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const facts = await handle.stat()
    if (!facts.isFile()) throw unavailable(`The key file ${path} is not a regular file`)
    if (facts.size > secretBytesMax) throw unavailable(`The key file ${path} is larger than 64 KiB`)
    // Windows has no such modes; there every file seems readable by all.
    if (process.platform !== 'win32' && (facts.mode & 0o077) !== 0)
      throw unavailable(`Others may read the key file ${path}; run: chmod 600 ${shellWord(path)}`)
    return (await handle.readFile('utf8')).replace(/\r?\n$/, '')
  } catch (error) {
    if (error instanceof SyncError) throw error
    const full = tooManyOpenFiles(error)
    if (full) throw full
    const code = (error as NodeJS.ErrnoException).code
    throw unavailable(
      code === 'ENOENT'
        ? `There is no key file ${path}${basename(path) === DEV_KEY ? '; "records-sync dev", running in another terminal, writes it' : ''}`
        : `The key file ${path} cannot be read (${code ?? 'unknown'})`,
    )
  } finally {
    await handle?.close()
  }
}

function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

function runCommand(command: string, env: Environment, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    // Its own process group, so that what the shell has started ends with it.
    const child = spawn(command, {
      shell: true,
      detached: process.platform !== 'win32',
      stdio: ['ignore', 'pipe', 'ignore'],
      env: env as NodeJS.ProcessEnv,
      windowsHide: true,
    })
    const chunks: Buffer[] = []
    let bytes = 0
    const give = (outcome: () => void) => {
      clearTimeout(timer)
      outcome()
    }
    const stop = (why: string) =>
      give(() => {
        killGroup(child.pid)
        child.stdout.destroy()
        reject(unavailable(why))
      })
    const timer = setTimeout(
      () => stop(`The key command took longer than ${timeoutMs / 1000} s and was stopped`),
      timeoutMs,
    )
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > secretBytesMax) stop('The key command printed more than 64 KiB')
      else chunks.push(chunk)
    })
    child.on('error', () => give(() => reject(unavailable('The key command cannot be started'))))
    child.on('close', (status, signal) =>
      give(() => {
        if (status === 0)
          resolve(
            Buffer.concat(chunks)
              .toString('utf8')
              .replace(/[\r\n]+$/, ''),
          )
        else
          reject(
            unavailable(
              `The key command failed: ${signal ? `signal ${signal}` : `exit status ${status}`}`,
            ),
          )
      }),
    )
  })
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}
