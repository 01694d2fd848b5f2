// One request and its answer, as they are on the wire, and the record of all of them. Promises kept here: the key travels in
// the header Authorization only; the number of requests and the time spent waiting for the quota are bounded.

import { randomBytes } from 'node:crypto'
import { QuotaWait } from '../core/errors.ts'
import { isJsonObject } from '../core/json.ts'
import { systemClock, type Clock } from '../core/ports.ts'
import type { Method, OperationId } from '../contract/index.ts'
import { NoAnswer } from '../client/network-errors.ts'
import { Pacer } from '../client/pacer/pacer.ts'
import { createTransport } from '../client/transport.ts'
import { Unchecked } from './verdict.ts'

/** The caller that a request is sent as. `query`: the key in the query string and not in the header. */
export type CallerKey = 'key' | 'other' | 'unknown' | 'nobody' | 'query'

export interface WireCall {
  readonly operation: OperationId | null
  readonly objectType: string | null
  readonly method: Method
  /** With prefix and query. */
  readonly path: string
  /** The request as evidence may show it. */
  readonly line: string
  /** The part of it that matters, or empty. */
  readonly sent: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  readonly caller: CallerKey
}

export interface WireExchange extends Pick<
  WireCall,
  'operation' | 'objectType' | 'line' | 'sent' | 'caller'
> {
  readonly status: number
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly bytes: number
  /** The body, or undefined if it is not JSON. */
  readonly json: unknown
  readonly requestId: string | null
}

export interface WireOptions {
  readonly origin: string
  readonly key: string
  readonly otherKey: string | null
  readonly requestsMax: number
  /** Milliseconds that all waits for the quota may take together. */
  readonly waitMaxMs: number
  readonly timeoutMs: number
  readonly clock?: Clock
}

export interface Wire {
  readonly exchanges: readonly WireExchange[]
  readonly waitedMs: number
  /** @throws Unchecked if no answer came, or a bound is reached; the signal's reason */
  send(call: WireCall, signal: AbortSignal): Promise<WireExchange>
  /** Lets `send` exceed its bounds, for records that must be removed at the end. */
  extend(requests: number): void
  close(): Promise<void>
}

const BODY_BYTES_MAX = 16 * 1_024 * 1_024
/** How long a request over the bound may wait for the quota. */
const EXTRA_WAIT_MS = 5_000
/** Attempts of a request that is answered 429, or 503 with a time to wait. */
const ATTEMPTS_MAX = 3

/** Permits to send, within the quotas of the callers. Promise kept here: all waits together are bounded. */
class BoundedWaits {
  waitedMs = 0
  private waitableMs: number
  private readonly clock: Clock
  private readonly keys: Pacer
  // Callers without a key may have a quota of their own.
  private readonly anonymous: Pacer

  constructor(clock: Clock, waitMaxMs: number) {
    this.clock = clock
    this.waitableMs = waitMaxMs
    this.keys = new Pacer({ clock })
    this.anonymous = new Pacer({ clock })
  }

  /** @throws Unchecked if the wait is longer than what is left */
  async permit(caller: CallerKey, signal: AbortSignal) {
    const pacer = caller === 'key' || caller === 'other' ? this.keys : this.anonymous
    const startedMs = this.clock.now()
    try {
      const maxWaitMs = Math.max(0, this.waitableMs - this.waitedMs)
      return await pacer.acquire({ signal, maxWaitMs })
    } catch (error) {
      if (!(error instanceof QuotaWait)) throw error
      throw new Unchecked('the service asks for a longer wait than is left for all of them')
    } finally {
      this.waitedMs += this.clock.now() - startedMs
    }
  }

  extend(ms: number): void {
    this.waitableMs = Math.max(this.waitedMs, this.waitableMs) + ms
  }
}

