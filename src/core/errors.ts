// The errors of records-sync. Each says what is wrong, where, and what was expected, and carries a stable code.
// Promise kept here: a message of ours never holds a key, a record or a foreign library's text.

import { copyDatabaseMessage } from './database-message.ts'

/** What a failure means for the work: try again, refuse this item, or stop the run. */
export type Disposition = 'retry' | 'reject' | 'halt'

/** Why a run cannot go on; a person can act on each reason (design section 4). */
export const BLOCK_REASONS = [
  'auth',
  'permission',
  'contract',
  'service',
  'ledger',
  'warehouse',
  'disk',
  'approval',
] as const
export type BlockReason = (typeof BLOCK_REASONS)[number]

/** Base of every error that records-sync throws on purpose. `code` is stable; `details` holds no secrets and no values. */
export class SyncError extends Error {
  readonly code: string
  readonly details: Readonly<Record<string, string | number | boolean | null>>
  constructor(code: string, message: string, details: SyncError['details'] = {}) {
    super(message)
    this.name = new.target.name
    this.code = code
    this.details = details
  }
}

/** One thing that is wrong in a configuration or an input, with its place. */
export interface Issue {
  /** What is wrong and what was expected, in one line. */
  readonly message: string
  /** Path of the setting, such as `syncs.contacts.import.to`. */
  readonly path?: string
  readonly line?: number
  readonly column?: number
}

/** A configuration that cannot be used. Exit code 2. */
export class ConfigError extends SyncError {
  readonly file: string
  readonly issues: readonly Issue[]
  /** @param problem what is wrong, as a text; or several issues, each with its place in the file */
  constructor(file: string, problem: string | readonly Issue[]) {
    const issues = typeof problem === 'string' ? [{ message: problem }] : problem
    super('config_invalid', issues.map((issue) => formatIssue(file, issue)).join('\n'))
    this.file = file
    this.issues = issues
  }
}

/** `file:line:column: message` */
export function formatIssue(file: string, issue: Issue): string {
  const place = issue.line === undefined ? file : `${file}:${issue.line}:${issue.column ?? 1}`
  return `${place}: ${issue.message}`
}

/** A source that cannot be read to its end. None of its rows is written. */
export class SourceError extends SyncError {
  /** The problem's place: 1-based line of the file and 1-based column of the row, if known. */
  readonly line: number | undefined
  readonly column: number | undefined
  /** The sync whose source it is, by which its place in the configuration is found; null: not known. */
  readonly sync: string | null
  constructor(
    code: string,
    message: string,
    place: { line?: number; column?: number } = {},
    sync: string | null = null,
  ) {
    super(code, message, {
      ...(place.line === undefined ? {} : { line: place.line }),
      ...(place.column === undefined ? {} : { column: place.column }),
    })
    this.line = place.line
    this.column = place.column
    this.sync = sync
  }

  /** The same error, of the source of a sync; `message`: where its place is known by now. */
  of(sync: string | null, message = this.message): SourceError {
    const { code, line, column } = this
    const place = { ...(line !== undefined && { line }), ...(column !== undefined && { column }) }
    return copyDatabaseMessage(new SourceError(code, message, place, sync), this)
  }
}

/** One thing that is wrong in a sync and that only the service, or the source, could find. */
export interface MappingProblem {
  readonly message: string
  /** Path of the setting within the import or the mirror, such as `properties`, `svc_email`, `column`; for a list, its entry. */
  readonly path: readonly string[]
  /** Which part of the setting it is about. Default: the value. */
  readonly at?: 'key'
}

/** A problem as its error shows it, such as with its place in the configuration. */
type ShownProblem = (problem: MappingProblem) => string

class SyncInvalid<Sync extends string | null> extends SyncError {
  readonly sync: Sync
  readonly problems: readonly string[]
  readonly found: readonly MappingProblem[]
  constructor(
    code: string,
    subject: string,
    sync: Sync,
    found: readonly MappingProblem[],
    shown: ShownProblem = ({ message }) => message,
  ) {
    const problems = found.map(shown)
    super(code, `${subject}: ${problems.join('; ')}`)
    this.sync = sync
    this.found = found
    this.problems = problems
  }
}

/** A mapping that the object type's schema does not allow. Nothing is written. `sync`: null if only the object type is known. */
export class MappingError extends SyncInvalid<string | null> {
  constructor(sync: string | null, found: readonly MappingProblem[], shown?: ShownProblem) {
    const subject = sync === null ? 'Mapping' : `Mapping of sync "${sync}"`
    super('mapping_invalid', subject, sync, found, shown)
  }
}

