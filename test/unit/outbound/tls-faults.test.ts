// What a person reads where TLS or the network is in the way: each row is a real server on this machine, asked by a client.

import {
  connect,
  createServer as createPlain,
  type AddressInfo,
  type Server,
  type Socket,
} from 'node:net'
import { createServer as createTls, type TlsOptions } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { issue } from '../client/certificate.ts'
import { bytesOf, clientOf, failureOf, oneRecord } from '../client/wire.ts'

const ca = issue({ isCa: true, commonName: 'our CA' })
const otherCa = issue({ isCa: true, commonName: 'another CA' })
const middle = issue({ by: ca, isCa: true, commonName: 'between' })
const HERE = ['127.0.0.1']
const good = issue({ by: ca, names: HERE })
const below = issue({ by: middle, names: HERE })
const alone = issue({ names: HERE })

const answer = (socket: Socket) => {
  socket.on('error', () => {})
  socket.once('data', () => socket.write(bytesOf(oneRecord)))
}

async function listen(server: Server): Promise<number> {
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => open.add(socket.on('error', () => {})))
  server.on('tlsClientError', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    for (const socket of open) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return (server.address() as AddressInfo).port
}

const tls = (options: TlsOptions) => () => listen(createTls(options, answer))
const plain = (respond: (socket: Socket) => void) => () => listen(createPlain(respond))

/** A web server that answers plain requests to its TLS port with 400, as several do. */
const politeTls = async () => {
  const inner = await tls(good)()
  const respond = (socket: Socket) =>
    void socket.once('data', (first) => {
      if (first[0] !== 22)
        return void socket.end('HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\nno')
      const to = connect(inner, '127.0.0.1').on('error', () => {})
      to.write(first)
      socket.pipe(to).pipe(socket)
    })
  return await plain(respond)()
}

const closed = async () => {
  const server = createPlain()
  const port = await new Promise<number>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
  )
  await new Promise((resolve) => server.close(resolve))
  return port
}

interface Row {
  readonly start: () => Promise<number>
  readonly said: RegExp
  readonly ca?: string
  readonly address?: (port: number) => string
}

const SET_CA = 'set `ca` of the connection to a PEM file with .*NODE_EXTRA_CA_CERTS'
const untrusted = (why: string, todo = SET_CA) =>
  new RegExp(`^readRecord: the certificate of \\S+:\\d+ is not trusted: ${why}; ${todo}`)
const http = (port: number) => `http://127.0.0.1:${port}`

