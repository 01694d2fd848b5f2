// The border of an activity: it runs the body once, turns any error into a Temporal failure, and records a block in the run.

import { Context } from '@temporalio/activity'
import { ApplicationFailure } from '@temporalio/common'
import type { Blocked } from '../src/core/errors.ts'
import { toApplicationFailure } from './failure.ts'
import type { RunStates } from './run-states.ts'
import type { SharedDeps } from './deps.ts'

/** How long a blocked run waits before it asks again, ms, by what blocks it. */
interface Probes {
  readonly service_probe_ms: number
  readonly blocked_probe_ms: number
}

/** What the body of an activity gets. */
export interface ActivityScope {
  readonly signal: AbortSignal
  /** Reports that the work moves; `details` are shown next to the activity. */
  beat(details?: object): void
}

/**
 * Runs the body of an activity.
 * @param run in which a block is recorded
 * @param noteFinal called before a failure is thrown that no retry mends
 */
export type Activity = <Result>(
  run: number | null,
  probes: Probes,
  body: (scope: ActivityScope) => Promise<Result>,
  noteFinal?: (failure: ApplicationFailure) => Promise<void>,
) => Promise<Result>

export function createBorder(deps: SharedDeps, { setState }: RunStates): Activity {
  const { logger } = deps
  const noteBlock = async (run: number | null, { reason, message }: Blocked): Promise<void> => {
    // A ledger that is full, unreachable or damaged cannot take the note: then the log has it.
    const isNoted =
      run !== null &&
      (await setState(run, 'blocked', reason, message).then(
        () => true,
        () => false,
      ))
    if (!isNoted) logger.warn({ run, reason, message }, 'work_blocked')
  }

  return async (run, probes, body, noteFinal) => {
    // Taken before any await: an abort listener may not touch the context.
    const context = Context.current()
    const signal = context.cancellationSignal
    const failureOf = async (error: unknown): Promise<unknown> => {
      // An AbortError that escapes would hang the activity until its heartbeat times out.
      if (signal.aborted) return signal.reason
      if (error instanceof ApplicationFailure) return error
      const { failure, blocked } = toApplicationFailure((await deps.placed?.(error)) ?? error, {
        attempt: context.info.attempt,
        serviceProbeMs: probes.service_probe_ms,
        blockedProbeMs: probes.blocked_probe_ms,
        logger,
      })
      if (blocked) await noteBlock(run, blocked)
      return failure
    }
    try {
      return await body({ signal, beat: (details) => context.heartbeat(details) })
    } catch (error) {
      const failure = await failureOf(error)
      if (noteFinal && isFinal(failure))
        await noteFinal(failure).catch(async (unnoted: unknown) => {
          throw await failureOf(unnoted)
        })
      throw failure
    }
  }
}

/** Whether no retry mends it. A worker that lost its fence has not failed: another worker continues. */
function isFinal(failure: unknown): failure is ApplicationFailure {
  return (
    failure instanceof ApplicationFailure &&
    failure.nonRetryable === true &&
    failure.type !== 'FenceLost'
  )
}
