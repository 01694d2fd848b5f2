// Where a PostgreSQL is: its URL, checked before it is used.
// Promise kept here: neither user name nor password is in the place that messages name, nor in any refusal.

import type { PoolConfig } from 'pg'

/** A PostgreSQL database, and the schema in it that is the ledger's own. */
export interface Connection {
  /** `postgres://user:password@host:port/database`, with parameters of `PARAMETERS` only. Never shown. */
  readonly url: string
  readonly schema: string
}

const SCHEMA = /^[a-z_][a-z0-9_]{0,62}$/
const PARAMETERS = ['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey']
/** What is sent over TLS is always verified, but for `no-verify`: the driver knows no encryption without. */
const SSL_MODES: Readonly<Record<string, string>> = {
  disable: 'disable',
  'no-verify': 'no-verify',
  require: 'verify-full',
  'verify-ca': 'verify-full',
  'verify-full': 'verify-full',
}

/** The parts of a connection; `problem` says what is wrong with it, in the end of a sentence. */
export function resolveConnection({
  url,
  schema,
}: Connection): { place: string; schema: string; config: PoolConfig } | { problem: string } {
  const form = '`postgres://user:password@host:port/database`'
  if (!SCHEMA.test(schema))
    return { problem: 'names a schema that is not made of a-z, 0-9 and _, or begins with a digit' }
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url))
    return { problem: `has a URL that cannot be read; expected ${form}` }
  const parsed = new URL(url)
  const { hostname, port, pathname, searchParams } = parsed
  // Such a character in a password ends the password's part of the URL, and the rest would be taken for a place.
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
    place: `postgres://${host}${port && `:${port}`}${pathname} (schema ${schema})`,
    schema,
    config: { connectionString: parsed.href },
  }
}
