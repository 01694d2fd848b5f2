// Finds out why a connection to a Temporal server fails. gRPC reports nearly everything as "deadline exceeded"; so before a
// connection is made, this file contacts the same address once by hand, which takes a few milliseconds and sends no key.

import { connect as connectPlain, isIP, type Socket } from 'node:net'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'
import type { TLSConfig } from '@temporalio/client'
import { SyncError, TemporalUnreachable } from '../core/errors.ts'
import { certificateFault, codeOf, networkFault, type TlsWords } from '../core/network-faults.ts'

/** An HTTP/2 client's first bytes, with empty settings; the server's first frame is its own settings. */
const greeting = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
])
const frameHeaderBytes = 9
const settingsFrame = 4
/** Code of the error that a retry may resolve. */
export const TEMPORAL_SLOW = 'temporal_slow'

/** How far one attempt came. `code` is Node's or OpenSSL's, of the error. */
interface Outcome {
  readonly reached: 'nothing' | 'connected' | 'encrypted' | 'http2'
  /** Before the time was up, nothing contradicted a Temporal server. */
  readonly isLate: boolean
  /** What came speaks HTTP/1. */
  readonly isHttp1: boolean
  readonly code?: string | undefined
  readonly error?: unknown
}

/**
 * Asks the server for HTTP/2, with TLS or without, until `deadline` (ms since 1970).
 * @throws TemporalUnreachable if nothing answers; SyncError `temporal_tls_…` or `temporal_foreign` that says what is wrong
 */
export async function probeServer(
  address: string,
  tls: TLSConfig | false,
  deadline: number,
): Promise<void> {
  const outcome = await greet(address, tls, deadline)
  if (outcome.reached === 'http2') return
  if (outcome.reached === 'nothing') throw unreachable(address, outcome.error)
  if (outcome.isLate) throw temporalSlow(address)
  if (tls === false) {
    const { reached } = await greet(address, {}, deadline, { trusting: true })
    if (reached === 'encrypted' || reached === 'http2')
      throw new SyncError(
        'temporal_tls_required',
        `The server at ${address} expects TLS; set \`tls: true\` next to its address (TEMPORAL_TLS=true in the environment), with its CA if the certificate is your own`,
      )
    throw notTemporal(address, outcome.isHttp1)
  }
  const distrust = certificateFault(outcome.error, TEMPORAL_TLS)
  if (distrust !== null)
    throw new SyncError(
      'temporal_tls_untrusted',
      `The certificate of the Temporal server at ${address} is not trusted: ${distrust.what}; ${distrust.todo}`,
    )
  // A TLS 1.3 server checks the client's certificate only after the handshake is over for the client.
  if (outcome.reached === 'encrypted' || outcome.code?.includes('ALERT'))
    throw new SyncError(
      'temporal_tls_client_certificate',
      tls.clientCertPair === undefined
        ? `The Temporal server at ${address} asks for a client certificate; set \`client_cert\` and \`client_key\` next to its address`
        : `The Temporal server at ${address} does not accept our client certificate; it has to be signed by a CA that the server knows`,
    )
  if ((await greet(address, false, deadline)).reached === 'http2')
    throw new SyncError(
      'temporal_tls_absent',
      `The Temporal server at ${address} speaks no TLS; nothing was sent to it. Set \`tls: false\` next to its address if its network may read everything`,
    )
  throw notTemporal(address, outcome.isHttp1)
}

/** It takes connections, and does not answer in time: it may be busy, or suspended. */
export function temporalSlow(address: string): SyncError {
  return new SyncError(
    TEMPORAL_SLOW,
    `The server at ${address} takes connections, but does not answer in time: it is busy or just starting, or it is not a Temporal server. If it stays like this, check host and port`,
  )
}

/** Something other than Temporal answers at `address`. */
export function notTemporal(address: string, isHttp1 = false): SyncError {
  const what = isHttp1 ? ': it is a web server' : ''
  return new SyncError(
    'temporal_foreign',
    `Something answers at ${address}, but not as a Temporal server${what}; check host and port (7233 is usual; the UI has another port)`,
  )
}

const TEMPORAL_TLS: TlsWords = {
  ca: (of) => `set \`server_ca\` next to the address to a PEM file with ${of}`,
  name: 'set `server_name` next to the address to the name that it is for',
  client: 'set `client_cert` and `client_key` next to its address',
}

/** Refused by this machine says that nothing runs there, which needs no other words. */
function unreachable(address: string, error: unknown): TemporalUnreachable {
  const fault = codeOf(error) === 'ECONNREFUSED' ? null : networkFault(error, address, TEMPORAL_TLS)
  return new TemporalUnreachable(address, fault?.what)
}

/** @param trusting takes any certificate; only a greeting is sent */
function greet(
  address: string,
  tls: TLSConfig | false,
  deadline: number,
  { trusting = false } = {},
): Promise<Outcome> {
  const { hostname, port } = new URL(`tcp://${address}`)
  const place = { host: hostname.replaceAll(/[[\]]/g, ''), port: Number(port) }
  return new Promise((resolve) => {
    let reached: Outcome['reached'] = 'nothing'
    let answer = Buffer.alloc(0)
    let isLate = false
    const socket: Socket =
      tls === false
        ? connectPlain(place)
        : connectTls({ ...place, ...tlsOptions(tls, place.host), rejectUnauthorized: !trusting })
    const end = (error?: NodeJS.ErrnoException) => {
      clearTimeout(timer)
      socket.destroy()
      const isHttp1 = answer.subarray(0, 7).toString('latin1') === 'HTTP/1.'
      resolve({ reached, isLate, isHttp1, error, code: error?.code })
    }
    const timer = setTimeout(
      () => {
        isLate = true
        end()
      },
      Math.max(0, deadline - Date.now()),
    )
    socket.once('connect', () => {
      reached = 'connected'
      if (tls === false) socket.write(greeting)
    })
    socket.once('secureConnect', () => {
      reached = 'encrypted'
      socket.write(greeting)
    })
    socket.on('data', (chunk: Buffer) => {
      answer = Buffer.concat([answer, chunk])
      if (answer.length < frameHeaderBytes) return
      if (answer[3] === settingsFrame) reached = 'http2'
      end()
    })
    socket.once('error', end)
    socket.once('close', () => end())
  })
}

function tlsOptions(tls: TLSConfig, host: string): ConnectionOptions {
  const { serverNameOverride, serverRootCACertificate: ca, clientCertPair: pair } = tls
  const name = serverNameOverride ?? (isIP(host) === 0 ? host : undefined)
  return {
    ALPNProtocols: ['h2'],
    ...(name === undefined ? {} : { servername: name }),
    ...(ca === undefined ? {} : { ca: Buffer.from(ca) }),
    ...(pair === undefined ? {} : { cert: Buffer.from(pair.crt), key: Buffer.from(pair.key) }),
  }
}
