// Where a PostgreSQL is: its URL, checked before it is used.
// Promise kept here: neither user name nor password is in the place that messages name, nor in any refusal.

import type { PoolConfig } from 'pg'
import { BoundClient } from './bound-client.ts'

const PARAMETERS = [
  'host',
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'channel_binding',
  'application_name',
  'connect_timeout',
]
/** Over TLS the server's certificate is always verified, except with `no-verify`: the driver's other modes all verify it. */
const SSL_MODES: Readonly<Record<string, string>> = {
  disable: 'disable',
  'no-verify': 'no-verify',
  require: 'verify-full',
  'verify-ca': 'verify-full',
  'verify-full': 'verify-full',
}
const BINDINGS: Readonly<Record<string, PoolConfig>> = {
  disable: {},
  prefer: { enableChannelBinding: true },
  // The pool's own type takes no class whose constructor has an argument.
  require: { Client: BoundClient as unknown as NonNullable<PoolConfig['Client']> },
}
const CONNECT_MAX_S = 600

/**
 * The parts of a URL such as `postgres://user:password@host:port/database`, with parameters of `PARAMETERS` only;
 * `problem` says what is wrong with it, as the end of a sentence. `config` overrides the settings of whoever connects.
 */
export function resolveUrl(
  url: string,
): { place: string; config: PoolConfig } | { problem: string } {
  const form = '`postgres://user:password@host:port/database`'
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url))
    return { problem: `has a URL that cannot be read; expected ${form}` }
  const parsed = new URL(url)
  const { hostname, port, pathname, searchParams } = parsed
  // Such a character in a password would end the password's part of the URL, and the rest would be read as a place.
  if (parsed.hash !== '' || !/^(\/[^/@]*)?$/.test(pathname))
    return {
      problem: `has a URL that is not ${form}; write the characters / ? # @ in a password as %2F %3F %23 %40`,
    }
  const parameters = readParameters(searchParams)
  if ('problem' in parameters) return { problem: `has a URL with ${parameters.problem}` }
  const host = searchParams.get('host') ?? (hostname || 'localhost')
  return {
    place: `postgres://${host}${port && `:${port}`}${pathname}`,
    config: { connectionString: parsed.href, ...parameters.config },
  }
}

/** Leaves in `given` what the driver itself understands. */
function readParameters(given: URLSearchParams): { config: PoolConfig } | { problem: string } {
  const names = [...given.keys()]
  const unknown = names.filter((name) => !PARAMETERS.includes(name))
  if (unknown.length > 0) return { problem: unknownText(unknown) }
  const twice = names.find((name) => given.getAll(name).length > 1)
  if (twice !== undefined) return { problem: `the parameter ${twice} twice` }
  const take = (name: string): string | null => {
    const value = given.get(name)
    given.delete(name)
    return value
  }
  const oneOf = (name: string, values: object) =>
    `${name.startsWith('s') ? 'an' : 'a'} ${name} other than ${Object.keys(values).join(', ')}`
  const mode = given.get('sslmode')
  if (mode !== null && !Object.hasOwn(SSL_MODES, mode))
    return { problem: oneOf('sslmode', SSL_MODES) }
  if (mode !== null) given.set('sslmode', SSL_MODES[mode]!)
  const binding = take('channel_binding') ?? 'disable'
  if (!Object.hasOwn(BINDINGS, binding)) return { problem: oneOf('channel_binding', BINDINGS) }
  if (binding === 'require' && (mode === null || mode === 'disable'))
    return { problem: 'channel_binding=require and without TLS; add sslmode=require' }
  const wait = take('connect_timeout')
  if (wait !== null && !(/^\d{1,3}$/.test(wait) && Number(wait) > 0 && +wait <= CONNECT_MAX_S))
    return { problem: `a connect_timeout other than 1 to ${CONNECT_MAX_S} (seconds)` }
  return {
    config: {
      ...BINDINGS[binding],
      ...(wait !== null && { connectionTimeoutMillis: Number(wait) * 1_000 }),
    },
  }
}

/** A password with `?` and `&` would be read as parameters: it is not shown, and looks like no name at its end at least. */
function unknownText(unknown: readonly string[]): string {
  const known = PARAMETERS.join(', ')
  if (!unknown.every((name) => /^[a-z_]{1,40}$/.test(name))) return `other parameters than ${known}`
  return `${unknown.length === 1 ? 'the parameter' : 'the parameters'} ${unknown.join(', ')}; remove ${unknown.length === 1 ? 'it' : 'them'}: only ${known} are known`
}
