// Node's HTTP or HTTPS server, under Fastify, and its connections. Promises kept here: Node answers nothing by itself, so that
// every answer has our headers; a slow client does not hold a connection; stopping takes a bounded time.

import { X509Certificate, createPrivateKey } from 'node:crypto'
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import { createSecureContext } from 'node:tls'
import { SyncError } from '../../core/errors.ts'

/** PEM texts: a certificate, its issuers after it, and its private key, not encrypted. */
export interface Tls {
  readonly cert: string
  readonly key: string
}

const keepAliveMs = 72_000
/** How long a client that was refused may go on sending, so that it reads the refusal and does not lose it in a reset. */
const lingerMs = 1_000

/** @throws SyncError `service_tls` if the two are not what they should be, or do not belong together */
export function checkedTls(tls: Tls): Tls {
  const certificate = pem(() => new X509Certificate(tls.cert), 'a certificate in PEM')
  const key = pem(() => createPrivateKey(tls.key), 'a private key in PEM, not encrypted,')
  if (!certificate.checkPrivateKey(key)) {
    const message = 'TLS: the private key does not belong to the certificate (the first one given)'
    throw new SyncError('service_tls', message)
  }
  pem(() => createSecureContext(tls), 'a certificate and a key that are strong enough')
  return tls
}

function pem<Part>(read: () => Part, expected: string): Part {
  try {
    return read()
  } catch {
    throw new SyncError('service_tls', `TLS: ${expected} was expected`)
  }
}

/** A server whose requests arrive within `requestTimeoutMs`, or end in a `clientError`. */
export function createServer(
  listener: RequestListener,
  tls: Tls | null,
  requestTimeoutMs: number,
): Server {
  const options = {
    requestTimeout: requestTimeoutMs,
    headersTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.ceil(Math.min(30_000, requestTimeoutMs / 2)),
    keepAliveTimeout: keepAliveMs,
    // We check it: Node would answer in its own words.
    requireHostHeader: false,
  }
  const server = tls
    ? createHttpsServer({ ...options, ...tls }, listener)
    : createHttpServer(options, listener)
  // `100 Continue` is sent once the request is admitted; any other expectation of a client is unknown, and is ignored.
  server.on('checkContinue', listener)
  server.on('checkExpectation', listener)
  return server
}

/** Cuts a connection some time after the answer, unless the request that was being sent on it has ended by then. */
export function linger(socket: Socket, hasEnded: () => boolean): void {
  setTimeout(() => {
    if (!hasEnded()) socket.destroy()
  }, lingerMs).unref()
}

export interface OpenConnections {
  /** While true, every connection is destroyed. */
  setDown(down: boolean): void
  /**
   * Lets `close` finish: connections on which nothing was ever sent are destroyed now, the others when their answer
   * has ended, all of them after `graceMs`.
   */
  drain(graceMs: number): void
  /** To be called whenever an answer has ended. */
  answerEnded(): void
}

export function trackConnections(server: Server): OpenConnections {
  const sockets = new Set<Socket>()
  let isDown = false
  let isDraining = false
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  server.on('connection', (socket: Socket) => {
    if (isDown) return void socket.destroy()
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return {
    setDown: (down) => {
      isDown = down
      if (down) destroyAll()
    },
    drain: (graceMs) => {
      isDraining = true
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
      const timer = setTimeout(destroyAll, graceMs)
      server.once('close', () => clearTimeout(timer))
    },
    answerEnded: () => {
      if (isDraining) setImmediate(() => server.closeIdleConnections())
    },
  }
}
