// One request, one answer, over one undici pool per origin. Promises kept here: every request ends by its deadline, body
// included, and none begins after it, however long the process was suspended; an answer has a bounded size; no redirect is
// followed, and certificates are always checked.

import { setMaxListeners } from 'node:events'
import { Pool, type buildConnector, type Dispatcher } from 'undici'
import type { Method } from '../contract/index.ts'
import { Deadline } from '../core/deadline.ts'
import { SyncError } from '../core/errors.ts'
import { createConnect, greetTls } from '../outbound/connect.ts'
import { proxyFor, type Proxy } from '../outbound/proxy.ts'
import { NoAnswer, certificateWanted, classifyNetworkError, tlsExpected } from './network-errors.ts'

export interface WireRequest {
  readonly method: Method
  /** With prefix and query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** Ends the request at once, with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** No byte of it is sent after this time. */
  readonly sendBefore?: Deadline | undefined
}

export interface WireAnswer {
  readonly status: number
  /** By lower-case name; a header that came twice is left out. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Buffer
}

export interface Transport {
  /** @throws NoAnswer, or the signal's reason */
  send(request: WireRequest): Promise<WireAnswer>
  /** Waits for the requests in flight. */
  close(): Promise<void>
}

export interface TransportOptions {
  readonly origin: string
  readonly connections: number
  /** Deadline of a whole request, ms. */
  readonly timeoutMs: number
  readonly bodyBytesMax: number
  /** PEM; the certificates that the service is checked against. Default: those that Node knows. */
  readonly ca?: string | undefined
  /** Where HTTPS_PROXY, HTTP_PROXY and NO_PROXY are. Default: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** Opens a connection in place of a socket: that of a simulated network. */
  readonly connect?: Connect | undefined
}

/** Opens a connection to an origin. */
export type Connect = buildConnector.connector

/** Answers may have several of these headers; of any other one, several are as good as none. */
const MAY_REPEAT: readonly string[] = ['deprecation', 'sunset']
const CONNECT_TIMEOUT_MS = 10_000
/** A longer timer would fire at once. */
const TIMEOUT_MAX_MS = 2 ** 31 - 1
const stopped = new Error('stopped')
const LATE = 'it waited for too long before it could be sent, and was not sent'
const LEFT_LATE =
  'the process stood still while it was written; it may have reached the service too late'

/** @throws SyncError `client_option_invalid`; ConfigError for a variable that names no proxy */
export function createTransport(options: TransportOptions): Transport {
  checkCount('connections', options.connections, 1_000)
  checkCount('timeoutMs', options.timeoutMs, TIMEOUT_MAX_MS)
  checkCount('bodyBytesMax', options.bodyBytesMax, Number.MAX_SAFE_INTEGER)
  const proxy = proxyFor(options.origin, options.env ?? process.env)
  const pool = new Pool(options.origin, {
    connections: options.connections,
    pipelining: 1,
    // Our own deadline covers both, and also counts the wait for a free connection.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect:
      options.connect ??
      createConnect({
        timeout: Math.min(CONNECT_TIMEOUT_MS, options.timeoutMs),
        ca: options.ca,
        proxy,
      }),
  })
  let closing: Promise<void> | null = null
  const doubt = new TlsDoubt(options, proxy)
  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        new Exchange(request, { ...options, doubt }, resolve, reject).start(pool)
      }),
    close: () => (closing ??= pool.close()),
  }
}

/**
 * What a connection that broke off says nothing of: plain requests that meet a server of TLS, which ends them or answers 400, and a
 * server that misses a client certificate. The server is asked until the first answer of it.
 */
class TlsDoubt {
  private isOver: boolean
  private readonly origin: string
  constructor({ origin, connect }: TransportOptions, proxy: Proxy | null) {
    this.origin = origin
    this.isOver = connect !== undefined || proxy !== null
  }

  async cause(mayBeSent: boolean): Promise<NoAnswer | null> {
    if (this.isOver) return null
    const { protocol, hostname, port } = new URL(this.origin)
    const isPlain = protocol === 'http:'
    const greeting = await greetTls(hostname, Number(port || (isPlain ? 80 : 443)))
    if (isPlain) return greeting === 'no TLS' ? null : tlsExpected(this.origin, mayBeSent)
    return greeting === 'breaks off' ? certificateWanted(this.origin, mayBeSent) : null
  }

  end(): void {
    this.isOver = true
  }
}

function checkCount(name: string, value: number, max: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= max) return
  const message = `Client option ${name}: a whole number from 1 to ${max} was expected, got ${value}`
  throw new SyncError('client_option_invalid', message)
}

/**
 * A request under way. It uses `dispatch` rather than `request`, because only its handler learns whether the request was ever
 * written to a connection, and so whether its outcome can be unknown.
 */
