// The parts that one process runs for a project on this machine: a Temporal server, perhaps a Records Service. `dev.json` in the
// project's `.records-sync` says where they are, so that commands in other terminals find them. Promise kept here: that file alone is
// never believed. It counts only while the process that wrote it holds the lock next to it, which ends with the process however it
// ends; on the same machine; for the same configuration file; if nobody else could write it; and it may name nothing beyond loopback.

import { readFileSync, realpathSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { SyncError } from '../core/errors.ts'
import { systemClock } from '../core/ports.ts'
import { isFileLocked } from '../sqlite/is-locked.ts'

export interface DevParts {
  /** As a person typed it: `dev`, or `run contacts --local`. */
  readonly command: string
  /** The sync that the process is there for; null: all of them, until it is stopped. */
  readonly sync: string | null
  readonly pid: number
  readonly host: string
  /** The real path of the configuration. */
  readonly config: string
  readonly temporal: {
    readonly address: string
    readonly namespace: string
    readonly ui: string | null
  }
  /** The URL of the Records Service; null if there is none. */
  readonly service: string | null
  /** Whether a worker polls. */
  readonly isReady: boolean
}

/** The folder of a project that holds what is ours. */
export const stateDirOf = (configFile: string): string => join(dirname(configFile), '.records-sync')

/** Where the key of the Records Service is. */
export const devKeyFile = (stateDir: string): string => join(stateDir, 'dev.key')

const STARTING_MAX_MS = 60_000
const LOOK_AGAIN_MS = 200

export const partsFile = (stateDir: string) => join(stateDir, 'dev.json')
export const lockFile = (stateDir: string) => join(stateDir, 'dev.lock')

/** The parts that another process, or this one, runs for the configuration now; null if there are none. */
export function findParts(configFile: string): DevParts | null {
  const parts = readParts(stateDirOf(configFile))
  return parts?.isReady === true && isRunning(configFile, parts) ? parts : null
}

function isRunning(configFile: string, { host, config }: DevParts): boolean {
  if (host !== hostname() || config !== realPathOf(configFile)) return false
  return isFileLocked(lockFile(stateDirOf(configFile)))
}

/**
 * Waits for the parts of another process that are about to start, at most a minute. Returns whether there were such.
 * @param tell called once, if it waits
 */
export async function untilPartsStarted(
  configFile: string,
  tell: (line: string) => void,
): Promise<boolean> {
  const deadline = systemClock.now() + STARTING_MAX_MS
  for (let looks = 0; ; looks++) {
    const parts = readParts(stateDirOf(configFile))
    const isStarting =
      parts !== null && !parts.isReady && parts.pid !== process.pid && isRunning(configFile, parts)
    if (!isStarting || systemClock.now() > deadline) return looks > 0
    if (looks === 0)
      tell(`"records-sync ${parts.command}" (process ${parts.pid}) is starting; waiting for it`)
    await systemClock.sleep(LOOK_AGAIN_MS)
  }
}

/** That the parts of this process are in the way. */
export function claimError({ command, sync, pid, config }: DevParts): SyncError {
  const whose = `"records-sync ${command}" (process ${pid}) runs the parts of ${shortOf(config)}`
  const what =
    sync === null
      ? 'already. Use it from this terminal, or stop it with Ctrl-C there; another configuration of this folder needs a folder of its own'
      : 'until its run ends. Wait for that; to do several at once, leave "records-sync dev" running'
  return new SyncError('parts_running', `${whose} ${what}`, { pid })
}

/** That a run of this process is done by the parts of another one. */
export const sharedPartsText = ({ command, pid }: DevParts): string =>
  `The run is done by "records-sync ${command}" (process ${pid}), and waits while that process stands still`

/** `crm/records-sync.yaml` */
const shortOf = (file: string) => join(basename(dirname(file)), basename(file))

const LOOPBACK = /^127\.0\.0\.1:\d{1,5}$/

/** Rights of others to write. */
const OTHERS_WRITE = 0o022

/** Null for a file that is missing, torn, or of somebody else, or that says what no process of ours writes. */
export function readParts(stateDir: string): DevParts | null {
  try {
    const { uid, mode } = statSync(partsFile(stateDir))
    if (uid !== process.getuid?.() || (mode & OTHERS_WRITE) !== 0) return null
    const parts = JSON.parse(readFileSync(partsFile(stateDir), 'utf8')) as DevParts
    const { command, sync, pid, host, config, temporal, service, isReady } = parts
    const { address, namespace, ui } = temporal
    const isText = [command, host, config, namespace].every((text) => typeof text === 'string')
    const isOurs =
      isText &&
      Number.isSafeInteger(pid) &&
      (sync === null || typeof sync === 'string') &&
      LOOPBACK.test(address) &&
      [ui, service].every((url) => url === null || isLoopbackUrl(url)) &&
      typeof isReady === 'boolean'
    return isOurs ? parts : null
  } catch {
    return null
  }
}

const isLoopbackUrl = (url: string) =>
  url.startsWith('http://') && LOOPBACK.test(url.slice('http://'.length))

export function realPathOf(path: string): string | null {
  try {
    return realpathSync(path)
  } catch {
    return null
  }
}

/** The environment with the URL and the key of the project's Records Service, where it runs and they are not set. */
export function withDevService(env: NodeJS.ProcessEnv, configFile: string): NodeJS.ProcessEnv {
  const { service } = findParts(configFile) ?? { service: null }
  if (service === null) return env
  try {
    const key = readFileSync(devKeyFile(stateDirOf(configFile)), 'utf8').trim()
    return { RECORDS_URL: service, RECORDS_API_KEY: key, ...env }
  } catch {
    return env
  }
}
