// Why a PostgreSQL cannot be reached: the words are those of services, with the parameters of its URL.

import { expect, test } from 'vitest'
import { LedgerError } from '../../../src/core/errors.ts'
import { toLedgerError } from '../../../src/postgres/failures.ts'

const subject = {
  noun: 'ledger',
  code: 'ledger',
  lockMaxMs: 1_000,
  statementMaxMs: 1_000,
  fail: (code: string, message: string, reason: 'ledger' | 'disk') =>
    new LedgerError(code, message, reason),
}
const raw = (code: string, message = 'a foreign text') =>
  Object.assign(new Error(message), { code })

test.each<[error: Error, code: string, said: RegExp]>([
  [
    raw('ENOTFOUND'),
    'ledger_unreachable',
    /the host name of that server does not resolve; .*it is asked again$/,
  ],
  [raw('EAI_AGAIN'), 'ledger_unreachable', /does not resolve for the moment; .*it is asked again$/],
  [
    raw('ECONNREFUSED'),
    'ledger_unreachable',
    /connection refused by that server; .*it is asked again$/,
  ],
  [
    raw('ETIMEDOUT'),
    'ledger_unreachable',
    /no connection to that server in time; .*it is asked again$/,
  ],
  [raw('ENETUNREACH'), 'ledger_unreachable', /the network of that server cannot be reached; /],
  [raw('EMFILE'), 'ledger_unreachable', /this process may open no more files; .*ulimit -n 4096/],
  [raw('ECONNRESET'), 'ledger_unreachable', /db cannot be reached; it is asked again$/],
  [
    raw('CERT_HAS_EXPIRED'),
    'ledger_untrusted',
    /not trusted: it has expired; whoever runs the server/,
  ],
  [raw('DEPTH_ZERO_SELF_SIGNED_CERT'), 'ledger_untrusted', /it is self-signed; set `sslrootcert`/],
  [raw('SELF_SIGNED_CERT_IN_CHAIN'), 'ledger_untrusted', /no CA that we know .*`sslrootcert`/],
  [raw('ERR_TLS_CERT_ALTNAME_INVALID'), 'ledger_untrusted', /it is for another name; put a name/],
  [
    raw('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'),
    'ledger_untrusted',
    /client certificate .*`sslcert` and `sslkey`/,
  ],
  [
    new Error('The server does not support SSL connections'),
    'ledger_untrusted',
    /speaks no TLS; set `sslmode=disable`/,
  ],
])('%s', (error, code, said) => {
  const told = toLedgerError(error, 'postgres://db.example.com/db', subject) as LedgerError
  expect(told.code).toBe(code)
  expect(told.message).toMatch(said)
  expect(told.message).not.toContain('foreign')
})
