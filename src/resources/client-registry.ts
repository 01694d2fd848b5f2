// Clients by connection of the configuration file. Separate from worker.ts, so that a command which only queries the service need
// not load the worker. Promise kept here: all requests to one org go through one pacer of this process, whatever their
// connections and keys.

import { randomUUID } from 'node:crypto'
import {
  loadConfig,
  placeOfKey,
  readSecret,
  secretOrigin,
  secretRemedy,
  type SecretSource,
} from '../../config/index.ts'
import { Pacer, parseLimit, RecordsClient, type ClientOptions } from '../client/index.ts'
import { readDeprecation, type AnnouncedEnd } from '../client/deprecation.ts'
import { isKeyForm, keyFormText } from '../client/key.ts'
import { CaUnusable, ConfigError, SyncError } from '../core/errors.ts'
import { orgRefText, type OrgRef } from '../core/domain/org-ref.ts'
import type { KeyVisibility } from '../core/domain/visibility.ts'
import { readCa } from '../outbound/pem.ts'
import type { ConfigRef } from './openers.ts'
import {
  systemClock,
  type AcquireOptions,
  type Answer,
  type Logger,
  type Permit,
  type Priority,
  type Quota,
  type QuotaStore,
} from '../core/ports.ts'

/** How long the question whose key this is may delay a connection; the next connection asks it again. */
const FIND_ORG_MAX_MS = 10_000

/** The actual number follows from the quota and the latency; each is made when it is needed. */
const CONNECTIONS_MAX = 256

/** Counts requests, by connection. Not called for requests without a key, for the service's description. */
export interface RequestObserver {
  /** A request was sent; `status` is null if no answer came. What the answer says of the quota, in requests. */
  answered(
    connection: string,
    end: {
      readonly priority: Priority
      readonly status: number | null
      readonly limit: number | null
      readonly remaining: number | null
      /** An end of the API that the answer announces. */
      readonly deprecation: AnnouncedEnd | null
    },
  ): void
  /** A request has waited for the quota, whether it was then sent or not. */
  waited(connection: string, wait: { readonly priority: Priority; readonly ms: number }): void
}

export interface ClientRegistryOptions extends ConfigRef {
  readonly logger: Logger
  /** Where processes share the quotas of orgs. Default: each connection has a quota of its own, in memory. */
  readonly quotas?: {
    readonly store: QuotaStore
    /** This process's name for display, such as `worker 4711 on host-a`. */
    readonly user: string
  }
  readonly watch?: RequestObserver
  /** Opens connections in place of sockets: those of a simulated network. */
  readonly connect?: ClientOptions['connect']
}

/** Clients by connection; a client is replaced if its address or operations changed in the file, or the certificates of its CA. */
export function createClientRegistry(options: ClientRegistryOptions) {
  const clients = new Map<string, Connection>()
  const pacers = options.quotas ? orgPacers(options.quotas, options.logger) : null
  return {
    /**
     * @param home the org that everything must go to; null: any org that the key belongs to
     * @param sight what every key other than the one that had it must see as well
     * @throws CaUnusable; ServiceFailure that blocks on `contract` if the connection leads to another org
     */
    async connect(
      name: string,
      home: OrgRef | null = null,
      sight: KeyVisibility | null = null,
    ): Promise<{ client: RecordsClient; keyFingerprint: string }> {
      const config = await loadConfig(options.configFile, options.env)
      const connection = config.connections[name]
      if (!connection)
        throw new ConfigError(config.file, [{ message: `there is no connection "${name}"` }])
      const { service, operations, quota: settings } = connection
      const ca = await readCaText(name, connection.ca)
      const address = JSON.stringify({ service, operations, ca })
      let known = clients.get(name)
      if (!known || known.address !== address) {
        await known?.client.close()
        const quota = new CurrentQuota(name, new Pacer(), options.watch)
        const client = new RecordsClient({
          baseUrl: service,
          operations,
          ca,
          env: options.env,
          // More than there are concurrent batches: a batch with a permit, already written to the ledger, does not queue for a
          // connection.
          connections: CONNECTIONS_MAX,
          key: () => readKeyOf(name, service, options),
          refusedKey: (...refusal) => refusedKey(name, refusal, options),
          quota,
          logger: options.logger,
          connect: options.connect,
        })
        known = { address, client, quota }
        clients.set(name, known)
      }
      // A command may be slow, or ask a person: it runs again if the key is refused, or belongs to another org.
      if (!('command' in connection.key)) await known.client.renewKey()
      const keyFingerprint = await known.client.keyFingerprint()
      await pacers?.use(known, keyFingerprint)
      // Of connections that share an org, the strictest reserve counts; one that left the file no longer does.
      const ofSameOrg = [...clients]
        .filter(([, other]) => other.quota.pacer === known.quota.pacer)
        .map(([one]) => config.connections[one]?.quota.reserve ?? 0)
      known.quota.pacer.settings = {
        ...settings,
        reserve: Math.max(settings.reserve, ...ofSameOrg),
      }
      const client = home === null ? known.client : known.client.forHome(home, sight)
      return { client, keyFingerprint }
    },
    /** What the newest answers to this process announce; null if nothing, or there were none. */
    deprecation: (name: string): AnnouncedEnd | null =>
      clients.get(name)?.quota.deprecation ?? null,
    async close() {
      for (const { client } of clients.values()) await client.close()
      await pacers?.close()
    },
  }
}

