// Makes a checkout ready to run: packages as locked, sources compiled into dist, workflows bundled. Plain JavaScript with Node's
// own modules only, because it runs before anything is installed. With `--temporal` it gets the Temporal CLI meanwhile. Promise kept
// here: it is silent and fast if there is nothing to do, and two concurrent runs do no harm.

import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')
const at = (...parts) => path.join(root, ...parts)

const nodeMin = [20, 19]
const lockDir = at('.records-sync', 'setup.lock')
/** `npm ci` on a slow line takes minutes; no setup waits longer than this for another one. */
const lockWaitMs = 15 * 60_000
const lockPollMs = 200
/** A lock without its owner's process id is just being made, or its maker died at that moment. */
const lockUnnamedMs = 5_000

const packagesStamp = at('node_modules', '.records-sync-lock')
const buildStamp = at('dist', '.build')
const buildDir = at('.records-sync', 'build')
const sourceFolders = ['src', 'workflows', 'activities', 'config']
const sourceFiles = [
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'src/dev/setup.mjs',
]

class SetupError extends Error {}

/** The line at the foot of a terminal that is rewritten; what is said meanwhile goes above it. */
let footer = ''
const eraseFooter = () => (footer === '' ? '' : '\r\u001B[2K')

function say(line) {
  process.stderr.write(`${eraseFooter()}${line}\n${footer}`)
}

function rewrite(line) {
  process.stderr.write(eraseFooter() + line)
  footer = line
}

function readText(file) {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return null
    throw error
  }
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > nodeMin[0] || (major === nodeMin[0] && minor >= nodeMin[1])) return
  throw new SetupError(
    `records-sync needs Node.js ${nodeMin.join('.')} or newer; this is ${process.versions.node}. See https://nodejs.org/`,
  )
}

/** The packages that node_modules should contain, as one line. */
function packagesWanted() {
  const lock = readText(at('package-lock.json'))
  if (lock === null)
    throw new SetupError('package-lock.json is missing: this checkout is not whole')
  return createHash('sha256').update(lock).digest('hex')
}

/** The sources that dist should be made from, as one line: paths, sizes and modification times; no file is read. */
function sourcesWanted() {
  const files = [...sourceFiles]
  for (const folder of sourceFolders) {
    if (!fs.existsSync(at(folder))) continue
    for (const name of fs.readdirSync(at(folder), { recursive: true })) {
      if (/\.(?:m?ts|mjs|json)$/.test(name)) files.push(path.join(folder, name))
    }
  }
  const hash = createHash('sha256')
  for (const file of files.sort()) {
    const facts = fs.statSync(at(file), { throwIfNoEntry: false })
    if (facts) hash.update(`${file}\0${facts.size}\0${facts.mtimeMs}\n`)
  }
  return hash.digest('hex')
}

/** Runs a program with its output on stderr: stdout belongs to the command that follows setup. */
async function run(what, program, args) {
  const [code, signal] = await new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32' && program === 'npm',
    })
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => process.stderr.write(eraseFooter() + chunk))
    child.once('error', (error) =>
      reject(new SetupError(`${what}: cannot start ${program}: ${error.message}`)),
    )
    child.once('close', (...end) => resolve(end))
  })
  if (code !== 0) throw new SetupError(`${what} failed (exit code ${code ?? signal}); see above`)
}

async function install(wanted) {
  say('Installing the packages of package-lock.json (npm ci, about half a minute) ...')
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']
  await run('npm ci', 'npm', args)
  fs.writeFileSync(packagesStamp, wanted)
}

/** Compiles next to dist and then swaps, so that dist is never half old and half new. Writes the stamp last. */
async function build(wanted) {
  say('Compiling into dist ...')
  fs.rmSync(buildDir, { recursive: true, force: true })
  const tsc = at('node_modules', 'typescript', 'bin', 'tsc')
  const args = ['-p', 'tsconfig.build.json', '--outDir', buildDir, '--noEmitOnError']
  await run('Compiling', process.execPath, [tsc, ...args])
  copyPlain()
  const main = path.join(buildDir, 'src', 'cli', 'main.js')
  if (fs.existsSync(main)) fs.chmodSync(main, 0o755)
  fs.rmSync(at('dist'), { recursive: true, force: true })
  fs.renameSync(buildDir, at('dist'))
  await bundleWorkflows()
  fs.writeFileSync(buildStamp, wanted)
}

/** The JavaScript that TypeScript imports, which has types beside it; tests of this file have a folder without it. */
function copyPlain() {
  const to = path.join(buildDir, 'src', 'dev')
  for (const types of fs.readdirSync(at('src', 'dev'))) {
    if (!types.endsWith('.d.mts')) continue
    const name = types.replace(/\.d\.mts$/, '.mjs')
    fs.mkdirSync(to, { recursive: true })
    fs.copyFileSync(at('src', 'dev', name), path.join(to, name))
  }
}

