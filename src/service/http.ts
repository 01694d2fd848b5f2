// HTTP around the handlers, by Fastify. Promises kept here: every answer carries the request id, `no-store` and the rate
// limit (section 1 and 8); every refusal is a problem (section 2.12), Fastify's own among them; no token is logged.

import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import Fastify from 'fastify'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '../core/ports.ts'
import { REQUEST_ID_HEADER } from '../contract/index.ts'
import type { OperationId } from '../contract/index.ts'
import { acceptsJson } from './accept.ts'
import { addDocs } from './docs.ts'
import type { Directory } from './directory.ts'
import { answerByFault } from './fault-answers.ts'
import type { FaultKind } from './faults.ts'
import type { Site } from './handlers/handler.ts'
import { BODY_BYTES_MAX, factsOfError, refuse, refuseRaw } from './http-problems.ts'
import type { Key } from './keys.ts'
import type { Org } from './org.ts'
import { Refusal, malformed, notFound } from './problems.ts'
import { addRoutes } from './routes.ts'

const REQUEST_TIMEOUT_MS = 60_000

declare module 'fastify' {
  interface FastifyRequest {
    /** Null where there is no key, or it is not known. */
    key: Key | null
    org: Org | null
    fault: FaultKind | null
  }
  interface FastifyContextConfig {
    operationId?: OperationId
    open?: boolean
  }
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
}

/** `site` is asked late: the port is known only once the service listens. */
export function buildApp(
  directory: Directory,
  site: () => Site,
  latencyMs: number,
  logger?: Logger,
): App {
  const stats: Stats = { requests: 0, byOperation: {}, byStatus: {} }
  const requestIds = requestIdMaker()
  const fastify = Fastify({
    logger: false,
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_TIMEOUT_MS,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: 200 },
    exposeHeadRoutes: false,
    genReqId: requestIds,
    frameworkErrors: (error, request, reply) => {
      stamp(directory, request, reply)
      refuse(reply, request, site(), factsOfError(error))
    },
    clientErrorHandler: (_error, socket) => refuseRaw(socket, directory, site(), requestIds()),
  })
  fastify.decorateRequest('key', null)
  fastify.decorateRequest('org', null)
  fastify.decorateRequest('fault', null)
  fastify.removeAllContentTypeParsers()
  fastify.addContentTypeParser(
    'application/json',
    { parseAs: 'string' },
    (_request, body, done) => {
      if (body === '') return done(null, undefined)
      try {
        done(null, JSON.parse(body as string))
      } catch {
        done(malformed('The body is not well-formed JSON'))
      }
    },
  )

  if (latencyMs > 0) fastify.addHook('onRequest', () => directory.clock.sleep(latencyMs))
  fastify.addHook('onRequest', (request, reply, done) => {
    stats.requests += 1
    const { operationId, open = false } = request.routeOptions.config
    if (operationId) stats.byOperation[operationId] = (stats.byOperation[operationId] ?? 0) + 1
    const refusal = admit(directory, request, reply, open)
    if (refusal) return done(refusal)
    if (directory.faults && operationId) {
      request.fault = directory.faults.next()
      if (request.fault && answerByFault(request.fault, reply)) return
      if (request.fault === 'unavailable_503') return done(unavailable())
    }
    done()
  })
  fastify.addHook('onResponse', (request, reply, done) => {
    const status = reply.raw.statusCode
    stats.byStatus[status] = (stats.byStatus[status] ?? 0) + 1
    // The route, not the URL: a cursor in it would carry values.
    logger?.info(
      {
        method: request.method,
        route: request.routeOptions.url ?? null,
        status,
        ms: Math.round(reply.elapsedTime),
        key: request.key?.fingerprint ?? null,
        request_id: request.id,
      },
      'service_request',
    )
    done()
  })
  fastify.setNotFoundHandler(() => {
    throw new Refusal(notFound('No such path: see the documentation'))
  })
  fastify.setErrorHandler<FastifyError>((error, request, reply) => {
    const facts = factsOfError(error)
    if (facts.status === 500) {
      logger?.error(
        { error: error.name, code: error.code ?? null, request_id: request.id },
        'service_error',
      )
    }
    refuse(reply, request, site(), facts)
  })

  addRoutes(fastify, directory, site)
  addDocs(fastify, site)
  return { fastify, stats, setDown: downSwitch(fastify) }
}

function requestIdMaker(): () => string {
  const start = `req_${randomBytes(6).toString('hex')}`
  let count = 0
  return () => `${start}${(count += 1).toString(36).padStart(6, '0')}`
}

/** Headers of every answer, and whether this caller may ask now: quota, key, media type. */
function admit(
  directory: Directory,
  request: FastifyRequest,
  reply: FastifyReply,
  open: boolean,
): Refusal | null {
  const caller = directory.find(request.headers.authorization)
  request.key = caller?.key ?? null
  request.org = caller?.org ?? null
  const retryAfterS = stamp(directory, request, reply)
  if (retryAfterS !== null) {
    return new Refusal({
      status: 429,
      code: 'rate_limited',
      detail: `The limit of requests per minute is used up: wait ${retryAfterS} s`,
      headers: { 'Retry-After': String(retryAfterS) },
    })
  }
  if (!open && !caller) {
    return new Refusal({
      status: 401,
      code: 'unauthenticated',
      detail: 'A valid API key was expected in the header Authorization: Bearer <API_KEY>',
      headers: { 'WWW-Authenticate': 'Bearer' },
    })
  }
  if (request.routeOptions.config.operationId && !acceptsJson(request.headers.accept)) {
    const detail = 'The header Accept excludes application/json, the only media type there is'
    return new Refusal({ status: 406, code: 'request_invalid', detail })
  }
  return null
}

/** Counts the request and sets the standard headers; seconds to wait where the limit is used up. */
function stamp(directory: Directory, request: FastifyRequest, reply: FastifyReply): number | null {
  const limiter = request.org?.limiter ?? directory.anonymous
  const verdict = limiter.take(directory.clock.now())
  reply.headers({
    [REQUEST_ID_HEADER]: request.id,
    'Cache-Control': 'no-store',
    'RateLimit-Limit': String(verdict.limit),
    'RateLimit-Remaining': String(verdict.remaining),
  })
  return verdict.retryAfterS
}

function unavailable(): Refusal {
  return new Refusal({
    status: 503,
    code: 'service_unavailable',
    detail: 'The service is unavailable: nothing was done',
    headers: { 'Retry-After': '1' },
  })
}

function downSwitch(fastify: FastifyInstance): (down: boolean) => void {
  let isDown = false
  const sockets = new Set<Socket>()
  fastify.server.on('connection', (socket: Socket) => {
    if (isDown) return void socket.destroy()
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return (down) => {
    isDown = down
    if (down) for (const socket of sockets) socket.destroy()
  }
}
