// The side of the thread: it opens the ledger's file and carries out what it is asked, in the order in which it is asked. Writes of
// several batches that wait are stored in one transaction; none is answered before it is stored.

import { receiveMessageOnPort, type MessagePort } from 'node:worker_threads'
import { openLedgerDatabase, type SqliteDatabase } from '../sqlite/database.ts'
import { ledgerOn } from '../sqlite/index.ts'
import {
  sentError,
  type FromThread,
  type ThreadOpened,
  type ThreadOptions,
  type ToThread,
} from './messages.ts'
import { packingOf } from './packing.ts'

type Call = Extract<ToThread, { call: number }>
type Answer = Extract<FromThread, { answered: number }>
type Methods = Readonly<Record<string, (...values: unknown[]) => Promise<unknown>>>

/** Methods that are one transaction, or one read, and touch the items of one batch. */
const GROUPED = new Set(['recordNoAnswer', 'recordResend', 'recordSend', 'release', 'settle'])
/** Calls of one transaction: 800 items of 50 a batch, so that it stays below 1,000 rows of a table. */
const GROUP_MAX = 16

/** Serves the ledger at `path` until it is closed. The first message says whether it is open. */
export function serveLedger(port: MessagePort, { path, ...options }: ThreadOptions): void {
  let db: SqliteDatabase
  let methods: Methods
  try {
    db = openLedgerDatabase(path, options)
    const { place, ...ledger } = ledgerOn(db, options)
    methods = ledger as unknown as Methods
    port.postMessage({ place, methods: Object.keys(ledger) } satisfies ThreadOpened)
  } catch (error) {
    port.postMessage({ failure: sentError(error) } satisfies ThreadOpened)
    port.close()
    return
  }
  const server = new Server(port, db, methods)
  port.on('message', (messages: readonly ToThread[]) => server.receive(messages))
}

class Server {
  readonly #port: MessagePort
  readonly #db: SqliteDatabase
  readonly #methods: Methods
  /** Calls that wait for a callback, with what goes on when it returns. */
  readonly #waiting = new Map<number, (threw: boolean) => void>()
  readonly #running = new Set<Promise<unknown>>()
  #isClosing = false

  constructor(port: MessagePort, db: SqliteDatabase, methods: Methods) {
    this.#port = port
    this.#db = db
    this.#methods = methods
  }

  receive(first: readonly ToThread[]): void {
    const messages = [...first]
    // Bounded by what callers wait for: each of them has one call at a time.
    for (let more = receiveMessageOnPort(this.#port); more; more = receiveMessageOnPort(this.#port))
      messages.push(...(more.message as readonly ToThread[]))
    let group: Call[] = []
    const flush = () => {
      if (group.length > 0)
        void (group.length === 1 ? this.#alone(group[0]!) : this.#together(group))
      group = []
    }
    for (const message of messages) {
      if ('returned' in message) this.#waiting.get(message.returned)?.(message.threw)
      else if (!GROUPED.has(message.method)) {
        flush()
        void this.#alone(message)
      } else if (group.push(message) === GROUP_MAX) flush()
    }
    flush()
  }

  async #alone(call: Call): Promise<void> {
    if (call.method === 'close') return await this.#close(call)
    await this.#tracked(this.#ended(call, this.#start(call)).then((answer) => this.#send([answer])))
  }

  /** Closes when all that was asked before is answered; a call that waits for its caller is ended. */
  async #close(call: Call): Promise<void> {
    this.#isClosing = true
    for (const returned of this.#waiting.values()) returned(true)
    await Promise.all(this.#running)
    this.#send([await this.#ended(call, this.#start(call))])
    this.#port.close()
  }

  /** All in one transaction; if any of them fails, each in one of its own. */
  async #together(calls: readonly Call[]): Promise<void> {
    let running: Promise<unknown>[] = []
    try {
      const isStored = this.#db.group(
        calls.map((call) => () => void running.push(this.#start(call))),
      )
      if (!isStored) {
        for (const attempt of running) attempt.catch(() => {})
        running = calls.map((call) => this.#start(call))
      }
    } catch (error) {
      for (const attempt of running) attempt.catch(() => {})
      running = calls.map(() => Promise.reject(error as Error))
    }
    const answers = Promise.all(calls.map((call, index) => this.#ended(call, running[index]!)))
    await this.#tracked(answers.then((all) => this.#send(all)))
  }

  async #tracked(answering: Promise<void>): Promise<void> {
    this.#running.add(answering)
    await answering
    this.#running.delete(answering)
  }

  #start({ call, method, values, callbacks }: Call): Promise<unknown> {
    const given = values.map((value, index) =>
      callbacks.includes(index) ? this.#callback(call, index) : value,
    )
    const packing = packingOf(method)
    if (packing === undefined) return this.#methods[method]!(...given)
    return this.#methods[method]!(...packing.unpack(given)).then((result) =>
      packing.packResult(result),
    )
  }

  #callback(call: number, value: number): () => Promise<void> {
    return async () => {
      const threw =
        this.#isClosing ||
        (await new Promise<boolean>((resolve) => {
          this.#waiting.set(call, resolve)
          this.#send([{ called: call, value }])
        }))
      this.#waiting.delete(call)
      if (threw) throw new Error('The caller has stopped')
    }
  }

  async #ended({ call }: Call, running: Promise<unknown>): Promise<Answer> {
    try {
      return { answered: call, result: await running }
    } catch (error) {
      return { answered: call, failure: sentError(error) }
    }
  }

  #send(messages: readonly FromThread[]): void {
    this.#port.postMessage(messages)
  }
}