/** A mirror whose settings the service does not allow. */
export class MirrorInvalid extends SyncInvalid<string> {
  constructor(sync: string, found: readonly MappingProblem[], shown?: ShownProblem) {
    super('mirror_invalid', `Sync "${sync}"`, sync, found, shown)
  }
}

/** Another run of the same sync is live. */
export class AlreadyRunning extends SyncError {
  readonly runId: number
  constructor(sync: string, runId: number, workflowId: string) {
    const message = `Sync "${sync}" is already running: run ${runId} (workflow ${workflowId})`
    super('already_running', message, { run: runId })
    this.runId = runId
  }
}

/** The run cannot go on until `reason` is resolved, by a person or by itself; the run tries again after `retryAfterMs`. */
export class Blocked extends SyncError {
  readonly reason: BlockReason
  readonly retryAfterMs: number
  constructor(reason: BlockReason, message: string, retryAfterMs: number) {
    super(`blocked_${reason}`, `blocked: ${reason}: ${message}`, { reason })
    this.reason = reason
    this.retryAfterMs = retryAfterMs
  }
}

/** Requests of a run that has ended may still be in flight. Nothing is wrong; no attempt is used up. */
export class StillInFlight extends SyncError {
  readonly retryAfterMs: number
  constructor(run: number, retryAfterMs: number) {
    const seconds = Math.ceil(retryAfterMs / 1_000)
    super(
      'still_under_way',
      `Run ${run} has ended, and its last requests may still be sent; this goes on in ${seconds} s`,
      { run },
    )
    this.retryAfterMs = retryAfterMs
  }
}

/** What is waited for has not come yet. Nothing is wrong; no attempt is used up. */
export class NotYet extends SyncError {
  readonly retryAfterMs: number
  /** @param what what is so still: `run 12 of contacts is running` */
  constructor(what: string, retryAfterMs: number) {
    super('not_yet', `Waiting: ${what}`)
    this.retryAfterMs = retryAfterMs
  }
}

/** The quota asks for a wait that is too long for an activity. Waiting is normal; no attempt is used up. */
export class QuotaWait extends SyncError {
  readonly retryAfterMs: number
  constructor(retryAfterMs: number) {
    super(
      'quota_wait',
      `The service asks to wait ${Math.ceil(retryAfterMs / 1000)} s; waiting is normal and costs no attempt`,
    )
    this.retryAfterMs = retryAfterMs
  }
}

/** Another activity has taken over this segment, or stream; code that gets this error must stop and settle nothing more. */
export class FenceLost extends SyncError {
  /** @param part first ordinal of a segment, or name of a stream; a stream's fence need not know its run */
  constructor(run: number | null, part: number | string) {
    super(
      'fence_lost',
      typeof part === 'string'
        ? `Stream ${part} was taken over by another worker`
        : `Run ${run}: segment ${part} was taken over by another worker`,
      { run, [typeof part === 'string' ? 'stream' : 'segment']: part },
    )
  }
}

/** The ledger cannot be used: locked, full, read-only, of an unknown version, or corrupt. */
export class LedgerError extends SyncError {
  /** `ledger` or `disk`: what a person has to repair. */
  readonly reason: 'ledger' | 'disk'
  constructor(code: string, message: string, reason: 'ledger' | 'disk' = 'ledger') {
    super(code, message)
    this.reason = reason
  }
}

/** Where a field-level complaint points: an RFC 6901 pointer into the request body, and its reason. */
export interface FieldFault {
  readonly field: string
  readonly reason: string | null
  readonly detail: string
}

/**
 * A request that did not succeed.
 * - `problem`: the service's own answer, RFC 9457 (specification section 2.12).
 * - `no_answer`: nothing came back: refused, reset, timed out.
 * - `distrusted`: something came back that is not the service's own answer (HTML, torn body, wrong indexes); it is never trusted.
 */
