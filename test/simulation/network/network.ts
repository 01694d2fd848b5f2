// The network between the processes of the world: connections that carry bytes in order, each with a delay of its own. What goes wrong is
// decided by the weather, piece by piece: bytes come late, in parts, or not at all; a connection stands still, or is torn.
// What holds of real networks holds here: the bytes of one direction keep their order; what has left a machine may arrive although its
// sender is dead; who is torn off learns it later than it happens.

import type { Server } from 'node:http'
import type { buildConnector } from 'undici'
import { asWorld, currentProcess, Machine, Process } from '../world/process.ts'
import type { Loop } from '../world/loop.ts'
import { End, type Wire } from './stream.ts'

export type Direction = 'request' | 'answer'

/** What becomes of some bytes. */
export interface Fate {
  readonly delayMs: number
  /** Cut into so many parts, each delayed by so much more. */
  readonly parts: number
  readonly partMs: number
  /** The connection is torn: none of these bytes arrives, half of them, or all. */
  readonly torn: 'none' | 'half' | 'all' | null
  /** The connection stands still from here on: nothing arrives any more, and nobody is told. */
  readonly isStalled: boolean
}

export interface Weather {
  /** How long a connection takes to be made, ms; null: it never is; `refused`. */
  connecting(from: Process, to: string): number | null | 'refused'
  sending(from: Process, to: string, direction: Direction, bytes: number): Fate
  /** How much later a request that was answered arrives once more, ms; null: it does not. */
  repeating(from: Process, to: string): number | null
}

/** What arrives once more is done by this one: the program has sent it once. */
export const REPEATER = new Process('network', new Machine('network'))
/** Nobody hears what it is answered. */
const NOBODY: Wire = { send: () => {}, finish: () => {}, gone: () => {} }

const CONNECT_TIMEOUT_MS = 10_000
/** A peer that is gone is noticed by who sends to it, after so long. */
const RESET_MS = 3

interface Listener {
  readonly server: Server
  readonly process: Process
}

export class Network {
  readonly #loop: Loop
  readonly #weather: Weather
  readonly #listeners = new Map<string, Listener>()
  readonly #connections = new Set<Connection>()
  readonly #repeated = new Set<End>()
  /** Connections that were made. */
  made = 0

  constructor(loop: Loop, weather: Weather) {
    this.#loop = loop
    this.#weather = weather
  }

  listen(address: string, server: Server, process: Process): void {
    this.#listeners.set(address, { server, process })
  }

  /** Nobody listens there any more, and all connections are torn. */
  close(address: string): void {
    this.#listeners.delete(address)
    for (const connection of this.#connections)
      if (connection.address === address) connection.tear()
    for (const end of this.#repeated) end.destroy()
  }

  /** For undici: opens a connection of the process that asks. */
  readonly connect: buildConnector.connector = ({ hostname, port, protocol }, callback) => {
    const process = currentProcess()
    if (process === undefined) throw new Error('a connection of no process')
    const address = `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`
    const wait = asWorld(() => this.#weather.connecting(process, address))
    const answer = (ms: number, then: () => void) =>
      void this.#loop.after(ms, `${process.name} connects`, () => process.run(then), process)
    const refuse = (code: string) =>
      callback(Object.assign(new Error(`connect ${code}`), { code, syscall: 'connect' }), null)
    if (wait === null) return answer(CONNECT_TIMEOUT_MS, () => refuse('UND_ERR_CONNECT_TIMEOUT'))
    answer(wait === 'refused' ? 1 : wait, () => {
      const listener = this.#listeners.get(address)
      if (wait === 'refused' || listener === undefined || listener.process.state === 'dead')
        return refuse('ECONNREFUSED')
      this.made++
      const connection = new Connection(
        this.#loop,
        this.#weather,
        process,
        listener.process,
        address,
      )
      this.#connections.add(connection)
      connection.whenOver = () => this.#connections.delete(connection)
      connection.whenRepeated = (request, ms) => this.#repeat(address, request, ms)
      process.onDeath.push(() => connection.abandon())
      listener.process.run(() => listener.server.emit('connection', connection.server))
      // A stream that is like a socket in all that undici asks of one.
      callback(null, connection.client as never)
    })
  }

  #repeat(address: string, request: readonly Buffer[], ms: number): void {
    this.#loop.after(ms, 'a request arrives once more', () => {
      const listener = this.#listeners.get(address)
      if (listener?.process.state !== 'running') return
      REPEATER.run(() => {
        const end = new End(REPEATER, NOBODY)
        end.on('error', () => {})
        this.#repeated.add(end.on('close', () => this.#repeated.delete(end)))
        listener.server.emit('connection', end)
        for (const bytes of request) end.arrive(bytes)
      })
    })
  }

