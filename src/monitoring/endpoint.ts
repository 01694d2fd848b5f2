// The worker's HTTP endpoint: its metrics, whether it works, and whether it is ready. Promises kept here: it answers within
// seconds, whatever else hangs; it reveals nothing of rows, keys or messages, and nothing to a page of the web; a port that is taken is reported at once.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SyncError } from '../core/errors.ts'
import type { Logger } from '../core/ports.ts'
import { boundConnections } from '../net/connections.ts'
import { isKnownHost } from '../net/hosts.ts'
import { withTimeout } from './timeout.ts'
import type { Metrics } from './metrics.ts'

const CHECK_MAX_MS = 2_000
const TEMPORAL_PAGE_MAX_MS = 2_000
const CONNECTIONS = { listener: 'metrics', connectionsMax: 50, unprovedMax: 16 }
const OTHER_HOST =
  'asked as another host; expected an address, a name without a dot, or one of worker.hosts'
const REQUEST_MAX_MS = 10_000

/** Parts that a worker needs: whether each is available. A check that fails, or takes too long, counts as not available. */
export type ReadinessChecks = Readonly<Record<string, () => boolean | Promise<boolean>>>

export interface EndpointOptions {
  /** `host:port` of the setting `worker.listen`; port 0 takes a free one. */
  readonly listen: string
  /** Names that it is asked as, besides addresses and names without a dot. */
  readonly hosts?: readonly string[]
  readonly metrics: Metrics
  /** Updates the gauges; never rejects. */
  collect(): Promise<void>
  readonly checks: ReadinessChecks
  /** Where this process serves Temporal's own metrics; null if it does not. */
  readonly temporalPage: string | null
  /** Longest check, ms. Default 2 s. */
  readonly checkMaxMs?: number
  readonly logger?: Pick<Logger, 'warn'>
}

export interface MonitoringEndpoint {
  /** `host:port` that it listens on. */
  readonly address: string
  close(): Promise<void>
}

/** @throws SyncError `listen_failed` */
export async function openEndpoint(options: EndpointOptions): Promise<MonitoringEndpoint> {
  const { metrics, checks, checkMaxMs = CHECK_MAX_MS } = options
  const server = createServer({ requestTimeout: REQUEST_MAX_MS, headersTimeout: REQUEST_MAX_MS })
  boundConnections(server, { ...CONNECTIONS, logger: options.logger })

  const ready = async (): Promise<Record<string, boolean>> => {
    const parts = await Promise.all(
      Object.entries(checks).map(async ([part, check]) => {
        const isThere = await withTimeout((async () => await check())(), checkMaxMs)
        return [part, isThere === true] as const
      }),
    )
    for (const [part, isThere] of parts) metrics.ready.set({ part }, isThere ? 1 : 0)
    return Object.fromEntries(parts)
  }
  const page = async (): Promise<string> => {
    const temporal = options.temporalPage && readTemporalPage(options.temporalPage)
    await Promise.all([options.collect(), ready()])
    const theirs = await temporal
    if (theirs === null && temporal !== null) metrics.collectErrors.add({ part: 'temporal' })
    return `${metrics.text()}${theirs ?? ''}`
  }

  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const answer = (status: number, type: string, body: string) => {
      response.writeHead(status, {
        'content-type': type,
        'content-length': Buffer.byteLength(body),
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      })
      response.end(request.method === 'HEAD' ? undefined : body)
    }
    const text = 'text/plain; charset=utf-8'
    if (!isKnownHost(request.headers.host, options.hosts ?? []))
      return answer(421, text, `${OTHER_HOST}\n`)
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD')
      return answer(405, text, 'GET was expected\n')
    }
    switch (request.url?.split('?', 1)[0]) {
      case '/healthz':
        return answer(200, text, 'ok\n')
      case '/readyz':
        return void ready().then((parts) => {
          const isReady = Object.values(parts).every(Boolean)
          const body = `${JSON.stringify({ ready: isReady, parts })}\n`
          answer(isReady ? 200 : 503, 'application/json', body)
        })
      case '/metrics':
        return void page().then((body) =>
          answer(200, 'text/plain; version=0.0.4; charset=utf-8', body),
        )
      default:
        return answer(404, text, '/metrics, /healthz and /readyz are here\n')
    }
  })

  const address = await listenAt(server, options.listen)
  return {
    address,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Returns `host:port` as taken. @throws SyncError `listen_failed` */
async function listenAt(server: Server, listen: string): Promise<string> {
  const { host, port } = placeOf(listen)
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(listen, error.code)))
    try {
      server.listen({ host, port }, resolve)
    } catch {
      reject(listenError(listen, 'no such port'))
    }
  })
  const { address, port: taken, family } = server.address() as AddressInfo
  return `${family === 'IPv6' ? `[${address}]` : address}:${taken}`
}

function placeOf(listen: string): { host: string; port: number } {
  const colon = listen.lastIndexOf(':')
  const host = listen.slice(0, colon).replace(/^\[(.*)\]$/, '$1')
  return { host, port: Number(listen.slice(colon + 1)) }
}

const LISTEN_ERRORS: Readonly<Record<string, string>> = {
  EADDRINUSE:
    'another program listens there, such as the worker of another project; each needs a port of its own: change worker.listen, where port 0 takes a free one',
  EACCES: 'this user may not listen there; a port above 1023 was expected',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'this machine has no such address',
}

function listenError(listen: string, code = 'unknown reason'): SyncError {
  const why = LISTEN_ERRORS[code] ?? code
  return new SyncError('listen_failed', `The worker cannot listen at ${listen}: ${why}`)
}

/** Null if it does not answer. */
async function readTemporalPage(url: string): Promise<string | null> {
  const signal = AbortSignal.timeout(TEMPORAL_PAGE_MAX_MS)
  const read = async () => {
    const answer = await fetch(url, { signal, redirect: 'error' })
    return answer.ok ? await answer.text() : null
  }
  return await withTimeout(read(), TEMPORAL_PAGE_MAX_MS)
}
