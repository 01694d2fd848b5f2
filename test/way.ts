// A way to a server that can be closed, and opened again: what uses it finds the server away.

import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface Way {
  /** `127.0.0.1:PORT` */
  readonly address: string
  set(isOpen: boolean): void
  close(): void
}

/** An open way to the server at `address`, `host:port`. */
export async function startWay(address: string): Promise<Way> {
  const [host, port] = address.split(':')
  const sockets = new Set<Socket>()
  let isOpen = true
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    if (!isOpen) return socket.destroy()
    const there = connect(Number(port), host)
    sockets.add(there)
    there
      .on('error', () => {})
      .on('close', () => {
        sockets.delete(there)
        socket.destroy()
      })
    socket.on('close', () => there.destroy())
    socket.pipe(there).pipe(socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const set = (open: boolean) => {
    isOpen = open
    if (!open) for (const socket of sockets) socket.destroy()
  }
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    set,
    close() {
      set(false)
      server.close()
    },
  }
}
