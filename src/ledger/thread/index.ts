// A SQLite ledger on a thread of its own, so that reading, mapping and HTTP go on while it writes.

import { once, type EventEmitter } from 'node:events'
import { Worker } from 'node:worker_threads'
import { atMost } from '../../core/concurrency.ts'
import { LedgerError } from '../../core/errors.ts'
import type { Ledger } from '../ledger.ts'
import {
  receivedError,
  type FromThread,
  type ThreadOpened,
  type ThreadOptions,
  type ToThread,
} from './messages.ts'
import { packingOf } from './packing.ts'

/**
 * What V8 may take in the thread: a limit that is never reached, because the driver ends the whole process where memory ends in
 * it. The largest calls have LEDGER_CHARS_MAX characters and one more row, of ROW_CHARS_MAX: 40 MiB at two bytes each. They are
 * copied twice as they cross the driver, and two of them are asked at once: 240 MiB.
 */
const HEAP = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 16 }

/** Methods that take or give the values of rows, and how many of them are asked at once, whoever asks. */
const LARGE: ReadonlySet<string> = new Set<keyof Ledger>([
  'addCorrections',
  'collisions',
  'keysWithoutRecord',
  'leftRows',
  'looseKeys',
  'nextPlanned',
  'report',
  'retryRows',
  'settleKeys',
  'stageItems',
  'stageLinks',
  'keptCorrections',
  'uncompared',
  'unreadRows',
  'unsettledBatches',
  'written',
])
const LARGE_AT_ONCE = 2

type Method = (...values: unknown[]) => Promise<unknown>

/** The way to a thread that serves a ledger. */
export type Channel = Pick<Worker, 'postMessage' | 'ref' | 'unref'> & EventEmitter

interface Pending {
  readonly values: readonly unknown[]
  resolve(result: unknown): void
  reject(error: unknown): void
  /** What a callback of the call threw. */
  thrown: { readonly error: unknown } | null
}

/** One thread, and the calls that wait for its answers. */
class LedgerThread {
  readonly #channel: Channel
  readonly #place: string
  readonly #pending = new Map<number, Pending>()
  #calls = 0
  #unsent: ToThread[] = []
  #isOver = false

  constructor(channel: Channel, place: string) {
    this.#channel = channel
    this.#place = place
    channel.on('message', (messages: readonly FromThread[]) => {
      for (const message of messages) this.#receive(message)
    })
    channel.on('error', (error: Error) => this.#end(error.message))
    for (const ended of ['exit', 'close']) channel.on(ended, () => this.#end('it ended'))
    channel.unref()
  }

  get isOver(): boolean {
    return this.#isOver
  }

  call(method: string, values: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const call = ++this.#calls
      // A call keeps the process alive, an open ledger does not.
      if (this.#pending.size === 0) this.#channel.ref()
      this.#pending.set(call, { values, resolve, reject, thrown: null })
      const callbacks = values.flatMap((value, index) => (typeof value === 'function' ? index : []))
      const plain =
        callbacks.length === 0
          ? values
          : values.map((value) => (typeof value === 'function' ? null : value))
      this.#send({ call, method, values: plain, callbacks })
    })
  }

  /** What is asked in one turn of the event loop is one message. */
  #send(message: ToThread): void {
    if (this.#unsent.push(message) > 1) return
    setImmediate(() => {
      const messages = this.#unsent
      this.#unsent = []
      try {
        this.#channel.postMessage(messages)
      } catch {
        for (const each of messages) this.#sendAlone(each)
      }
    })
  }

  /** A value that cannot be cloned fails its own call, and no other. */
  #sendAlone(message: ToThread): void {
    try {
      this.#channel.postMessage([message])
    } catch (error) {
      if ('call' in message) this.#settle(message.call, ({ reject }) => reject(error))
    }
  }

