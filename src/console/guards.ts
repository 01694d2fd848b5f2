// Who may ask, and what a browser may do with an answer. Promises kept here: only addresses of this machine are answered for, so that
// a name of somebody else that leads here (DNS rebinding) gets nothing; no page of another origin reads an answer or frames one; only
// reads are answered.

import { isIP } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** What a page may load: our own style and script, and nothing of anybody else. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'cache-control': 'no-store',
} as const

export const isLoopbackName = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))

/** Why a request is not answered; null if it is. */
export interface Refusal {
  readonly status: number
  readonly message: string
}

/** @param port that is listened on */
export function refusalOf(
  { method, headers }: Pick<FastifyRequest, 'method' | 'headers'>,
  port: number,
): Refusal | null {
  if (method !== 'GET' && method !== 'HEAD')
    return { status: 405, message: 'GET was expected: the console changes nothing' }
  if (!isOwnHost(headers.host, port))
    return {
      status: 421,
      message: `the console is asked as another host; expected http://127.0.0.1:${port} or http://localhost:${port}`,
    }
  const { origin } = headers
  if (origin !== undefined && !isOwnOrigin(origin, port))
    return { status: 403, message: 'a page of another origin may not ask the console' }
  // A link of another page may be followed; what a page of another origin loads may not.
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode } = headers
  if (site !== undefined && !['same-origin', 'none'].includes(String(site)) && mode !== 'navigate')
    return { status: 403, message: 'a page of another origin may not ask the console' }
  return null
}

function isOwnHost(host: string | undefined, port: number): boolean {
  const [, name, of] = /^(\[[\da-f:.]+\]|[^:]+)(?::(\d+))?$/i.exec(host ?? '') ?? []
  if (name === undefined) return false
  return isLoopbackName(name.replace(/^\[(.*)\]$/, '$1').toLowerCase()) && Number(of ?? 80) === port
}

function isOwnOrigin(origin: string, port: number): boolean {
  const url = URL.parse(origin)
  return url !== null && url.protocol === 'http:' && isOwnHost(url.host, port)
}

export const guarded = (reply: FastifyReply): FastifyReply => reply.headers(HEADERS)
