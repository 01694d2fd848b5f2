// One operation of the contract, from its parts to its valid answer. Promises kept here: nothing is sent without a permit, and
// every permit is closed exactly once; a 429 is a wait, never a failed attempt, and a caller that wants to look again first gets
// it back; after a 401 the key is read again once; a read that failed temporarily is retried a few times; no write is ever sent
// twice; if the caller belongs to one org, nothing is sent with another org's key.

import { OPERATIONS, type OperationId, type RequestForm, type Self } from '../contract/index.ts'
import type { Deadline } from '../core/deadline.ts'
import { QuotaWait, ServiceFailure } from '../core/errors.ts'
import { QUOTA_WAIT_MAX_MS } from '../core/limits.ts'
import type { Clock, Logger, Permit, Priority, Quota } from '../core/ports.ts'
import { noAnswerFailure, readAnswer, type NamedOperation, type Success } from './answers.ts'
import { decodeBySchema, type Decode } from './decode.ts'
import { foreignOrgFailure, verifyKey, type KeyRequirement, type KeyOrgs } from './key-orgs.ts'
import { fingerprintOf, type KeyHolder } from './key.ts'
import { buildRequest, type CallParts } from './build-request.ts'
import { NoAnswer } from './network-errors.ts'
import { parseRetryAfter } from './pacer/headers.ts'
import type { ServiceClock } from './service-clock.ts'
import type { Transport, WireAnswer, WireRequest } from './transport.ts'

/** Options of every method. */
export interface RequestOptions {
  /**
   * Ends waits and reads at once, with the signal's reason. A write that was already sent is not interrupted: it ends by its own
   * deadline, and its outcome is returned; one that was not sent yet is prevented.
   */
  readonly signal?: AbortSignal | undefined
  /** Default `interactive`. */
  readonly priority?: Priority | undefined
  /** A permit already granted; this call closes it, whatever happens. */
  readonly permit?: Permit | undefined
  /** Longest wait on the quota, over all rounds. Default 45,000 ms. */
  readonly maxWaitMs?: number | undefined
  /**
   * Whether a request that is answered 429 is sent again by this call. If not, the call fails with `QuotaWait`: nothing was carried
   * out, the quota knows of it, and what the request is based on can be looked up again. Default true.
   */
  readonly waitsOut429?: boolean | undefined
  /**
   * No byte is sent after this time, because what the request would write may be out of date by then. The call fails with
   * `SendDeadlinePassed`.
   */
  readonly sendBefore?: Deadline | undefined
  /** Called right before each sending, once the quota has allowed it: an answer shows what was so then, or later. */
  readonly onSend?: (() => void) | undefined
  /** How often a read is retried that failed temporarily. Default: the client's; writes are sent once. */
  readonly retries?: number | undefined
}

export interface CallDeps {
  readonly transport: Transport
  readonly keys: KeyHolder
  readonly origin: string
  readonly orgs: KeyOrgs
  /** The org that everything is sent to, and what the key must see there; null: any org that the key in use belongs to. */
  readonly bound: KeyRequirement | null
  /** The quota of the key's org. */
  readonly quota: Quota
  /** The quota of callers without a key: the service counts them apart. */
  readonly publicQuota: Quota
  readonly retries: number
  readonly clock: Clock
  readonly serviceClock: ServiceClock
  readonly logger: Logger
  /** Path before `/rest/v1`. */
  readonly prefix: string
  readonly refusedKey?: RefusedKey | undefined
  /** How the operation is requested on this service. @throws the signal's reason */
  readonly formOf: (id: OperationId, signal?: AbortSignal) => Promise<RequestForm>
}

/** The message of a failure whose key was refused. */
export type RefusedKey = (fingerprint: string, said: string) => string | Promise<string>

export type OperationCaller = <Body>(
  id: OperationId,
  parts: CallParts,
  options: RequestOptions,
  decode: Decode<Body>,
) => Promise<Success<Body>>

/** How often one request is sent at most: first, after a 429, once after a 401, and after a change of the key. */
const ROUNDS_MAX = 100

/**
 * Waits before a read is retried, ms, at most: each is shortened at random, so that requests that failed together do not retry
 * together.
 */
const RETRY_WAITS_MS = [500, 2_000, 5_000]
/** If the service asks for a longer wait, the caller decides. */
const RETRY_AFTER_MAX_MS = 10_000

/** What one caller holds beyond what it is given. */
interface CallContext extends CallDeps {
  readonly warn: (answer: WireAnswer) => void
}

