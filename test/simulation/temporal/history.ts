// The history of an execution: its events, in their order.

import type { temporal } from '@temporalio/proto'
import {
  api,
  wireLong,
  wireTime,
  type Failure,
  type Metadata,
  type Payload,
  type PayloadMap,
  type Payloads,
  type RetryPolicy,
} from './wire.ts'

type Enums = typeof temporal.api.enums.v1.EventType
type Camel<Text extends string> = Text extends `${infer Head}_${infer Rest}`
  ? `${Capitalize<Lowercase<Head>>}${Camel<Rest>}`
  : Capitalize<Lowercase<Text>>
type NameOf<Text> = Text extends `EVENT_TYPE_${infer Name}` ? Camel<Name> : never

/** `WorkflowExecutionStarted`, `ActivityTaskScheduled`, … */
export type EventName = NameOf<keyof Enums & string>

/** A workflow execution that another one names. */
export interface Ref {
  readonly workflowId: string
  readonly runId?: string | undefined
}

/** Attributes of all events, by the protocol's names; each event has some of them. */
export interface Attributes {
  readonly [name: string]: unknown
  readonly activityId?: string
  readonly activityType?: { readonly name: string }
  readonly attempt?: number
  readonly cause?: number | string
  readonly details?: Payloads | Record<string, Payloads>
  readonly failure?: Failure | undefined
  readonly initiatedEventId?: number
  readonly input?: Payloads | undefined
  readonly markerName?: string
  readonly memo?: { readonly fields: PayloadMap }
  readonly reason?: string
  readonly result?: Payloads | undefined
  readonly retryPolicy?: RetryPolicy | undefined
  readonly retryState?: number
  readonly scheduledEventId?: number
  readonly sdkMetadata?: { readonly langUsedFlags: readonly number[] }
  readonly searchAttributes?: { readonly indexedFields: PayloadMap }
  readonly signalName?: string
  readonly startedEventId?: number
  readonly timerId?: string
  readonly workflowExecution?: Ref
  readonly workflowId?: string
  readonly workflowType?: { readonly name: string }
  readonly protocolInstanceId?: string
  readonly acceptedRequest?: UpdateRequest
  readonly header?: { readonly fields: PayloadMap } | undefined
}

export interface UpdateRequest {
  readonly meta: { readonly updateId: string; readonly identity: string }
  readonly input: {
    readonly name: string
    readonly args?: Payloads | undefined
    readonly header?: { readonly fields: PayloadMap } | undefined
  }
}

export interface HistoryEvent {
  readonly id: number
  readonly at: number
  readonly type: EventName
  readonly attributes: Attributes
  readonly userMetadata?: Metadata | undefined
}

const CLOSING: ReadonlySet<EventName> = new Set([
  'WorkflowExecutionCompleted',
  'WorkflowExecutionFailed',
  'WorkflowExecutionCanceled',
  'WorkflowExecutionTerminated',
  'WorkflowExecutionTimedOut',
  'WorkflowExecutionContinuedAsNew',
])
export const isClosing = ({ type }: HistoryEvent): boolean => CLOSING.has(type)

/** Events that a worker's command has made. */
const COMMANDED: ReadonlySet<EventName> = new Set([
  ...CLOSING,
  'ActivityTaskScheduled',
  'ActivityTaskCancelRequested',
  'TimerStarted',
  'TimerCanceled',
  'MarkerRecorded',
  'StartChildWorkflowExecutionInitiated',
  'RequestCancelExternalWorkflowExecutionInitiated',
  'SignalExternalWorkflowExecutionInitiated',
  'UpsertWorkflowSearchAttributes',
  'WorkflowPropertiesModified',
  'WorkflowExecutionUpdateAccepted',
  'WorkflowExecutionUpdateCompleted',
])
export const isCommanded = ({ type }: HistoryEvent): boolean =>
  COMMANDED.has(type) &&
  type !== 'WorkflowExecutionTerminated' &&
  type !== 'WorkflowExecutionTimedOut'

const snake = (name: string): string => name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase()
const { EventType } = api.enums.v1

/** The protocol's form of an event. */
export function wireEvent(event: HistoryEvent): temporal.api.history.v1.HistoryEvent {
  const { id, at, type, attributes, userMetadata } = event
  const name = `${type.charAt(0).toLowerCase()}${type.slice(1)}EventAttributes`
  const made = api.history.v1.HistoryEvent.fromObject({
    eventTime: wireTime(at),
    eventType: EventType[`EVENT_TYPE_${snake(type)}` as keyof Enums],
    [name]: attributes,
    ...(userMetadata && { userMetadata }),
  })
  made.eventId = wireLong(id)
  return made
}

export type { Payload }
