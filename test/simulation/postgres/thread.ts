// Asks the real server, and waits for its answer: what the simulator and its judge ask is no part of the world, and takes none of its time.

import { createRequire } from 'node:module'
import { MessageChannel, receiveMessageOnPort, Worker, type MessagePort } from 'node:worker_threads'

type Value = string | number | readonly (string | number)[]
type Answer<Row> = { readonly rows: readonly Row[] } | { readonly error: string }

/** Values as the ledger in SQLite has them: numbers, and texts. */
const CODE = `
const { workerData } = require('node:worker_threads')
const pg = require(workerData.driver)
const text = (value) => value
const instant = (value) => new Date(value).toISOString()
const parsers = { 16: (value) => value === 't', 20: Number, 21: Number, 23: Number, 26: Number, 700: Number, 701: Number, 1700: Number, 1184: instant }
const types = { getTypeParser: (oid) => parsers[oid] ?? text }
const signal = new Int32Array(workerData.signal)
const clients = new Map()
async function clientOf(database) {
  if (!clients.has(database)) {
    const client = new pg.Client({ ...workerData.server, database, types })
    client.on('error', () => clients.delete(database))
    await client.connect()
    clients.set(database, client)
  }
  return clients.get(database)
}
workerData.port.on('message', async ({ database, text, values, ends }) => {
  let answer
  try {
    if (ends) {
      const client = clients.get(database)
      clients.delete(database)
      await client?.end()
      answer = { rows: [] }
    } else {
      const client = await clientOf(database)
      const { rows } = await client.query(values === null ? text : { text, values })
      answer = { rows: rows ?? [] }
    }
  } catch (error) {
    answer = { error: String(error.message) }
  }
  workerData.port.postMessage(answer)
  Atomics.store(signal, 0, 1)
  Atomics.notify(signal, 0)
})
`

/** A PostgreSQL server of the machine. */
export interface RealServer {
  readonly host: string
  readonly port: number
  readonly user: string
  /** Where its files are. */
  readonly folder: string
}

export class ServerThread {
  readonly #port: MessagePort
  readonly #signal: Int32Array<SharedArrayBuffer>

  constructor({ host, port, user }: RealServer) {
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    this.#signal = new Int32Array(new SharedArrayBuffer(4))
    const worker = new Worker(CODE, {
      eval: true,
      workerData: {
        driver: createRequire(import.meta.url).resolve('pg'),
        server: { host, port, user },
        signal: this.#signal.buffer,
        port: port2,
      },
      transferList: [port2],
    })
    worker.unref()
    port1.unref()
  }

  /** @param values null: the text may hold several statements */
  ask<Row>(database: string, text: string, values: readonly Value[] | null = null): readonly Row[] {
    const answer = this.#send<Row>({ database, text, values, ends: false })
    if ('error' in answer) throw new Error(`${answer.error}: ${text.slice(0, 200)}`)
    return answer.rows
  }

  /** Closes the connection to a database. */
  leave(database: string): void {
    this.#send({ database, text: '', values: null, ends: true })
  }

  #send<Row>(message: object): Answer<Row> {
    Atomics.store(this.#signal, 0, 0)
    this.#port.postMessage(message)
    for (;;) {
      Atomics.wait(this.#signal, 0, 0)
      const received = receiveMessageOnPort(this.#port) as { message: Answer<Row> } | undefined
      if (received !== undefined) return received.message
    }
  }
}
