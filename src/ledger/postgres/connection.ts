// Where the ledger is in a PostgreSQL: its URL and its schema, checked before they are used.
// Promise kept here: neither user name nor password is in the place that messages name, nor in any refusal.

import type { PoolConfig } from 'pg'
import { resolveUrl } from '../../postgres/url.ts'

/** A PostgreSQL database, and the schema in it that is the ledger's own. */
export interface Connection {
  /** `postgres://user:password@host:port/database`, see `postgres/url.ts`. Never shown. */
  readonly url: string
  readonly schema: string
}

const SCHEMA = /^[a-z_][a-z0-9_]{0,62}$/

/** The parts of a connection; `problem` says what is wrong with it, in the end of a sentence. */
export function resolveConnection({
  url,
  schema,
}: Connection): { place: string; schema: string; config: PoolConfig } | { problem: string } {
  if (!SCHEMA.test(schema))
    return { problem: 'names a schema that is not made of a-z, 0-9 and _, or begins with a digit' }
  const resolved = resolveUrl(url)
  if ('problem' in resolved) return resolved
  return { ...resolved, place: `${resolved.place} (schema ${schema})`, schema }
}