  #receive(message: FromThread): void {
    if ('called' in message) {
      const { called, value } = message
      void this.#callBack(called, value)
      return
    }
    this.#settle(message.answered, (pending) => {
      if (pending.thrown) pending.reject(pending.thrown.error)
      else if ('failure' in message) pending.reject(receivedError(message.failure))
      else pending.resolve(message.result)
    })
  }

  #settle(call: number, end: (pending: Pending) => void): void {
    const pending = this.#pending.get(call)
    if (!pending) return
    this.#pending.delete(call)
    if (this.#pending.size === 0) this.#channel.unref()
    end(pending)
  }

  async #callBack(call: number, value: number): Promise<void> {
    const pending = this.#pending.get(call)
    if (!pending) return
    try {
      await (pending.values[value] as () => unknown)()
    } catch (error) {
      pending.thrown = { error }
    }
    this.#send({ returned: call, threw: pending.thrown !== null })
  }

  #end(why: string): void {
    if (this.#isOver) return
    this.#isOver = true
    const error = new LedgerError(
      'ledger_thread',
      `The thread that writes the ledger ${this.#place} failed: ${why}; it is started again when it is needed`,
    )
    for (const { reject } of this.#pending.values()) reject(error)
    this.#pending.clear()
  }
}

/** A thread of this process. Its code is compiled next to this; from source it is translated as it is loaded. */
export function startThread(options: ThreadOptions): Channel {
  const entry = import.meta.url.endsWith('.ts') ? './from-source.mjs' : './entry.js'
  // A process whose program is a text hands that on to its threads, and Node refuses it for a file.
  const isText = process.execArgv.some((flag) => flag.startsWith('--input-type'))
  return new Worker(new URL(entry, import.meta.url), {
    workerData: options,
    resourceLimits: HEAP,
    ...(isText && { execArgv: [] }),
  })
}

/** @throws LedgerError if the thread ends before it sends one */
async function firstMessage(channel: Channel, place: string): Promise<ThreadOpened> {
  const over = new AbortController()
  const { signal } = over
  const ended = once(channel, 'exit', { signal }).then(() => {
    throw new LedgerError('ledger_thread', `The thread of the ledger ${place} ended as it started`)
  })
  try {
    const [message] = (await Promise.race([once(channel, 'message', { signal }), ended])) as [
      ThreadOpened,
    ]
    return message
  } finally {
    ended.catch(() => {})
    over.abort()
  }
}

/**
 * Opens (and, unless `readOnly`, creates and migrates) the ledger in the file at `path`, on a thread. A thread that fails is
 * started again by the next call. @throws LedgerError
 */
export async function openThreadedLedger(
  path: string,
  { readOnly = false, signingKey = null }: { readOnly?: boolean; signingKey?: string | null } = {},
  start: (options: ThreadOptions) => Channel = startThread,
): Promise<Ledger> {
  const open = async () => {
    const channel = start({ path, readOnly, signingKey })
    const opened = await firstMessage(channel, path)
    if ('failure' in opened) throw receivedError(opened.failure)
    return { ...opened, thread: new LedgerThread(channel, opened.place) }
  }
  const { place, methods, ...first } = await open()
  let current = first.thread
  let opening: Promise<LedgerThread> | null = null
  let isClosed = false
  const call = async (method: string, values: readonly unknown[]): Promise<unknown> => {
    if (isClosed) throw new LedgerError('ledger_closed', `The ledger ${place} is closed`)
    if (current.isOver) {
      opening ??= open()
        .then(({ thread }) => (current = thread))
        .finally(() => (opening = null))
      await opening
    }
    return await current.call(method, values)
  }
  const inTurn = atMost(LARGE_AT_ONCE)
  const calling = (method: string): Method => {
    const packing = packingOf(method)
    if (packing === undefined) return (...values) => call(method, values)
    return async (...values) =>
      packing.unpackResult(await call(method, packing.pack(values)), values)
  }
  const ledger = Object.fromEntries(
    methods.map((method) => {
      const calls = calling(method)
      return [
        method,
        LARGE.has(method) ? (...values: unknown[]) => inTurn(() => calls(...values)) : calls,
      ]
    }),
  ) as unknown as Ledger
  return {
    ...ledger,
    place,
    async close() {
      if (isClosed) return
      isClosed = true
      await opening?.catch(() => {})
      if (!current.isOver) await current.call('close', [])
    },
  }
}
