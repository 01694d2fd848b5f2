// Decodes for people what Temporal keeps encrypted: an HTTP server on this machine that the Temporal UI and the Temporal CLI ask
// (`--codec-endpoint`). Promises kept here: it listens on loopback only, answers only the pages of one UI, for one namespace, and
// holds no more than 4 MiB of a request.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { PayloadCodec } from '@temporalio/common'
import { SyncError } from '../core/errors.ts'
import { boundConnections } from '../net/connections.ts'
import { payloadFromJson, payloadToJson, type PayloadJson } from './codec.ts'

export interface CodecServerOptions {
  readonly codec: PayloadCodec
  readonly namespace: string
  /** Origins of pages that may ask, such as `http://localhost:8233`. */
  readonly origins: readonly string[]
  /** 0: a free one. */
  readonly port: number
}

const host = '127.0.0.1'
const bodyBytesMax = 4 * 1_024 * 1_024
const requestMaxMs = 10_000
const headersAllowed = 'content-type, x-namespace, authorization, caller-type'

/** An answer other than 200. */
class Refused extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** @throws SyncError `port_taken` */
export async function startCodecServer(options: CodecServerOptions) {
  const server = createServer({ requestTimeout: requestMaxMs }, (request, response) => {
    void answer(options, request, response).catch(() => response.destroy())
  })
  boundConnections(server, { listener: 'codec server', connectionsMax: 100, unprovedMax: 50 })
  await listen(server, options.port)
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new SyncError(
          'port_taken',
          `Port ${port} on ${host} cannot be used (${error.code}); choose another one with --port`,
        ),
      ),
    )
    server.listen(port, host, resolve)
  })
}

async function answer(
  options: CodecServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { origin } = request.headers
  if (origin !== undefined && options.origins.includes(origin)) {
    response.setHeader('access-control-allow-origin', origin)
    response.setHeader('vary', 'origin')
    // The browser requires it before a page of another network may ask this machine.
    response.setHeader('access-control-allow-private-network', 'true')
  }
  const send = (status: number, body: object) => {
    response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    response.end(JSON.stringify(body))
  }
  try {
    admit(options, request)
    if (request.method === 'OPTIONS') {
      response.writeHead(204, {
        'access-control-allow-methods': 'POST',
        'access-control-allow-headers': headersAllowed,
        'access-control-max-age': '600',
      })
      response.end()
      return
    }
    send(200, { payloads: await convert(options, request) })
  } catch (error) {
    const status = error instanceof Refused ? error.status : 400
    if (status === 413) response.setHeader('connection', 'close')
    const known = error instanceof Refused || error instanceof SyncError
    send(status, { message: known ? error.message : 'expected {"payloads": […]} in JSON' })
  }
}

/** Checks that the caller may ask, and for this namespace. */
function admit({ origins, namespace }: CodecServerOptions, request: IncomingMessage): void {
  // A foreign name that resolves to this machine would let any page bypass the check of its origin.
  if (!/^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/.test(request.headers.host ?? ''))
    throw new Refused(403, 'expected to be asked as 127.0.0.1 or localhost')
  const { origin } = request.headers
  if (origin !== undefined && !origins.includes(origin))
    throw new Refused(403, `expected a page of ${origins.join(' or ')}; temporal.ui names it`)
  if (request.url !== '/decode' && request.url !== '/encode')
    throw new Refused(404, 'expected /decode or /encode')
  if (request.method === 'OPTIONS') return
  if (request.method !== 'POST') throw new Refused(405, 'expected POST')
  // The CLI leaves it empty if it was started without one; a page always names its own.
  const asked = request.headers['x-namespace']
  if (asked !== namespace && (asked !== '' || origin !== undefined))
    throw new Refused(403, `expected the header X-Namespace: ${namespace}`)
  if (!/^application\/json\b/.test(request.headers['content-type'] ?? ''))
    throw new Refused(415, 'expected application/json')
}

async function convert(
  { codec }: CodecServerOptions,
  request: IncomingMessage,
): Promise<PayloadJson[]> {
  // If there are no payloads, the CLI leaves the list out.
  const { payloads = [] } = JSON.parse(await bodyOf(request)) as { payloads?: PayloadJson[] }
  const given = payloads.map(payloadFromJson)
  const converted = await (request.url === '/decode' ? codec.decode(given) : codec.encode(given))
  return converted.map(payloadToJson)
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bodyBytesMax) throw new Refused(413, 'expected at most 4 MiB')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
