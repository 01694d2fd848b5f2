// The connections of a listener: console, Records Service, metrics, codec server. Promises kept here: no address takes the places of others;
// a connection that asks for nothing is closed soon; where all places are taken, the one that has proved least makes room.

import type { IncomingMessage, Server as HttpServer, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from '../core/ports.ts'
import { MinuteLog } from './minute-log.ts'
import { networkOf } from './network.ts'

/** The TLS handshake and the head of the first request. */
export const HEAD_MAX_MS = 10_000
/** The whole first request, its body too. */
const FIRST_REQUEST_MAX_MS = 30_000

export interface ConnectionLimits {
  /** Its name in the log. */
  readonly listener: string
  readonly connectionsMax: number
  /** Connections of one address that have proved nothing yet. */
  readonly unprovedMax: number
  /** What proves a connection: any whole request, or a login, which `prove` is called for. Default: a request. */
  readonly provedBy?: 'request' | 'login'
  /** Whether an address is a proxy, whose connections are those of many people. */
  readonly isExempt?: ((address: string | undefined) => boolean) | undefined
  /** Times of the first request, ms; null: the server has its own. */
  readonly times?: { readonly headMs: number; readonly firstRequestMs: number } | null
  readonly logger?: Pick<Logger, 'warn'> | undefined
}

interface Connection {
  readonly place: string
  readonly socket: Socket
  readonly network: string
  readonly isExempt: boolean
  isProved: boolean
  /** Requests that are being answered. */
  requests: number
  timer: NodeJS.Timeout | undefined
}

export interface BoundConnections {
  /** The connection of this request, or of this socket, is that of a person who has logged in. */
  prove(socket: Socket): void
}

/** Bounds the connections of a server. To be called before it listens. */
export function boundConnections(server: HttpServer, limits: ConnectionLimits): BoundConnections {
  const { listener, provedBy = 'request', isExempt = () => false, logger } = limits
  const { times = { headMs: HEAD_MAX_MS, firstRequestMs: FIRST_REQUEST_MAX_MS } } = limits
  /** The oldest first. */
  const open = new Map<string, Connection>()
  const log = new MinuteLog((fields) => logger?.warn({ listener, ...fields }, 'connections_closed'))

  const close = ({ place, socket, network }: Connection, why: string): void => {
    log.note({ why, address: network })
    open.delete(place)
    socket.destroy()
  }
  const within = (connection: Connection, ms: number | undefined): void => {
    clearTimeout(connection.timer)
    if (ms === undefined || connection.isProved) return
    connection.timer = setTimeout(() => connection.socket.destroy(), ms).unref()
  }
  const prove = (socket: Socket): void => {
    const connection = open.get(placeOf(socket))
    if (connection === undefined) return
    connection.isProved = true
    clearTimeout(connection.timer)
  }

  server.on('connection', (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? '')
    const place = placeOf(socket)
    const connection: Connection = {
      place,
      socket,
      network,
      isExempt: isExempt(socket.remoteAddress),
      isProved: false,
      requests: 0,
      timer: undefined,
    }
    open.set(place, connection)
    socket.once('close', () => {
      clearTimeout(connection.timer)
      if (open.get(place) === connection) open.delete(place)
    })
    const ofAddress = connection.isExempt ? [] : unproved(open, network)
    if (ofAddress.length > limits.unprovedMax) close(ofAddress[0]!, 'share_of_address')
    else if (open.size > limits.connectionsMax)
      close(leastProved(open, connection) ?? connection, 'all_taken')
    within(connection, times?.headMs)
  })
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const connection = open.get(placeOf(request.socket))
    if (connection === undefined) return
    connection.requests++
    within(connection, times?.firstRequestMs)
    response.once('close', () => connection.requests--)
    request.once('close', () => {
      if (!request.complete) return
      if (provedBy === 'request') prove(request.socket)
      else clearTimeout(connection.timer)
    })
  })
  server.once('close', () => log.flush())
  return { prove }
}

/** What a connection and the TLS over it have in common. */
const placeOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`

const unproved = (open: ReadonlyMap<string, Connection>, network: string): Connection[] =>
  [...open.values()].filter((each) => !each.isProved && each.network === network)

/** The oldest one that has proved nothing, else the oldest that waits for nothing; undefined: all are at work. */
function leastProved(
  open: ReadonlyMap<string, Connection>,
  newest: Connection,
): Connection | undefined {
  const others = [...open.values()].filter((each) => each !== newest && !each.isExempt)
  return others.find(({ isProved }) => !isProved) ?? others.find(({ requests }) => requests === 0)
}
