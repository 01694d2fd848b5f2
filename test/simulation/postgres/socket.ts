// What the driver of PostgreSQL gets for a socket in a simulated process: an end of a connection of the world.

import net from 'node:net'
import { currentProcess, type Process } from '../world/process.ts'
import { End, type Wire } from '../network/stream.ts'

export interface DatabaseWire extends Wire {
  /** It wants to be connected. */
  connect(from: DatabaseSocket): void
}

export class DatabaseSocket extends End {
  readonly #wire: DatabaseWire

  constructor(process: Process, wire: DatabaseWire) {
    super(process, wire)
    this.#wire = wire
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  connect(): this {
    this.#wire.connect(this)
    return this
  }

  fail(code: string): void {
    if (!this.destroyed)
      this.destroy(Object.assign(new Error(`connect ${code}`), { code, syscall: 'connect' }))
  }
}

export const RealSocket = net.Socket

/** In the place of `net.Socket`, from which the driver makes its sockets. */
export function socketsOf(wire: DatabaseWire): typeof net.Socket {
  function Socket(...given: ConstructorParameters<typeof net.Socket>): net.Socket {
    const process = currentProcess()
    if (process === undefined) return new RealSocket(...given)
    return new DatabaseSocket(process, wire) as unknown as net.Socket
  }
  Socket.prototype = RealSocket.prototype
  return Socket as unknown as typeof net.Socket
}
