// The history of an execution: its events, in their order.

import type { temporal } from '@temporalio/proto'
import {
  api,
  msOf,
  wireLong,
  wireTime,
  type Failure,
  type Metadata,
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
export type EventName = NameOf<keyof Enums>

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
  readonly sdkMetadata?: {
    readonly coreUsedFlags: readonly number[]
    readonly langUsedFlags: readonly number[]
  }
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

const camel = (type: string): string =>
  type
    .replace('EVENT_TYPE_', '')
    .toLowerCase()
    .replaceAll(/(?:^|_)([a-z])/g, (_all, letter: string) => letter.toUpperCase())

/** Ids are numbers here. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
  if ('low' in value && 'high' in value) return Number(String(value as object))
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, plain(of)]))
}

/** An event of a real server, in the engine's form. */
export function eventOf(wire: temporal.api.history.v1.IHistoryEvent): HistoryEvent {
  const type = camel(EventType[wire.eventType ?? 0] ?? '') as EventName
  const name = `${type.charAt(0).toLowerCase()}${type.slice(1)}EventAttributes`
  const attributes = wire[name as keyof typeof wire] ?? {}
  return {
    id: Number(String(wire.eventId)),
    at: msOf(wire.eventTime),
    type,
    attributes: plain(attributes) as Attributes,
    userMetadata: wire.userMetadata ?? undefined,
  }
}
