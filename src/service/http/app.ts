// HTTP around the handlers, by Fastify. Promises kept here: every answer carries the request id, `no-store` and the rate
// limit (section 1 and 8); every refusal is a problem (section 2.12), Fastify's own among them; no token is logged.

import { randomBytes } from 'node:crypto'
import { maxHeaderSize } from 'node:http'
import type { Socket } from 'node:net'
import Fastify from 'fastify'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '../../core/ports.ts'
import { OPERATIONS } from '../../contract/index.ts'
import type { OperationId } from '../../contract/index.ts'
import { acceptsJson } from './accept.ts'
import { BODY_BYTES_MAX, parseBody, refusalOfBody } from './body.ts'
import type { Directory } from '../auth/directory.ts'
import { addDocs } from '../docs/index.ts'
import type { Site } from '../handlers/handler.ts'
import {
  factsOfConnection,
  factsOfError,
  methodUnknown,
  noSuchPath,
  sendRefusal,
  refuseRaw,
  takesRawAnswer,
} from './http-problems.ts'
import { fingerprintOfHeader } from '../auth/keys.ts'
import type { Key } from '../auth/keys.ts'
import type { Org } from '../store/org.ts'
import { RequestRefused, noValidKey } from '../problems.ts'
import type { RefusalFacts } from '../problems.ts'
import { addRoutes, completeRoutes } from './routes.ts'
import { createServer, trackConnections } from './server.ts'
import type { Tls } from './server.ts'
import { standardHeaders } from './standard-headers.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null if there is no key, or it is not known. */
    key: Key | null
    org: Org | null
    /** Fingerprint of the token that came, known or not; null if it does not have the form of a key. */
    presented: string | null
  }
  interface FastifyContextConfig {
    operationId?: OperationId
    open?: boolean
  }
}

export interface HttpOptions {
  readonly latencyMs: number
  readonly requestTimeoutMs: number
  /** How long a read of many records may take. */
  readonly scanMaxMs: number
  readonly tls: Tls | null
  /** Headers of every answer, in addition to the standard ones. */
  readonly announced: Readonly<Record<string, string>>
  readonly logger?: Logger | undefined
}

export interface Stats {
  requests: number
  byOperation: Record<string, number>
  /** Complete answers only. */
  byStatus: Record<number, number>
}

export interface App {
  readonly fastify: FastifyInstance
  readonly stats: Stats
  /** While true, every connection is destroyed. */
  setDown(down: boolean): void
  /** Accepts no new connection; requests in flight are finished, or aborted after `graceMs`. */
  close(graceMs: number): Promise<void>
}

