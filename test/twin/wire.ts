// A network between two real processes: everything passes, until a test cuts it, holds it, or tears an answer.

import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface Wire {
  /** `127.0.0.1:1234` */
  readonly address: string
  /** Pieces of requests that have passed so far. */
  pieces(): number
  /** Ends every connection, and refuses new ones until it is mended. */
  cut(): void
  /** Nothing passes any more, in either direction; connections stay. */
  hold(): void
  /** Everything passes again. */
  mend(): void
  /** Half of the next answer passes; then its connection ends. */
  tear(): void
  close(): Promise<void>
}

/** Starts one in front of `port` of the loopback. */
export async function startWire(port: number): Promise<Wire> {
  const sockets = new Set<Socket>()
  let pieces = 0
  let isCut = false
  let isHeld = false
  let tears = false
  const pass = (from: Socket, to: Socket, onPiece: (piece: Buffer) => Buffer | null) => {
    from.on('data', (piece) => {
      const rest = onPiece(piece)
      if (rest === null) return
      if (!to.write(rest)) from.pause()
    })
    to.on('drain', () => {
      if (!isHeld) from.resume()
    })
    from.on('end', () => to.end())
    from.on('close', () => to.destroy())
    from.on('error', () => to.destroy())
    sockets.add(from)
    from.on('close', () => sockets.delete(from))
    if (isHeld) from.pause()
  }
  const server = createServer((near) => {
    if (isCut) return void near.destroy()
    const far = connect(port, '127.0.0.1')
    pass(near, far, (piece) => {
      pieces++
      return piece
    })
    pass(far, near, (piece) => {
      if (!tears) return piece
      tears = false
      near.end(piece.subarray(0, Math.ceil(piece.length / 2)), () => near.destroy())
      far.destroy()
      return null
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port: own } = server.address() as AddressInfo
  const endAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    address: `127.0.0.1:${own}`,
    pieces: () => pieces,
    cut() {
      isCut = true
      endAll()
    },
    hold() {
      isHeld = true
      for (const socket of sockets) socket.pause()
    },
    mend() {
      isCut = false
      isHeld = false
      for (const socket of sockets) socket.resume()
    },
    tear: () => void (tears = true),
    close: () =>
      new Promise((resolve) => {
        endAll()
        server.close(() => resolve())
      }),
  }
}
