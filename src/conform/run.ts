// A run of the kit: find out where everything is, check rule after rule, remove what was created, check all answers. Promises
// kept here: without a type to write to, no request is sent that could change a record; however a run ends, what it created is
// removed, or named.

import { randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { SyncError } from '../core/errors.ts'
import type { Clock } from '../core/ports.ts'
import { BASE_PATH } from '../contract/index.ts'
import { parseBaseUrl } from '../client/address.ts'
import { ScratchRecords } from './scratch-records.ts'
import { RuleContext } from './rule-context.ts'
import { documentedRoutes } from './routes.ts'
import { RULE_PHASES, ruleVerdict, type RulePhase } from './rule.ts'
import { Unchecked, ruleSection, type RuleVerdict } from './verdict.ts'
import { RULES } from './rules/index.ts'
import { createWire } from './wire.ts'

export interface ConformOptions {
  /** The base URL, which ends before `/rest/v1`. */
  readonly service: string
  readonly key: string
  /** Another key of the same org, with fewer grants. */
  readonly otherKey?: string | undefined
  /** Object types in which scratch records may be created. */
  readonly write?: readonly string[]
  /** Whether the key may be sent in a query string. Default: only to this machine. */
  readonly keyInQuery?: boolean
  /** Default 1,000. Removing scratch records may exceed it. */
  readonly requestsMax?: number
  /** Milliseconds that may be spent waiting for the quota. Default 20 minutes. */
  readonly waitMaxMs?: number
  /** Milliseconds for one request. Default 30 s. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
  readonly clock?: Clock
  readonly progress?: (state: ConformProgress) => void
}

export interface ConformProgress {
  readonly done: number
  readonly total: number
  readonly requests: number
  readonly text: string
}

export interface RuleResult {
  readonly id: string
  readonly section: string
  readonly text: string
  readonly verdict: RuleVerdict
}

export interface Leftover {
  readonly object_type: string
  /** Ids of scratch records that could not be removed. */
  readonly ids: readonly string[]
  /** Why it is not certain that nothing else is left, or null. */
  readonly unsure: string | null
}

export interface ConformReport {
  readonly service: string
  /** Object types that were written to. */
  readonly write: readonly string[]
  readonly rules: readonly RuleResult[]
  readonly requests: number
  readonly requestsMax: number
  /** Milliseconds spent waiting for the quota. */
  readonly waitedMs: number
  readonly interrupted: boolean
  /** The text that marks every scratch record, or null if none was created. */
  readonly marker: string | null
  readonly removed: number
  readonly leftovers: readonly Leftover[]
  /** Types of `write` in which no scratch record could be created, so that their rules were not checked. */
  readonly unprepared: readonly { readonly object_type: string; readonly why: string }[]
}

const REQUESTS_MAX = 1_000
const WAIT_MAX_MS = 20 * 60_000
const TIMEOUT_MS = 30_000
/** How long removing scratch records may take. */
const CLEAR_MAX_MS = 2 * 60_000

/**
 * Checks which rules of the specification a service keeps.
 * @throws SyncError `base_url_invalid`; `conform_unreachable` if the service does not answer; `conform_key` if it refuses the
 * key; `conform_write` if a type to write to does not exist
 */
export async function runConformance(options: ConformOptions): Promise<ConformReport> {
  const address = parseBaseUrl(options.service)
  const { requestsMax = REQUESTS_MAX, write = [], signal = new AbortController().signal } = options
  // Every request listens to it.
  setMaxListeners(0, signal)
  const wire = createWire({
    origin: address.origin,
    key: options.key,
    otherKey: options.otherKey ?? null,
    requestsMax,
    waitMaxMs: options.waitMaxMs ?? WAIT_MAX_MS,
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    ...(options.clock ? { clock: options.clock } : {}),
  })
  const settings = {
    address,
    key: options.key,
    wire,
    signal,
    hasOtherKey: options.otherKey !== undefined,
    keyInQuery: options.keyInQuery ?? address.origin.startsWith('http:'),
  }
  try {
    const scout = new RuleContext({ ...settings, routes: documentedRoutes(undefined, address) })
    const document = await reached(scout)
    const kit = new RuleContext({ ...settings, routes: documentedRoutes(document, address) })
    await checkTypes(kit, write)
    const marker = `conform-${randomBytes(4).toString('hex')}`
    for (const type of write) kit.benches.push(new ScratchRecords(kit, type, marker))
    const { verdicts, ...ending } = await checkRules(kit, options.progress)
    return {
      service: address.origin + address.prefix,
      write,
      rules: RULES.map(({ id, text }) => ({
        id,
        section: ruleSection(id),
        text,
        verdict: verdicts.get(id) ?? { kind: 'unchecked', why: 'the run was stopped before' },
      })),
      requests: wire.exchanges.length,
      requestsMax,
      waitedMs: wire.waitedMs,
      marker: write.length > 0 ? marker : null,
      ...ending,
      unprepared: kit.benches.flatMap(({ typeName, failure }) =>
        failure === null ? [] : [{ object_type: typeName, why: failure }],
      ),
    }
  } finally {
    await wire.close()
  }
}

/** Checks every rule, and removes what was created before the answers are judged, also after an interruption. */
async function checkRules(kit: RuleContext, progress: ConformOptions['progress']) {
  const { signal } = kit
  const verdicts = new Map<string, RuleVerdict>()
  const check = async (phase: RulePhase) => {
    for (const rule of RULES.filter((each) => each.phase === phase)) {
      const state = { done: verdicts.size, total: RULES.length, requests: kit.exchanges.length }
      progress?.({ ...state, text: rule.text })
      verdicts.set(rule.id, await ruleVerdict(rule, kit))
    }
  }
  let interrupted = false
  let cleared: Cleared = { removed: 0, leftovers: [] }
  try {
    for (const bench of kit.benches) await bench.prepare()
    for (const phase of RULE_PHASES.filter((each) => each !== 'answers')) await check(phase)
  } catch (error) {
    if (!signal.aborted) throw error
    interrupted = true
  } finally {
    cleared = await clear(kit)
  }
  await check('answers')
  return { verdicts, interrupted, ...cleared }
}

/** Checks that the service answers and accepts the key; returns its OpenAPI document, or undefined. @throws SyncError */
async function reached(kit: RuleContext): Promise<unknown> {
  const { origin, prefix } = kit.options.address
  const place = origin + prefix + BASE_PATH
  try {
    const { json } = await kit.call({ operation: 'readOpenApi' })
    const self = await kit.call({ operation: 'readSelf' })
    if (self.status === 401) {
      const message = `${place}/self/ answers 401: the service does not accept the key`
      throw new SyncError('conform_key', message)
    }
    return json
  } catch (error) {
    if (!(error instanceof Unchecked)) throw error
    throw new SyncError('conform_unreachable', `${place}: ${error.message}`)
  }
}

/** @throws SyncError for a type to write to that the key does not see or that does not accept what is needed */
async function checkTypes(kit: RuleContext, write: readonly string[]): Promise<void> {
  if (write.length === 0) return
  const summaries = await kit.probe.summaries().catch((error: unknown) => {
    if (!(error instanceof Unchecked)) throw error
    throw new SyncError('conform_write', `--write: ${error.message}`)
  })
  for (const name of write) {
    const type = summaries.find((each) => each.name === name)
    const missing = ['create', 'update', 'delete'].filter((each) => !type?.writable.includes(each))
    if (type && missing.length === 0) continue
    const fit = summaries
      .filter(({ writable }) =>
        ['create', 'update', 'delete'].every((each) => writable.includes(each)),
      )
      .map((each) => each.name)
    const why = type
      ? `${name} does not accept ${missing.join(', ')}`
      : 'the key sees no such object type'
    throw new SyncError(
      'conform_write',
      `--write: ${why}; expected one of ${fit.join(', ') || 'none'}`,
    )
  }
}

type Cleared = Pick<ConformReport, 'removed' | 'leftovers'>

/** Removes what was created, also after an interruption: it has its own time limit. */
async function clear(kit: RuleContext): Promise<Cleared> {
  kit.signal = AbortSignal.timeout(CLEAR_MAX_MS)
  setMaxListeners(0, kit.signal)
  let removed = 0
  const leftovers: Leftover[] = []
  for (const bench of kit.benches) {
    const cleared = await bench.clear()
    removed += cleared.removed
    if (cleared.left.length > 0 || cleared.unsure !== null) {
      const { left: ids, unsure } = cleared
      leftovers.push({ object_type: bench.typeName, ids, unsure })
    }
  }
  for (const { objectType, id } of kit.unexpected) {
    if (await kit.remove(objectType, id)) removed += 1
    else leftovers.push({ object_type: objectType, ids: [id], unsure: null })
  }
  return { removed, leftovers }
}
