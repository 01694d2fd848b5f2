// What an execution needs of the server that it is on.

import type { Dice, Scheduler } from '../scheduler.ts'
import type { Execution } from './execution.ts'
import type { Payload, Payloads, PayloadMap, Metadata, RetryPolicy } from './wire.ts'

export interface StartOrder {
  readonly runId?: string
  readonly workflowId: string
  readonly type: string
  readonly queue: string
  readonly input?: Payloads | undefined
  readonly header?: PayloadMap | undefined
  readonly memo?: PayloadMap | undefined
  readonly searchAttributes?: PayloadMap | undefined
  readonly executionTimeoutMs?: number
  readonly runTimeoutMs?: number
  readonly taskTimeoutMs?: number
  readonly retryPolicy?: RetryPolicy | null
  readonly identity?: string
  readonly requestId?: string
  readonly userMetadata?: Metadata | undefined
  readonly delayMs?: number
  readonly parent?:
    | { readonly workflowId: string; readonly runId: string; readonly initiatedEventId: number }
    | undefined
  readonly root?: { readonly workflowId: string; readonly runId: string } | undefined
  readonly continuedFrom?:
    | { readonly runId: string; readonly firstRunId: string; readonly initiator?: number }
    | undefined
  readonly lastCompletion?: Payload | undefined
  /** When the chain of runs has to have ended; 0: never. */
  readonly expiresAt?: number
  readonly attempt?: number
}

/** Work that a queue holds. */
export type Task =
  | { readonly kind: 'workflow'; readonly execution: Execution; readonly task: number }
  | {
      readonly kind: 'query'
      readonly execution: Execution
      readonly query: QueryTask
    }
  | {
      readonly kind: 'activity'
      readonly execution: Execution
      readonly scheduledEventId: number
      readonly attempt: number
    }

export interface QueryTask {
  readonly name: string
  readonly args: Payloads | undefined
  answer(answer: { readonly result: Payloads } | { readonly failure: object }): void
}

export interface Host {
  readonly namespace: string
  readonly scheduler: Scheduler
  readonly dice: Dice
  uuid(): string
  /** As `at` of the scheduler, for something that the server does: while it is down it waits. */
  after(ms: number, what: string, run: () => void): { cancel(): void }
  /** Puts work into a queue, or gives it to the worker that holds the workflow. */
  enqueue(queue: string, task: Task, sticky: string | null): void
  /** The newest run of that id, or the one that is named. */
  find(workflowId: string, runId?: string): Execution | null
  /** @throws RpcError if the policies refuse it */
  begin(order: StartOrder, policies?: { reuse?: number; conflict?: number }): Execution
  /** Why search attributes cannot be written; null if they can. */
  refusedAttribute(fields: PayloadMap): string | null
  ended(execution: Execution): void
}
