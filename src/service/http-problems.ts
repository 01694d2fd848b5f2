// Problems over HTTP: our refusals, Fastify's own errors in our words, and bytes that are not HTTP at all.
// Promise kept here: whatever goes wrong, the answer is application/problem+json and quotes no foreign message.

import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { REQUEST_ID_HEADER } from '../contract/index.ts'
import type { Site } from './handlers/handler.ts'
import type { Directory } from './directory.ts'
import { Refusal, problemBody } from './problems.ts'
import type { Facts } from './problems.ts'

/** Bytes of a request's body. */
export const BODY_BYTES_MAX = 4 * 1_024 * 1_024

const notHttp: Facts = {
  status: 400,
  code: 'request_invalid',
  detail: 'The request is not well-formed HTTP',
}

export function refuse(
  reply: FastifyReply,
  request: FastifyRequest,
  site: Site,
  facts: Facts,
): void {
  void reply
    .code(facts.status)
    .headers(facts.headers ?? {})
    .type('application/problem+json')
    .send(JSON.stringify(problemBody(facts, site.docsUrl, request.id)))
}

/** Fastify's own errors, in our words; anything unknown is an internal error and says nothing of itself. */
export function factsOfError(error: { code?: string; statusCode?: number }): Facts {
  if (error instanceof Refusal) return error.facts
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    const detail = 'A body of Content-Type application/json was expected'
    return { status: 415, code: 'request_invalid', detail }
  }
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const detail = `A body of at most ${BODY_BYTES_MAX} bytes was expected`
    return { status: 413, code: 'request_invalid', detail }
  }
  if (error.statusCode === 400) {
    return notHttp
  }
  return {
    status: 500,
    code: 'internal_error',
    detail: 'The service failed: nothing more is known',
  }
}

/** Bytes that are not HTTP: there is no request to answer, only a connection. */
export function refuseRaw(
  socket: Socket,
  directory: Directory,
  site: Site,
  requestId: string,
): void {
  if (!socket.writable) return
  const body = JSON.stringify(problemBody(notHttp, site.docsUrl, requestId))
  const { limit, remaining } = directory.anonymous.take(directory.clock.now())
  const head = [
    'HTTP/1.1 400 Bad Request',
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `${REQUEST_ID_HEADER}: ${requestId}`,
    'Cache-Control: no-store',
    `RateLimit-Limit: ${limit}`,
    `RateLimit-Remaining: ${remaining}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
