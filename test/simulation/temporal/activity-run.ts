// An attempt of an activity at a worker: the SDK's own class runs the function. What its native part does is done here: heartbeats are
// sent at most once an interval, their answers may ask to cancel, and an attempt that the server has given up is cancelled.

import { createRequire } from 'node:module'
import type { Client } from '@temporalio/client'
import {
  ActivityCancellationDetails,
  defaultFailureConverter,
  defaultPayloadConverter,
  noopMetricMeter,
} from '@temporalio/common'
import type { coresdk } from '@temporalio/proto'
import type { ActivityPaper, AttemptEnd } from './activity-book.ts'
import type { Server } from './server.ts'
import { CODE, payloadsOf, type Payload } from './wire.ts'

type Reason = 'CANCELLED' | 'NOT_FOUND' | 'TIMED_OUT' | 'WORKER_SHUTDOWN'
interface SdkActivity {
  run(input: {
    args: unknown[]
    headers: object
  }): Promise<coresdk.activity_result.IActivityExecutionResult>
  cancel(reason: Reason, details: ActivityCancellationDetails): void
}

const require = createRequire(import.meta.url)
const { Activity } = require('@temporalio/worker/lib/activity.js') as {
  Activity: new (...of: unknown[]) => SdkActivity
}
const { LoggerWithComposedMetadata } = require('@temporalio/common/lib/logger.js') as {
  LoggerWithComposedMetadata: { compose(logger: object, metadata: object): object }
}
const quiet = { trace() {}, debug() {}, info() {}, warn() {}, error() {}, log() {} }

export type ActivityFunction = (...args: never[]) => Promise<unknown>

/** What the outside learns of an attempt. */
export interface AttemptInfo {
  readonly worker: string
  readonly type: string
  readonly workflowId: string
  readonly runId: string
  readonly attempt: number
  readonly activityId: string
}

export interface AttemptPlace {
  readonly server: Server
  readonly worker: string
  readonly client: Client | undefined
  readonly throttleMs: number
  /** False once the worker is killed: then nothing of it reaches anybody. */
  isAlive(): boolean
  /** Does `act` now, or when the worker is no longer stopped. */
  whenMoving(act: () => void): void
  around<Result>(about: AttemptInfo, run: () => Promise<Result>): Promise<Result>
}

/** The SDK gives the server this long to say so itself. */
const LOCAL_BUFFER_MS = 5_000

export class ActivityRun {
  readonly #place: AttemptPlace
  readonly #paper: ActivityPaper
  readonly about: AttemptInfo
  readonly #activity: SdkActivity
  #isOver = false
  #isCancelled = false
  #cancelReason: Reason | null = null
  /** Heartbeat details as they were last given, and those not sent yet. */
  #last: Payload[] | null = null
  #unsent: Payload[] | null = null
  #isThrottled = false
  #beatAt: number

