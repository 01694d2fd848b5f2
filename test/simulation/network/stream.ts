// One end of a connection of the simulated network: a stream of bytes, as a socket is one.

import { Duplex } from 'node:stream'
import type { Process } from '../world/process.ts'

/** What an end tells its connection. */
export interface Wire {
  send(from: End, bytes: Buffer): void
  /** It sends nothing more. */
  finish(from: End): void
  /** It was closed. */
  gone(from: End): void
}

const resetError = (): Error =>
  Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', errno: -104, syscall: 'read' })

export class End extends Duplex {
  readonly process: Process
  readonly #wire: Wire

  constructor(process: Process, wire: Wire) {
    super({ allowHalfOpen: true })
    this.process = process
    this.#wire = wire
  }

  /** Undici and Node's server call them on sockets. */
  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  override _read(): void {}

  override _write(bytes: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#wire.send(this, bytes)
    done()
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#wire.finish(this)
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#wire.gone(this)
    done(error)
  }

  /** Bytes arrive. */
  arrive(bytes: Buffer): void {
    if (!this.destroyed) this.push(bytes)
  }

  /** The other end sends nothing more. */
  arriveEnd(): void {
    if (this.destroyed) return
    this.push(null)
    if (!this.writableEnded) this.end()
  }

  /** The other end is gone. */
  reset(): void {
    if (!this.destroyed) this.destroy(resetError())
  }
}