/** @throws CaUnusable */
async function readCaText(name: string, path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined
  try {
    return (await readCa('', { setting: `ca of connection "${name}"`, path })).toString('utf8')
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new CaUnusable(
      `${error.issues[0]!.message}; name the file of the CA there, or remove the setting`,
    )
  }
}

/** @throws SyncError `connection_changed`, what `readKey` throws */
async function readKeyOf(name: string, service: string, options: ConfigRef): Promise<string> {
  const fresh = (await loadConfig(options.configFile, options.env)).connections[name]
  // The key of another service must not go to this one.
  if (fresh?.service !== service)
    throw new SyncError('connection_changed', `connection "${name}" leads to another service now`)
  return await readKey(name, fresh.key, options)
}

/** @throws SyncError that names the connection, and where its key is configured */
async function readKey(
  name: string,
  source: SecretSource,
  { configFile, env }: ConfigRef,
): Promise<string> {
  try {
    const key = await readSecret(source, env)
    if (isKeyForm(key)) return key
    throw new SyncError('secret_unavailable', keyFormText(secretOrigin(source), key))
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    const place = await placeOfKey(name, configFile, env)
    throw new SyncError(error.code, `the key of connection "${name}" (${place}): ${error.message}`)
  }
}

/** Where a refused key comes from, and what to do about it. */
async function refusedKey(
  name: string,
  [fingerprint, said]: readonly [fingerprint: string, said: string],
  { configFile, env }: ConfigRef,
): Promise<string> {
  const what = `the key of connection "${name}" (key#${fingerprint}) is refused (${said}).`
  const place = await placeOfKey(name, configFile, env)
  const key = await loadConfig(configFile, env).then(
    (config) => config.connections[name]?.key,
    () => undefined,
  )
  return key === undefined
    ? `${what} See ${place}`
    : `${what} It comes from the ${secretOrigin(key)}, as ${place} says: ${secretRemedy(key)}`
}

interface Connection {
  readonly address: string
  readonly client: RecordsClient
  readonly quota: CurrentQuota
}

/** The pacer of a connection, which changes with its key; `watch` is called for every request. */
class CurrentQuota implements Quota {
  pacer: Pacer
  deprecation: AnnouncedEnd | null = null
  private readonly connection: string
  private readonly watch: RequestObserver | undefined

  constructor(connection: string, pacer: Pacer, watch: RequestObserver | undefined) {
    this.connection = connection
    this.pacer = pacer
    this.watch = watch
  }

  async acquire(options: AcquireOptions = {}): Promise<Permit> {
    const { connection, watch } = this
    const { priority = 'interactive' } = options
    const since = performance.now()
    const permit = await this.pacer.acquire(options).finally(() => {
      watch?.waited(connection, { priority, ms: performance.now() - since })
    })
    const end = (answer: Answer | null) => {
      const { deprecation: field, sunset } = answer ?? {}
      const deprecation = readDeprecation(field, sunset, systemClock.now())
      this.deprecation = deprecation ?? this.deprecation
      watch?.answered(connection, {
        priority,
        status: answer?.status ?? null,
        limit: parseLimit(answer?.limit),
        remaining: parseLimit(answer?.remaining),
        deprecation,
      })
    }
    return {
      observe(answer) {
        permit.observe(answer)
        end(answer)
      },
      lost() {
        permit.lost()
        end(null)
      },
      unused: () => permit.unused(),
    }
  }

  limitPerMinute(): number | null {
    return this.pacer.limitPerMinute()
  }
}

/** Pacers by row of the store, and the row by key: `<origin> org <id>`. */
function orgPacers(
  { store, user: name }: NonNullable<ClientRegistryOptions['quotas']>,
  logger: Logger,
) {
  const user = { id: randomUUID(), name }
  const pacers = new Map<string, Pacer>()
  /** By key; unknown orgs are not kept. */
  const orgs = new Map<string, Promise<string | null>>()

  const pacerOf = (org: string): Pacer => {
    let pacer = pacers.get(org)
    if (!pacer) {
      pacer = new Pacer({ shared: { store, org, user }, logger })
      pacers.set(org, pacer)
    }
    return pacer
  }

  /** Null if neither the store nor the service knows it. An unavailable store is no reason to fail: pacers report it. */
  const findOrg = async (key: string, client: RecordsClient): Promise<string | null> => {
    const noted = await store.orgOfKey(key).catch(() => null)
    if (noted !== null) return noted
    const signal = AbortSignal.timeout(FIND_ORG_MAX_MS)
    const self = await client.readSelf({ signal }).catch(() => null)
    if (self === null) return null
    const org = orgRefText({ origin: client.origin, orgId: self.org_id })
    await store.noteOrgOfKey(key, org).catch(() => {})
    return org
  }

  return {
    /** Gives a connection the pacer of its key's org or, until the org is known, of the key alone. */
    async use({ client, quota }: Connection, keyFingerprint: string): Promise<void> {
      const key = `${client.origin} key#${keyFingerprint}`
      if (!orgs.has(key)) {
        quota.pacer = pacerOf(key)
        orgs.set(key, findOrg(key, client))
      }
      const org = await orgs.get(key)!
      if (org === null) orgs.delete(key)
      quota.pacer = pacerOf(org ?? key)
    },
    async close(): Promise<void> {
      await Promise.all([...pacers.values()].map((pacer) => pacer.close()))
    },
  }
}
