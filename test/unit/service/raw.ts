// Bytes over a connection of their own, for what no HTTP client would send.

import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { once } from 'node:events'

export interface RawConnection {
  readonly socket: Socket
  /** Everything that came back, so far. */
  received(): string
  send(text: string): void
  /** Resolves when what came back fits `pattern`. */
  until(pattern: RegExp): Promise<string>
  /** Resolves when the service has closed the connection. */
  closed(): Promise<string>
}

/** `allowHalfOpen`: keeps its side open when the service closes the other. */
export async function rawConnection(
  url: string,
  { allowHalfOpen = false } = {},
): Promise<RawConnection> {
  const { hostname, port } = new URL(url)
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen })
  await once(socket, 'connect')
  let received = ''
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(received)))
  // A reset is a way to close, too.
  socket.on('error', () => {})
  socket.on('data', (chunk) => (received += chunk.toString()))
  return {
    socket,
    received: () => received,
    send: (text) => void socket.write(text),
    until: async (pattern) => {
      while (!pattern.test(received)) {
        if (socket.destroyed) throw new Error(`closed after: ${received}`)
        await Promise.race([once(socket, 'data'), closed])
      }
      return received
    },
    closed: () => closed,
  }
}

export interface RawAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

/** The answers in a text, each with a `Content-Length` or without a body. */
export function answersIn(text: string): RawAnswer[] {
  const answers: RawAnswer[] = []
  let rest = text
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n')
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n')
    const headers = new Headers(
      lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
    )
    const length = Number(headers.get('content-length') ?? 0)
    const body = rest.slice(end + 4, end + 4 + length)
    rest = rest.slice(end + 4 + length)
    answers.push({
      status: Number(first.split(' ')[1]),
      headers,
      body: body === '' ? undefined : JSON.parse(body),
    })
  }
  return answers
}
