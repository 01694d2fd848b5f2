// Which proxy of the environment a connection goes through: HTTPS_PROXY, HTTP_PROXY and NO_PROXY, as curl and Go read them.
// Promises kept here: this machine is never reached through a proxy; no message has a login of a proxy.

import { BlockList, isIP, isIPv6 } from 'node:net'
import { ConfigError } from '../core/errors.ts'
import { isLoopbackName } from '../core/loopback.ts'

export interface Proxy {
  readonly secure: boolean
  readonly host: string
  readonly port: number
  /** `host:port`, for messages. */
  readonly place: string
  /** The variable that names it. */
  readonly variable: string
  /** Value of `Proxy-Authorization`, a secret; null: its URL has no login. */
  readonly login: string | null
}

type Environment = Readonly<Record<string, string | undefined>>

/** The first that is set, even to nothing: an empty one turns the ones after it off. */
const VARIABLES = ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY'] as const

/**
 * The proxy for `origin`; null: there is none, or it is not to be used for this one. Only https has one: plain http goes to this
 * machine alone.
 * @throws ConfigError that names the variable
 */
export function proxyFor(origin: string, env: Environment): Proxy | null {
  const { protocol, hostname, port } = new URL(origin)
  const host = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  const variable = VARIABLES.find((name) => env[name] !== undefined)
  const text = variable === undefined ? '' : env[variable]!.trim()
  if (protocol !== 'https:' || variable === undefined || text === '') return null
  if (isLoopbackName(host) || host.endsWith('.localhost')) return null
  if (isExcepted(host, Number(port || 443), env['no_proxy'] ?? env['NO_PROXY'] ?? '')) return null
  return parseProxy(text, variable)
}

/** A list with commas or spaces: `*`, a name (and all below it), an address, a network such as 10.0.0.0/8, each with or without a port. */
function isExcepted(host: string, port: number, list: string): boolean {
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => entry !== '' && isNamed(host, port, entry))
}

function isNamed(host: string, port: number, entry: string): boolean {
  if (entry === '*') return true
  const [, bracketed, plain, ofPort] = /^(?:\[([^\]]*)\]|(.*?))(?::(\d+))?$/.exec(
    isIPv6(entry) || /^[\da-f:]*:[\da-f:.]*\/\d+$/.test(entry) ? `[${entry}]` : entry,
  )!
  if (ofPort !== undefined && Number(ofPort) !== port) return false
  const name = (bracketed ?? plain!).replace(/^\*?\.?/, '').replace(/\.$/, '')
  if (isIP(host) !== 0) return isInNetwork(host, name)
  return name !== '' && (host === name || host.endsWith(`.${name}`))
}

/** @param network an address, or one with the bits of its prefix; anything else holds no address */
function isInNetwork(address: string, network: string): boolean {
  const [first = '', bits, more] = network.split('/')
  const family = isIPv6(first) ? 'ipv6' : 'ipv4'
  const bitsMax = family === 'ipv6' ? 128 : 32
  const prefix = bits === undefined ? bitsMax : /^\d{1,3}$/.test(bits) ? Number(bits) : Infinity
  if (isIP(first) === 0 || more !== undefined || prefix > bitsMax) return false
  const list = new BlockList()
  list.addSubnet(first, prefix, family)
  return list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

function parseProxy(text: string, variable: string): Proxy {
  const refuse = (what: string) =>
    new ConfigError(
      'environment',
      `${variable}: ${what}; expected http://HOST:PORT of an HTTP proxy, or nothing`,
    )
  // `host:3128` is a URL too, of the scheme `host:`.
  const full = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`
  if (!URL.canParse(full)) throw refuse('it is no URL')
  const { protocol, hostname, port, username, password } = new URL(full)
  const secure = protocol === 'https:'
  if (!secure && protocol !== 'http:')
    throw refuse(`proxies of ${protocol.slice(0, 20)}// are not supported`)
  if (hostname === '') throw refuse('it has no host')
  const number = Number(port || (secure ? 443 : 80))
  const login = `${decoded(username)}:${decoded(password)}`
  return {
    secure,
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: number,
    place: `${hostname}:${number}`,
    variable,
    login: login === ':' ? null : `Basic ${Buffer.from(login).toString('base64')}`,
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    // A percent sign that nobody encoded stands for itself.
    return part
  }
}

/** ` through the proxy proxy.example.com:3128 (HTTPS_PROXY)`; nothing without one. */
export const throughText = (proxy: Proxy | null): string =>
  proxy === null ? '' : ` through the proxy ${proxy.place} (${proxy.variable})`
