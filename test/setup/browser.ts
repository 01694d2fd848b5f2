// Finds the Chromium that tests of pages need, or gets it, and launches it with the same arguments for all.
// Promise kept here: it ends with a program that answers `--version`, or with one error that names every way and why each
// failed; never without an end.

import { readdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { createRequire } from 'node:module'
import { chromium, type Browser } from 'playwright-core'
import { lastLines, runProgram, type ProgramEnd } from '../../src/dev/run-program.mjs'

/** The shell without a window first: it takes half of the processor's time. */
const names = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
]
/** Of Debian, the second of older releases. */
const aptPackages = ['chromium-headless-shell', 'chromium']
/** Where an installed Chrome is that no PATH names. */
const systemPlaces = [
  '/opt/google/chrome/chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]
const ownNames = ['chrome-headless-shell', 'headless_shell', 'chrome-headless-shell.exe']

const answerMaxMs = 30_000
const downloadMaxMs = 4 * 60_000
const aptMaxMs = 8 * 60_000
/** Another process may be installing: as long as that may take, and then once more. */
const turnMaxMs = 30 * 60_000
const turnPollMs = 500

export interface Chromium {
  readonly path: string
  readonly origin: 'variable' | 'path' | 'system' | 'download' | 'apt'
}

export interface FindChromium {
  readonly env: NodeJS.ProcessEnv
  /** Gets a line when something slow begins, and at its end. */
  readonly progress: (line: string) => void
  /** Default: whether this process is. */
  readonly isRoot?: boolean
  /** Default: where Chrome is on Linux and macOS. */
  readonly systemPlaces?: readonly string[]
  /** Script that downloads. Default: that of playwright-core. */
  readonly downloader?: string
  /** Who shares it installs one after another. Default: everybody on this machine. */
  readonly lockName?: string
}

/** Memory that pages share is a file of the folder for temporary ones: `/dev/shm` of a container may have 64 MB. */
const ARGUMENTS = ['--disable-gpu', '--disable-dev-shm-usage']

export async function launchBrowser(): Promise<Browser> {
  const progress = (line: string) => void process.stderr.write(`${line}\n`)
  const { path } = await findChromium({ env: process.env, progress })
  return await chromium.launch({ executablePath: path, args: ARGUMENTS })
}

/** @throws Error that lists what was tried, and what to do */
export async function findChromium(options: FindChromium): Promise<Chromium> {
  const { env } = options
  const failures: string[] = []
  const given = env['CHROMIUM']
  if (given) {
    const answer = await answerOf(given, env)
    if (answer === null) return { path: given, origin: 'variable' }
    failures.push(`CHROMIUM is ${given}: ${answer}`)
  } else failures.push('the variable CHROMIUM is not set')

  const onPath = await fromPath(env, failures)
  if (onPath !== null) return { path: onPath, origin: 'path' }

  for (const path of options.systemPlaces ?? systemPlaces)
    if ((await answerOf(path, env)) === null) return { path, origin: 'system' }
  failures.push('there is no Chrome where its installers put it')

  // One installer at a time; whoever had to wait may find what it needs.
  return await inTurn(options, async () => {
    const installed = await fromPath(env, [])
    if (installed !== null) return { path: installed, origin: 'path' }
    const own = (await ownDownload(options)) ?? (await download(options, failures))
    if (own !== null) return { path: own, origin: 'download' }
    const apt = await fromApt(options, failures)
    if (apt !== null) return { path: apt, origin: 'apt' }
    throw missing(failures)
  })
}

function missing(failures: readonly string[]): Error {
  return new Error(
    [
      'No Chromium: it was not found and could not be fetched.',
      'What was tried:',
      ...failures.map((failure) => `  - ${failure.replaceAll('\n', '\n    ')}`),
      'Do one of these and try again:',
      '  - set CHROMIUM to the path of a Chromium or Chrome',
      '  - install Chromium or Chrome, so that `chromium --version` works',
      '  - allow the download: node node_modules/playwright-core/cli.js install chromium-headless-shell',
    ].join('\n'),
  )
}

/** Null where the program is a Chromium that starts; else what it did instead. */
async function answerOf(program: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  const { code, how, output } = await runProgram(program, ['--version'], {
    env,
    maxMs: answerMaxMs,
  })
  if (code === 0 && /Chrom/.test(output)) return null
  return `does not answer \`--version\` as Chromium does (${how})`
}

async function fromPath(env: NodeJS.ProcessEnv, failures: string[]): Promise<string | null> {
  for (const name of names) {
    const path = await onPathOf(env, name)
    if (path === null) continue
    const answer = await answerOf(path, env)
    if (answer === null) return path
    failures.push(`${path} ${answer}`)
  }
  failures.push(`none of ${names.join(', ')} is on the PATH`)
  return null
}

async function onPathOf(env: NodeJS.ProcessEnv, name: string): Promise<string | null> {
  const { code, output } = await runProgram('/bin/sh', ['-c', `command -v ${name}`], {
    env,
    maxMs: answerMaxMs,
  })
  return code === 0 ? output.trim() : null
}

function ownCli({ env, downloader }: FindChromium, args: readonly string[], maxMs: number) {
  const home = dirname(createRequire(import.meta.url).resolve('playwright-core/package.json'))
  const cli = downloader ?? join(home, 'cli.js')
  const whole = ['install', ...args, 'chromium-headless-shell']
  return runProgram(process.execPath, [cli, ...whole], { env, maxMs })
}

/** What playwright-core downloaded before. */
async function ownDownload(options: FindChromium): Promise<string | null> {
  const { output } = await ownCli(options, ['--dry-run'], answerMaxMs)
  const folder = /Install location:\s*(.+)/.exec(output)?.[1]?.trim()
  if (folder === undefined) return null
  const files = await readdir(folder, { recursive: true, encoding: 'utf8' }).catch(() => [])
  for (const file of files.filter((name) => ownNames.includes(name.split(/[\\/]/).at(-1)!))) {
    const path = join(folder, file)
    if ((await answerOf(path, options.env)) === null) return path
  }
  return null
}

async function download(options: FindChromium, failures: string[]): Promise<string | null> {
  const ended = await told(options.progress, 'Downloading Chromium with playwright-core', () =>
    ownCli(options, [], downloadMaxMs),
  )
  const path = ended.code === 0 ? await ownDownload(options) : null
  if (path !== null) return path
  const why = ended.code === 0 ? 'what came does not start on this machine' : saidBy(ended)
  failures.push(`the download by playwright-core: ${why}`)
  return null
}

async function fromApt(
  { env, progress, isRoot = process.getuid?.() === 0 }: FindChromium,
  failures: string[],
): Promise<string | null> {
  const apt = await onPathOf(env, 'apt-get')
  if (apt === null || !isRoot) {
    failures.push(`apt-get: ${apt === null ? 'is not on the PATH' : 'only root may install'}`)
    return null
  }
  const run = async (what: string, args: readonly string[]): Promise<boolean> => {
    const ended = await told(progress, `apt-get ${what}`, () =>
      runProgram(apt, args, {
        env: { ...env, DEBIAN_FRONTEND: 'noninteractive' },
        maxMs: aptMaxMs,
      }),
    )
    if (ended.code !== 0) failures.push(`apt-get ${what}: ${saidBy(ended)}`)
    return ended.code === 0
  }
  if (!(await run('update', ['update', '-q']))) return null
  for (const name of aptPackages) {
    const options = ['-o', 'DPkg::Lock::Timeout=300', '-y', '-q', '--no-install-recommends']
    if (!(await run(`install ${name}`, [...options, 'install', name]))) continue
    const path = await fromPath(env, failures)
    if (path !== null) return path
  }
  return null
}

const saidBy = ({ how, output }: ProgramEnd) => `${how}\n${lastLines(output, 4)}`

async function told(
  progress: (line: string) => void,
  what: string,
  work: () => Promise<ProgramEnd>,
): Promise<ProgramEnd> {
  const began = Date.now()
  progress(`${what} ...`)
  const ended = await work()
  const took = Math.round((Date.now() - began) / 1_000)
  progress(`${what}: ${ended.code === 0 ? 'done' : ended.how} after ${took} s`)
  return ended
}

/**
 * Runs `work` while no other process of this machine installs. The lock is the name of a socket: the system takes it back
 * from whoever dies. Where such names do not exist, the installers' own locks have to do.
 */
async function inTurn<T>(
  { progress, lockName = 'records-sync-chromium' }: FindChromium,
  work: () => Promise<T>,
): Promise<T> {
  if (process.platform !== 'linux') return await work()
  const deadline = Date.now() + turnMaxMs
  for (let waits = 0; ; waits++) {
    const server = createServer()
    const taken = await new Promise<boolean>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) =>
        error.code === 'EADDRINUSE' ? resolve(true) : reject(error),
      )
      server.listen(`\0${lockName}`, () => resolve(false))
    })
    if (!taken) {
      try {
        return await work()
      } finally {
        await new Promise((resolve) => server.close(resolve))
      }
    }
    if (Date.now() > deadline)
      throw new Error(
        `Another process has been installing Chromium for ${turnMaxMs / 60_000} minutes`,
      )
    if (waits === 0) progress('Another process is installing Chromium: waiting for it ...')
    await new Promise((resolve) => setTimeout(resolve, turnPollMs))
  }
}
