// The URL of a PostgreSQL: what providers print is taken, and anything else is named.

import { expect, test } from 'vitest'
import { BoundClient } from '../../../src/postgres/bound-client.ts'
import { resolveUrl } from '../../../src/postgres/url.ts'

const BASE = 'postgres://sync:pw@db.example:5432/dwh'

test.each([
  ['', {}],
  ['?sslmode=require', {}],
  ['?sslmode=require&channel_binding=prefer', { enableChannelBinding: true }],
  ['?sslmode=require&channel_binding=require', { Client: BoundClient }],
  ['?channel_binding=disable', {}],
  ['?application_name=nightly', {}],
  ['?connect_timeout=10', { connectionTimeoutMillis: 10_000 }],
  ['?connect_timeout=600&sslmode=disable', { connectionTimeoutMillis: 600_000 }],
])('"%s" is taken', (query, expected) => {
  const resolved = resolveUrl(BASE + query)
  if ('problem' in resolved) throw new Error(resolved.problem)
  const { connectionString, ...settings } = resolved.config
  expect(settings).toEqual(expected)
  expect(resolved.place).toBe('postgres://db.example:5432/dwh')
  // The driver would take these for settings of its own.
  expect(connectionString).not.toMatch(/channel_binding|connect_timeout/)
  expect(connectionString!.includes('application_name')).toBe(query.includes('application_name'))
})

const KNOWN =
  'only host, sslmode, sslrootcert, sslcert, sslkey, channel_binding, application_name, connect_timeout are known'

test.each([
  ['?pgbouncer=true', `has a URL with the parameter pgbouncer; remove it: ${KNOWN}`],
  ['?options=-c%20x%3D1', `has a URL with the parameter options; remove it: ${KNOWN}`],
  [
    '?schema=a&target_session_attrs=any',
    `has a URL with the parameters schema, target_session_attrs; remove them: ${KNOWN}`,
  ],
  ['?statement_timeout=1', `has a URL with the parameter statement_timeout; remove it: ${KNOWN}`],
  ['?gssencmode=disable', `has a URL with the parameter gssencmode; remove it: ${KNOWN}`],
  ['?Secret%20words=1', 'has a URL with other parameters than host,'],
  ['?sslmode=prefer', 'has a URL with an sslmode other than disable, no-verify, require,'],
  ['?sslmode=', 'has a URL with an sslmode other than'],
  ['?sslmode=constructor', 'has a URL with an sslmode other than'],
  [
    '?channel_binding=always',
    'has a URL with a channel_binding other than disable, prefer, require',
  ],
  ['?channel_binding=require', 'without TLS; add sslmode=require'],
  ['?channel_binding=require&sslmode=disable', 'without TLS; add sslmode=require'],
  ['?connect_timeout=0', 'has a URL with a connect_timeout other than 1 to 600 (seconds)'],
  ['?connect_timeout=601', 'has a URL with a connect_timeout other than 1 to 600 (seconds)'],
  ['?connect_timeout=10s', 'has a URL with a connect_timeout other than 1 to 600 (seconds)'],
  ['?connect_timeout=-1', 'has a URL with a connect_timeout other than 1 to 600 (seconds)'],
  ['?sslmode=require&sslmode=disable', 'has a URL with the parameter sslmode twice'],
])('"%s" is refused, and named', (query, expected) => {
  const resolved = resolveUrl(BASE + query)
  expect('problem' in resolved && resolved.problem).toContain(expected)
})

test('a password that looks like parameters is not shown', () => {
  const resolved = resolveUrl('postgres://sync:12?hidden&more@db.example/dwh')
  expect(JSON.stringify(resolved)).not.toMatch(/hidden|more/)
})
