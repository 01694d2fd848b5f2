// The connection that the SDK's own client library gets: its calls travel over the wire of the simulation to the server in memory.

import { AsyncLocalStorage } from 'node:async_hooks'
import { Client, type ConnectionLike } from '@temporalio/client'
import type { Server } from './server.ts'
import { SERVER } from './server.ts'
import { createService, type Handlers } from './service.ts'
import { CODE, RpcError } from './wire.ts'

interface CallContext {
  readonly deadline?: number
  readonly signal?: AbortSignal
}

/** As the client library retries. */
const TRIES_MAX = 10
const WAIT_MS = { first: 100, factor: 1.7, most: 5_000 }
/** So long a query waits for a worker. */
const QUERY_MS = 10_000

/** One for all connections: each that was ever used would cost every promise of the process something, for ever. */
const contexts = new AsyncLocalStorage<CallContext>()

/** @param name of the process that calls, for the wire */
export function createConnection(server: Server, name: string): ConnectionLike {
  const within = <Result>(more: CallContext, work: () => Promise<Result>): Promise<Result> =>
    contexts.run({ ...contexts.getStore(), ...more }, work)
  const call = (method: string, handle: (request: never) => unknown, request: unknown) => {
    const context = contexts.getStore() ?? {}
    const own = method === 'queryWorkflow' ? { maxMs: QUERY_MS } : {}
    return new Call(server, { name, method, ...own, ...context }).send(() =>
      handle(request as never),
    )
  }
  const serviceOf = (handlers: Handlers) =>
    new Proxy(
      {},
      {
        get: (_target, method) => {
          if (typeof method !== 'string' || method === 'then') return undefined
          const handle =
            handlers[method] ??
            (() => {
              throw new RpcError(CODE.unimplemented, `the simulation has no ${method}`)
            })
          return (request: unknown) => call(method, handle, request)
        },
      },
    )
  const { workflowService, operatorService } = createService(server)
  return {
    workflowService: serviceOf(workflowService) as ConnectionLike['workflowService'],
    operatorService: serviceOf(operatorService) as ConnectionLike['operatorService'],
    plugins: [],
    close: async () => {},
    ensureConnected: async () => {},
    withDeadline: (deadline, work) => within({ deadline: Number(deadline) }, work),
    withMetadata: (_metadata, work) => work(),
    withAbortSignal: (signal, work) => within({ signal }, work),
  }
}

export const createClient = (server: Server, name: string): Client =>
  new Client({
    connection: createConnection(server, name),
    namespace: server.namespace,
    identity: name,
  })

interface CallOptions extends CallContext {
  /** Where the caller sets no deadline. */
  readonly maxMs?: number
  readonly name: string
  readonly method: string
}

class Call {
  readonly #server: Server
  readonly #options: CallOptions
  #isOver = false
  readonly #ends: (() => void)[] = []

  constructor(server: Server, options: CallOptions) {
    this.#server = server
    this.#options = options
  }

  async send(handle: () => unknown): Promise<unknown> {
    const { deadline, maxMs, signal } = this.#options
    const { scheduler } = this.#server
    return await new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        if (this.#isOver) return
        this.#isOver = true
        for (const one of this.#ends.splice(0)) one()
        settle()
      }
      const limitMs = deadline === undefined ? maxMs : Math.max(0, deadline - Date.now())
      if (limitMs !== undefined) {
        const at = scheduler.now() + limitMs
        const late = scheduler.at(at, `${this.#what} takes too long`, () =>
          end(() => reject(new RpcError(CODE.late, 'Deadline exceeded'))),
        )
        this.#ends.push(() => late.cancel())
      }
      if (signal) {
        const abort = () => end(() => reject(new RpcError(CODE.cancelled, 'Cancelled on client')))
        if (signal.aborted) return abort()
        signal.addEventListener('abort', abort)
        this.#ends.push(() => signal.removeEventListener('abort', abort))
      }
      this.#try(1, handle, {
        resolve: (answer) => end(() => resolve(answer)),
        reject: (error) => end(() => reject(error)),
      })
    })
  }

  get #what(): string {
    return `${this.#options.name}: ${this.#options.method}`
  }

  #try(
    attempt: number,
    handle: () => unknown,
    to: { resolve(answer: unknown): void; reject(error: unknown): void },
  ): void {
    const server = this.#server
    const { name, method } = this.#options
    const { scheduler } = server
    let isAnswered = false
    const away = () => {
      if (isAnswered || this.#isOver) return
      isAnswered = true
      if (attempt === TRIES_MAX)
        return to.reject(new RpcError(CODE.unavailable, 'No connection established'))
      const waitMs = Math.min(WAIT_MS.most, WAIT_MS.first * WAIT_MS.factor ** (attempt - 1))
      scheduler.at(scheduler.now() + waitMs, `${this.#what} is tried again`, () => {
        if (!this.#isOver) this.#try(attempt + 1, handle, to)
      })
    }
    const there = server.wire.delay(name, SERVER, method)
    if (there === null) return away()
    scheduler.at(scheduler.now() + there, `${name} → temporal: ${method}`, async () => {
      if (!server.isUp) return away()
      const landed = server.onFall(away)
      this.#ends.push(landed)
      const reply = (settle: () => void) => {
        landed()
        if (isAnswered || this.#isOver) return
        const back = server.wire.delay(SERVER, name, method)
        if (back === null) return away()
        isAnswered = true
        scheduler.at(scheduler.now() + back, `temporal → ${name}: ${method}`, settle)
      }
      // A long poll is not waited for here.
      const answer = (async () => await handle())()
      void answer.then(
        (value) => reply(() => to.resolve(value)),
        (error: unknown) => reply(() => to.reject(error)),
      )
    })
  }
}
