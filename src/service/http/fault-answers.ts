// What a planned fault looks like on the wire. Each occurs in real networks, proxies and services.

import type { FastifyReply } from 'fastify'
import type { Clock } from '../../core/ports.ts'
import type { FaultKind } from '../limits/faults.ts'
import { RequestRefused, unavailable } from '../problems.ts'

const html = '<html><body><h1>502 Bad Gateway</h1></body></html>\n'
/** Seconds that `Retry-After` asks for. */
const waitS = 1
const nothingDone = 'The service is unavailable: nothing was done'
/** Pieces of a slow answer. */
const dribbles = 10

/** Answers in place of the service; false if the work is to be done. @throws Refusal */
export function faultBefore(fault: FaultKind, reply: FastifyReply, nowMs: number): boolean {
  if (fault === 'unavailable_503') throw unavailable(nothingDone, String(waitS))
  if (fault === 'unavailable_503_date') {
    // A date has whole seconds: rounded up, so that the wait is not zero.
    throw unavailable(nothingDone, new Date(Math.ceil(nowMs / 1_000 + waitS) * 1_000).toUTCString())
  }
  if (fault === 'internal_500_before') throw failed('The service failed: nothing was done')
  if (fault !== 'reset_before' && fault !== 'html_502') return false
  reply.hijack()
  if (fault === 'reset_before') reply.raw.destroy()
  // A proxy does not send any of our headers.
  else reply.raw.writeHead(502, { 'content-type': 'text/html', connection: 'close' }).end(html)
  return true
}

/** The answer that the service would send; `text` is undefined if there is no body. */
export interface PlannedAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string | undefined
}

/** Spoils the answer after the work was done; false if the answer is to be sent unchanged. @throws Refusal */
export function faultAfter(
  fault: FaultKind,
  reply: FastifyReply,
  { status, headers, text }: PlannedAnswer,
  slow: { clock: Clock; ms: number },
): boolean {
  if (fault === 'internal_500_after') throw failed('The service failed: nothing more is known')
  if (fault === 'reset_after') {
    reply.hijack()
    reply.raw.destroy()
    return true
  }
  if (text === undefined || (fault !== 'torn_body' && fault !== 'slow_body')) return false
  reply.hijack()
  const bytes = Buffer.from(text)
  reply.raw.writeHead(status, {
    ...(reply.getHeaders() as Record<string, string>),
    ...headers,
    'content-length': bytes.length,
  })
  if (fault === 'slow_body') void dribble(reply, bytes, slow)
  else reply.raw.write(bytes.subarray(0, bytes.length >> 1), () => reply.raw.destroy())
  return true
}

async function dribble(
  { raw }: FastifyReply,
  bytes: Buffer,
  { clock, ms }: { clock: Clock; ms: number },
): Promise<void> {
  for (let piece = 0; piece < dribbles && !raw.destroyed; piece += 1) {
    const [from, to] = [piece, piece + 1].map((each) => (bytes.length * each) / dribbles)
    raw.write(bytes.subarray(Math.floor(from!), Math.floor(to!)))
    await clock.sleep(ms / dribbles)
  }
  if (!raw.destroyed) raw.end()
}

function failed(detail: string): RequestRefused {
  return new RequestRefused({ status: 500, code: 'internal_error', detail })
}