/**
 * The caller fails with
 * - `ServiceFailure` if the request did not succeed,
 * - `QuotaWait` if the quota asks for a longer wait than `maxWaitMs`, or after a 429 that is not waited out; nothing was carried out,
 * - the signal's reason after an abort,
 * - `SyncError` `path_invalid` for an invalid path parameter, `body_invalid` for a body that JSON cannot hold.
 */
export function createOperationCaller(deps: CallDeps): OperationCaller {
  const context = { ...deps, warn: deprecationWarning(deps.logger) }
  return async (id, parts, options, decode) => {
    const isRead = OPERATIONS[id].writes === null
    const retries = isRead ? (options.retries ?? deps.retries) : 0
    for (let failures = 0; ; failures++) {
      // The first attempt uses the permit that the caller passed.
      const each = failures > 0 ? { ...options, permit: undefined } : options
      try {
        return await attempt(context, id, parts, each, decode)
      } catch (error) {
        const wait = failures < retries ? waitAfter(error, failures) : null
        if (wait === null) throw error
        await deps.clock.sleep(wait, options.signal)
      }
    }
  }
}

/** Sends until the service accepts or refuses the request itself, not its rate or its key. */
async function attempt<Body>(
  context: CallContext,
  id: OperationId,
  parts: CallParts,
  options: RequestOptions,
  decode: Decode<Body>,
): Promise<Success<Body>> {
  const { keys, clock, orgs } = context
  const { object_type: type, id: recordId } = parts.path ?? {}
  const named: NamedOperation = { id, operation: OPERATIONS[id], type, recordId }
  const { authenticated } = named.operation
  const { signal, priority, maxWaitMs = QUOTA_WAIT_MAX_MS, waitsOut429 = true } = options
  const quota = authenticated ? context.quota : context.publicQuota
  const request = await prepared(context, named, parts, options)
  const deadlineMs = clock.now() + maxWaitMs
  const bound = authenticated && id !== 'readSelf' ? context.bound : null
  let permit = options.permit
  let mayRefresh = authenticated
  let askedToWaitMs = 1_000
  for (let round = 0; round < ROUNDS_MAX; round++) {
    if (bound !== null) permit = await atHome(context, bound, permit, signal)
    permit ??= await quota.acquire({
      ...(priority && { priority }),
      signal,
      maxWaitMs: Math.max(0, deadlineMs - clock.now()),
    })
    const granted = permit
    permit = undefined
    const key = await beforeSending(granted, signal, authenticated ? keys : null)
    if (bound !== null && !orgs.isFit(key!, bound)) {
      // The key changed while the permit was waited for.
      granted.unused()
      continue
    }
    const keyed = key === null ? request : withKey(request, key)
    options.onSend?.()
    const answer = await sendWith(context, granted, named, keyed)
    context.warn(answer)
    if (answer.status === 429) {
      const { 'retry-after': wait, date } = answer.headers
      askedToWaitMs = parseRetryAfter(wait, clock.now(), date) ?? askedToWaitMs
      if (!waitsOut429) break
      continue
    }
    try {
      const success = readAnswer(named, answer, decode, clock.now())
      if (id === 'readSelf') await noteSelf(context, key!, (success.body as { data: Self }).data)
      return success
    } catch (error) {
      if (!isKeyRefused(error) || key === null) throw error
      if (!mayRefresh || !(await keys.refresh(key))) throw await refusal(context, error, key)
      mayRefresh = false
    }
  }
  throw new QuotaWait(askedToWaitMs)
}

const isKeyRefused = (error: unknown): error is ServiceFailure =>
  error instanceof ServiceFailure && error.problemCode === 'unauthenticated'

/** The failure, with what is known of the key. */
async function refusal(
  { refusedKey }: CallDeps,
  error: ServiceFailure,
  key: string,
): Promise<ServiceFailure> {
  const words = await refusedKey?.(fingerprintOf(key), error.message)
  return words === undefined ? error : new ServiceFailure(words, error)
}

/** Notes whose key it is. Fails if the caller belongs to another org. */
async function noteSelf(
  { orgs, keys, bound, origin }: CallDeps,
  key: string,
  self: Self,
): Promise<void> {
  orgs.note(key, self)
  if (bound === null || bound.home.orgId === self.org_id) return
  // The key may have changed since; the next question uses it.
  await keys.refresh(key)
  throw foreignOrgFailure({ origin, orgId: self.org_id }, bound.home, key)
}

