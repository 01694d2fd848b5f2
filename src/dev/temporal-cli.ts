// Finds the Temporal CLI, which contains the development server, or gets it: PATH, cache, download, Go. Promise kept here: it
// ends with a program that answers `--version`, or with one error that names every way and why each failed. Two concurrent calls
// do no harm: each works in a folder of its own and renames it at the end.

import fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { SyncError } from '../core/errors.ts'
import { downloadTemporalCli } from './temporal-download.ts'
import { lastLines, runProgram } from './run-program.ts'

/** The release to download or build. One on the PATH may be any other. */
export const TEMPORAL_CLI_VERSION = '1.5.1'

const versionWaitMs = 20_000
const buildMaxMs = 20 * 60_000
const progressEveryMs = 10_000
/** The next call removes what a killed download or build left behind after this time. */
const leftoverMs = 60 * 60_000

export interface TemporalCli {
  readonly path: string
  /** As the program reports it: `1.5.1`; a plain build reports `0.0.0-DEV`. */
  readonly version: string
  readonly origin: 'path' | 'cache' | 'download' | 'go'
}

export interface FindTemporalCli {
  readonly env: NodeJS.ProcessEnv
  /** Default: `records-sync` in `XDG_CACHE_HOME`, else in `~/.cache`. */
  readonly cacheDir?: string
  /** Gets a line when a slow step begins, every 10 s while it continues, and at its end. */
  readonly progress: (line: string) => void
  /** For the download. Default: the global one. */
  readonly fetch?: typeof fetch
}

/** @throws SyncError `temporal_cli_missing` if no way leads to a working program */
export async function findTemporalCli(options: FindTemporalCli): Promise<TemporalCli> {
  const { env, progress } = options
  const failures: string[] = []
  const installed = await installedTemporalCli(options, failures)
  if (installed !== null) return installed
  const home = homeOf(options)
  const cached = path.join(home, 'temporal')

  const ways = [
    {
      origin: 'download' as const,
      what: `Downloading the Temporal CLI ${TEMPORAL_CLI_VERSION} from temporal.download`,
      make: (dir: string) =>
        downloadTemporalCli({ version: TEMPORAL_CLI_VERSION, dir, fetch: options.fetch ?? fetch }),
    },
    {
      origin: 'go' as const,
      what: `Building the Temporal CLI ${TEMPORAL_CLI_VERSION} with Go, once (2 to 4 minutes)`,
      make: (dir: string) => buildWithGo(dir, env),
    },
  ]
  for (const { origin, what, make } of ways) {
    try {
      const version = await withProgress(what, progress, () => makeInto(home, env, make))
      return { path: cached, version, origin }
    } catch (error) {
      failures.push(`${origin}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  throw missing(failures)
}

/**
 * One that is there already, on the PATH or in the cache; null if it would have to be fetched.
 * @param failures gets why each of both is not used
 */
export async function installedTemporalCli(
  options: Pick<FindTemporalCli, 'env' | 'cacheDir'>,
  failures: string[] = [],
): Promise<TemporalCli | null> {
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
const homeOf = ({ env, cacheDir }: Pick<FindTemporalCli, 'env' | 'cacheDir'>): string =>
  path.join(cacheDir ?? defaultCacheDir(env), `temporal-${TEMPORAL_CLI_VERSION}`)

function missing(failures: readonly string[]): SyncError {
  return new SyncError(
    'temporal_cli_missing',
    [
      'No Temporal development server: the Temporal CLI was not found and could not be fetched.',
      'What was tried:',
      ...failures.map((failure) => `  - ${failure.replaceAll('\n', '\n    ')}`),
      'Do one of these and try again:',
      '  - use a running server: set TEMPORAL_ADDRESS, for example to localhost:7233',
      '  - install the Temporal CLI, so that `temporal --version` works: https://docs.temporal.io/cli',
      '  - allow the download from https://temporal.download',
      '  - install Go 1.24 or newer and allow its module downloads: https://go.dev/dl/',
    ].join('\n'),
  )
}

function defaultCacheDir(env: NodeJS.ProcessEnv): string {
  const base = env.XDG_CACHE_HOME || path.join(env.HOME || os.homedir(), '.cache')
  return path.join(base, 'records-sync')
}

async function fromPath(env: NodeJS.ProcessEnv, failures: string[]): Promise<TemporalCli | null> {
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

/** The first program of that name, as a shell would find it. Relative entries are not trusted. */
async function onPathOf(env: NodeJS.ProcessEnv, name: string): Promise<string | null> {
  for (const folder of (env.PATH ?? '').split(path.delimiter)) {
    if (!path.isAbsolute(folder)) continue
    const file = path.join(folder, name)
    if (await isProgram(file)) return file
  }
  return null
}

async function isProgram(file: string): Promise<boolean> {
  try {
    await fs.access(file, fs.constants.X_OK)
    return (await fs.stat(file)).isFile()
  } catch {
    return false
  }
}

async function versionOf(program: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  const { code, output } = await runProgram(program, ['--version'], { env, maxMs: versionWaitMs })
  if (code !== 0) return null
  return /^temporal version (\S+)/m.exec(output)?.[1] ?? null
}

async function buildWithGo(dir: string, env: NodeJS.ProcessEnv): Promise<string> {
  const go = await onPathOf(env, 'go')
  if (go === null) throw new Error('there is no `go` on the PATH')
  // Without the version the program reports 0.0.0-DEV; -s -w omit what only a debugger reads.
  const flags = `-s -w -X github.com/temporalio/cli/temporalcli.Version=${TEMPORAL_CLI_VERSION}`
  const target = `github.com/temporalio/cli/cmd/temporal@v${TEMPORAL_CLI_VERSION}`
  const ended = await runProgram(go, ['install', '-ldflags', flags, target], {
    env: { ...env, CGO_ENABLED: '0', GOBIN: dir },
    cwd: dir,
    maxMs: buildMaxMs,
  })
  if (ended.code !== 0) {
    throw new Error(`go install ${target} failed (${ended.how}):\n${lastLines(ended.output, 5)}`)
  }
  return path.join(dir, 'temporal')
}

/** Makes the program in a folder of its own, checks that it answers, then moves it into its place in one step. */
async function makeInto(
  home: string,
  env: NodeJS.ProcessEnv,
  make: (dir: string) => Promise<string>,
): Promise<string> {
  const cacheDir = path.dirname(home)
  await fs.mkdir(home, { recursive: true })
  await removeLeftovers(cacheDir)
  const dir = await fs.mkdtemp(path.join(cacheDir, leftoverPrefix))
  try {
    const made = await make(dir)
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

async function removeLeftovers(cacheDir: string): Promise<void> {
  for (const name of await fs.readdir(cacheDir)) {
    if (!name.startsWith(leftoverPrefix)) continue
    const dir = path.join(cacheDir, name)
    const made = await fs.stat(dir).catch(() => null)
    if (made !== null && Date.now() - made.mtimeMs > leftoverMs) {
      await fs.rm(dir, { recursive: true, force: true })
    }
  }
}

async function withProgress<T>(
  what: string,
  progress: (line: string) => void,
  work: () => Promise<T>,
): Promise<T> {
  const began = Date.now()
  const elapsed = () => `${Math.round((Date.now() - began) / 1000)} s`
  progress(`${what} ...`)
  const timer = setInterval(() => progress(`${what}: ${elapsed()} so far`), progressEveryMs)
  try {
    const result = await work()
    progress(`${what}: done after ${elapsed()}`)
    return result
  } catch (error) {
    progress(`${what}: failed after ${elapsed()}`)
    throw error
  } finally {
    clearInterval(timer)
  }
}
