// Who may ask, and what a browser may do with an answer. Promises kept here: only this machine's names and the configured one are
// answered for, so that another name that leads here (DNS rebinding) gets nothing; behind a proxy only the proxy is answered; no page of
// another origin reads an answer or frames one; nothing is taken from a page of another origin.

import { isLoopbackName } from '../core/loopback.ts'
import type { ConsoleSite } from './site.ts'
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
  // With no-referrer a form of ours would be sent without its origin.
  'referrer-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'cache-control': 'no-store',
} as const

/** Why a request is not answered; null if it is. */
export interface Refusal {
  readonly status: number
  readonly message: string
}

export function refusalOf(
  {
    method,
    headers,
    socket,
    raw,
  }: Pick<FastifyRequest, 'method' | 'headers'> & {
    readonly socket: { readonly remoteAddress?: string | undefined }
    readonly raw: { readonly rawHeaders: readonly string[] }
  },
  site: ConsoleSite,
): Refusal | null {
  if (site.proxy !== null && !site.proxy.isTrusted(socket.remoteAddress))
    return { status: 403, message: `the console answers its proxy alone; expected ${site.url()}` }
  const isRead = method === 'GET' || method === 'HEAD'
  if (!isRead && method !== 'POST')
    return { status: 405, message: 'GET, HEAD or POST was expected' }
  // What is in front of the console may take another one of them than the console does.
  const hosts = raw.rawHeaders.filter((name, at) => at % 2 === 0 && /^host$/i.test(name))
  if (hosts.length > 1) return { status: 400, message: 'one Host header was expected' }
  if (!isOwnOrigin(originOf(site.scheme, headers.host), site) && !isOwnUrl(headers.host, site))
    return {
      status: 421,
      message: `the console is asked as another host; expected ${site.url()}`,
    }
  const { origin } = headers
  if (origin !== undefined && !isOwnOrigin(origin, site))
    return { status: 403, message: 'a page of another origin may not ask the console' }
  // A link of another page may be followed; what a page of another origin loads may not.
  const { 'sec-fetch-site': from, 'sec-fetch-mode': mode } = headers
  const isFollowed = isRead && mode === 'navigate'
  if (from !== undefined && !['same-origin', 'none'].includes(String(from)) && !isFollowed)
    return { status: 403, message: 'a page of another origin may not ask the console' }
  return null
}

/** Null if it is no host. */
function originOf(scheme: string, host: string | undefined): string | null {
  if (host === undefined || !/^(\[[\da-f:.]+\]|[^:/@?#\\\s]+)(:\d+)?$/i.test(host)) return null
  return URL.canParse(`${scheme}://${host}`) ? new URL(`${scheme}://${host}`).origin : null
}

/** The Host that a proxy passes on is that of the address that people open, whose scheme may be another one. */
const isOwnUrl = (host: string | undefined, { origin }: ConsoleSite): boolean =>
  origin !== null && originOf(new URL(origin).protocol.slice(0, -1), host) === origin

function isOwnOrigin(origin: string | null, site: ConsoleSite): boolean {
  if (origin === null || !URL.canParse(origin)) return false
  if (origin === site.origin) return true
  const { protocol, hostname, port } = new URL(origin)
  const given = Number(port || (protocol === 'https:' ? 443 : 80))
  return (
    protocol === `${site.scheme}:` &&
    isLoopbackName(hostname.replace(/^\[(.*)\]$/, '$1')) &&
    given === site.port()
  )
}

/** Browsers ask a console with a certificate of its own by TLS alone, for half a year. */
const TLS_ONLY = { 'strict-transport-security': 'max-age=15552000' } as const

export const guarded = (
  reply: FastifyReply,
  { scheme }: Pick<ConsoleSite, 'scheme'>,
): FastifyReply => reply.headers(scheme === 'https' ? { ...HEADERS, ...TLS_ONLY } : HEADERS)