class Exchange implements Dispatcher.DispatchHandler {
  private readonly request: WireRequest
  private readonly options: TransportOptions & { readonly doubt: TlsDoubt }
  private readonly resolve: (answer: WireAnswer) => void
  private readonly reject: (error: unknown) => void
  private controller: Dispatcher.DispatchController | null = null
  private status: number | null = null
  private headers: WireAnswer['headers'] = {}
  private chunks: Buffer[] = []
  private bytes = 0
  private ended = false
  // Not the injected clock: a network's time is real, even if a test's is not.
  private timer: NodeJS.Timeout | undefined
  /** The same time as the timer's, which fires late if the process was suspended. */
  private readonly deadline: Deadline

  constructor(
    request: WireRequest,
    options: Exchange['options'],
    resolve: (answer: WireAnswer) => void,
    reject: (error: unknown) => void,
  ) {
    this.request = request
    this.options = options
    this.deadline = new Deadline(options.timeoutMs)
    this.resolve = resolve
    this.reject = reject
  }

  start(pool: Pool): void {
    const { method, path, headers, body, signal } = this.request
    if (signal?.aborted) return this.reject(signal.reason)
    if (signal) {
      // Many requests share one signal by design: Node would warn of a leak at the eleventh.
      setMaxListeners(0, signal)
      signal.addEventListener('abort', this.onAbort, { once: true })
    }
    this.timer = setTimeout(this.onDeadline, this.options.timeoutMs)
    pool.dispatch({ method, path, headers, body }, this)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // The last moment before the first byte. If the request ended while it waited for a connection, or its time is over and the
    // timer has not fired because the process was suspended, it must not be sent.
    if (this.ended) return controller.abort(stopped)
    const late = this.deadline.isOver()
      ? this.overdue()
      : this.request.sendBefore?.isOver()
        ? new NoAnswer(LATE, false, 'late')
        : null
    if (late !== null) {
      this.fail(late)
      return controller.abort(stopped)
    }
    this.controller = controller
    // The first bytes go out before this: a process that stood still between the look above and them learns of it here.
    queueMicrotask(() => {
      if (this.request.sendBefore?.isOver()) this.stop(new NoAnswer(LEFT_LATE, true, 'late'))
    })
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return
    this.status = status
    const single: Record<string, string> = {}
    for (const name of Object.keys(headers)) {
      const value = headers[name]
      if (typeof value === 'string') single[name] = value
      else if (value !== undefined && MAY_REPEAT.includes(name)) single[name] = value.join(', ')
    }
    this.headers = single
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.bytes += chunk.length
    const { bodyBytesMax } = this.options
    if (this.bytes <= bodyBytesMax) return void this.chunks.push(chunk)
    this.chunks = []
    this.stop(new NoAnswer(`the answer is longer than ${bodyBytesMax} bytes`, true, 'distrusted'))
  }

  onResponseEnd(): void {
    this.answer()
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    // A refusal by the quota counts without its body.
    if (this.status === 429) return this.answer()
    const { origin } = this.options
    const started = this.controller !== null
    const failure = classifyNetworkError(error, origin, started, this.status !== null)
    if (failure.isExplained || this.status !== null) return this.fail(failure)
    this.unlessTls(started, () => this.fail(failure))
  }

  private readonly onDeadline = () => this.stop(this.overdue())

  private overdue(): NoAnswer {
    const seconds = this.options.timeoutMs / 1_000
    return new NoAnswer(`no answer within ${seconds} s`, this.controller !== null)
  }

  private readonly onAbort = () => this.stop(this.request.signal!.reason)

  /** Goes on, unless TLS is what is wrong. */
  private unlessTls(mayBeSent: boolean, goOn: () => void): void {
    void this.options.doubt.cause(mayBeSent).then((cause) => {
      if (cause !== null) return this.fail(cause)
      goOn()
    })
  }

  private answer(): void {
    const isPlain = this.options.origin.startsWith('http:')
    if (this.status === 400 && isPlain) return this.unlessTls(false, () => this.accept())
    this.accept()
  }

  private accept(): void {
    const { status, headers, chunks } = this
    if (!this.end()) return
    this.options.doubt.end()
    const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
    this.resolve({ status: status!, headers, body })
  }

  private fail(error: unknown): void {
    if (this.end()) this.reject(error)
  }

  private stop(error: unknown): void {
    this.fail(error)
    this.controller?.abort(stopped)
  }

  private end(): boolean {
    if (this.ended) return false
    this.ended = true
    clearTimeout(this.timer)
    this.request.signal?.removeEventListener('abort', this.onAbort)
    return true
  }
}