export function createWire(options: WireOptions): Wire {
  const { clock = systemClock, timeoutMs, origin } = options
  const transport = createTransport({
    origin,
    connections: 1,
    timeoutMs,
    bodyBytesMax: BODY_BYTES_MAX,
  })
  const waits = new BoundedWaits(clock, options.waitMaxMs)
  const exchanges: WireExchange[] = []
  let sendable = options.requestsMax

  const once = async (call: WireCall, signal: AbortSignal): Promise<WireExchange> => {
    if (sendable <= 0) throw new Unchecked('the number of requests of this run is used up')
    const granted = await waits.permit(call.caller, signal)
    sendable -= 1
    const { method, path, body } = call
    const headers = { ...call.headers, ...authorization(call.caller, options) }
    const answer = await transport
      .send({ method, path, headers, body, signal })
      .catch((error: unknown) => {
        granted.lost()
        if (error instanceof NoAnswer) throw new Unchecked(`no answer: ${error.message}`)
        throw error
      })
    const exchange = exchangeOf(call, answer)
    // Missing rates are no reason to hold back requests that need none.
    const ratesOnly = problemOf(exchange)['reason'] === 'exchange_rate_unavailable'
    granted.observe({
      status: answer.status,
      limit: answer.headers['ratelimit-limit'],
      remaining: answer.headers['ratelimit-remaining'],
      retryAfter: ratesOnly ? undefined : answer.headers['retry-after'],
    })
    exchanges.push(exchange)
    return exchange
  }

  return {
    exchanges,
    get waitedMs() {
      return waits.waitedMs
    },
    async send(call, signal) {
      let exchange = await once(call, signal)
      for (let attempt = 1; attempt < ATTEMPTS_MAX && isForLater(exchange); attempt += 1) {
        exchange = await once(call, signal)
      }
      return exchange
    },
    extend(requests) {
      sendable = Math.max(0, sendable) + requests
      waits.extend(requests * EXTRA_WAIT_MS)
    },
    close: () => transport.close(),
  }
}

function authorization(caller: CallerKey, { key, otherKey }: WireOptions): Record<string, string> {
  if (caller === 'key') return { authorization: `Bearer ${key}` }
  if (caller === 'other') return { authorization: `Bearer ${otherKey}` }
  if (caller === 'unknown') {
    return { authorization: `Bearer conform-unknown-${randomBytes(16).toString('hex')}` }
  }
  return {}
}

/** Whether the answer is a refusal by the quota, or asks for a pause; the pacer waits. */
function isForLater(exchange: WireExchange): boolean {
  if (exchange.status === 429) return true
  const asksToWait = exchange.status === 503 && exchange.headers['retry-after'] !== undefined
  return asksToWait && problemOf(exchange)['reason'] !== 'exchange_rate_unavailable'
}

function exchangeOf(
  call: WireCall,
  answer: { status: number; headers: WireExchange['headers']; body: Buffer },
): WireExchange {
  const { operation, objectType, line, sent, caller } = call
  const json = jsonOf(answer.body)
  const [, fromHeader] = requestIdHeader(answer.headers) ?? []
  const fromBody = fieldsOf(json)['request_id']
  return {
    operation,
    objectType,
    line,
    sent,
    caller,
    status: answer.status,
    headers: answer.headers,
    bytes: answer.body.length,
    json,
    requestId: fromHeader ?? (typeof fromBody === 'string' ? fromBody : null),
  }
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch {
    return undefined
  }
}

/** The tracing header, with any prefix: `*-Request-Id`. */
export function requestIdHeader(headers: WireExchange['headers']): [string, string] | undefined {
  return Object.entries(headers).find(
    (entry): entry is [string, string] =>
      entry[0].endsWith('-request-id') && entry[1] !== undefined && entry[1] !== '',
  )
}

/** The members of an object; none of anything else. */
export const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  isJsonObject(value) ? value : {}

/** The members of the body, such as those of a problem. */
export const problemOf = ({ json }: Pick<WireExchange, 'json'>) => fieldsOf(json)

/** What the body wraps, or undefined. */
export const dataOf = ({ json }: Pick<WireExchange, 'json'>) => fieldsOf(json)['data']
