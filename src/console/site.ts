// Where the console is: what it listens on, and the addresses that it answers as. Fixed at its start, as its certificate and its proxy are;
// users and roles are those of the configuration as it is now.

import { BlockList, isIPv6 } from 'node:net'
import { reachProblem, type Config } from '../../config/index.ts'
import { ConfigError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import { isLoopbackName, splitHostPort } from '../core/loopback.ts'

export interface ConsoleSite {
  readonly host: string
  /** That is listened on. */
  port(): number
  readonly scheme: 'http' | 'https'
  /** Of the address that people open, if the configuration has one. */
  readonly origin: string | null
  /** The address to open. */
  url(): string
  /** Whether browsers get to it encrypted. */
  readonly isSecure: boolean
  readonly proxy: TrustedProxy | null
}

export interface TrustedProxy {
  isTrusted(address: string | undefined): boolean
  /** The header with the name of the person; null: the console has a login of its own. */
  readonly userHeader: string | null
}

/** @throws ConfigError if other machines reach it, and what that needs is missing */
export function siteOf(
  config: Config,
  given: { readonly host?: string | undefined },
  port: () => number,
): ConsoleSite {
  const { address, url, tls, behind_proxy: proxy } = config.console
  const { host } = { host: given.host ?? splitHostPort(address).host }
  const problem = reachProblem(config.console as unknown as JsonObject, host)
  if (problem !== null) throw new ConfigError(config.file, problem)
  const scheme = tls === undefined ? 'http' : 'https'
  const origin = url === undefined ? null : new URL(url).origin
  const own = () => `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port()}`
  return {
    host,
    port,
    scheme,
    origin,
    url: () => (origin !== null && (proxy !== undefined || !isLoopbackName(host)) ? origin : own()),
    isSecure: tls !== undefined || proxy !== undefined || (origin?.startsWith('https:') ?? false),
    proxy: proxy === undefined ? null : trustedProxy(proxy),
  }
}

function trustedProxy({
  trusted,
  user_header: header,
}: NonNullable<Config['console']['behind_proxy']>): TrustedProxy {
  const list = new BlockList()
  for (const network of trusted) {
    const [address = '', bits] = network.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return {
    userHeader: header?.toLowerCase() ?? null,
    isTrusted(address) {
      if (address === undefined) return false
      const mapped = address.replace(/^::ffff:(?=\d+\.)/i, '')
      return list.check(mapped, isIPv6(mapped) ? 'ipv6' : 'ipv4')
    },
  }
}
