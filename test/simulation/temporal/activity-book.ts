// The activities of a run that are open, as the server keeps them: attempts, time-outs, retries, heartbeats, cancels.

import type { ActivityOrder } from './commands.ts'
import type { Execution } from './execution.ts'
import {
  CODE,
  msOf,
  RetryState,
  RpcError,
  timeoutFailure,
  type Failure,
  type Payloads,
} from './wire.ts'

export interface OpenActivity {
  readonly order: ActivityOrder
  readonly scheduledEventId: number
  readonly scheduledAt: number
  attempt: number
  /** When this attempt was put into the queue. */
  offeredAt: number
  worker: string | null
  startedAt: number
  heartbeatAt: number
  details: Payloads | undefined
  lastFailure: Failure | undefined
  isCancelRequested: boolean
  cancelRequestedEventId: number
  nextAt: number
  lastWorker: string
  /** Those of the attempt, */
  readonly handles: { cancel(): void }[]
  /** and of all attempts. */
  deadline: { cancel(): void } | null
}

/** What a worker gets with an activity. */
export interface ActivityPaper {
  readonly order: ActivityOrder
  readonly execution: Execution
  readonly scheduledEventId: number
  readonly attempt: number
  readonly details: Payloads | undefined
  readonly scheduledAt: number
  readonly offeredAt: number
}

/** What came of an attempt. */
export type AttemptEnd =
  | { readonly kind: 'completed'; readonly result: Payloads | undefined }
  | { readonly kind: 'failed'; readonly failure: Failure; readonly details: Payloads | undefined }
  | { readonly kind: 'cancelled'; readonly details: Payloads | undefined }

/** The server's, where the workflow has none. */
const RETRY = { initial: 1_000, coefficient: 2, maximum: 100_000 }

export class ActivityBook {
  readonly #execution: Execution
  readonly open = new Map<number, OpenActivity>()
  /** Whether a command has ended one at once. */
  hasNews = false

  constructor(execution: Execution) {
    this.#execution = execution
  }

