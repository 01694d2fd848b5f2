// Why there is no connection to a Temporal server: the words are those of services, with Temporal's own settings.

import { createServer, type AddressInfo } from 'node:net'
import { createServer as createTls } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { TemporalUnreachable } from '../../../src/core/errors.ts'
import { probeServer } from '../../../src/temporal/probe.ts'
import { issue, type IssueOptions } from '../client/certificate.ts'

const ca = issue({ isCa: true, commonName: 'our CA' })
const probe = async (address: string, pem?: string): Promise<Error> =>
  await probeServer(
    address,
    pem === undefined ? false : { serverRootCACertificate: Buffer.from(pem) },
    Date.now() + 20_000,
  ).then(
    () => expect.fail('a failure was expected'),
    (error: unknown) => error as Error,
  )

test('a name that does not resolve is told as that, and how to correct it', async () => {
  const error = await probe('temporal.nosuch.invalid:7233')
  expect(error).toBeInstanceOf(TemporalUnreachable)
  expect(error.message).toMatch(
    /^No Temporal server answers at (\S+): the host name of \1 does not resolve.*\. Correct TEMPORAL_ADDRESS/,
  )
})

test('a port where nothing listens needs a server', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  expect((await probe(`127.0.0.1:${port}`)).message).toMatch(
    /:\d+\. Start one with "records-sync dev"/,
  )
})

test.each<[what: string, certificate: IssueOptions, pem: string, said: RegExp]>([
  ['unknown CA', { by: ca }, issue({ isCa: true }).cert, /no CA that we know .*`server_ca`/],
  ['self-signed', {}, ca.cert, /it is self-signed; set `server_ca`/],
  ['expired', { by: ca, to: '200101' }, ca.cert, /it has expired; whoever runs the server/],
  ['not valid yet', { by: ca, from: '480101' }, ca.cert, /it is not valid yet; check the clock/],
  [
    'another name',
    { by: ca, names: ['t.example.com'] },
    ca.cert,
    /for t\.example\.com, .*`server_name`/,
  ],
])('%s', async (_, certificate, pem, said) => {
  const names = certificate.names ?? ['127.0.0.1', 'localhost']
  const server = createTls(issue({ ...certificate, names }), (socket) =>
    socket.on('error', () => {}),
  )
  server.on('tlsClientError', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const { message } = await probe(`localhost:${port}`, pem)
  expect(message).toMatch(
    /^The certificate of the Temporal server at localhost:\d+ is not trusted: /,
  )
  expect(message).toMatch(said)
})
