// Loads records-sync.yaml: reads, checks everything at once, fills in defaults and makes paths absolute.
// Promise kept here: a configuration that loads is complete and consistent, and holds no secret.

import { readFile, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { OperationId, RequestOverride } from '../src/contract/index.ts'
import { ConfigError } from '../src/core/errors.ts'
import type { Issue } from '../src/core/errors.ts'
import type { Json } from '../src/core/json.ts'
import { tooManyOpenFiles } from '../src/core/open-files.ts'
import { parseEvery, type ScheduleConfig } from '../src/core/schedule.ts'
import { crossCheck } from './checks.ts'
import { readDocument } from './document.ts'
import type { Environment } from './environment.ts'
import { validate } from './issues.ts'
import type { NotificationKind } from './operating.ts'
import { SECRET_VARIABLE } from './parts.ts'
import { configSchema } from './schema.ts'
import type { ConfigOutput, ImportOutput, SyncOutput } from './schema.ts'
import type { RecordsFrom } from '../src/sources/settings.ts'
import type { SecretSource } from './secret.ts'
import type { ImportConfig, MirrorConfig, PropertyMapping, SyncConfig } from './sync.ts'

export interface ConnectionConfig {
  /** URL of the service, as written. */
  readonly service: string
  readonly key: SecretSource
  /** How operations are requested, by the contract's operation ids; each is a checked `RequestOverride`. */
  readonly operations?: Readonly<Partial<Record<OperationId, RequestOverride>>>
  readonly quota: {
    /** Share of the limit that is kept free, 0 to 0.9. */
    readonly reserve: number
    /** Weights of the kinds of work that wait at the same time. */
    readonly shares: Readonly<Record<'import' | 'mirror' | 'backfill', number>>
  }
}

/** The absolute path of a SQLite file, or where the URL of a PostgreSQL database is, and the schema in it. */
export type LedgerConfig = (
  | { readonly sqlite: string }
  | { readonly postgres: SecretSource; readonly schema: string }
) & {
  /** Absent: manifests are not signed. */
  readonly signing_key?: SecretSource
}

/** The absolute path of a DuckDB file, or where the URL of a PostgreSQL database is. */
export type WarehouseConfig =
  | { readonly duckdb: string; readonly files?: readonly string[] }
  | { readonly postgres: SecretSource }

/** A loaded configuration: plain JSON data. */
export interface Config {
  /** Absolute path of the file it came from. */
  readonly file: string
  readonly ledger: LedgerConfig
  readonly connections: Readonly<Record<string, ConnectionConfig>>
  readonly warehouses: Readonly<Record<string, WarehouseConfig>>
  readonly syncs: Readonly<Record<string, SyncConfig>>
  readonly temporal: TemporalConfig
  readonly worker: {
    /** `host:port` at which a worker serves its metrics and its health. */
    readonly listen?: string
    readonly slots: number
  }
  readonly notifications: Readonly<Record<string, NotificationConfig>>
}

/** The Temporal server, as far as the file describes it. Paths are absolute. */
export interface TemporalConfig {
  readonly address?: string
  readonly namespace?: string
  readonly tls?:
    | boolean
    | {
        readonly server_ca?: string
        readonly client_cert?: string
        readonly client_key?: string
        readonly server_name?: string
      }
  readonly api_key?: SecretSource
  readonly encryption_keys?: readonly SecretSource[]
  readonly ui?: string
}

/** A webhook. */
export interface NotificationConfig {
  readonly url: SecretSource
  readonly on: readonly NotificationKind[]
  readonly rejects_max: number
  /** Absent: all. */
  readonly syncs?: readonly string[]
}

/** Name of the file if none is given. */
export const CONFIG_FILE = 'records-sync.yaml'
const fileBytesMax = 1_048_576

/**
 * Loads the configuration of a project.
 * @param path of the file; relative paths in it are relative to its folder
 * @throws ConfigError with every issue, each at its line and column
 */
export async function loadConfig(path: string, env: Environment): Promise<Config> {
  const document = readDocument(await readText(path), env)
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
  const absolute = (path: string) => resolve(dirname(file), path)
  return {
    file,
    ledger: ledgerOf(output.ledger, absolute),
    connections: mapValues(output.connections, ({ service, key, operations, quota }) => ({
      service,
      key: secretSource(key, absolute),
      ...(operations && { operations }),
      quota: { reserve: quota.reserve_percent / 100, shares: quota.shares },
    })),
    // One of the two is given; otherwise the configuration was refused.
    warehouses: mapValues(output.warehouses, ({ duckdb, files, postgres }) =>
      postgres === undefined
        ? {
            duckdb: duckdb === ':memory:' ? duckdb : absolute(duckdb!),
            ...(files && { files: files.map(absolute) }),
          }
        : { postgres: secretSource(postgres, absolute) },
    ),
    syncs: mapValues(output.syncs, (sync, name) => syncOf(name, sync, absolute)),
    temporal: temporalOf(output.temporal, absolute),
    worker: output.worker as Config['worker'],
    notifications: mapValues(output.notifications, ({ url, ...rest }) => ({
      ...rest,
      url: secretSource(url, absolute),
    })) as Config['notifications'],
  }
}

function ledgerOf(
  ledger: ConfigOutput['ledger'],
  absolute: (path: string) => string,
): LedgerConfig {
  if (typeof ledger === 'string') return { sqlite: absolute(ledger) }
  const { sqlite, postgres, schema, signing_key } = ledger
  const signed =
    signing_key === undefined ? {} : { signing_key: secretSource(signing_key, absolute) }
  if (postgres !== undefined)
    return { postgres: secretSource(postgres, absolute), schema, ...signed }
  // One of the two is given; otherwise the configuration was refused.
  return { sqlite: absolute(sqlite!), ...signed }
}

function temporalOf(
  { tls, api_key, encryption_keys, ...rest }: ConfigOutput['temporal'],
  absolute: (path: string) => string,
): TemporalConfig {
  const files = typeof tls === 'object' ? tls : {}
  const paths = (['server_ca', 'client_cert', 'client_key'] as const).flatMap((name) => {
    const path = files[name]
    return path === undefined ? [] : [[name, absolute(path)] as const]
  })
  return {
    ...(rest as Pick<TemporalConfig, 'address' | 'namespace' | 'ui'>),
    ...(tls !== undefined && {
      tls: typeof tls === 'boolean' ? tls : ({ ...tls, ...Object.fromEntries(paths) } as object),
    }),
    ...(api_key !== undefined && { api_key: secretSource(api_key, absolute) }),
    ...(encryption_keys && {
      encryption_keys: encryption_keys.map((key) => secretSource(key, absolute)),
    }),
  }
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

/** One of the two is given; otherwise the configuration was refused. */
function syncOf(
  name: string,
  { import: importing, mirror, schedule }: SyncOutput,
  absolute: (path: string) => string,
): SyncConfig {
  const when = schedule === undefined ? {} : { schedule: scheduleOf(schedule) }
  if (mirror !== undefined) {
    const config: MirrorConfig = { ...mirror, schema: mirror.schema ?? name }
    return { name, kind: 'mirror', mirror: config, ...when }
  }
  const { from, properties, ...rest } = importing!
  return {
    name,
    kind: 'import',
    import: {
      ...(rest as Omit<ImportConfig, 'from' | 'properties'>),
      from: fromOf(from, absolute),
      properties: mapValues(properties, longForm),
    },
    ...when,
  }
}

/** Exactly one kind is given, and it is complete; otherwise the configuration was refused. */
function fromOf(
  {
    csv,
    delimiter = ',',
    quote = '"',
    encoding,
    ragged = 'reject',
    query,
    warehouse,
    watermark,
    records,
  }: ImportOutput['from'],
  absolute: (path: string) => string,
): ImportConfig['from'] {
  if (csv !== undefined)
    return {
      csv: absolute(csv),
      delimiter,
      quote,
      ragged,
      ...(encoding !== undefined && { encoding }),
    }
  // The document holds JSON values only.
  if (records !== undefined) return { records: records as RecordsFrom['records'] }
  return {
    query: query!,
    warehouse: warehouse!,
    ...(watermark && { watermark: { ...watermark, initial: String(watermark.initial) } }),
  }
}

function secretSource(
  key: ConfigOutput['connections'][string]['key'],
  absolute: (path: string) => string,
): SecretSource {
  if (typeof key === 'string') return { env: SECRET_VARIABLE.exec(key)![1]! }
  if (key.file !== undefined) return { file: absolute(key.file) }
  return key as SecretSource
}

function longForm(mapping: ImportOutput['properties'][string]): PropertyMapping {
  if (typeof mapping === 'string') return { column: mapping }
  const { value, ...rest } = mapping
  // The document holds JSON values only.
  return value === undefined ? rest : { ...rest, value: value as Json }
}

function mapValues<T, U>(
  from: Readonly<Record<string, T>>,
  map: (value: T, name: string) => U,
): Record<string, U> {
  return Object.fromEntries(Object.entries(from).map(([name, value]) => [name, map(value, name)]))
}