/** The permit, or nothing if it was given back because the service must first say whose key it is. */
async function atHome(
  context: CallContext,
  bound: KeyRequirement,
  permit: Permit | undefined,
  signal: AbortSignal | undefined,
): Promise<Permit | undefined> {
  const { keys, orgs, origin } = context
  try {
    if (orgs.isFit(await keys.current(), bound)) return permit
  } catch (error) {
    permit?.unused()
    throw error
  }
  // The question takes a permit of its own; a caller that holds one permit while it waits for another may wait for itself.
  permit?.unused()
  const anyOrg = createOperationCaller({ ...context, bound: null })
  const ask = () =>
    anyOrg('readSelf', {}, { priority: 'interactive' }, decodeBySchema(OPERATIONS.readSelf))
  await verifyKey({ keys, orgs, bound, origin }, ask, signal)
  return undefined
}

/** Sends, and closes the permit with what came of it. */
async function sendWith(
  { transport, serviceClock, clock }: CallDeps,
  permit: Permit,
  named: NamedOperation,
  request: WireRequest,
): Promise<WireAnswer> {
  let answer: WireAnswer
  try {
    answer = await transport.send(request)
  } catch (error) {
    if (!(error instanceof NoAnswer)) {
      // An abort: the request may be on its way.
      permit.lost()
      throw error
    }
    if (error.mayBeSent) permit.lost()
    else permit.unused()
    throw noAnswerFailure(named, error)
  }
  const { headers } = answer
  serviceClock.note(headers['date'], clock.now())
  permit.observe({
    status: answer.status,
    limit: headers['ratelimit-limit'],
    remaining: headers['ratelimit-remaining'],
    retryAfter: headers['retry-after'],
    date: headers['date'],
    rateLimit: headers['ratelimit'],
    rateLimitPolicy: headers['ratelimit-policy'],
    deprecation: headers['deprecation'],
    sunset: headers['sunset'],
  })
  return answer
}

/** How long to wait before a read that failed this way is retried, ms; null if a retry does not help. */
function waitAfter(error: unknown, failures: number): number | null {
  if (!(error instanceof ServiceFailure) || error.disposition !== 'retry') return null
  // Too long, as a rule: it would be so again.
  if (error.kind === 'distrusted' && error.status === undefined) return null
  const { retryAfterMs = 0 } = error
  if (retryAfterMs > RETRY_AFTER_MAX_MS) return null
  const longest = RETRY_WAITS_MS[Math.min(failures, RETRY_WAITS_MS.length - 1)]!
  return retryAfterMs + longest * (0.5 + Math.random() / 2)
}

/** Builds the request before waiting for a permit; if that fails, the permit that the caller passed goes back. */
async function prepared(
  { prefix, formOf }: CallDeps,
  named: NamedOperation,
  parts: CallParts,
  { signal, permit, sendBefore }: RequestOptions,
): Promise<WireRequest> {
  const { id, operation } = named
  try {
    const form = await formOf(id, signal)
    const { path, body } = buildRequest(form, parts)
    return {
      method: form.method,
      path: prefix + path,
      headers: {
        accept: 'application/json, application/problem+json',
        'accept-encoding': 'identity',
        'user-agent': 'records-sync',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body: body ?? null,
      signal: operation.writes === null ? signal : undefined,
      sendBefore,
    }
  } catch (error) {
    permit?.unused()
    throw error instanceof NoAnswer ? noAnswerFailure(named, error) : error
  }
}

/** The last moment at which an abort prevents the request. Returns the key, or null for a public operation. */
async function beforeSending(
  permit: Permit,
  signal: AbortSignal | undefined,
  keys: KeyHolder | null,
): Promise<string | null> {
  try {
    const key = keys && (await keys.current())
    signal?.throwIfAborted()
    return key
  } catch (error) {
    permit.unused()
    throw error
  }
}

const withKey = (request: WireRequest, key: string): WireRequest => ({
  ...request,
  headers: { ...request.headers, authorization: `Bearer ${key}` },
})

/** Specification section 9.5. Logged once per client. */
function deprecationWarning(logger: Logger): (answer: WireAnswer) => void {
  let said = false
  return ({ headers: { deprecation, sunset } }) => {
    if (said || (deprecation === undefined && sunset === undefined)) return
    said = true
    const shown = (text = '') => (/^[\w ,:@-]{1,60}$/.test(text) ? text : null)
    logger.warn({ deprecation: shown(deprecation), sunset: shown(sunset) }, 'service_deprecated')
  }
}
