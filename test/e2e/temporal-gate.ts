// A server of gRPC in front of a Temporal server: with TLS, which asks for client certificates if it is told to, and which
// may refuse single calls. It writes down with which authorization it was asked.

import {
  connect,
  createSecureServer,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Session,
} from 'node:http2'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

export const fixture = (name: string) =>
  fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))
export const pem = (name: string) => readFileSync(fixture(name))

export interface Gate {
  /** `127.0.0.1:4711` */
  readonly address: string
  /** Every authorization that came, undefined for none. */
  readonly authorizations: Set<string | undefined>
}

export interface GateOptions {
  /** Client certificates have to be signed by the CA of the tests. */
  readonly mutual?: boolean
  /** A code of gRPC that a call is refused with; null lets it pass. */
  refuse?(path: string, authorization: string | undefined): number | null
}

/** Stands until the test is over. */
export async function startGate(target: string, options: GateOptions = {}): Promise<Gate> {
  const tls: SecureServerOptions = {
    key: pem('server-key.pem'),
    cert: pem('server.pem'),
    ...(options.mutual ? { requestCert: true, rejectUnauthorized: true, ca: pem('ca.pem') } : {}),
  }
  const upstream = connect(`http://${target}`)
  upstream.on('error', () => {})
  const authorizations = new Set<string | undefined>()
  const sessions = new Set<ServerHttp2Session>()
  const server = createSecureServer(tls)
  server.on('session', (session) => {
    sessions.add(session)
    session.on('error', () => {}).on('close', () => sessions.delete(session))
  })
  server.on('stream', (stream, headers) => {
    const path = String(headers[':path'])
    authorizations.add(headers.authorization)
    stream.on('error', () => {})
    const code = options.refuse?.(path, headers.authorization) ?? null
    if (code !== null) {
      const refusal = { 'content-type': 'application/grpc', 'grpc-status': String(code) }
      return stream.respond(
        { ':status': 200, ...refusal, 'grpc-message': 'SECRET' },
        { endStream: true },
      )
    }
    if (upstream.destroyed) return stream.destroy()
    const asked = upstream.request({ ...headers, ':scheme': 'http', ':authority': target })
    let trailers: IncomingHttpHeaders = {}
    asked.on('error', () => stream.destroy())
    asked.on('trailers', (given) => (trailers = given))
    asked.on('response', (answer) =>
      'grpc-status' in answer
        ? stream.respond(answer, { endStream: true })
        : stream.respond(answer, { waitForTrailers: true }),
    )
    stream.on('wantTrailers', () => stream.sendTrailers(trailers))
    stream.on('close', () => asked.destroy())
    stream.pipe(asked)
    asked.pipe(stream)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const session of sessions) session.destroy()
    server.close()
    upstream.destroy()
  })
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, authorizations }
}
