// Opens the connections of an undici pool: checked against the CA of the settings, through a proxy where there is one. Promises
// kept here: a certificate is always checked; a tunnel is open within the time of one connection, its handshake included.

import { request as plainRequest, type IncomingMessage } from 'node:http'
import { request as secureRequest } from 'node:https'
import { isIP, isIPv6, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { buildConnector } from 'undici'
import { codeOf, ProxyFault } from '../core/network-faults.ts'
import type { Proxy } from './proxy.ts'

export interface ConnectOptions {
  /** How long a connection may take, ms. */
  readonly timeout: number
  /** PEM; the certificates that the other side is checked against. Default: those that Node knows. */
  readonly ca?: string | undefined
  readonly proxy?: Proxy | null | undefined
}

/** Longest head of a proxy's answer, bytes. */
const HEAD_MAX = 16_384

export function createConnect({
  timeout,
  ca,
  proxy = null,
}: ConnectOptions): buildConnector.connector {
  const connect = (ms: number) =>
    buildConnector({
      timeout: ms,
      // Keeps the check on even with NODE_TLS_REJECT_UNAUTHORIZED=0.
      rejectUnauthorized: true,
      ...(ca !== undefined && { ca }),
    })
  if (proxy === null) return connect(timeout)
  return (options, callback) => {
    const endMs = performance.now() + timeout
    const { hostname, port } = options
    const host = isIPv6(hostname) ? `[${hostname}]` : hostname
    openTunnel(proxy, `${host}:${port || 443}`, timeout).then(
      (httpSocket) =>
        connect(Math.max(1, endMs - performance.now()))({ ...options, httpSocket }, callback),
      (error: Error) => callback(error, null),
    )
  }
}

/** A connection to `target` by way of the proxy. @throws ProxyFault */
function openTunnel(proxy: Proxy, target: string, timeout: number): Promise<Socket> {
  const { secure, host, port, login } = proxy
  return new Promise((resolve, reject) => {
    const request = (secure ? secureRequest : plainRequest)({
      host,
      port,
      method: 'CONNECT',
      path: target,
      headers: { host: target, ...(login !== null && { 'proxy-authorization': login }) },
      agent: false,
      maxHeaderSize: HEAD_MAX,
      rejectUnauthorized: true,
    })
    const fail = (status: number | null, cause?: unknown) => {
      clearTimeout(timer)
      request.destroy()
      reject(
        new ProxyFault({ ...proxy, proxy: proxy.place, hasLogin: login !== null }, status, cause),
      )
    }
    const timer = setTimeout(
      () => fail(null, Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })),
      timeout,
    )
    request
      .once('connect', ({ statusCode = 0 }: IncomingMessage, socket: Socket) => {
        if (statusCode < 200 || statusCode > 299) {
          socket.destroy()
          return fail(statusCode)
        }
        clearTimeout(timer)
        resolve(socket)
      })
      .on('error', (error) => fail(null, error))
      .end()
  })
}

const GREETING_MAX_MS = 2_000
/** So soon a server that misses our certificate breaks off. */
const BREAK_OFF_MAX_MS = 500

/**
 * Whether a server speaks TLS, and whether it breaks off after the handshake although it was asked for nothing. Only a greeting is
 * sent, so any certificate will do.
 */
export function greetTls(
  hostname: string,
  port: number,
  maxMs = GREETING_MAX_MS,
): Promise<'no TLS' | 'stays' | 'breaks off'> {
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return new Promise((resolve) => {
    const socket = connectTls({
      host,
      port,
      rejectUnauthorized: false,
      ...(isIP(host) === 0 && { servername: host }),
    })
    let isTls = false
    const end = (stays: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(!isTls ? 'no TLS' : stays ? 'stays' : 'breaks off')
    }
    let timer = setTimeout(() => end(false), maxMs)
    socket.once('secureConnect', () => {
      isTls = true
      clearTimeout(timer)
      timer = setTimeout(() => end(true), Math.min(BREAK_OFF_MAX_MS, maxMs))
    })
    socket.on('error', (error) => {
      // An alert is an answer of TLS too.
      isTls ||= codeOf(error).includes('ALERT')
      end(false)
    })
    socket.once('end', () => end(false)).once('close', () => end(false))
  })
}
