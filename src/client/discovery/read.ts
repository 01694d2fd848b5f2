// Reads the service's OpenAPI document, once per client, before the first operation. Promises kept here: the request goes without
// the key, to the configured origin only; a document that cannot be read costs a warning and never an operation.

import { isUtf8 } from 'node:buffer'
import { OPERATIONS, usualRequest } from '../../contract/index.ts'
import type { OperationId, RequestForm } from '../../contract/index.ts'
import type { Clock, Logger } from '../../core/ports.ts'
import type { Address } from '../address.ts'
import { NoAnswer } from '../network-errors.ts'
import type { Transport, WireAnswer } from '../transport.ts'
import { unlessAborted } from '../unless-aborted.ts'
import { readOverrides, resolveOperations, unresolved } from './index.ts'
import type { RequestOverrides, Resolution } from './index.ts'
import { ownMember } from './schema-view.ts'

export interface Discovery {
  /** The request of an operation; waits for the document if that may change it. @throws the signal's reason */
  operation(id: OperationId, signal?: AbortSignal): Promise<RequestForm>
  resolution(): Promise<Resolution>
}

export interface DiscoveryDeps {
  readonly transport: Transport
  readonly clock: Clock
  readonly logger: Logger
  readonly address: Address
  readonly overrides: RequestOverrides
  /** False: no document is read. */
  readonly reads: boolean
}

const DOCUMENT_TIMEOUT_MS = 10_000
/** If a service is down, its document is not requested with every operation. */
const READ_AGAIN_MS = 60_000

/** What was read, or why nothing was, and whether a later attempt may succeed. */
type Reading = { readonly json: unknown; readonly url: string } | Unread
interface Unread {
  readonly why: string
  readonly mayChange: boolean
}

/** @throws SyncError `client_option_invalid` for an override that is not valid */
export function createDiscovery(deps: DiscoveryDeps): Discovery {
  const { clock, logger, address, overrides } = deps
  const given = readOverrides(overrides)
  let current: Promise<Resolution> | null = null
  /** When `current` expires: it was made without the document, which may be available by then. */
  let untilMs = Infinity

  const discover = async (): Promise<Resolution> => {
    const reading = await readDocument(deps, given.readOpenApi ?? usualRequest('readOpenApi'))
    const resolution =
      'json' in reading
        ? resolveOperations(reading.json, overrides, { url: reading.url, prefix: address.prefix })
        : unresolved(given, `no OpenAPI document: ${reading.why}`)
    if ('why' in reading && reading.mayChange) untilMs = clock.now() + READ_AGAIN_MS
    const { warnings } = resolution
    if (warnings.length > 0) logger.warn({ warnings }, 'operations_resolved')
    return resolution
  }
  const resolution = () => {
    if (!deps.reads) return Promise.resolve(unresolved(given, 'the document is not asked for'))
    if (current === null || clock.now() >= untilMs) {
      untilMs = Infinity
      current = discover()
    }
    return current
  }
  return {
    resolution,
    async operation(id, signal) {
      // Discovery begins with the two public operations.
      const isKnown = given[id] !== undefined || !OPERATIONS[id].authenticated || !deps.reads
      if (isKnown) return given[id] ?? usualRequest(id)
      return (await unlessAborted(resolution(), signal)).operations[id]
    },
  }
}

/** The document at its usual address, else at the address that the service's root gives. */
async function readDocument(
  { transport, address }: DiscoveryDeps,
  { path }: { readonly path: string },
): Promise<Reading> {
  const { origin, prefix } = address
  const get = (target: string) => getJson(transport, origin, target)
  const first = await get(prefix + path)
  if ('json' in first || first.mayChange) return first
  const root = await get(prefix + usualRequest('readRoot').path)
  if (!('json' in root)) return first
  const told = ownMember(ownMember(root.json, 'data'), 'openapi_url')
  if (typeof told !== 'string' || !URL.canParse(told, root.url)) return first
  const url = new URL(told, root.url)
  if (url.origin !== origin) return { why: 'it is on another origin', mayChange: false }
  if (url.pathname + url.search === prefix + path) return first
  return await get(url.pathname + url.search)
}

async function getJson(transport: Transport, origin: string, path: string): Promise<Reading> {
  const unread = (why: string, mayChange: boolean): Unread => ({ why, mayChange })
  let answer: WireAnswer
  try {
    answer = await transport.send({
      method: 'GET',
      path,
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        'user-agent': 'records-sync',
      },
      body: null,
      signal: AbortSignal.timeout(DOCUMENT_TIMEOUT_MS),
    })
  } catch (error) {
    if (error instanceof NoAnswer) return unread(error.message, error.kind !== 'distrusted')
    return unread(`no answer within ${DOCUMENT_TIMEOUT_MS / 1_000} s`, true)
  }
  const { status, body } = answer
  if (status !== 200) return unread(`status ${status}`, status === 429 || status >= 500)
  try {
    if (!isUtf8(body)) return unread('it is not UTF-8', false)
    return { json: JSON.parse(body.toString('utf8')) as unknown, url: origin + path }
  } catch {
    return unread('it is not complete JSON', false)
  }
}