  /** Closes what is open, at the end of a history. */
  destroy(): void {
    for (const connection of this.#connections) connection.destroy()
    for (const end of this.#repeated) end.destroy()
    this.#listeners.clear()
  }
}

class Connection implements Wire {
  readonly client: End
  readonly server: End
  readonly address: string
  readonly #loop: Loop
  readonly #weather: Weather
  /** When the last bytes of each direction arrive. */
  readonly #lastAt = { request: 0, answer: 0 }
  readonly #isStalled = { request: false, answer: false }
  #isTorn = false
  /** What has arrived since the last answer began. */
  #request: Buffer[] = []
  whenOver = (): void => {}
  whenRepeated = (_request: readonly Buffer[], _ms: number): void => {}

  constructor(loop: Loop, weather: Weather, from: Process, to: Process, address: string) {
    this.#loop = loop
    this.#weather = weather
    this.address = address
    this.client = new End(from, this)
    this.server = to.run(() => new End(to, this))
    for (const end of [this.client, this.server]) end.on('error', () => {})
  }

  #directionOf = (from: End): Direction => (from === this.client ? 'request' : 'answer')
  #other = (end: End): End => (end === this.client ? this.server : this.client)

  send(from: End, bytes: Buffer): void {
    if (this.#isTorn || from.process.state === 'dead') return
    const direction = this.#directionOf(from)
    const to = this.#other(from)
    if (direction === 'answer') this.#answered()
    const fate = asWorld(() =>
      this.#weather.sending(this.client.process, this.address, direction, bytes.length),
    )
    if (fate.isStalled) this.#isStalled[direction] = true
    if (this.#isStalled[direction]) return
    if (fate.torn === 'none') {
      this.#later(direction, fate.delayMs, () => this.tear())
      return
    }
    const upTo = fate.torn === 'half' ? bytes.length >> 1 : bytes.length
    const copy = Buffer.from(bytes.subarray(0, upTo))
    const size = Math.max(1, Math.ceil(copy.length / fate.parts))
    for (let at = 0, part = 0; at < copy.length; at += size, part++) {
      const piece = copy.subarray(at, at + size)
      this.#later(
        direction,
        fate.delayMs + part * fate.partMs,
        () => {
          if (direction === 'request') this.#request.push(piece)
          to.arrive(piece)
        },
        to,
      )
    }
    if (fate.torn !== null)
      this.#later(direction, fate.delayMs + fate.parts * fate.partMs + 1, () => this.tear())
  }

  /** The first bytes of an answer: what has arrived so far is one request. */
  #answered(): void {
    const request = this.#request
    this.#request = []
    if (request.length === 0) return
    const ms = asWorld(() => this.#weather.repeating(this.client.process, this.address))
    if (ms !== null) this.whenRepeated(request, ms)
  }

  /** In the order of the direction. */
  #later(direction: Direction, ms: number, work: () => void, to?: End): void {
    const at = Math.max(this.#lastAt[direction], this.#loop.now() + ms)
    this.#lastAt[direction] = at
    const what = `${direction} of ${this.client.process.name}`
    if (to === undefined) this.#loop.at(at, what, work)
    else this.#loop.plan(at, what, () => to.process.run(work), to.process)
  }

  finish(from: End): void {
    if (this.#isTorn || from.process.state === 'dead' || this.#isStalled[this.#directionOf(from)])
      return
    const to = this.#other(from)
    this.#later(this.#directionOf(from), RESET_MS, () => to.arriveEnd(), to)
  }

  gone(from: End): void {
    const to = this.#other(from)
    if (to.destroyed) return this.whenOver()
    if (this.#isTorn || from.process.state === 'dead' || this.#isStalled[this.#directionOf(from)])
      return
    // What it has sent arrives first.
    this.#later(this.#directionOf(from), RESET_MS, () => to.reset(), to)
  }

  /** Both ends learn that it is torn. */
  tear(): void {
    if (this.#isTorn) return
    this.#isTorn = true
    for (const end of [this.client, this.server])
      this.#loop.after(RESET_MS, 'reset', () => end.process.run(() => end.reset()), end.process)
  }

  /** The process of the client is dead: its machine closes what it had open. */
  abandon(): void {
    if (this.#isTorn || this.server.destroyed) return
    if (this.#isStalled.request) return
    this.#later('request', RESET_MS, () => this.server.reset(), this.server)
  }

  destroy(): void {
    this.#isTorn = true
    for (const end of [this.client, this.server]) end.destroy()
    this.whenOver()
  }
}