  constructor(place: AttemptPlace, paper: ActivityPaper, fn: ActivityFunction | undefined) {
    this.#place = place
    this.#paper = paper
    const { order, execution, attempt } = paper
    this.about = {
      worker: place.worker,
      type: order.type,
      workflowId: execution.id,
      runId: execution.runId,
      attempt,
      activityId: order.activityId,
    }
    this.#beatAt = place.server.scheduler.now()
    const missing = () =>
      Promise.reject(new Error(`Activity function ${order.type} is not registered on this Worker`))
    this.#activity = new Activity(
      infoOf(place.server.namespace, paper),
      fn ?? missing,
      {
        payloadConverter: defaultPayloadConverter,
        payloadCodecs: [],
        failureConverter: defaultFailureConverter,
      },
      {
        type: 'activity',
        namespace: place.server.namespace,
        activityId: order.activityId,
        workflowId: execution.id,
        isLocal: false,
      },
      undefined,
      (details: unknown) => this.#heartbeat(details),
      place.client,
      LoggerWithComposedMetadata.compose(quiet, {}),
      noopMetricMeter,
      [],
    )
  }

  /** Runs the function; `ended` is called when the worker has a free slot again. */
  run(ended: () => void): void {
    const { order } = this.#paper
    const args = (order.input?.payloads ?? []).map((one) =>
      defaultPayloadConverter.fromPayload(one),
    )
    this.#watch()
    const running = this.#place.around(this.about, () =>
      this.#activity.run({ args, headers: order.header }),
    )
    void running.then((result) =>
      this.#place.whenMoving(() => {
        if (!this.#place.isAlive()) return
        ended()
        this.#report(result)
      }),
    )
  }

  cancel(reason: Reason): void {
    if (this.#isOver || this.#isCancelled) return
    this.#isCancelled = true
    this.#cancelReason = reason
    const details = new ActivityCancellationDetails({
      cancelRequested: reason === 'CANCELLED',
      notFound: reason === 'NOT_FOUND' || reason === 'TIMED_OUT',
      timedOut: reason === 'TIMED_OUT',
      workerShutdown: reason === 'WORKER_SHUTDOWN',
    })
    // As one that belongs to the worker's process.
    void this.#place.around(this.about, async () => this.#activity.cancel(reason, details))
  }

  #later(ms: number, what: string, run: () => void): void {
    const { scheduler } = this.#place.server
    scheduler.at(scheduler.now() + ms, `${this.#place.worker}: ${what}`, () => {
      this.#place.whenMoving(() => {
        if (!this.#isOver && this.#place.isAlive()) run()
      })
    })
  }

  /** The worker's own time-outs. */
  #watch(): void {
    const { startToCloseMs, heartbeatMs, type } = this.#paper.order
    const { scheduler } = this.#place.server
    if (startToCloseMs > 0)
      this.#later(startToCloseMs + LOCAL_BUFFER_MS, `${type} is given up`, () =>
        this.cancel('TIMED_OUT'),
      )
    const watch = (ms: number) =>
      this.#later(ms, `heartbeat of ${type} is looked for`, () => {
        const left = this.#beatAt + heartbeatMs + LOCAL_BUFFER_MS - scheduler.now()
        if (left > 0) watch(left)
        else this.cancel('TIMED_OUT')
      })
    if (heartbeatMs > 0) watch(heartbeatMs + LOCAL_BUFFER_MS)
  }

  #heartbeat(details: unknown): void {
    if (this.#isOver) return
    const payload = defaultPayloadConverter.toPayload(details)
    this.#last = payload === undefined ? [] : [payload]
    if (this.#isThrottled) this.#unsent = this.#last
    else {
      this.#isThrottled = true
      this.#send(this.#last)
    }
  }

  #send(details: Payload[], then: () => void = () => {}): void {
    const { server, worker, throttleMs } = this.#place
    const { execution, scheduledEventId, attempt, order } = this.#paper
    const sentAt = server.scheduler.now()
    server.call(
      worker,
      `heartbeat of ${order.type}`,
      () =>
        server
          .require(execution.id, execution.runId)
          .activities.heartbeat(scheduledEventId, attempt, payloadsOf(details)),
      {
        isAlive: () => !this.#isOver && this.#place.isAlive(),
        done: (reply) =>
          this.#place.whenMoving(() => {
            if ('error' in reply) {
              if (reply.error.code === CODE.notFound) this.cancel('NOT_FOUND')
            } else if (reply.answer) this.cancel('CANCELLED')
            this.#beatAt = server.scheduler.now()
            then()
            const limit = order.heartbeatMs > 0 ? order.heartbeatMs * 0.8 : throttleMs
            const waitMs = sentAt + Math.min(limit, throttleMs) - server.scheduler.now()
            this.#later(Math.max(0, waitMs), `heartbeat of ${order.type} may be sent`, () => {
              const unsent = this.#unsent
              this.#unsent = null
              if (unsent === null) this.#isThrottled = false
              else this.#send(unsent)
            })
          }),
      },
    )
  }

  #report(result: coresdk.activity_result.IActivityExecutionResult): void {
    if (this.#isOver) return
    const isKnownGone = this.#cancelReason === 'NOT_FOUND' || this.#cancelReason === 'TIMED_OUT'
    if (isKnownGone) {
      this.#isOver = true
      return
    }
    const end = this.#endOf(result)
    const unsent = this.#unsent
    // The answer to a cancel has no room for heartbeat details.
    if (end.kind === 'cancelled' && unsent !== null) {
      this.#unsent = null
      this.#send(unsent, () => this.#finish(end))
    } else this.#finish(end)
  }

  #finish(end: AttemptEnd): void {
    if (this.#isOver) return
    this.#isOver = true
    const { server, worker, isAlive } = this.#place
    const { execution, scheduledEventId, attempt, order } = this.#paper
    server.call(
      worker,
      `${order.type} has ${end.kind}`,
      () =>
        server
          .require(execution.id, execution.runId)
          .activities.end(scheduledEventId, attempt, end),
      // Refused: it was given up before.
      { isAlive, done: () => {} },
    )
  }

  #endOf({
    completed,
    failed,
    cancelled,
  }: coresdk.activity_result.IActivityExecutionResult): AttemptEnd {
    const details = this.#last === null ? undefined : payloadsOf(this.#last)
    if (completed)
      return { kind: 'completed', result: payloadsOf(completed.result ? [completed.result] : []) }
    if (cancelled && this.#cancelReason === 'WORKER_SHUTDOWN')
      return {
        kind: 'failed',
        failure: {
          message: 'Worker is shutting down and this activity did not complete in time',
          applicationFailureInfo: { type: 'WorkerShutdown', nonRetryable: false },
        },
        details,
      }
    if (cancelled)
      return {
        kind: 'cancelled',
        details: cancelled.failure?.canceledFailureInfo?.details ?? undefined,
      }
    return { kind: 'failed', failure: failed?.failure ?? {}, details }
  }
}

function infoOf(namespace: string, paper: ActivityPaper): object {
  const { order, execution, attempt, details, scheduledAt, offeredAt, scheduledEventId } = paper
  const token = Buffer.from(`${execution.runId}/${scheduledEventId}/${attempt}`)
  const [first] = details?.payloads ?? []
  return {
    attempt,
    taskQueue: order.queue,
    isLocal: false,
    taskToken: token,
    base64TaskToken: token.toString('base64'),
    activityId: order.activityId,
    activityType: order.type,
    workflowType: execution.order.type,
    heartbeatTimeoutMs: order.heartbeatMs || undefined,
    heartbeatDetails: first && defaultPayloadConverter.fromPayload(first),
    activityNamespace: namespace,
    workflowNamespace: namespace,
    namespace,
    workflowExecution: { workflowId: execution.id, runId: execution.runId },
    scheduledTimestampMs: scheduledAt,
    currentAttemptScheduledTimestampMs: offeredAt,
    startToCloseTimeoutMs: order.startToCloseMs,
    scheduleToCloseTimeoutMs: order.scheduleToCloseMs,
    inWorkflow: true,
  }
}
