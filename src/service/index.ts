// The public face of the Records Service: start one, in memory, and control it.
// Promise kept here: a started service obeys the specification; README.md lists where it does not.

import { randomInt } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { SyncError } from '../core/errors.ts'
import { systemClock, type Clock, type Logger } from '../core/ports.ts'
import { BASE_PATH, type RecordRepresentation } from '../contract/index.ts'
import { SYNCHRONOUS, type Synchronous } from '../sqlite/database.ts'
import { DataFile } from './store/data-file.ts'
import { Directory, type KeyOptions } from './store/directory.ts'
import { FAULT_KINDS, Faults, type FaultPlan } from './limits/faults.ts'
import type { Site } from './handlers/handler.ts'
import { buildApp, type App } from './http/app.ts'
import type { Stats } from './http/intake.ts'
import { KeylessQuota } from './limits/keyless.ts'
import { LIMIT_MODELS, createLimiter, type LimitModel } from './limits/limiter.ts'
import { openApiDocument } from './openapi/index.ts'
import { SYSTEM_SCHEMA, type OrgSchema } from './schema/schema-file.ts'
import type { OrgUser } from './auth/keys.ts'
import { digestOf } from './schema/object-types.ts'
import { Org } from './store/org.ts'
import type { PropertyDefinition } from './schema/properties.ts'
import { seedContacts } from './store/seed.ts'
import { checkedTls, type Tls } from './http/server.ts'
import { deprecationHeaders, type Deprecation } from './http/standard-headers.ts'

export { keyFingerprint, type Grant, type Grants, type OrgUser } from './auth/keys.ts'
export { readSchemaFile, type OrgSchema } from './schema/schema-file.ts'
export { listStoredKeys, mintStoredKey, revokeStoredKey } from './store/stored-keys.ts'
export type { ListedKey } from './store/data-file.ts'
export type { KeyOptions } from './store/directory.ts'
export type { FaultKind, FaultPlan } from './limits/faults.ts'
export type { LimitModel } from './limits/limiter.ts'
export type { Stats } from './http/intake.ts'
export type { Tls } from './http/server.ts'
export type { Synchronous } from '../sqlite/database.ts'
export type { Deprecation } from './http/standard-headers.ts'

/** The longest wait of a Node timer. */
const TIMER_MAX_MS = 2 ** 31 - 1

export interface ServiceOptions {
  /** Default 0: a free one. */
  port?: number
  /** Default 127.0.0.1. */
  host?: string
  /** The address that clients use, such as that of a proxy: origin only. Default: where the service listens. */
  publicUrl?: string
  /** Requests per minute; null, the default: no request is refused. */
  limitPerMinute?: number | null
  /** Default `fixed`: the window begins with each minute of the clock. */
  limitModel?: LimitModel
  /** Contacts that the first org begins with, the same ones each time; none if the org has ever had a record. */
  seedRecords?: number
  /** The delay before each answer. */
  latencyMs?: number
  /** HTTPS with this certificate. Default: plain HTTP. */
  tls?: Tls
  /** Announces the end of v1 on every response (section 9.5). */
  deprecation?: Deprecation
  /** How long a request may take to arrive. Default 60,000. */
  requestTimeoutMs?: number
  /** How long a query or an aggregate may take before it is answered 504. Default 10,000. */
  scanMaxMs?: number
  /** How long `close` waits for requests in flight. Default 10,000. */
  stopGraceMs?: number
  logger?: Logger
  clock?: Clock
  /** SQLite file in which every acknowledged write is stored; created if there is none. Default: memory only. */
  data?: string
  /**
   * When a write waits for the disk under the data file, in SQLite's words. A kill of the process loses nothing by any. A power
   * cut loses nothing by `full`, the last writes by `normal`, the default, and by `off` perhaps the file too.
   */
  synchronous?: Synchronous
  /** Id of the first org, when it is created. Default: random, so that no client takes this service for an earlier one. */
  orgId?: number
  /** Seals cursors and makes the ids of records, in memory only. Default: random. */
  secret?: Uint8Array
  faults?: FaultPlan
  /** The result of `readSchemaFile`: types, associations and people of every org. Default: the system's. */
  schema?: OrgSchema
  /** People of every org, in addition to its administrator and those of the schema. */
  users?: readonly OrgUser[]
}

