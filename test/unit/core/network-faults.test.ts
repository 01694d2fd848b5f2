// The words for faults of the network that no test can make on this machine, by their codes.

import { expect, test } from 'vitest'
import { certificateFault, networkFault, SERVICE_TLS } from '../../../src/core/network-faults.ts'

const raw = (code: string, message = 'a foreign text') =>
  Object.assign(new Error(message), { code })
const PEER = 'crm.example.com:443'
const EPROTO =
  'write EPROTO 80C1:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../deps/x.c:354:\n'

test.each<[error: unknown, what: RegExp, todo: RegExp]>([
  [
    raw('ECONNREFUSED'),
    /^connection refused by crm\.example\.com:443$/,
    /start what listens there/,
  ],
  [
    raw('ENOTFOUND'),
    /^the host name of crm\.example\.com:443 does not resolve$/,
    /correct the address/,
  ],
  [raw('EAI_NONAME'), /does not resolve$/, /DNS/],
  [raw('EAI_NODATA'), /does not resolve$/, /DNS/],
  [raw('EAI_AGAIN'), /does not resolve for the moment$/, /DNS server/],
  [raw('EHOSTUNREACH'), /^crm\.example\.com:443 cannot be reached$/, /in this network/],
  [raw('EHOSTDOWN'), /cannot be reached$/, /routes/],
  [
    raw('ENETUNREACH'),
    /^the network of crm\.example\.com:443 cannot be reached$/,
    /routes of this machine/,
  ],
  [raw('ENETDOWN'), /^the network of/, /routes/],
  [raw('EADDRNOTAVAIL'), /^the network of/, /routes/],
  [raw('ETIMEDOUT'), /^no connection to crm\.example\.com:443 in time$/, /firewall/],
  [raw('UND_ERR_CONNECT_TIMEOUT'), /in time$/, /firewall/],
  [raw('EACCES'), /^this machine does not let us connect/, /firewall/],
  [raw('EPERM'), /^this machine does not let us connect/, /firewall/],
  [raw('EMFILE'), /^no connection to .*: this process may open no more files$/, /ulimit -n 4096/],
  [raw('ENFILE'), /^no connection to .*: this machine may open no more files$/, /fs\.file-max/],
  [new AggregateError([raw('ETIMEDOUT'), raw('ENETUNREACH')]), /in time$/, /firewall/],
  [new AggregateError([raw('ECONNREFUSED'), raw('ECONNREFUSED')]), /^connection refused/, /start/],
  [new AggregateError([raw('ENETUNREACH'), raw('EADDRNOTAVAIL')]), /^the network of/, /routes/],
  [raw('EPROTO', EPROTO), /answers, but not with TLS$/, /http:/],
  [raw('EPROTO'), /TLS handshake with .* failed \(EPROTO\)$/, /log of the server/],
  [raw('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'), /asks for a client certificate/, /gateway/],
  [raw('ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE'), /asks for a client certificate/, /gateway/],
  [raw('ERR_SSL_TLSV1_ALERT_UNKNOWN_CA'), /asks for a client certificate/, /gateway/],
  [raw('ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE'), /ended the TLS handshake/, /gateway/],
  [raw('ERR_SSL_TLSV1_UNRECOGNIZED_NAME'), /has no certificate for this name/, /correct the host/],
  [
    raw('ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR'),
    /has no certificate for this name/,
    /correct the host/,
  ],
  [raw('ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'), /no version of TLS in common/, /TLS 1\.2/],
  [raw('ERR_SSL_DH_KEY_TOO_SMALL'), /failed \(ERR_SSL_DH_KEY_TOO_SMALL\)/, /log/],
  [raw('CERT_REVOKED'), /it was revoked$/, /renew/],
  [raw('INVALID_PURPOSE'), /it is not valid \(INVALID_PURPOSE\)$/, /renew/],
  [raw('CA_MD_TOO_WEAK'), /it is not valid \(CA_MD_TOO_WEAK\)$/, /renew/],
  [
    raw('UNABLE_TO_GET_ISSUER_CERT_LOCALLY'),
    /no CA that we know has signed it/,
    /NODE_EXTRA_CA_CERTS/,
  ],
])('%s', (error, what, todo) => {
  const fault = networkFault(error, PEER)
  expect(fault?.what).toMatch(what)
  expect(fault?.todo).toMatch(todo)
  expect(JSON.stringify(fault)).not.toContain('foreign')
})

test.each(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'ABORT_ERR', ''])(
  '%j says nothing of a cause',
  (code) => {
    expect(networkFault(raw(code), PEER)).toBeNull()
    expect(certificateFault(raw(code), SERVICE_TLS)).toBeNull()
  },
)

test.each([undefined, null, 7, 'ECONNREFUSED', {}, { code: 5 }, new AggregateError([])])(
  'anything may be thrown: %j',
  (error) => {
    expect(networkFault(error, PEER)).toBeNull()
  },
)
