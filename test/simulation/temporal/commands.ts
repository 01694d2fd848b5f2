// What a worker decides in a workflow task, in the order in which it becomes events.

import type { Attributes, UpdateRequest } from './history.ts'
import type { Failure, Metadata, Payload, PayloadMap, Payloads, RetryPolicy } from './wire.ts'

interface Described {
  readonly userMetadata?: Metadata | undefined
}

export interface ActivityOrder extends Described {
  readonly kind: 'scheduleActivity'
  readonly seq: number
  readonly activityId: string
  readonly type: string
  readonly queue: string
  readonly input: Payloads | undefined
  readonly header: PayloadMap
  readonly scheduleToCloseMs: number
  readonly scheduleToStartMs: number
  readonly startToCloseMs: number
  readonly heartbeatMs: number
  readonly retryPolicy: RetryPolicy | null
}

export interface ChildOrder extends Described {
  readonly kind: 'startChild'
  readonly seq: number
  readonly workflowId: string
  readonly type: string
  readonly queue: string
  readonly input: Payloads | undefined
  readonly memo: PayloadMap
  readonly searchAttributes: PayloadMap
  /** 1 terminate, 2 abandon, 3 request cancel. */
  readonly parentClosePolicy: number
  readonly reusePolicy: number
  readonly executionTimeoutMs: number
  readonly runTimeoutMs: number
  readonly taskTimeoutMs: number
}

export interface NextRun {
  readonly kind: 'continueAsNew'
  readonly type: string
  readonly queue: string
  readonly input: Payloads | undefined
  readonly memo: PayloadMap
  readonly searchAttributes: PayloadMap | null
  readonly runTimeoutMs: number
  readonly taskTimeoutMs: number
  readonly backoffMs: number
}

export type Ending =
  | { readonly kind: 'complete'; readonly result: Payload | null }
  | { readonly kind: 'fail'; readonly failure: Failure }
  | { readonly kind: 'cancel' }
  | NextRun

export type Command =
  | ActivityOrder
  | { readonly kind: 'cancelActivity'; readonly scheduledEventId: number }
  | ({
      readonly kind: 'startTimer'
      readonly seq: number
      readonly timerId: string
      readonly ms: number
    } & Described)
  | { readonly kind: 'cancelTimer'; readonly timerId: string }
  | ChildOrder
  | {
      readonly kind: 'cancelExternal'
      readonly seq: number
      readonly workflowId: string
      readonly runId: string
      readonly isChild: boolean
      readonly reason: string
    }
  | {
      readonly kind: 'signalExternal'
      readonly seq: number
      readonly workflowId: string
      readonly runId: string
      readonly isChild: boolean
      readonly signalName: string
      readonly input: Payloads | undefined
      readonly header: PayloadMap
    }
  | { readonly kind: 'marker'; readonly patchId: string; readonly deprecated: boolean }
  | { readonly kind: 'searchAttributes'; readonly fields: PayloadMap }
  | { readonly kind: 'memo'; readonly fields: PayloadMap }
  | { readonly kind: 'updateAccepted'; readonly updateId: string; readonly request: UpdateRequest }
  | { readonly kind: 'updateRejected'; readonly updateId: string; readonly failure: Failure }
  | {
      readonly kind: 'updateCompleted'
      readonly updateId: string
      readonly outcome: { readonly success: Payloads } | { readonly failure: Failure }
    }
  | Ending

export const isEnding = (command: Command): command is Ending =>
  command.kind === 'complete' ||
  command.kind === 'fail' ||
  command.kind === 'cancel' ||
  command.kind === 'continueAsNew'

/** The type of the event that a command makes; null for one that makes none. */
export const EVENT_OF = {
  scheduleActivity: 'ActivityTaskScheduled',
  cancelActivity: 'ActivityTaskCancelRequested',
  startTimer: 'TimerStarted',
  cancelTimer: 'TimerCanceled',
  startChild: 'StartChildWorkflowExecutionInitiated',
  cancelExternal: 'RequestCancelExternalWorkflowExecutionInitiated',
  signalExternal: 'SignalExternalWorkflowExecutionInitiated',
  marker: 'MarkerRecorded',
  searchAttributes: 'UpsertWorkflowSearchAttributes',
  memo: 'WorkflowPropertiesModified',
  updateAccepted: 'WorkflowExecutionUpdateAccepted',
  updateRejected: null,
  updateCompleted: 'WorkflowExecutionUpdateCompleted',
  complete: 'WorkflowExecutionCompleted',
  fail: 'WorkflowExecutionFailed',
  cancel: 'WorkflowExecutionCanceled',
  continueAsNew: 'WorkflowExecutionContinuedAsNew',
} as const satisfies Record<Command['kind'], string | null>

/** Why a command cannot have made an event; null if it can. */
export function mismatch(
  command: Command | undefined,
  type: string,
  of: Attributes,
): string | null {
  if (command === undefined) return `event ${type} has no command`
  if (EVENT_OF[command.kind] !== type) return `event ${type}, but command ${command.kind}`
  const differs = (what: string, event: unknown, own: unknown) =>
    event === own
      ? null
      : `${what} of ${type} is ${String(event)}, that of the command ${String(own)}`
  switch (command.kind) {
    case 'scheduleActivity':
      return (
        differs('activity id', of.activityId, command.activityId) ??
        differs('activity type', of.activityType?.name, command.type)
      )
    case 'startTimer':
    case 'cancelTimer':
      return differs('timer id', of.timerId, command.timerId)
    case 'startChild':
      return (
        differs('workflow id', of.workflowId, command.workflowId) ??
        differs('workflow type', of.workflowType?.name, command.type)
      )
    case 'cancelActivity':
      return differs('activity', of.scheduledEventId, command.scheduledEventId)
    case 'updateAccepted':
      return differs('update', of.protocolInstanceId, command.updateId)
    default:
      return null
  }
}

/** What came of a workflow task. */
export type TaskOutcome =
  | { readonly commands: readonly Command[]; readonly flags: readonly number[] }
  | { readonly failure: Failure; readonly cause: 'workflow' | 'nondeterminism' }
