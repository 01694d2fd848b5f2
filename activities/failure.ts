// The one place where errors become Temporal failures. What crosses it is stored in history and shown in plain text:
// our own messages, codes and counts; never a foreign message, a value, a key, or a stack (stacks hold paths).

import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common'
import {
  AlreadyRunning,
  Blocked,
  ConfigError,
  FenceLost,
  LedgerError,
  MappingError,
  NotYet,
  QuotaWait,
  ServiceFailure,
  SourceError,
  StillInFlight,
  SyncError,
} from '../src/core/errors.ts'
import { tooManyOpenFiles } from '../src/core/open-files.ts'
import type { Logger } from '../src/core/ports.ts'

const ledgerRetryMs = 10_000
const unknownAttemptsMax = 10

/** What a failure means for its run, besides the failure itself. */
export interface ActivityFailure {
  readonly failure: ApplicationFailure
  /** Set if the run waits until a person mends something. */
  readonly blocked: Blocked | null
}

/** Without a stack: stacks hold paths of the machine. */
function made(
  options: Parameters<typeof ApplicationFailure.create>[0],
  blocked: Blocked | null = null,
): ActivityFailure {
  const failure = ApplicationFailure.create(options)
  failure.stack = ''
  return { failure, blocked }
}

/** One that no retry mends. */
export const final = (type: string, message: string, details: unknown[] = []) =>
  made({ type, message, nonRetryable: true, details })

/** A wait: it costs no attempt and is no reason for alarm, so it is BENIGN. */
const later = (type: string, message: string, delayMs: number, blocked: Blocked | null = null) =>
  made(
    {
      type,
      message,
      nextRetryDelay: Math.max(1, Math.ceil(delayMs)),
      category: ApplicationFailureCategory.BENIGN,
    },
    blocked,
  )

const blockedBy = (blocked: Blocked) =>
  later('Blocked', blocked.message, blocked.retryAfterMs, blocked)

/** Tried again for a while. */
const again = (type: string, message: string, attempt: number) =>
  made({ type, message, nonRetryable: attempt >= unknownAttemptsMax })

/** Turns any error of an activity into the failure that may be stored. */
export function toApplicationFailure(
  error: unknown,
  context: { attempt: number; serviceProbeMs: number; blockedProbeMs: number; logger: Logger },
): ActivityFailure {
  if (error instanceof QuotaWait) return later('QuotaWait', error.message, error.retryAfterMs)
  if (error instanceof NotYet) return later('NotYet', error.message, error.retryAfterMs)
  if (error instanceof StillInFlight)
    return later('StillUnderWay', error.message, error.retryAfterMs)
  if (error instanceof Blocked) return blockedBy(error)
  if (error instanceof ServiceFailure) {
    const wait = error.block === 'service' ? context.serviceProbeMs : context.blockedProbeMs
    return blockedBy(new Blocked(error.block, error.message, error.retryAfterMs ?? wait))
  }
  if (error instanceof LedgerError)
    return blockedBy(new Blocked(error.reason, error.message, ledgerRetryMs))
  if (error instanceof AlreadyRunning)
    return final('AlreadyRunning', error.message, [error.details])
  if (error instanceof ConfigError) return final('ConfigInvalid', error.message)
  if (error instanceof MappingError) return final('MappingInvalid', error.message, [error.problems])
  if (error instanceof SourceError) return final('SourceInvalid', error.message, [error.details])
  if (error instanceof FenceLost) return final('FenceLost', error.message, [error.details])
  const full = tooManyOpenFiles(error)
  if (full) return again('TooManyOpenFiles', full.message, context.attempt)
  if (error instanceof SyncError) return final('SyncFailed', error.message, [{ code: error.code }])
  const name = error instanceof Error ? error.name : typeof error
  const frames =
    error instanceof Error
      ? (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
      : []
  context.logger.error({ name, frames }, 'activity_failed_unexpectedly')
  const message = `An unexpected ${name} stopped the work; the worker log has the place`
  return again('InternalError', message, context.attempt)
}