/** `site` is called late: the port is known only once the service listens. */
export function buildApp(directory: Directory, site: () => Site, options: HttpOptions): App {
  const { latencyMs, announced, logger } = options
  const stats: Stats = { requests: 0, byOperation: {}, byStatus: {} }
  const requestIds = requestIdMaker()

  /** Counts a request, sets the headers of its answer, and returns why it is refused, or null. */
  const begin = (request: FastifyRequest, reply: FastifyReply): RequestRefused | null => {
    stats.requests += 1
    const { operationId } = request.routeOptions.config
    if (operationId) stats.byOperation[operationId] = (stats.byOperation[operationId] ?? 0) + 1
    const caller = directory.find(request.headers.authorization)
    request.presented = fingerprintOfHeader(request.headers.authorization)
    request.key = caller?.key ?? null
    request.org = caller?.org ?? null
    const limiter = caller?.org.limiter ?? directory.anonymous
    const verdict = limiter.take(directory.clock.now())
    reply.headers(standardHeaders(request.id, verdict, announced))
    reply.raw.once('close', () => end(request, reply))
    return refusalOf(request, verdict.retryAfterS)
  }

  const end = (request: FastifyRequest, reply: FastifyReply): void => {
    connections.answerEnded()
    const status = reply.raw.writableFinished ? reply.raw.statusCode : null
    if (status !== null) stats.byStatus[status] = (stats.byStatus[status] ?? 0) + 1
    // The route, not the URL: a cursor in it would carry values.
    logger?.info(
      {
        method: request.method,
        route: request.routeOptions.url ?? null,
        // Null: the connection broke.
        status,
        ms: Math.round(reply.elapsedTime),
        key: request.presented,
        // A key that is revoked, or never existed: the log shows who still uses it after a rotation.
        ...(request.presented !== null && request.key === null ? { refused: true } : {}),
        request_id: request.id,
      },
      'service_request',
    )
  }

  /** Refuses bytes that are not a request: there is no reply to send, only a connection. */
  const refuseBytes = (socket: Socket, facts: RefusalFacts): void => {
    const requestId = requestIds()
    const verdict = directory.anonymous.take(directory.clock.now())
    refuseRaw(socket, site(), facts, requestId, standardHeaders(requestId, verdict, announced))
    logger?.info({ status: facts.status, request_id: requestId }, 'service_no_request')
  }

  const fastify = Fastify({
    logger: false,
    bodyLimit: BODY_BYTES_MAX,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    // Node bounds the path as a whole: within that bound, a long name is just an unknown name.
    routerOptions: { maxParamLength: maxHeaderSize },
    exposeHeadRoutes: true,
    genReqId: requestIds,
    serverFactory: (listener) => createServer(listener, options.tls, options.requestTimeoutMs),
    // A bad path, which is why no route was found.
    frameworkErrors: (error, request, reply) => {
      const { facts } = begin(request, reply)!
      sendRefusal(reply, request, site(), facts === noSuchPath ? factsOfError(error) : facts)
    },
    clientErrorHandler: (error, socket) => {
      if (!takesRawAnswer(socket)) return void socket.destroy()
      refuseBytes(socket, factsOfConnection(error))
    },
  })
  // Node would drop the connection without an answer.
  fastify.server.on('connect', (_request, socket) => refuseBytes(socket as Socket, methodUnknown))
  const connections = trackConnections(fastify.server)
  fastify.decorateRequest('key', null)
  fastify.decorateRequest('org', null)
  fastify.decorateRequest('presented', null)
  // The bodies of the other methods have no meaning, so they are not read.
  for (const method of ['DELETE', 'OPTIONS']) {
    fastify.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  }
  fastify.removeAllContentTypeParsers()
  fastify.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) =>
    done(null, parseBody(bytes as Buffer)),
  )

  if (latencyMs > 0) fastify.addHook('onRequest', () => directory.clock.sleep(latencyMs))
  fastify.addHook('onRequest', (request, reply, done) => {
    const refusal = begin(request, reply)
    if (refusal) return done(refusal)
    if (readsBody(request) && request.headers.expect?.toLowerCase() === '100-continue') {
      reply.raw.writeContinue()
    }
    done()
  })
  fastify.setNotFoundHandler(() => {
    throw new RequestRefused(noSuchPath)
  })
  fastify.setErrorHandler<FastifyError>((error, request, reply) => {
    if (!(error instanceof RequestRefused) && factsOfError(error).status === 500) {
      const fields = { error: error.name, code: error.code ?? null, request_id: request.id }
      logger?.error(fields, 'service_error')
    }
    // The caller does not see the cause, but the operator must: a full disk, a data file that fails.
    if (error instanceof RequestRefused && error.cause !== undefined) {
      const fields = { ...causeOf(error.cause), status: error.facts.status, request_id: request.id }
      logger?.error(fields, 'service_not_stored')
    }
    sendRefusal(reply, request, site(), factsOfError(error))
  })
  completeRoutes(fastify, () => {
    addRoutes(fastify, directory, { site, scanMaxMs: options.scanMaxMs })
    addDocs(fastify, site)
  })

  return {
    fastify,
    stats,
    setDown: connections.setDown,
    close: async (graceMs) => {
      connections.drain(graceMs)
      await fastify.close()
    },
  }
}

function requestIdMaker(): () => string {
  const start = `req_${randomBytes(6).toString('hex')}`
  let count = 0
  return () => `${start}${(count += 1).toString(36).padStart(6, '0')}`
}

/** Why a request is refused before its body is read: quota, key, path, media types. */
function refusalOf(request: FastifyRequest, retryAfterS: number | null): RequestRefused | null {
  if (retryAfterS !== null) {
    return new RequestRefused({
      status: 429,
      code: 'rate_limited',
      detail: `The limit of requests per minute is used up: wait ${retryAfterS} s`,
      headers: { 'Retry-After': String(retryAfterS) },
    })
  }
  const { headers, is404 } = request
  for (const name of ['host', 'authorization']) {
    if (timesOf(request.raw.rawHeaders, name) > 1) {
      const detail = `The header ${name} was given more than once`
      return new RequestRefused({ status: 400, code: 'request_invalid', detail })
    }
  }
  if (headers.host === undefined && request.raw.httpVersion === '1.1') {
    return new RequestRefused({
      status: 400,
      code: 'request_invalid',
      detail: 'The header Host was expected',
    })
  }
  const { operationId, open = false } = request.routeOptions.config
  if (!open && !request.key) return new RequestRefused(noValidKey)
  if (is404) return new RequestRefused(noSuchPath)
  if (!operationId) return null
  if (!acceptsJson(headers.accept)) {
    const detail = 'The header Accept excludes application/json, the only media type there is'
    return new RequestRefused({ status: 406, code: 'request_invalid', detail })
  }
  return readsBody(request) ? refusalOfBody(headers) : null
}

/** How often a request has a header: for some headers, Node keeps the first and drops the others. */
function timesOf(rawHeaders: readonly string[], name: string): number {
  return rawHeaders.filter((each, index) => index % 2 === 0 && each.toLowerCase() === name).length
}

/** What the database or the system says about a failure; it quotes no value. */
function causeOf(cause: unknown): { error: string; code: string | null; message: string } {
  const { name, message, code } = cause as Error & { code?: string }
  return { error: name, code: code ?? null, message: String(message).slice(0, 200) }
}

function readsBody({ routeOptions }: FastifyRequest): boolean {
  const { operationId } = routeOptions.config
  return operationId !== undefined && OPERATIONS[operationId].request !== null
}
