// Loads records-sync.yaml: reads, checks everything at once, fills in defaults and makes paths absolute.
// Promise kept here: a configuration that loads is complete and consistent, and holds no secret.

import { readFile, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { ConfigError, type Issue } from '../src/core/errors.ts'
import { tooManyOpenFiles } from '../src/core/open-files.ts'
import { parseEvery, type ScheduleConfig } from '../src/core/domain/schedule.ts'
import type { Frozen } from '../src/settings/choice.ts'
import { mapMarked } from '../src/settings/marks.ts'
import type { SecretSource } from '../src/settings/parts.ts'
import { crossCheck } from './checks.ts'
import { readDocument } from './document.ts'
import type { Environment } from './environment.ts'
import { validate } from './issues.ts'
import { ledgerOf, type LedgerConfig } from './ledger.ts'
import { importOfLink } from './link-sync.ts'
import { configSchema, type ConfigOutput } from './schema.ts'
import type { GroupConfig, SyncConfig } from './sync.ts'

/** A loaded configuration: plain JSON data, as the schema describes it, with absolute paths. */
export type Config = Frozen<Omit<ConfigOutput, 'ledger' | 'syncs' | 'groups'>> & {
  /** Absolute path of the file it came from. */
  readonly file: string
  /** Files that hold keys, by all settings that name one. */
  readonly keyFiles: readonly string[]
  readonly ledger: LedgerConfig
  readonly syncs: Readonly<Record<string, SyncConfig>>
  readonly groups: Readonly<Record<string, GroupConfig>>
}
export type ConnectionConfig = Config['connections'][string]
export type WarehouseConfig = Config['warehouses'][string]
/** The Temporal server, as far as the file describes it. */
export type TemporalConfig = Config['temporal']
/** A webhook. */
export type NotificationConfig = Config['notifications'][string]

/** Name of the file if none is given. */
export const CONFIG_FILE = 'records-sync.yaml'
const fileBytesMax = 1_048_576

/** The file that loaded last: its text, and the variables that it was filled from. It holds no secret, as none is filled in. */
let last: {
  readonly file: string
  readonly text: string
  readonly variables: ReadonlyMap<string, string | undefined>
  readonly config: Config
} | null = null

/**
 * Loads the configuration of a project. Workers call it several times in each run; what has not changed since is not parsed again,
 * which takes a tenth of a second with some hundred syncs.
 * @param path of the file; relative paths in it are relative to its folder
 * @throws ConfigError with every issue, each at its line and column
 */
export async function loadConfig(path: string, env: Environment): Promise<Config> {
  const file = resolve(path)
  const text = await readText(path)
  if (last?.file === file && last.text === text) {
    const isSame = [...last.variables].every(([name, value]) => env[name] === value)
    if (isSame) return last.config
  }
  const variables = new Map<string, string | undefined>()
  const config = parsed(path, text, noting(env, variables))
  last = { file, text, variables, config }
  return config
}

/** The environment; notes each variable that is asked for. */
const noting = (env: Environment, variables: Map<string, string | undefined>): Environment =>
  new Proxy(env, {
    get(_, name) {
      const value = env[String(name)]
      variables.set(String(name), value)
      return value
    },
  })

function parsed(path: string, text: string, env: Environment): Config {
  const document = readDocument(text, env)
  if (document.data === undefined) throw new ConfigError(path, inOrder(document.issues))
  const result = validate(configSchema, document)
  // A value that could not be read gets one complaint only.
  const unread = new Set(document.issues.map((issue) => issue.path))
  const checked = [...('issues' in result ? result.issues : []), ...crossCheck(document)]
  const issues = [...document.issues, ...checked.filter((issue) => !unread.has(issue.path))]
  if (result.output === undefined || issues.length > 0) throw new ConfigError(path, inOrder(issues))
  return resolved(resolve(path), result.output)
}

export async function readText(path: string): Promise<string> {
  const refuse = (message: string) => new ConfigError(path, [{ message }])
  let bytes: Uint8Array
  try {
    const facts = await stat(path)
    if (facts.isDirectory())
      throw refuse(`this is a folder; name the file in it, or make one with \`records-sync init\``)
    if (!facts.isFile()) throw refuse('this is not a regular file')
    if (facts.size > fileBytesMax) throw refuse('the file is larger than 1 MiB')
    bytes = await readFile(path)
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const code = (error as NodeJS.ErrnoException).code
    const full = tooManyOpenFiles(error)
    if (full) throw full
    throw code === 'ENOENT' || code === 'ENOTDIR'
      ? refuse('there is no such file; `records-sync init` makes one')
      : refuse(`the file cannot be read (${code ?? 'unknown reason'})`)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw refuse('the file is not UTF-8; save it as UTF-8')
  }
}

function inOrder(issues: readonly Issue[]): Issue[] {
  return issues.toSorted(
    (a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  )
}

function resolved(file: string, output: ConfigOutput): Config {
  const absolute = withAbsolutePaths(output, dirname(file))
  const { ledger, syncs, groups, ...rest } = absolute
  return {
    file,
    keyFiles: keyFilesIn(absolute),
    ...rest,
    ledger: ledgerOf(ledger),
    syncs: Object.fromEntries(
      Object.entries(syncs).map(([name, sync]) => [name, syncOf(name, sync)]),
    ),
    groups: Object.fromEntries(
      Object.entries(groups).map(([name, group]) => [
        name,
        groupOf(name, group, Object.keys(syncs)),
      ]),
    ),
  }
}

const withAbsolutePaths = (output: ConfigOutput, folder: string): ConfigOutput =>
  mapMarked(configSchema, output, (mark, value) => {
    if (mark.is === 'path' && value !== mark.except) return resolve(folder, value as string)
    if (mark.is !== 'secret') return value
    const source = value as SecretSource
    return 'file' in source ? { file: resolve(folder, source.file) } : source
  })

/** The files that hold keys: by the marks of the schema, so that a setting cannot be forgotten. */
export function keyFilesIn(output: ConfigOutput): string[] {
  const found: string[] = []
  mapMarked(configSchema, output, (mark, value) => {
    if (mark.is === 'path' && mark.isKey === true) found.push(value as string)
    if (mark.is === 'secret' && 'file' in Object(value))
      found.push((value as { readonly file: string }).file)
    return value
  })
  return found
}

type SyncOutput = ConfigOutput['syncs'][string]

/** One of them is given; otherwise the configuration was refused. */
function syncOf(name: string, sync: SyncOutput): SyncConfig {
  const { import: importing, link, mirror, after = [], schedule } = sync
  const when = {
    ...(after.length > 0 && { after }),
    ...(schedule !== undefined && { schedule: scheduleOf(schedule) }),
  }
  if (mirror !== undefined)
    return { name, kind: 'mirror', mirror: { ...mirror, schema: mirror.schema ?? name }, ...when }
  return { name, kind: 'import', import: importing ?? importOfLink(link!), ...when }
}

/** @param all the names of all syncs */
function groupOf(
  name: string,
  { syncs, schedule }: ConfigOutput['groups'][string],
  all: readonly string[],
): GroupConfig {
  const when = schedule === undefined ? {} : { schedule: scheduleOf(schedule) }
  return { name, syncs: syncs === 'all' ? all : syncs, ...when }
}

/** The long form of a schedule. One of `every` and `cron` is given; otherwise the configuration was refused. */
function scheduleOf(schedule: NonNullable<SyncOutput['schedule']>): ScheduleConfig {
  if (typeof schedule === 'string') {
    const every = /^every\s+(.*)$/i.exec(schedule.trim())?.[1]
    const what = every === undefined ? { cron: schedule.trim() } : { every_ms: parseEvery(every)! }
    return { ...what, time_zone: 'UTC', jitter_seconds: 0, catch_up_minutes: 60 }
  }
  const { every, cron, time_zone = 'UTC', jitter_seconds, catch_up_minutes } = schedule
  const what = every === undefined ? { cron: cron!.trim() } : { every_ms: parseEvery(every)! }
  return { ...what, time_zone, jitter_seconds, catch_up_minutes }
}
