// Problems over HTTP: our refusals, Fastify's own errors in our words, and bytes that are not HTTP at all.
// Promise kept here: whatever goes wrong, the answer is application/problem+json and quotes no foreign message.

import { maxHeaderSize, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { tooLarge } from './body.ts'
import type { Site } from '../handlers/handler.ts'
import { RequestRefused, notFound, problemBody, type RefusalFacts } from '../problems.ts'
import { linger } from './server.ts'

const notHttp: RefusalFacts = {
  status: 400,
  code: 'request_invalid',
  detail: 'The request is not well-formed HTTP',
}
const headersTooLong: RefusalFacts = {
  status: 431,
  code: 'request_invalid',
  detail: `A request line and headers of at most ${maxHeaderSize} bytes were expected`,
}
const tooSlow: RefusalFacts = {
  status: 408,
  code: 'timeout',
  detail: 'The request did not arrive in time: nothing was done',
}
export const noSuchPath = notFound('No such path: see the documentation')

export function sendRefusal(
  reply: FastifyReply,
  request: FastifyRequest,
  site: Site,
  facts: RefusalFacts,
): void {
  const { socket } = request.raw
  if (!request.raw.complete) linger(socket, () => request.raw.complete)
  const problem = problemBody(facts, site.docsUrl, request.id)
  // The status line repeats the title; Node's own phrases differ for two statuses.
  reply.raw.statusMessage = problem.title
  // Fastify would end the connection at once, and a caller that is still sending could lose the refusal. If the caller wants the
  // connection closed, the answer says so.
  if (reply.raw.shouldKeepAlive) reply.removeHeader('connection')
  else reply.header('connection', 'close')
  void reply
    .code(facts.status)
    .headers(facts.headers ?? {})
    .type('application/problem+json')
    .send(JSON.stringify(problem))
}

/** Fastify's own errors, in our words; an unknown one becomes an internal error that reveals nothing. */
export function factsOfError(error: { code?: string; statusCode?: number }): RefusalFacts {
  if (error instanceof RequestRefused) return error.facts
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return tooLarge
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    const detail = 'A body of Content-Type application/json was expected'
    return { status: 415, code: 'request_invalid', detail }
  }
  if (error.statusCode === 400) return notHttp
  return {
    status: 500,
    code: 'internal_error',
    detail: 'The service failed: nothing more is known',
  }
}

/** Methods that a path may have; a path's own 405 says which of them it has. */
const Allow = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'
export const methodUnknown: RefusalFacts = {
  status: 405,
  code: 'request_invalid',
  detail: `There are the methods ${Allow}`,
  headers: { Allow },
}
const requestLine = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,40} [^ \r\n]{1,8000} HTTP\/1\.[01]\r\n/

/** Node's errors about a connection; `rawPacket`: what was being read. */
export function factsOfConnection(error: { code?: string; rawPacket?: unknown }): RefusalFacts {
  const { code, rawPacket } = error
  const text = Buffer.isBuffer(rawPacket) ? rawPacket.toString('latin1') : ''
  if (code === 'HPE_INVALID_METHOD' && requestLine.test(text)) return methodUnknown
  if (code === 'HPE_HEADER_OVERFLOW') return headersTooLong
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? tooSlow : notHttp
}

/** Whether a refusal can be written directly to a connection: it must not be mixed up with an answer that is being written. */
export function takesRawAnswer(socket: Socket): boolean {
  const { _httpMessage: current } = socket as Socket & { _httpMessage?: ServerResponse | null }
  return socket.writable && !(current && (current.headersSent || current.req.complete))
}

/** Refuses bytes that are not a request: there is no reply to send, only a connection. */
export function refuseRaw(
  socket: Socket,
  site: Site,
  facts: RefusalFacts,
  requestId: string,
  headers: Record<string, string>,
): void {
  const problem = problemBody(facts, site.docsUrl, requestId)
  const body = JSON.stringify(problem)
  const lines = Object.entries({
    'Content-Type': 'application/problem+json',
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
    ...headers,
    ...facts.headers,
  }).map(([name, value]) => `${name}: ${value}`)
  socket.end(`HTTP/1.1 ${facts.status} ${problem.title}\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
  linger(socket, () => false)
}
