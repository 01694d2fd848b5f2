// Reads the service's OpenAPI document, once per client, before the first operation. Promises kept here: the request goes without
// the key, to the configured origin only; a document that cannot be read costs a warning and never an operation, unless the service
// does not answer at all, or asks to wait for it: operations wait then, because the usual requests may be wrong ones.

import { isUtf8 } from 'node:buffer'
import { OPERATIONS, usualRequest } from '../../contract/index.ts'
import type { OperationId, RequestForm } from '../../contract/index.ts'
import { QuotaWait } from '../../core/errors.ts'
import { QUOTA_WAIT_MAX_MS } from '../../core/limits.ts'
import type { Clock, Logger } from '../../core/ports.ts'
import type { Address } from '../address.ts'
import { withoutMark } from '../answers.ts'
import { NoAnswer } from '../network-errors.ts'
import type { Transport, WireAnswer } from '../transport.ts'
import { parseRetryAfter } from '../pacer/headers.ts'
import { unlessAborted } from '../unless-aborted.ts'
import { readOverrides, resolveOperations, unresolved } from './index.ts'
import type { RequestOverrides, Resolution } from './index.ts'
import { ownMember } from './schema-view.ts'

export interface Discovery {
  /**
   * The request of an operation; waits for the document if that may change it.
   * @throws NoAnswer if the service cannot be reached
   * @throws QuotaWait if the service asks to wait for long until it gives the document
   * @throws the signal's reason
   */
  operation(id: OperationId, signal?: AbortSignal): Promise<RequestForm>
  /** @throws QuotaWait likewise */
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
/** How often it is requested if the connection ends each time. */
const TRIES_MAX = 3
/** The shortest wait after a 429. */
const ASKED_MIN_MS = 1_000
/** Readings in a row without an answer until the usual requests are used, if the service answers elsewhere. */
const UNANSWERED_MAX = 3

/** What was read, or why nothing was, and whether a later attempt may succeed. */
type Reading = { readonly json: unknown; readonly url: string } | Unread
interface Outcome {
  readonly resolution: Resolution
  /** The service could not be reached: no operation would get further. */
  readonly noConnection: NoAnswer | null
  /** Until when the service refuses to give the document, ms; null if it does not. */
  readonly refusedUntilMs: number | null
}

interface Unread {
  readonly why: string
  readonly mayChange: boolean
  readonly noConnection?: NoAnswer
  /** The connection ended before the answer did. */
  readonly isTorn?: boolean
  /** There was no answer in time. */
  readonly isLate?: boolean
  /** It was refused with 429: what the service asks to wait, ms. */
  readonly askedToWaitMs?: number
}

/** @throws SyncError `client_option_invalid` for an override that is not valid */
export function createDiscovery(deps: DiscoveryDeps): Discovery {
  const { clock, logger, address, overrides } = deps
  const given = readOverrides(overrides)
  let current: Promise<Outcome> | null = null
  /** When `current` expires: it was made without the document, which may be available by then. */
  let untilMs = Infinity
  /** When it began to be without the document. */
  let sinceMs = -Infinity
  let unanswered = 0
  /** A service that does not answer now is no service without a document: on another path, a write would be refused for good. */
  const silenceOf = async (reading: Reading): Promise<NoAnswer | null> => {
    unanswered = isSilent(reading) ? unanswered + 1 : 0
    // A connection that is refused says it itself.
    if (!isSilent(reading) || reading.noConnection !== undefined) return null
    const isAlone = unanswered >= UNANSWERED_MAX && !isSilent(await readRoot(deps))
    return isAlone ? null : new NoAnswer(reading.why, false)
  }

  const discover = async (): Promise<Outcome> => {
    const reading = await readAgain(deps, given.readOpenApi ?? usualRequest('readOpenApi'))
    const resolution =
      'json' in reading
        ? resolveOperations(reading.json, overrides, { url: reading.url, prefix: address.prefix })
        : unresolved(given, `no OpenAPI document: ${reading.why}`)
    const silence = await silenceOf(reading)
    const { noConnection = silence, askedToWaitMs = null } = 'why' in reading ? reading : {}
    const refusedUntilMs = askedToWaitMs === null ? null : clock.now() + askedToWaitMs
    if (refusedUntilMs !== null) {
      sinceMs = clock.now()
      untilMs = refusedUntilMs
    } else if (noConnection !== null) untilMs = 0
    else if ('why' in reading && reading.mayChange) {
      sinceMs = clock.now()
      untilMs = sinceMs + READ_AGAIN_MS
    }
    const { warnings } = resolution
    if (noConnection === null && refusedUntilMs === null && warnings.length > 0)
      logger.warn({ warnings }, 'operations_resolved')
    return { resolution, noConnection, refusedUntilMs }
  }
  /** A clock that was set back says nothing of how long it has been. */
  const isOver = (nowMs: number) => nowMs >= untilMs || nowMs < sinceMs
  const outcome = async () => {
    if (current === null || isOver(clock.now())) {
      untilMs = Infinity
      sinceMs = -Infinity
      current = discover()
    }
    const found = await current
    const { refusedUntilMs } = found
    if (refusedUntilMs !== null) throw new QuotaWait(Math.max(1, refusedUntilMs - clock.now()))
    return found
  }
  return {
    async resolution() {
      if (!deps.reads) return unresolved(given, 'the document is not asked for')
      return (await outcome()).resolution
    },
    async operation(id, signal) {
      // Discovery begins with the two public operations.
      const isKnown = given[id] !== undefined || !OPERATIONS[id].authenticated || !deps.reads
      if (isKnown) return given[id] ?? usualRequest(id)
      const { resolution, noConnection } = await unlessAborted(outcome(), signal)
      // The usual request may be a wrong one, and be refused for good once the service is back.
      if (noConnection !== null) throw noConnection
      return resolution.operations[id]
    },
  }
}

/** Whether the service may be away: it does not answer, or not to the end. */
const isSilent = (reading: Reading): reading is Unread =>
  'why' in reading &&
  (reading.isTorn === true || reading.isLate === true || reading.noConnection !== undefined)

const readRoot = (deps: DiscoveryDeps): Promise<Reading> =>
  getJson(deps, deps.address.origin, deps.address.prefix + usualRequest('readRoot').path)

/**
 * A connection that ends in the middle is no reason to do without the document: a service that restarts has it again soon. Nor is a
 * refusal with 429, whoever has used the quota up: the document is asked for again when the service says.
 */
async function readAgain(deps: DiscoveryDeps, form: { readonly path: string }): Promise<Reading> {
  let torn = 0
  let waitedMs = 0
  // Bounded: each turn is torn, or waits for a second at least.
  for (;;) {
    const reading = await readDocument(deps, form)
    if ('json' in reading) return reading
    const { isTorn, askedToWaitMs } = reading
    if (askedToWaitMs !== undefined) {
      waitedMs += askedToWaitMs
      if (waitedMs > QUOTA_WAIT_MAX_MS) return reading
      await deps.clock.sleep(askedToWaitMs)
    } else if (!isTorn || (torn += 1) >= TRIES_MAX) return reading
  }
}

/** The document at its usual address, else at the address that the service's root gives. */
async function readDocument(
  deps: DiscoveryDeps,
  { path }: { readonly path: string },
): Promise<Reading> {
  const { origin, prefix } = deps.address
  const get = (target: string) => getJson(deps, origin, target)
  const first = await get(prefix + path)
  if ('json' in first || first.mayChange) return first
  const root = await readRoot(deps)
  if (!('json' in root)) return 'askedToWaitMs' in root ? root : first
  const told = ownMember(ownMember(root.json, 'data'), 'openapi_url')
  if (typeof told !== 'string' || !URL.canParse(told, root.url)) return first
  const url = new URL(told, root.url)
  if (url.origin !== origin) return { why: 'it is on another origin', mayChange: false }
  if (url.pathname + url.search === prefix + path) return first
  return await get(url.pathname + url.search)
}

async function getJson(
  { transport, clock }: Pick<DiscoveryDeps, 'transport' | 'clock'>,
  origin: string,
  path: string,
): Promise<Reading> {
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
    if (error instanceof NoAnswer) {
      const read = unread(error.message, error.kind !== 'distrusted')
      if (error.kind !== 'nothing') return read
      return error.mayBeSent ? { ...read, isTorn: true } : { ...read, noConnection: error }
    }
    const why = `no answer within ${DOCUMENT_TIMEOUT_MS / 1_000} s`
    return { ...unread(why, true), isLate: true }
  }
  const { status, headers, body } = answer
  if (status === 429) {
    const askedMs = parseRetryAfter(headers['retry-after'], clock.now(), headers['date'])
    const askedToWaitMs = Math.max(ASKED_MIN_MS, askedMs ?? 0)
    return { ...unread('status 429', true), askedToWaitMs }
  }
  if (status !== 200) return unread(`status ${status}`, status >= 500)
  try {
    if (!isUtf8(body)) return unread('it is not UTF-8', false)
    return { json: JSON.parse(withoutMark(body).toString('utf8')) as unknown, url: origin + path }
  } catch {
    return unread('it is not complete JSON', false)
  }
}
