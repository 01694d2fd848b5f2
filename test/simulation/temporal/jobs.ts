// What an event of the history means for the workflow code.

import type { HistoryEvent } from './history.ts'
import {
  cancelledActivity,
  cancelledChild,
  childFailure,
  type ActivityMachine,
  type ChildMachine,
  type Machines,
  type SimpleMachine,
} from './machines.ts'
import type { Job } from './vm.ts'
import { wireTime, type Failure, type Payloads } from './wire.ts'

export function jobsOf(event: HistoryEvent, machines: Machines): Job[] {
  const { type, attributes: of } = event
  if (type === 'WorkflowExecutionStarted') return [{ initializeWorkflow: beginning(event) }]
  if (type === 'WorkflowExecutionSignaled')
    return [
      {
        signalWorkflow: {
          signalName: of.signalName!,
          input: of.input?.payloads ?? [],
          identity: String(of['identity'] ?? ''),
          headers: of.header?.fields ?? {},
        },
      },
    ]
  if (type === 'WorkflowExecutionCancelRequested')
    return [{ cancelWorkflow: { reason: String(of['cause'] ?? '') } }]
  if (type === 'TimerFired') {
    const timer = machines.byEvent.get(of.startedEventId!) as SimpleMachine | undefined
    if (timer === undefined || !machines.timers.delete(timer.seq)) return []
    return [{ fireTimer: { seq: timer.seq } }]
  }
  if (type.startsWith('ActivityTask')) return activityJobs(event, machines)
  if (type.includes('ChildWorkflow')) return childJobs(event, machines)
  return externalJobs(event, machines)
}

function beginning({ attributes: of, at }: HistoryEvent): NonNullable<Job['initializeWorkflow']> {
  const parent = of['parentWorkflowExecution'] as { workflowId: string; runId: string } | undefined
  return {
    workflowType: of.workflowType!.name,
    workflowId: of.workflowId!,
    arguments: of.input?.payloads ?? [],
    headers: of.header?.fields ?? {},
    identity: String(of['identity'] ?? ''),
    ...(parent && { parentWorkflowInfo: { ...parent, namespace: 'default' } }),
    firstExecutionRunId: String(of['firstExecutionRunId']),
    continuedFromExecutionRunId: String(of['continuedExecutionRunId'] ?? ''),
    attempt: of.attempt ?? 1,
    ...(of.memo && { memo: of.memo }),
    ...(of.searchAttributes && { searchAttributes: of.searchAttributes }),
    startTime: wireTime(at),
  }
}

function activityJobs({ type, attributes: of }: HistoryEvent, machines: Machines): Job[] {
  const machine = machines.byEvent.get(of.scheduledEventId!) as ActivityMachine | undefined
  if (machine === undefined || machine.isResolved || type === 'ActivityTaskStarted') return []
  const { seq } = machine
  machine.isResolved = true
  const failed = (message: string): Job => ({
    resolveActivity: {
      seq,
      result: {
        failed: {
          failure: {
            message,
            cause: of.failure ?? null,
            activityFailureInfo: {
              scheduledEventId: of.scheduledEventId as never,
              startedEventId: of.startedEventId as never,
              identity: String(of['identity'] ?? ''),
              activityId: machine.order.activityId,
              activityType: { name: machine.order.type },
              retryState: of.retryState ?? 0,
            },
          },
        },
      },
    },
  })
  switch (type) {
    case 'ActivityTaskCompleted': {
      const result = of.result?.payloads?.[0]
      return [{ resolveActivity: { seq, result: { completed: result ? { result } : {} } } }]
    }
    case 'ActivityTaskFailed':
      return [failed('Activity task failed')]
    case 'ActivityTaskTimedOut':
      return [failed('Activity task timed out')]
    case 'ActivityTaskCanceled': {
      // One that only tries was resolved when it was asked.
      const details = of.details as Payloads | undefined
      const failure = cancelledActivity(machine, details && { details })
      return [{ resolveActivity: { seq, result: { cancelled: { failure } } } }]
    }
    default:
      throw new Error(`the simulation knows no event ${type}`)
  }
}

const TIMED_OUT: Failure = { message: 'Timed out', timeoutFailureInfo: { timeoutType: 1 } }
const TERMINATED: Failure = { message: 'Terminated', terminatedFailureInfo: {} }

function childJobs({ type, id, attributes: of }: HistoryEvent, machines: Machines): Job[] {
  const machine = machines.byEvent.get(of.initiatedEventId!) as ChildMachine | undefined
  if (machine === undefined) return []
  const { seq, order } = machine
  if (type === 'ChildWorkflowExecutionStarted') {
    const runId = of.workflowExecution?.runId ?? ''
    machine.startedEventId = id
    machine.runId = runId
    return machine.isResolved
      ? []
      : [{ resolveChildWorkflowExecutionStart: { seq, succeeded: { runId } } }]
  }
  if (machine.isResolved) return []
  machine.isResolved = true
  const failed = (message: string, cause: Failure | undefined, retryState?: number): Job => ({
    resolveChildWorkflowExecution: {
      seq,
      result: {
        failed: {
          failure: { ...childFailure(machine, message, retryState), cause: cause ?? null },
        },
      },
    },
  })
  switch (type) {
    case 'StartChildWorkflowExecutionFailed':
      return [
        {
          resolveChildWorkflowExecutionStart: {
            seq,
            failed: {
              workflowId: order.workflowId,
              workflowType: order.type,
              cause: Number(of.cause ?? 0),
            },
          },
        },
      ]
    case 'ChildWorkflowExecutionCompleted': {
      const result = of.result?.payloads?.[0]
      return [
        { resolveChildWorkflowExecution: { seq, result: { completed: result ? { result } : {} } } },
      ]
    }
    case 'ChildWorkflowExecutionFailed':
      return [failed('Child Workflow execution failed', of.failure, of.retryState)]
    case 'ChildWorkflowExecutionTimedOut':
      return [failed('Child Workflow execution timed out', TIMED_OUT, of.retryState)]
    case 'ChildWorkflowExecutionTerminated':
      return [failed('Child Workflow execution terminated', TERMINATED)]
    case 'ChildWorkflowExecutionCanceled':
      return [cancelledChild(machine)]
    default:
      throw new Error(`the simulation knows no event ${type}`)
  }
}

/** What came of signals and cancels for other workflows. */
function externalJobs({ type, attributes: of }: HistoryEvent, machines: Machines): Job[] {
  const machine = machines.byEvent.get(of.initiatedEventId ?? 0) as SimpleMachine | undefined
  // A cancel of a child has no number in the code.
  if (machine === undefined || machine.seq < 0) return []
  const { seq } = machine
  const failure = {
    message:
      type === 'SignalExternalWorkflowExecutionFailed'
        ? 'Unable to signal external workflow because it was not found'
        : 'Unable to cancel external workflow because it was not found',
    applicationFailureInfo: { type: 'ExternalWorkflowExecutionNotFound' },
  }
  switch (type) {
    case 'ExternalWorkflowExecutionSignaled':
      return [{ resolveSignalExternalWorkflow: { seq } }]
    case 'SignalExternalWorkflowExecutionFailed':
      return [{ resolveSignalExternalWorkflow: { seq, failure } }]
    case 'ExternalWorkflowExecutionCancelRequested':
      return [{ resolveRequestCancelExternalWorkflow: { seq } }]
    case 'RequestCancelExternalWorkflowExecutionFailed':
      return [{ resolveRequestCancelExternalWorkflow: { seq, failure } }]
    default:
      return []
  }
}
