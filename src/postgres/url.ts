// Where a PostgreSQL is: its URL, checked before it is used.
// Promise kept here: neither user name nor password is in the place that messages name, nor in any refusal.

import type { ClientConfig } from 'pg'

const PARAMETERS = ['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey']
/** Over TLS the server's certificate is always verified, except with `no-verify`: the driver's other modes all verify it. */
const SSL_MODES: Readonly<Record<string, string>> = {
  disable: 'disable',
  'no-verify': 'no-verify',
  require: 'verify-full',
  'verify-ca': 'verify-full',
  'verify-full': 'verify-full',
}

/**
 * The parts of a URL such as `postgres://user:password@host:port/database`, with parameters of `PARAMETERS` only;
 * `problem` says what is wrong with it, as the end of a sentence.
 */
export function resolveUrl(
  url: string,
): { place: string; config: Pick<ClientConfig, 'connectionString'> } | { problem: string } {
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
  if ([...searchParams.keys()].some((name) => !PARAMETERS.includes(name)))
    return { problem: `has a URL with other parameters than ${PARAMETERS.join(', ')}` }
  const mode = searchParams.get('sslmode')
  if (mode !== null) {
    const meant = SSL_MODES[mode]
    if (meant === undefined)
      return {
        problem: `has a URL with an sslmode other than ${Object.keys(SSL_MODES).join(', ')}`,
      }
    searchParams.set('sslmode', meant)
  }
  const host = searchParams.get('host') ?? (hostname || 'localhost')
  return {
    place: `postgres://${host}${port && `:${port}`}${pathname}`,
    config: { connectionString: parsed.href },
  }
}