export class ServiceFailure extends SyncError {
  readonly kind: 'problem' | 'no_answer' | 'distrusted'
  readonly disposition: Disposition
  /** What blocks a run when the disposition is `halt`, or `retry` for too long. */
  readonly block: BlockReason
  /** The request may have been carried out although no trustworthy answer came. */
  readonly outcomeUnknown: boolean
  readonly status: number | undefined
  readonly problemCode: string | undefined
  readonly reason: string | undefined
  readonly field: string | undefined
  readonly errors: readonly FieldFault[]
  /** The object type that the request was about; none of a failure that is about the service, the key or the org. */
  readonly objectType: string | undefined
  /** Of an answer for a record's id that leads to another record, as after a merge: the id of that one. */
  readonly otherId: string | undefined
  /** Whether a page of fewer records may be answered: it was too long, torn, late, or failed at the service. */
  readonly mayBeSize: boolean
  readonly requestId: string | undefined
  /** From `Retry-After`, on 429 and 503. */
  readonly retryAfterMs: number | undefined
  /** Whether the request may have reached the service after the time by which it had to be sent. */
  readonly leftLate: boolean
  /** The service's own words: may quote values, so it goes to the ledger and nowhere else. */
  readonly detail: string | undefined
  /** Whether the message says what to do. */
  readonly isExplained: boolean
  constructor(
    message: string,
    facts: Pick<ServiceFailure, 'kind' | 'disposition' | 'block' | 'outcomeUnknown'> &
      Partial<Omit<ServiceFailure, keyof SyncError>>,
  ) {
    super(`service_${facts.kind}`, message, {
      status: facts.status ?? null,
      code: facts.problemCode ?? null,
      reason: facts.reason ?? null,
      request_id: facts.requestId ?? null,
    })
    this.kind = facts.kind
    this.disposition = facts.disposition
    this.block = facts.block
    this.outcomeUnknown = facts.outcomeUnknown
    this.status = facts.status
    this.problemCode = facts.problemCode
    this.reason = facts.reason
    this.field = facts.field
    this.errors = facts.errors ?? []
    this.objectType = facts.objectType
    this.otherId = facts.otherId
    this.mayBeSize = facts.mayBeSize ?? false
    this.requestId = facts.requestId
    this.retryAfterMs = facts.retryAfterMs
    this.leftLate = facts.leftLate ?? false
    this.detail = facts.detail
    this.isExplained = facts.isExplained ?? false
  }
}

/** Whether nothing was sent because the key cannot be read, or cannot be used. */
export const isOfKey = (error: unknown): boolean =>
  error instanceof ServiceFailure && error.kind === 'no_answer' && error.block === 'auth'

/** Whether the service itself says that what was asked for is not there: specification section 7 leaves the status of it open. */
export const isNotFound = (error: unknown): error is ServiceFailure =>
  error instanceof ServiceFailure &&
  error.kind === 'problem' &&
  (error.status === 404 || error.status === 410 || error.problemCode === 'not_found')

/** Whether a read of a record shows that its id is one of a record no more: it is not there, or the answer leads to another. */
export const isGone = (error: unknown): error is ServiceFailure =>
  isNotFound(error) || (error instanceof ServiceFailure && error.otherId !== undefined)

/**
 * A request that was not sent, because it waited for too long: what it would write may be out of date by now. It was certainly
 * not carried out.
 */
export class SendDeadlinePassed extends ServiceFailure {}

/** The service was not asked, because the file of the CA that it is checked against cannot be used. */
export class CaUnusable extends ServiceFailure {
  constructor(message: string) {
    super(message, {
      kind: 'no_answer',
      disposition: 'halt',
      block: 'service',
      outcomeUnknown: false,
      isExplained: true,
    })
  }
}

/** No Temporal server answers at the address where one is expected. */
export class TemporalUnreachable extends SyncError {
  readonly address: string
  /** Such as `the host name of HOST:PORT does not resolve`; null: nothing listens there. */
  readonly why: string | null
  /** @param offer a command that needs no server */
  constructor(address: string, why: string | null = null, offer?: string) {
    const what = why === null ? '' : `: ${why}`
    const mend =
      why === null
        ? 'Start one with "records-sync dev", or set TEMPORAL_ADDRESS'
        : 'Correct TEMPORAL_ADDRESS, or `temporal.address`, or the network of this machine'
    super(
      'temporal_unreachable',
      `No Temporal server answers at ${address}${what}. ${mend}${inThisTerminal(offer)}`,
    )
    this.address = address
    this.why = why
  }
}

/** The end of a sentence on what is not there: the command that does without it, if there is one. */
export const inThisTerminal = (offer: string | undefined): string =>
  offer === undefined ? '' : `; or do it in this terminal alone: "${offer}"`
