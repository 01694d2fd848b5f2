// What happens to a request before its handler: it is counted, limited and logged, and its answer gets the headers that every
// answer has. Promises kept here: a refusal here comes before the body is read; no token is logged.

import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '../../core/ports.ts'
import { OPERATIONS } from '../../contract/index.ts'
import type { Directory } from '../store/directory.ts'
import { fingerprintOfHeader } from '../auth/keys.ts'
import type { Site } from '../handlers/handler.ts'
import { RequestRefused, malformed, noValidKey, type RefusalFacts } from '../problems.ts'
import { acceptsJson } from './accept.ts'
import { refusalOfBody } from './body.ts'
import { noSuchPath, refuseRaw } from './http-problems.ts'
import { methodOf } from './methods.ts'
import { standardHeaders } from './standard-headers.ts'

export interface Stats {
  requests: number
  byOperation: Record<string, number>
  /** Complete answers only. */
  byStatus: Record<number, number>
}

export interface IntakeOptions {
  readonly directory: Directory
  readonly site: () => Site
  /** Headers of every answer, in addition to the standard ones. */
  readonly announced: Readonly<Record<string, string>>
  readonly logger: Logger | undefined
  /** Called when an answer has ended, or its connection broke. */
  readonly answerEnded: () => void
}

export class Intake {
  readonly stats: Stats = { requests: 0, byOperation: {}, byStatus: {} }
  readonly nextId = requestId
  private readonly options: IntakeOptions

  constructor(options: IntakeOptions) {
    this.options = options
  }

  /** Counts a request, sets the headers of its answer, and returns why it is refused, or null. */
  begin(request: FastifyRequest, reply: FastifyReply): RequestRefused | null {
    const { directory, announced } = this.options
    const { stats } = this
    stats.requests += 1
    const { operationId } = request.routeOptions.config
    if (operationId) stats.byOperation[operationId] = (stats.byOperation[operationId] ?? 0) + 1
    const caller = directory.find(request.headers.authorization)
    request.presented = fingerprintOfHeader(request.headers.authorization)
    request.key = caller?.key ?? null
    request.org = caller?.org ?? null
    const nowMs = directory.clock.now()
    const verdict =
      caller?.org.limiter.take(nowMs) ??
      directory.keyless.take(request.raw.socket.remoteAddress, nowMs)
    reply.headers(standardHeaders(request.id, verdict, announced))
    reply.raw.once('close', () => this.end(request, reply))
    return refusalOf(request, verdict.retryAfterS)
  }

  /** Refuses bytes that are not a request: there is no reply to send, only a connection. */
  refuseBytes(socket: Socket, facts: RefusalFacts): void {
    const { directory, site, announced, logger } = this.options
    const requestId = this.nextId()
    const verdict = directory.keyless.take(socket.remoteAddress, directory.clock.now())
    refuseRaw(socket, site(), facts, requestId, standardHeaders(requestId, verdict, announced))
    logger?.info({ status: facts.status, request_id: requestId }, 'service_no_request')
  }

  private end(request: FastifyRequest, reply: FastifyReply): void {
    this.options.answerEnded()
    const { byStatus } = this.stats
    const status = reply.raw.writableFinished ? reply.raw.statusCode : null
    if (status !== null) byStatus[status] = (byStatus[status] ?? 0) + 1
    // The route, not the URL: a cursor in it would carry values.
    this.options.logger?.info(
      {
        method: methodOf(request.raw),
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
}

/** Random: a number would count the requests of others. */
const requestId = (): string => `req_${randomUUID().replaceAll('-', '')}`

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
      return malformed(`The header ${name} was given more than once`)
    }
  }
  if (headers.host === undefined && request.raw.httpVersion === '1.1') {
    return malformed('The header Host was expected')
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

export function readsBody({ routeOptions }: FastifyRequest): boolean {
  const { operationId } = routeOptions.config
  return operationId !== undefined && OPERATIONS[operationId].request !== null
}
