// What the workflows of runs have in common: input that is checked first, failures without stacks, how activities are called.

import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  isCancellation,
  workflowInfo,
  type ActivityOptions,
} from '@temporalio/workflow'
import type { z } from 'zod'
import { streamingQueueOf, type STREAMING_QUEUES } from './queues.ts'

const retry = {
  initialInterval: '1s',
  backoffCoefficient: 2,
  maximumInterval: '10s',
} as const

/** How long a run waits for a verdict, ms, if nothing else is set. */
export const APPROVAL_MS = 86_400_000

/** Activities that read or write little except the ledger. */
export const SHORT: ActivityOptions = {
  startToCloseTimeout: '1m',
  retry,
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
}

/** Activities that work for minutes. Each kind of work has a queue of its own in the project that the run belongs to. */
export function streamingOptions(
  priority: keyof typeof STREAMING_QUEUES,
  heartbeatTimeoutMs: number | undefined,
): ActivityOptions {
  // No maximumAttempts and no scheduleToCloseTimeout: a long wait for the service must not use them up.
  return {
    taskQueue: streamingQueueOf(workflowInfo().taskQueue, priority),
    startToCloseTimeout: '1d',
    heartbeatTimeout: heartbeatTimeoutMs ?? 60_000,
    retry,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  }
}

/**
 * The input, parsed by `schema`.
 * @throws ApplicationFailure `InvalidInput`: what to write instead, then what is wrong; `template` is in its details too
 */
export function parseInput<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  template: object,
): z.infer<Schema> {
  const parsed = schema.safeParse(input)
  if (parsed.success) return parsed.data
  throw stacklessFailure(
    `Write ${JSON.stringify(template)}. ${inputIssues(parsed.error)}`,
    'InvalidInput',
    [{ template }],
  )
}

/** A run's tuning, for the activity that opens it; nothing if it was not tuned. */
export const tuningArgument = <Tuning extends object>(tuning: Tuning): { tuning?: Tuning } =>
  Object.keys(tuning).length > 0 ? { tuning } : {}

/** What is wrong with an input, and where, in one line. */
export const inputIssues = (error: z.ZodError): string =>
  error.issues.map((issue) => `${issue.path.join('.') || 'input'}: ${issue.message}`).join('; ')

/** A failure without a stack: stacks hold paths of the machine. */
export function stacklessFailure(
  message: string,
  type: string,
  details: unknown[] = [],
): ApplicationFailure {
  const made = ApplicationFailure.create({ message, type, nonRetryable: true, details })
  made.stack = ''
  return made
}

/**
 * The error of a cancelled scope, as a cancellation. The server does not retry an activity that was asked to cancel, so one that
 * is blocked just then ends with its own failure; null for an error that no cancel has caused.
 */
export function asCancellation(error: unknown): Error | null {
  if (isCancellation(error)) return error as Error
  const isUnretried = error instanceof ActivityFailure && error.retryState === 'CANCEL_REQUESTED'
  return isUnretried ? new CancelledFailure('cancelled') : null
}

/** The result; what a cancel has caused is thrown as a cancellation, so that the workflow ends as cancelled. */
export async function cancelled<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    throw asCancellation(error) ?? error
  }
}

/** The first message of ours in a failure's chain. */
export function failureMessage(error: unknown): string {
  let current = error
  for (let depth = 0; depth < 10 && current instanceof Error; depth++) {
    if (current instanceof ApplicationFailure) return current.message
    current = current.cause
  }
  return 'the run failed; the worker log says more'
}
