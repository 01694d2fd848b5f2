// How a planned fault looks on the wire. Each is something that networks and proxies really do.

import type { FastifyReply } from 'fastify'
import type { FaultKind } from './faults.ts'

const html = '<html><body><h1>502 Bad Gateway</h1></body></html>\n'

/** Answers instead of the service; false where this fault comes later. */
export function answerByFault(fault: FaultKind, reply: FastifyReply): boolean {
  if (fault !== 'reset_before' && fault !== 'html_502') return false
  reply.hijack()
  if (fault === 'reset_before') reply.raw.destroy()
  // A proxy knows none of our headers.
  else reply.raw.writeHead(502, { 'content-type': 'text/html', connection: 'close' }).end(html)
  return true
}

/** Breaks the answer after the work was done; false where this fault has come already. */
export function answerThenFault(fault: FaultKind, reply: FastifyReply, body: unknown): boolean {
  if (fault !== 'reset_after' && fault !== 'torn_body') return false
  reply.hijack()
  if (fault === 'reset_after' || body === undefined) {
    reply.raw.destroy()
    return true
  }
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  reply.raw.writeHead(reply.statusCode, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'application/json; charset=utf-8',
    'content-length': bytes.length,
  })
  reply.raw.write(bytes.subarray(0, bytes.length >> 1), () => reply.raw.destroy())
  return true
}