/** A worker with a prebuilt bundle starts in a third of the time and needs half the memory. */
async function bundleWorkflows() {
  const entry = at('dist', 'workflows', 'index.js')
  const { bundleWorkflowCode, DefaultLogger } = await import('@temporalio/worker')
  const logger = new DefaultLogger('ERROR')
  const { code } = await bundleWorkflowCode({
    workflowsPath: entry,
    logger,
    // The map tells the lines of a stack; with the sources in it, a worker would hold them several times.
    webpackConfigHook: (config) => ({ ...config, devtool: 'inline-nosources-source-map' }),
  })
  // V8 keeps a text with one character beyond Latin-1 in twice the memory.
  const latin = code.replace(
    /[^\0-\xff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  fs.writeFileSync(at('dist', 'workflow-bundle.js'), latin)
}

/** Runs `work` while no other setup runs in this checkout. */
async function alone(work) {
  fs.mkdirSync(path.dirname(lockDir), { recursive: true })
  const deadline = Date.now() + lockWaitMs
  let isReported = false
  while (!takeLock()) {
    if (Date.now() > deadline) {
      throw new SetupError(
        `another setup (process ${lockOwner() ?? 'unknown'}) has held ${path.relative(root, lockDir)} for ${lockWaitMs / 60_000} minutes; end it, or remove that folder`,
      )
    }
    if (!isReported) say('Waiting for another setup of this checkout ...')
    isReported = true
    await new Promise((resolve) => setTimeout(resolve, lockPollMs))
  }
  try {
    return await work()
  } finally {
    fs.rmSync(lockDir, { recursive: true, force: true })
  }
}

function takeLock() {
  try {
    fs.mkdirSync(lockDir)
    fs.writeFileSync(path.join(lockDir, 'owner'), String(process.pid))
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
  const owner = lockOwner()
  if (isStale(owner)) removeStaleLock(owner)
  return false
}

function lockOwner() {
  return readText(path.join(lockDir, 'owner'))
}

function isStale(owner) {
  if (!owner) {
    const made = fs.statSync(lockDir, { throwIfNoEntry: false })
    return made !== undefined && Date.now() - made.mtimeMs > lockUnnamedMs
  }
  try {
    process.kill(Number(owner), 0)
    return false
  } catch (error) {
    return error.code === 'ESRCH'
  }
}

/** Moves the lock first and checks it again: between the check and the move it may have become another process's. */
function removeStaleLock(owner) {
  const aside = `${lockDir}.${process.pid}`
  try {
    fs.renameSync(lockDir, aside)
    if (readText(path.join(aside, 'owner')) === owner) fs.rmSync(aside, { recursive: true })
    else fs.renameSync(aside, lockDir)
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
}

async function setup(force) {
  checkNode()
  const packagesFit = () => readText(packagesStamp) === packagesWanted()
  const buildFits = () => !force && readText(buildStamp) === sourcesWanted()
  if (!packagesFit() || !buildFits())
    await alone(async () => {
      if (!packagesFit()) await install(packagesWanted())
      if (!buildFits()) await build(sourcesWanted())
    })
  noteCommit()
}

/** The commit that `records-sync --version` names: a commit that leaves the sources as they are needs no build. */
function noteCommit() {
  const commit = commitOf()
  const file = at('dist', 'commit')
  if (fs.existsSync(at('dist')) && readText(file) !== commit) fs.writeFileSync(file, commit)
}

/** `5eae34d6c1f2`, with `+changes` where sources differ from it; empty where there is no git. */
function commitOf() {
  const git = (...args) =>
    spawnSync('git', args, { cwd: root, encoding: 'utf8', timeout: 10_000, windowsHide: true })
  const found = git('rev-parse', '--show-prefix', '--short=12', 'HEAD')
  const [prefix, commit] = found.status === 0 ? found.stdout.split('\n') : []
  // A checkout inside of another repository is not that repository.
  if (prefix !== '' || !commit) return (process.env.GITHUB_SHA ?? '').slice(0, 12)
  const changed = git('status', '--porcelain', '--', ...sourceFolders).stdout !== ''
  return changed ? `${commit}+changes` : commit
}

/** The Temporal CLI, which the demo and the tests need: got beside what the set-up does, or found. */
async function getTemporal(signal) {
  const { getTemporalCli, TemporalCliMissing } = await import('./temporal-get.mjs')
  const { isTTY } = process.stderr
  const columns = process.stderr.columns || 80
  const live = (line) => rewrite(line.slice(0, columns - 1))
  const screen = isTTY && { columns, live, end: () => rewrite('') }
  try {
    await getTemporalCli({ env: process.env, progress: say, ...(screen && { screen }), signal })
  } catch (error) {
    if (!(error instanceof TemporalCliMissing)) throw error
    throw new SetupError(error.message)
  }
}

/** Ends what is under way, so that a build that nobody waits for does not go on; then the process, as the signal would have. */
function onSignals(stop) {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.once(signal, () => {
      stop.abort()
      setTimeout(() => process.kill(process.pid, signal), 200)
    })
}

// The bundler takes its names of modules from here.
process.chdir(root)
const stop = new AbortController()
try {
  const { argv } = process
  const jobs = [setup(argv.includes('--build'))]
  if (argv.includes('--temporal')) {
    onSignals(stop)
    jobs.push(getTemporal(stop.signal))
  }
  await Promise.all(jobs)
} catch (error) {
  const isStopped = stop.signal.aborted
  stop.abort()
  if (!isStopped && !(error instanceof SetupError)) throw error
  // A signal ends the process in a moment.
  if (!isStopped) say(`setup: ${error.message}`)
  process.exitCode = 1
}