export interface RunningService {
  /** `http://127.0.0.1:PORT` */
  readonly url: string
  /** The address in documents and problems: `publicUrl` of the options, or `url`. */
  readonly publicUrl: string
  /** Contacts that this start created: none if the org had records before. */
  readonly seeded: number
  /** A key with all grants and org reach; it ends with the service. */
  readonly key: string
  readonly orgId: number
  /** Another org of this service, empty, with the same types and users. */
  addOrg(orgId: number): void
  mintKey(options?: KeyOptions): string
  /** Takes effect on the next request. */
  revokeKey(key: string): void
  setFaults(plan: FaultPlan | null): void
  setLimit(limitPerMinute: number | null): void
  /** Without rates, sorting or filtering on a currency property is 503 (section 4.6). */
  setExchangeRates(available: boolean): void
  /** While down, every connection is destroyed. */
  setDown(down: boolean): void
  stats(): Stats
  /** Adds and removes properties, as people do in the settings of a CRM; a removed property's values go too. In memory only. */
  changeType(
    objectType: string,
    change: { add?: readonly PropertyDefinition[]; remove?: readonly string[] },
  ): void
  /** All live records of a type, in creation order, for tests and tools. */
  records(objectType: string, orgId?: number): RecordRepresentation[]
  close(): Promise<void>
}

/**
 * @throws SyncError `service_options` if an option is out of range, `service_tls` if certificate and key are not a pair,
 * `service_port` if the port is not free
 */
export async function startService(options: ServiceOptions = {}): Promise<RunningService> {
  const { host, tls, publicUrl, stopGraceMs, ...http } = checkedOptions(options)
  const file = options.data === undefined ? null : new DataFile(options.data, options.synchronous)
  try {
    file?.takeForService()
    const { directory, seeded } = openDirectory(options, file)
    const setFaults = (plan: FaultPlan | null) => {
      directory.faults = plan && new Faults(checkedPlan(plan, file !== null))
    }
    setFaults(options.faults ?? null)
    // Set before the first request can arrive: the address is known only once the service listens.
    let site!: Site
    const app = buildApp(directory, () => site, { ...http, tls })
    const url = `${tls ? 'https' : 'http'}://${reachable(host)}:${await listen(app, host, http.port)}`
    site = siteAt(publicUrl ?? url)
    return {
      url,
      publicUrl: site.url,
      seeded,
      key: directory.mint({ grants: 'all', reach: 'org' }),
      orgId: directory.org().id,
      addOrg: (id) => {
        directory.addOrg(id)
      },
      mintKey: (keyOptions) => directory.mint(keyOptions),
      revokeKey: (key) => directory.revoke(key),
      setFaults,
      setLimit: (limit) => directory.setLimit(checkedLimit(limit)),
      setExchangeRates: (available) => {
        for (const org of directory.all()) org.hasRates = available
      },
      setDown: (down) => app.setDown(down),
      stats: () => structuredClone(app.stats),
      changeType: (objectType, change) => directory.org().changeType(objectType, change),
      records: (objectType, orgId) => recordsOf(directory.org(orgId), objectType),
      close: async () => {
        await app.close(stopGraceMs)
        file?.close()
      },
    }
  } catch (error) {
    file?.close()
    throw error
  }
}

/** The options with their defaults. @throws SyncError `service_options`, `service_tls` */
function checkedOptions(options: ServiceOptions) {
  const { port = 0, host = '127.0.0.1', limitPerMinute = null, latencyMs = 0 } = options
  whole('port', port, 65_535)
  whole('latencyMs', latencyMs)
  whole('seedRecords', options.seedRecords ?? 0)
  whole('orgId', options.orgId ?? 0)
  const { requestTimeoutMs = 60_000, stopGraceMs = 10_000, scanMaxMs = 10_000 } = options
  whole('requestTimeoutMs', requestTimeoutMs, TIMER_MAX_MS)
  whole('stopGraceMs', stopGraceMs, TIMER_MAX_MS)
  whole('scanMaxMs', scanMaxMs, TIMER_MAX_MS)
  const tls = options.tls ? checkedTls(options.tls) : null
  const publicUrl = options.publicUrl === undefined ? null : checkedOrigin(options.publicUrl)
  const announced = options.deprecation ? deprecationHeaders(options.deprecation) : {}
  checkedLimit(limitPerMinute)
  const { limitModel = 'fixed', logger } = options
  if (!LIMIT_MODELS.includes(limitModel)) {
    throw optionError('limitModel', `one of ${LIMIT_MODELS.join(', ')}`, limitModel)
  }
  const { synchronous = 'normal' } = options
  if (!SYNCHRONOUS.includes(synchronous)) {
    throw optionError('synchronous', `one of ${SYNCHRONOUS.join(', ')}`, synchronous)
  }
  if (options.synchronous !== undefined && options.data === undefined) {
    throw optionError('synchronous', 'data with it', synchronous)
  }
  const times = { latencyMs, requestTimeoutMs, stopGraceMs, scanMaxMs }
  return { port, host, tls, publicUrl, announced, logger, ...times }
}

