// What a client is made of, from its options.

import { SyncError } from '../core/errors.ts'
import { silentLogger, systemClock, type Clock, type Logger, type Quota } from '../core/ports.ts'
import { parseBaseUrl } from './address.ts'
import type { CallDeps, RefusedKey } from './call.ts'
import type { RequestOverrides } from './discovery/index.ts'
import { createDiscovery, type Discovery } from './discovery/read.ts'
import { KeyOrgs } from './key-orgs.ts'
import { holdKey } from './key.ts'
import { Pacer } from './pacer/pacer.ts'
import { ServiceClock } from './service-clock.ts'
import { createTransport, type Connect } from './transport.ts'

export interface ClientOptions {
  /** `https://host[/prefix]`, without `/rest/v1`; `http://` only for localhost, 127.0.0.0/8 and [::1]. */
  readonly baseUrl: string
  /** The API key, or a function that reads it: before the first request, and again after a 401. Never logged. */
  readonly key: string | (() => string | Promise<string>)
  /**
   * The message if the service refuses the key, such as where the key comes from and what to do; never the key. Default: what it
   * `said`, `readSelf: the service answered 401 unauthenticated`.
   */
  readonly refusedKey?: RefusedKey | undefined
  /** Default: a `Pacer` of this client's own. Clients of one org share one. */
  readonly quota?: Quota | undefined
  readonly clock?: Clock | undefined
  /** Default: nothing is logged. */
  readonly logger?: Logger | undefined
  /** Connections at a time. Default 16. */
  readonly connections?: number | undefined
  /** Deadline of a whole request, body included. Default 30,000 ms. */
  readonly timeoutMs?: number | undefined
  /**
   * How often a read is retried that failed temporarily: no answer, 500, 503, or an answer that is not the service's own. Writes
   * are sent once. Default 2.
   */
  readonly retries?: number | undefined
  /** Longest answer that is read. Default 16 MiB. */
  readonly bodyBytesMax?: number | undefined
  /**
   * Whether the service's OpenAPI document decides how each operation is requested. It is read once, before the first operation,
   * without the key. Default true.
   */
  readonly discover?: boolean | undefined
  /** How operations are requested; overrides the document, such as `{ batchUpsert: 'PUT /objects/{object_type}/batch/' }`. */
  readonly operations?: RequestOverrides | undefined
  /** PEM; the certificates that the service is checked against. Default: those that Node knows. */
  readonly ca?: string | undefined
  /** Where HTTPS_PROXY, HTTP_PROXY and NO_PROXY are. Default: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** Opens connections in place of sockets: those of a simulated network. */
  readonly connect?: Connect | undefined
}

/** @throws SyncError `base_url_invalid`, `client_option_invalid`; ConfigError for a variable that names no proxy */
export function clientParts(options: ClientOptions): { deps: CallDeps; discovery: Discovery } {
  const { origin, prefix } = parseBaseUrl(options.baseUrl)
  const { clock = systemClock, logger = silentLogger } = options
  const quota = options.quota ?? new Pacer({ clock })
  const keys = holdKey(keyReader(options.key))
  const transport = createTransport({
    origin,
    connections: options.connections ?? 16,
    timeoutMs: options.timeoutMs ?? 30_000,
    bodyBytesMax: options.bodyBytesMax ?? 16 * 1_024 * 1_024,
    ca: options.ca,
    env: options.env,
    connect: options.connect,
  })
  const discovery = createDiscovery({
    transport,
    clock,
    logger,
    address: { origin, prefix },
    overrides: options.operations ?? {},
    reads: options.discover ?? true,
  })
  const deps: CallDeps = {
    transport,
    keys,
    origin,
    orgs: new KeyOrgs(),
    bound: null,
    refusedKey: options.refusedKey,
    retries: options.retries ?? 2,
    quota,
    publicQuota: new Pacer({ clock }),
    clock,
    serviceClock: new ServiceClock(),
    logger,
    prefix,
    formOf: discovery.operation,
  }
  return { deps, discovery }
}

function keyReader(key: ClientOptions['key']): () => Promise<string> {
  if (typeof key === 'function') return async () => await key()
  if (typeof key === 'string') return async () => key
  const message = 'Client option key: the API key, or a function that reads it, was expected'
  throw new SyncError('client_option_invalid', message)
}
