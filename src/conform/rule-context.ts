// What a check can use: requests by operation, the schema probe, and the scratch records if writing is allowed.
// Promise kept here: the line of a request that evidence shows holds no cursor, no record id and no key.

import { SyncError } from '../core/errors.ts'
import { BASE_PATH, OPERATIONS } from '../contract/index.ts'
import type { Address } from '../client/address.ts'
import { buildRequest } from '../client/build-request.ts'
import { queryCall } from './calls.ts'
import { createdIds, type ScratchRecords } from './scratch-records.ts'
import { isKnown, type Routes } from './routes.ts'
import { NotApplicable, Unchecked } from './verdict.ts'
import { SchemaProbe } from './schema-probe.ts'
import type { RuleCall } from './types.ts'
import type { CallerKey, WireExchange, Wire } from './wire.ts'

export interface RuleContextOptions {
  readonly address: Address
  readonly key: string
  readonly wire: Wire
  readonly routes: Routes
  readonly signal: AbortSignal
  readonly hasOtherKey: boolean
  /** Whether the key may be sent in a query string, and so end up in logs. */
  readonly keyInQuery: boolean
}

export class RuleContext {
  readonly options: RuleContextOptions
  readonly probe: SchemaProbe
  /** One per type in which scratch records may be created. */
  readonly benches: ScratchRecords[] = []
  /** Records that were created although the request should have been refused. */
  readonly unexpected: { readonly objectType: string; readonly id: string }[] = []
  /** Aborts the requests in flight. */
  signal: AbortSignal
  /** False once the service has answered that it has no exchange rates. */
  hasRates = true

  constructor(options: RuleContextOptions) {
    this.options = options
    this.signal = options.signal
    this.probe = new SchemaProbe(this)
  }

  get exchanges(): readonly WireExchange[] {
    return this.options.wire.exchanges
  }

  benchOf(type: string): ScratchRecords | undefined {
    return this.benches.find((bench) => bench.typeName === type)
  }

  /** The scratch records of the first type in which they may be created. @throws Unchecked if they may not, or cannot */
  bench(): ScratchRecords {
    const [bench] = this.benches
    if (!bench) throw new Unchecked('it needs scratch records: --write TYPE allows them')
    return bench.ready()
  }

  /** Sends a request. @throws Unchecked if no answer came, or if it is not known where to send it */
  async call(call: RuleCall): Promise<WireExchange> {
    const { operation, objectType, id, as: caller = 'key' } = call
    const { address, wire, routes } = this.options
    const route = routes[operation]
    if (!isKnown(routes, operation)) {
      const { summary } = OPERATIONS[operation]
      throw new Unchecked(
        `section 4.7 leaves open where "${summary}" is, and the OpenAPI document does not say: ${route.reason}`,
      )
    }
    const { association, matchingProperty, target } = call
    const path = present({ object_type: objectType, id, association_type: association })
    const query = present({ ...call.query, matching_property: matchingProperty })
    const parts = target === undefined ? call : { body: { data: { target_id: target } } }
    const method = call.method ?? route.method
    const laidOut = layOutOr(route, { path, query, body: parts.body as object | undefined })
    const exchange = await wire.send(
      {
        operation,
        objectType: objectType ?? null,
        method,
        path: address.prefix + withKey(laidOut.path, caller, this.options.key),
        line: `${method} ${address.prefix}${lineOf(route.path, path, query)}`,
        sent: [call.sent, callerWords[caller]].filter(Boolean).join('; '),
        headers: {
          accept: 'application/json',
          ...(laidOut.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...call.headers,
        },
        body: laidOut.body ?? null,
        caller,
      },
      this.signal,
    )
    for (const made of createdIds(exchange)) {
      const bench = this.benchOf(objectType ?? '')
      if (bench) bench.adopt(made)
      else this.unexpected.push({ objectType: objectType ?? '', id: made })
    }
    return exchange
  }

  /** Deletes a record that this run created; may exceed the bound of requests. False if it is not certain that it is gone. */
  async remove(objectType: string, id: string): Promise<boolean> {
    this.options.wire.extend(1)
    try {
      const { status } = await this.call({ operation: 'deleteRecord', objectType, id })
      return (status >= 200 && status < 300) || status === 404
    } catch (error) {
      if (error instanceof Unchecked || this.signal.aborted) return false
      throw error
    }
  }

  /** A request to a path that belongs to no operation. */
  async callPath(path: string): Promise<WireExchange> {
    const { address, wire } = this.options
    const full = address.prefix + BASE_PATH + path
    return await wire.send(
      {
        operation: null,
        objectType: null,
        method: 'GET',
        path: full,
        line: `GET ${full}`,
        sent: '',
        headers: { accept: 'application/json' },
        body: null,
        caller: 'key',
      },
      this.signal,
    )
  }

  async query(...parts: Parameters<typeof queryCall>): Promise<WireExchange> {
    return await this.call(queryCall(...parts))
  }

  /** A type to ask about, if any type will do. */
  async anyType(): Promise<string> {
    const [first] = await this.probe.samples()
    if (first) return first.type.name
    throw new NotApplicable('the key sees no object type')
  }
}

const callerWords: Readonly<Record<CallerKey, string>> = {
  key: '',
  other: 'with the other key',
  unknown: 'with an unknown key',
  nobody: 'without a key',
  query: 'with the key in the query string only',
}

/** @throws Unchecked for a name or an id that no path can hold */
function layOutOr(
  ...[form, parts]: Parameters<typeof buildRequest>
): ReturnType<typeof buildRequest> {
  try {
    return buildRequest(form, parts)
  } catch (error) {
    if (error instanceof SyncError) throw new Unchecked(error.message)
    throw error
  }
}

/** The path with the key in its query string, where a key must not be. */
function withKey(path: string, caller: CallerKey, key: string): string {
  if (caller !== 'query') return path
  return `${path}${path.includes('?') ? '&' : '?'}api_key=${encodeURIComponent(key)}`
}

function present<Value>(
  values: Readonly<Record<string, Value | undefined>>,
): Record<string, Value> {
  const entries = Object.entries(values).filter(
    (entry): entry is [string, Value] => entry[1] !== undefined,
  )
  return Object.fromEntries(entries)
}

function lineOf(
  template: string,
  params: Readonly<Record<string, string>>,
  query: Readonly<Record<string, string>>,
): string {
  const path = template.replaceAll(/\{(\w+)\}/g, (whole, name: string) =>
    name === 'id' ? whole : (params[name] ?? whole),
  )
  const names = Object.entries(query).map(([name, value]) =>
    name === 'cursor' ? 'cursor=…' : `${name}=${value}`,
  )
  return names.length === 0 ? path : `${path}?${names.join('&')}`
}