  get #host() {
    return this.#execution.host
  }

  schedule(order: ActivityOrder, scheduledEventId: number): void {
    const now = this.#execution.now
    const activity: OpenActivity = {
      order,
      scheduledEventId,
      scheduledAt: now,
      attempt: 1,
      offeredAt: now,
      worker: null,
      startedAt: 0,
      heartbeatAt: 0,
      details: undefined,
      lastFailure: undefined,
      isCancelRequested: false,
      cancelRequestedEventId: 0,
      nextAt: 0,
      lastWorker: '',
      handles: [],
      deadline: null,
    }
    this.open.set(scheduledEventId, activity)
    if (order.scheduleToCloseMs > 0)
      activity.deadline = this.#host.after(
        order.scheduleToCloseMs,
        `activity ${order.type} runs out of time`,
        () => this.#timedOut(activity, 'ScheduleToClose', RetryState.RETRY_STATE_TIMEOUT),
      )
    this.#offer(activity)
  }

  #offer(activity: OpenActivity): void {
    const { order, scheduledEventId, attempt } = activity
    activity.offeredAt = this.#execution.now
    activity.nextAt = 0
    const execution = this.#execution
    this.#host.enqueue(
      order.queue,
      { kind: 'activity', execution, scheduledEventId, attempt },
      null,
    )
    if (order.scheduleToStartMs > 0)
      this.#while(activity, order.scheduleToStartMs, `nobody begins ${order.type} in time`, () => {
        if (activity.worker === null)
          this.#timedOut(activity, 'ScheduleToStart', RetryState.RETRY_STATE_TIMEOUT)
      })
  }

  /** Does `run` after `ms` if the attempt still lasts. */
  #while(activity: OpenActivity, ms: number, what: string, run: () => void): void {
    const { attempt, scheduledEventId } = activity
    const handle = this.#host.after(ms, what, () => {
      if (this.open.get(scheduledEventId) === activity && activity.attempt === attempt) run()
    })
    activity.handles.push(handle)
  }

  isWaiting(scheduledEventId: number, attempt: number): boolean {
    const activity = this.open.get(scheduledEventId)
    return activity?.attempt === attempt && activity.worker === null
  }

  /** A worker begins an attempt; null if nobody waits for it any more. */
  start(scheduledEventId: number, attempt: number, worker: string): ActivityPaper | null {
    const activity = this.open.get(scheduledEventId)
    if (activity?.attempt !== attempt || activity.worker !== null) return null
    const { order, scheduledAt, details, offeredAt } = activity
    activity.worker = activity.lastWorker = worker
    activity.startedAt = activity.heartbeatAt = this.#execution.now
    const { startToCloseMs, heartbeatMs } = order
    if (startToCloseMs > 0)
      this.#while(activity, startToCloseMs, `${order.type} takes too long`, () =>
        this.#attemptTimedOut(activity, 'StartToClose'),
      )
    if (heartbeatMs > 0) this.#watch(activity, heartbeatMs)
    return {
      order,
      execution: this.#execution,
      scheduledEventId,
      attempt,
      details,
      scheduledAt,
      offeredAt,
    }
  }

  #watch(activity: OpenActivity, ms: number): void {
    this.#while(activity, ms, `heartbeat of ${activity.order.type} is due`, () => {
      const { heartbeatMs } = activity.order
      const left = activity.heartbeatAt + heartbeatMs - this.#execution.now
      if (left > 0) this.#watch(activity, left)
      else this.#attemptTimedOut(activity, 'Heartbeat')
    })
  }

  #requireAttempt(scheduledEventId: number, attempt: number): OpenActivity {
    const activity = this.open.get(scheduledEventId)
    if (!this.#execution.isOpen || activity?.attempt !== attempt || activity.worker === null)
      throw new RpcError(CODE.notFound, 'activity task not found, or it has timed out')
    return activity
  }

  /** @returns whether the attempt is asked to cancel @throws RpcError if it is over */
  heartbeat(scheduledEventId: number, attempt: number, details: Payloads | undefined): boolean {
    const activity = this.#requireAttempt(scheduledEventId, attempt)
    activity.heartbeatAt = this.#execution.now
    activity.details = details
    return activity.isCancelRequested
  }

  /** @throws RpcError if the attempt is over */
  end(scheduledEventId: number, attempt: number, end: AttemptEnd): void {
    const activity = this.#requireAttempt(scheduledEventId, attempt)
    switch (end.kind) {
      case 'completed':
        this.#close(activity, 'ActivityTaskCompleted', { result: end.result })
        return
      case 'cancelled':
        if (!activity.isCancelRequested)
          throw new RpcError(CODE.invalid, 'activity is not asked to cancel')
        this.#close(activity, 'ActivityTaskCanceled', {
          details: end.details,
          latestCancelRequestedEventId: activity.cancelRequestedEventId,
        })
        return
      case 'failed': {
        if (end.details !== undefined) activity.details = end.details
        const state = this.#retryOf(activity, end.failure)
        if (typeof state === 'number') {
          this.#close(activity, 'ActivityTaskFailed', { failure: end.failure, retryState: state })
        } else this.#again(activity, end.failure, state.waitMs)
      }
    }
  }

  #attemptTimedOut(activity: OpenActivity, kind: 'StartToClose' | 'Heartbeat'): void {
    const failure = timeoutFailure(kind, activity.details)
    const state = this.#retryOf(activity, failure)
    if (typeof state === 'number') this.#timedOut(activity, kind, state)
    else this.#again(activity, failure, state.waitMs)
  }

  #timedOut(
    activity: OpenActivity,
    kind: 'StartToClose' | 'ScheduleToStart' | 'ScheduleToClose' | 'Heartbeat',
    retryState: number,
  ): void {
    const failure = timeoutFailure(kind, activity.details, activity.lastFailure)
    this.#close(activity, 'ActivityTaskTimedOut', { failure, retryState })
  }

  /** How long to wait for the next attempt, or why there is none. */
  #retryOf(activity: OpenActivity, failure: Failure): { readonly waitMs: number } | number {
    const { order, attempt, scheduledAt } = activity
    const policy = order.retryPolicy
    const { applicationFailureInfo: info } = failure
    if (activity.isCancelRequested) return RetryState.RETRY_STATE_CANCEL_REQUESTED
    if (info?.nonRetryable === true) return RetryState.RETRY_STATE_NON_RETRYABLE_FAILURE
    if (policy?.nonRetryableErrorTypes?.includes(info?.type ?? ''))
      return RetryState.RETRY_STATE_NON_RETRYABLE_FAILURE
    const attemptsMax = policy?.maximumAttempts ?? 0
    if (attemptsMax > 0 && attempt >= attemptsMax)
      return RetryState.RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED
    const initial = msOf(policy?.initialInterval) || RETRY.initial
    const coefficient = policy?.backoffCoefficient || RETRY.coefficient
    const maximum = msOf(policy?.maximumInterval) || initial * RETRY.maximum
    const given = info?.nextRetryDelay == null ? null : msOf(info.nextRetryDelay)
    const waitMs = given ?? Math.min(maximum, initial * coefficient ** (attempt - 1))
    const endsAt = order.scheduleToCloseMs > 0 ? scheduledAt + order.scheduleToCloseMs : Infinity
    if (this.#execution.now + waitMs > endsAt) return RetryState.RETRY_STATE_TIMEOUT
    return { waitMs }
  }

  #again(activity: OpenActivity, failure: Failure, waitMs: number): void {
    this.#endTimers(activity)
    activity.attempt++
    activity.worker = null
    activity.lastFailure = failure
    activity.nextAt = this.#execution.now + waitMs
    const { type } = activity.order
    this.#while(activity, waitMs, `${type} is tried again, attempt ${activity.attempt}`, () =>
      this.#offer(activity),
    )
  }

  requestCancel(scheduledEventId: number, requestedEventId: number): void {
    const activity = this.open.get(scheduledEventId)
    if (activity === undefined) return
    activity.isCancelRequested = true
    activity.cancelRequestedEventId = requestedEventId
    if (activity.worker !== null) return
    // Nobody is at it.
    this.#drop(activity)
    this.hasNews = true
    this.#execution.append('ActivityTaskCanceled', {
      scheduledEventId,
      latestCancelRequestedEventId: requestedEventId,
    })
  }

  #close(
    activity: OpenActivity,
    type:
      | 'ActivityTaskCompleted'
      | 'ActivityTaskFailed'
      | 'ActivityTaskTimedOut'
      | 'ActivityTaskCanceled',
    attributes: object,
  ): void {
    const { scheduledEventId, attempt, lastFailure } = activity
    const identity = activity.lastWorker
    this.#drop(activity)
    this.#execution.record(() => {
      const isBegun = activity.worker !== null
      if (isBegun)
        this.#execution.append('ActivityTaskStarted', {
          scheduledEventId,
          identity,
          attempt,
          ...(lastFailure && { lastFailure }),
        })
      this.#execution.append(type, {
        scheduledEventId,
        ...(isBegun && { startedEventId: this.#execution.events.length }),
        identity,
        ...attributes,
      })
    }, `activity ${scheduledEventId}`)
  }

  #endTimers({ handles }: OpenActivity): void {
    for (const handle of handles.splice(0)) handle.cancel()
  }

  #drop(activity: OpenActivity): void {
    this.#endTimers(activity)
    activity.deadline?.cancel()
    this.open.delete(activity.scheduledEventId)
  }

  /** The run has ended: nobody waits for them. */
  clear(): void {
    for (const activity of this.open.values()) this.#drop(activity)
  }
}