/** The port that it listens on. @throws SyncError `service_port` */
async function listen({ fastify }: App, host: string, port: number): Promise<number> {
  try {
    await fastify.listen({ port, host })
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown'
    throw new SyncError('service_port', `Cannot listen on ${host}, port ${port}: ${code}`, {
      port,
    })
  }
  return (fastify.server.address() as AddressInfo).port
}

function recordsOf(org: Org, objectType: string): RecordRepresentation[] {
  const type = org.types.get(objectType)
  if (type) return Array.from(org.store(type).live(), ({ record }) => record)
  const names = [...org.types.keys()].join(', ')
  throw new SyncError('service_options', `objectType: one of ${names} was expected`)
}

/** The orgs of the data file, or one in memory; `seeded`: contacts that were created. */
function openDirectory(
  options: ServiceOptions,
  file: DataFile | null,
): { directory: Directory; seeded: number } {
  const { clock = systemClock, limitPerMinute = null, schema = SYSTEM_SCHEMA } = options
  const users = [...schema.users, ...(options.users ?? [])]
  const limiter = () => createLimiter(options.limitModel ?? 'fixed', limitPerMinute)
  const digest = file ? digestOf(schema.types) : ''
  const isChecked = file?.isCheckedAgainst(digest) ?? true
  const newOrg = (id: number) => {
    const org = new Org({
      id,
      clock,
      limiter: limiter(),
      types: schema.types,
      associations: schema.associations,
      users,
      ...(file
        ? { keep: file.keep, secret: file.secret() }
        : options.secret && { secret: options.secret }),
    })
    if (file) {
      for (const user of users) file.putUser(id, user)
      org.restore(file.kept(id), isChecked)
    }
    return org
  }
  const directory = new Directory({ clock, keyless: new KeylessQuota(limiter), newOrg, file })
  if (!isChecked) file?.putChecked(digest)
  file?.putTypeNames([...schema.types.keys()])
  if (directory.all().length === 0) directory.addOrg(options.orgId ?? randomInt(100_000, 2 ** 31))
  const org = directory.org()
  // The org may be older than this start, for example if its first key was minted before.
  const seeded = org.isUntouched ? (options.seedRecords ?? 0) : 0
  seedContacts(org, seeded)
  return { directory, seeded }
}

function siteAt(url: string): Site {
  const docsUrl = `${url}/docs`
  let openApi: string | null = null
  return {
    url,
    docsUrl,
    openApiUrl: `${url}${BASE_PATH}/openapi.json`,
    // Made when it is asked for: it is a third of the work of a start.
    get openApi() {
      return (openApi ??= JSON.stringify(openApiDocument(url, docsUrl)))
    },
  }
}

/** An address that a client on this machine can use. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}

function checkedLimit(limit: number | null): number | null {
  if (limit !== null) whole('limitPerMinute', limit)
  return limit
}

function checkedPlan(plan: FaultPlan, isKept: boolean): FaultPlan {
  if (!(plan.rate >= 0 && plan.rate <= 1)) {
    throw optionError('faults.rate', 'a share from 0 to 1', plan.rate)
  }
  const unknown = plan.kinds.find((kind) => !FAULT_KINDS.includes(kind))
  if (unknown !== undefined) {
    throw optionError('faults.kinds', `some of ${FAULT_KINDS.join(', ')}`, unknown)
  }
  if (isKept && plan.kinds.includes('schema_change')) {
    // After a restart the file would hold values of a property that does not exist.
    throw optionError('faults.kinds', 'no schema_change on a data file', 'schema_change')
  }
  whole('faults.slowBodyMs', plan.slowBodyMs ?? 0, 60_000)
  return plan
}

function checkedOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  const isOrigin = url?.username === '' && url.pathname === '/' && !url.search && !url.hash
  if (url && isWeb && isOrigin) return url.origin
  throw new SyncError(
    'service_options',
    'publicUrl: an address without a path was expected, such as https://crm.example.com',
  )
}

function whole(name: string, value: number, max = Number.MAX_SAFE_INTEGER): void {
  if (Number.isInteger(value) && value >= 0 && value <= max) return
  throw optionError(name, `a whole number from 0 to ${max}`, value)
}

function optionError(name: string, expected: string, got: string | number): SyncError {
  return new SyncError('service_options', `${name}: ${expected} was expected, got ${got}`)
}