const ROWS: Readonly<Record<string, Row>> = {
  'a CA of the company': {
    start: tls(good),
    said: untrusted('no CA that we know has signed it \\(\\w+\\)'),
  },
  'another CA than that of `ca`': {
    start: tls(good),
    ca: otherCa.cert,
    said: untrusted('no CA that we know has signed it \\(\\w+\\)'),
  },
  'an intermediate certificate that the server leaves out': {
    start: tls(below),
    ca: ca.cert,
    said: untrusted('no CA that we know has signed it \\(\\w+\\)'),
  },
  'an intermediate CA alone in `ca`': {
    start: tls({ ...below, cert: below.cert + middle.cert }),
    ca: middle.cert,
    said: untrusted('the CA above the one that we know is missing', '.*the root CA too'),
  },
  'self-signed': { start: tls(alone), said: untrusted('it is self-signed', '.*this certificate') },
  'self-signed, another one in `ca`': {
    start: tls(alone),
    ca: issue({ names: HERE }).cert,
    said: untrusted('it is self-signed', '.*this certificate'),
  },
  expired: {
    start: tls(issue({ by: ca, names: HERE, to: '200101' })),
    ca: ca.cert,
    said: untrusted('it has expired', 'whoever runs the server has to renew it; .*clock'),
  },
  'an expired CA': {
    start: async () => await tls(issue({ by: oldCa, names: HERE }))(),
    ca: 'old',
    said: untrusted('it has expired', '.*renew'),
  },
  'not valid yet': {
    start: tls(issue({ by: ca, names: HERE, from: '480101' })),
    ca: ca.cert,
    said: untrusted('it is not valid yet', 'check the clock of this machine'),
  },
  'for one other name': {
    start: tls(issue({ by: ca, names: ['crm.example.com'] })),
    ca: ca.cert,
    said: untrusted(
      'it is for another name: for crm\\.example\\.com, not for 127\\.0\\.0\\.1',
      'put a name',
    ),
  },
  'for other names, a wildcard and an address too': {
    start: tls(issue({ by: ca, names: ['*.example.com', '10.1.2.3'] })),
    ca: ca.cert,
    said: untrusted(
      'it is for another name: for \\*\\.example\\.com, 10\\.1\\.2\\.3, not for 127\\.0\\.0\\.1',
      'put',
    ),
  },
  'for many other names': {
    start: tls(issue({ by: ca, names: Array.from({ length: 9 }, (_, n) => `h${n}.example.com`) })),
    ca: ca.cert,
    said: untrusted('it is for another name: for h0.* and 4 more, not for .*', 'put'),
  },
  'names that no host has': {
    start: tls(issue({ by: ca, names: ['<b>no host</b>'] })),
    ca: ca.cert,
    said: untrusted('it is for another name', 'put'),
  },
  'for no name': {
    start: tls(issue({ by: ca })),
    ca: ca.cert,
    said: untrusted('it is for another name: for test, not for 127\\.0\\.0\\.1', 'put'),
  },
  'http to a TLS port that breaks off': {
    start: tls(good),
    address: http,
    said: /127\.0\.0\.1:\d+ expects TLS; write https:\/\/ in its address/,
  },
  'http to a TLS port that answers 400': {
    start: politeTls,
    address: http,
    said: /127\.0\.0\.1:\d+ expects TLS; write https:\/\/ in its address/,
  },
  'http to a TLS port that wants TLS 1.1': {
    start: tls({ ...good, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL@SECLEVEL=0' }),
    address: http,
    said: /expects TLS; write https:\/\//,
  },
  'https to a plain port': {
    start: plain((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    said: /answers, but not with TLS; is its address http:\/\/\?/,
  },
  'https to a port of another protocol': {
    start: plain((socket) => void socket.end('220 mail.example.com ESMTP ready\r\n')),
    said: /answers, but not with TLS; /,
  },
  'old versions of TLS alone': {
    start: tls({ ...good, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL@SECLEVEL=0' }),
    ca: ca.cert,
    said: /have no version of TLS in common \(\w+\); let the server speak TLS 1\.2 or 1\.3/,
  },
  'a client certificate, TLS 1.3': {
    start: tls({ ...good, requestCert: true, rejectUnauthorized: true, minVersion: 'TLSv1.3' }),
    ca: ca.cert,
    said: /asks for a client certificate.*; a connection cannot give one: .*gateway/,
  },
  'no cipher in common': {
    start: tls({ ...good, ciphers: 'PSK-AES128-CBC-SHA', maxVersion: 'TLSv1.2' }),
    ca: ca.cert,
    said: /ended the TLS handshake \(\w[\w/]*\): it asks for a client certificate, or has no cipher/,
  },
  'a server that ends in the handshake': {
    start: plain((socket) => void socket.once('data', () => socket.destroy())),
    said: /closed the connection during the TLS handshake/,
  },
  refused: {
    start: closed,
    said: /connection refused by 127\.0\.0\.1:\d+; start what listens there, or correct/,
  },
  'a name that does not resolve': {
    start: closed,
    address: (port) => `https://nosuch.invalid:${port}`,
    said: /the host name of nosuch\.invalid:\d+ does not resolve.*; .*DNS/,
  },
}
const oldCa = issue({ isCa: true, commonName: 'old CA', to: '200101' })

const read = (address: string, pem: string | undefined) =>
  clientOf(address, {
    ca: pem === 'old' ? oldCa.cert : pem,
    retries: 0,
    timeoutMs: 20_000,
  }).readRecord('svc_contact', 'rec_1')

test.each(Object.entries(ROWS))('%s', async (_, { start, said, ca: pem, address }) => {
  const port = await start()
  const failure = await failureOf(read(address?.(port) ?? `https://127.0.0.1:${port}`, pem))
  expect(failure.message).toMatch(said)
  expect(failure.message).not.toContain('is the service running')
  expect(failure.block).toBe('service')
})

test.each([
  ['of its CA', good, ca.cert],
  ['of its CA, among others', good, otherCa.cert + ca.cert],
  [
    'of the root, while the server sends the intermediate',
    { ...below, cert: below.cert + middle.cert },
    ca.cert,
  ],
  ['of a self-signed server', alone, alone.cert],
])('`ca` with the certificate %s is enough', async (_, server, pem) => {
  const port = await tls(server)()
  const record = await read(`https://127.0.0.1:${port}`, pem)
  expect(record).toBeDefined()
})
