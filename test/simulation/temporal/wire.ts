// Forms of Temporal's protocol, as far as the engine needs them: times, payloads, failures.

import { msToTs } from '@temporalio/common/lib/time.js'
import proto, { type temporal } from '@temporalio/proto'

export type Payload = temporal.api.common.v1.IPayload
export type Payloads = temporal.api.common.v1.IPayloads
export type Failure = temporal.api.failure.v1.IFailure
export type RetryPolicy = temporal.api.common.v1.IRetryPolicy
export type Metadata = temporal.api.sdk.v1.IUserMetadata
export type PayloadMap = Record<string, Payload>

interface Long {
  toString(): string
}
interface Duration {
  seconds?: Long | number | null
  nanos?: number | null
}

/** Milliseconds of a duration or a timestamp; 0 for none. */
export const msOf = (time: Duration | null | undefined): number =>
  time == null ? 0 : Number(String(time.seconds ?? 0)) * 1_000 + Math.floor((time.nanos ?? 0) / 1e6)

/** The protocol's form of a duration or a timestamp. */
export const wireTime = (ms: number) => msToTs(ms)
export const wireTimeIf = (ms: number) => (ms > 0 ? msToTs(ms) : undefined)
export const wireLong = (value: number) => msToTs(value * 1_000).seconds!

export const payloadsOf = (list: readonly Payload[] | null | undefined): Payloads | undefined =>
  list == null || list.length === 0 ? undefined : { payloads: [...list] }

/** The protocol, as the SDK has it. */
export const api = proto.temporal.api
export const { TimeoutType, RetryState } = api.enums.v1

/** The failure of an attempt that ran out of time, in the server's words. */
export function timeoutFailure(
  kind: 'StartToClose' | 'ScheduleToStart' | 'ScheduleToClose' | 'Heartbeat',
  details: Payloads | undefined,
  cause?: Failure,
): Failure {
  const type = {
    StartToClose: TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE,
    ScheduleToStart: TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START,
    ScheduleToClose: TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE,
    Heartbeat: TimeoutType.TIMEOUT_TYPE_HEARTBEAT,
  }[kind]
  return {
    message: `activity ${kind} timeout`,
    source: 'Server',
    timeoutFailureInfo: {
      timeoutType: type,
      ...(details && { lastHeartbeatDetails: details }),
    },
    ...(cause && { cause }),
  }
}

const NAMES: Readonly<Record<number, string>> = {
  1: 'CANCELLED',
  3: 'INVALID_ARGUMENT',
  4: 'DEADLINE_EXCEEDED',
  5: 'NOT_FOUND',
  6: 'ALREADY_EXISTS',
  9: 'FAILED_PRECONDITION',
  12: 'UNIMPLEMENTED',
  14: 'UNAVAILABLE',
}

/** A call that the server refuses, as the client library sees it. */
export class RpcError extends Error {
  readonly code: number
  readonly details: string
  readonly metadata = { get: () => [], getMap: () => ({}) }

  constructor(code: number, details: string) {
    super(`${code} ${NAMES[code] ?? 'UNKNOWN'}: ${details}`)
    this.code = code
    this.details = details
  }
}

/** Those of gRPC that are used. */
export const CODE = {
  cancelled: 1,
  invalid: 3,
  late: 4,
  notFound: 5,
  exists: 6,
  precondition: 9,
  unimplemented: 12,
  unavailable: 14,
} as const
