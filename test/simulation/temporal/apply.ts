// What a decision changes on the server: each command becomes an event, and what it orders begins.

import { isEnding, type ChildOrder, type Command, type NextRun } from './commands.ts'
import type { Execution, UpdateState } from './execution.ts'
import type { Attributes } from './history.ts'
import { api, payloadsOf, RpcError, wireTime, wireTimeIf } from './wire.ts'

const { StartChildWorkflowExecutionFailedCause, WorkflowIdReusePolicy } = api.enums.v1

/** Between the server's own parts, ms. */
const INSIDE_MS = 1

/** Why the server does not take a decision; null if it does. */
export function badCommand({ host }: Execution, commands: readonly Command[]): string | null {
  for (const command of commands) {
    if (command.kind !== 'searchAttributes') continue
    const refused = host.refusedAttribute(command.fields)
    if (refused !== null) return `BadSearchAttributes: ${refused}`
  }
  return null
}

export function applyCommands(execution: Execution, commands: readonly Command[]): void {
  for (const command of commands) {
    if (!execution.isOpen) return
    if (isEnding(command)) endRun(execution, command)
    else apply(execution, command)
  }
}

type Ending = Extract<Command, { kind: 'complete' | 'fail' | 'cancel' | 'continueAsNew' }>

function apply(run: Execution, command: Exclude<Command, Ending>): void {
  switch (command.kind) {
    case 'scheduleActivity': {
      const { id } = run.append(
        'ActivityTaskScheduled',
        {
          activityId: command.activityId,
          activityType: { name: command.type },
          taskQueue: { name: command.queue },
          input: command.input,
          header: { fields: command.header },
          scheduleToCloseTimeout: wireTime(command.scheduleToCloseMs),
          scheduleToStartTimeout: wireTime(command.scheduleToStartMs),
          startToCloseTimeout: wireTimeIf(command.startToCloseMs || command.scheduleToCloseMs),
          heartbeatTimeout: wireTime(command.heartbeatMs),
          retryPolicy: command.retryPolicy ?? undefined,
        },
        command.userMetadata,
      )
      return run.activities.schedule(command, id)
    }
    case 'cancelActivity': {
      const { scheduledEventId } = command
      const { id } = run.append('ActivityTaskCancelRequested', { scheduledEventId })
      return run.activities.requestCancel(scheduledEventId, id)
    }
    case 'startTimer':
      return startTimer(run, command)
    case 'cancelTimer':
      return cancelTimer(run, command.timerId)
    case 'startChild':
      return startChild(run, command)
    case 'cancelExternal':
      return cancelExternal(run, command)
    case 'signalExternal':
      return signalExternal(run, command)
    case 'marker': {
      const { patchId: id, deprecated } = command
      const data = Buffer.from(JSON.stringify({ id, deprecated }))
      const payload = { metadata: { encoding: Buffer.from('json/plain') }, data }
      run.append('MarkerRecorded', {
        markerName: 'core_patch',
        details: { 'patch-data': { payloads: [payload] } },
      })
      return
    }
    case 'searchAttributes':
      Object.assign(run.searchAttributes, command.fields)
      run.append('UpsertWorkflowSearchAttributes', {
        searchAttributes: { indexedFields: command.fields },
      })
      return
    case 'memo':
      Object.assign(run.memo, command.fields)
      run.append('WorkflowPropertiesModified', { upsertedMemo: { fields: command.fields } })
      return
    case 'updateAccepted':
    case 'updateRejected':
    case 'updateCompleted':
      return answerUpdate(run, command)
  }
}

function startTimer(run: Execution, of: Extract<Command, { kind: 'startTimer' }>): void {
  const { timerId, ms, userMetadata } = of
  const startToFireTimeout = wireTime(ms)
  const { id } = run.append('TimerStarted', { timerId, startToFireTimeout }, userMetadata)
  const handle = run.host.after(ms, `timer of ${run.id} fires`, () => {
    if (!run.timers.delete(timerId)) return
    run.record(() => run.append('TimerFired', { timerId, startedEventId: id }), `timer ${timerId}`)
  })
  run.timers.set(timerId, { startedEventId: id, handle })
}

function cancelTimer(run: Execution, timerId: string): void {
  const timer = run.timers.get(timerId)
  timer?.handle.cancel()
  run.timers.delete(timerId)
  // One that fires while the worker decides is taken back.
  run.unrecord(`timer ${timerId}`)
  run.append('TimerCanceled', { timerId, startedEventId: timer?.startedEventId ?? 0 })
}

function startChild(run: Execution, order: ChildOrder): void {
  const { workflowId, type, parentClosePolicy } = order
  const about = { workflowId, workflowType: { name: type }, namespace: run.host.namespace }
  const { id: initiatedEventId } = run.append(
    'StartChildWorkflowExecutionInitiated',
    {
      ...about,
      taskQueue: { name: order.queue },
      input: order.input,
      workflowExecutionTimeout: wireTimeIf(order.executionTimeoutMs),
      workflowRunTimeout: wireTimeIf(order.runTimeoutMs),
      parentClosePolicy,
      workflowIdReusePolicy: order.reusePolicy,
      memo: { fields: order.memo },
      searchAttributes: { indexedFields: order.searchAttributes },
    },
    order.userMetadata,
  )
  const child = { workflowId, runId: '', parentClosePolicy }
  run.children.set(initiatedEventId, child)
  run.host.after(INSIDE_MS, `child ${workflowId} begins`, () => {
    if (!run.isOpen || !run.children.has(initiatedEventId)) return
    try {
      const { runId } = run.host.begin(
        {
          workflowId,
          type,
          queue: order.queue,
          input: order.input,
          memo: order.memo,
          searchAttributes: order.searchAttributes,
          executionTimeoutMs: order.executionTimeoutMs,
          runTimeoutMs: order.runTimeoutMs,
          taskTimeoutMs: order.taskTimeoutMs,
          parent: { workflowId: run.id, runId: run.runId, initiatedEventId },
          root: run.order.root ?? { workflowId: run.id, runId: run.runId },
          ...(order.userMetadata && { userMetadata: order.userMetadata }),
        },
        {
          reuse:
            order.reusePolicy || WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
        },
      )
      child.runId = runId
      run.record(() =>
        run.append('ChildWorkflowExecutionStarted', {
          initiatedEventId,
          workflowExecution: { workflowId, runId },
          workflowType: { name: type },
        }),
      )
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      run.children.delete(initiatedEventId)
      run.record(() =>
        run.append('StartChildWorkflowExecutionFailed', {
          ...about,
          initiatedEventId,
          cause:
            StartChildWorkflowExecutionFailedCause.START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_WORKFLOW_ALREADY_EXISTS,
        }),
      )
    }
  })
}

/** The run of another workflow that a command names; a child is meant by the id alone. */
function targetOf(run: Execution, of: { workflowId: string; runId: string; isChild: boolean }) {
  const child = [...run.children.values()].find((one) => one.workflowId === of.workflowId)
  const runId = of.runId || (of.isChild ? child?.runId : undefined) || undefined
  return run.host.find(of.workflowId, runId)
}

function signalExternal(run: Execution, of: Extract<Command, { kind: 'signalExternal' }>): void {
  const { workflowId, runId, signalName, input, header } = of
  const workflowExecution = { workflowId, runId }
  const { id: initiatedEventId } = run.append('SignalExternalWorkflowExecutionInitiated', {
    workflowExecution,
    signalName,
    input,
    header: { fields: header },
    childWorkflowOnly: of.isChild,
    namespace: run.host.namespace,
  })
  run.host.after(INSIDE_MS, `${run.id} signals ${workflowId}`, () => {
    if (!run.isOpen) return
    const target = targetOf(run, of)
    const about: Attributes = { initiatedEventId, workflowExecution }
    if (target?.isOpen !== true) {
      run.record(() => run.append('SignalExternalWorkflowExecutionFailed', { ...about, cause: 1 }))
      return
    }
    target.signal({
      name: signalName,
      input,
      header,
      from: { workflowId: run.id, runId: run.runId },
    })
    run.record(() => run.append('ExternalWorkflowExecutionSignaled', about))
  })
}

function cancelExternal(run: Execution, of: Extract<Command, { kind: 'cancelExternal' }>): void {
  const { workflowId, runId, reason, isChild } = of
  const workflowExecution = { workflowId, runId }
  const { id: initiatedEventId } = run.append('RequestCancelExternalWorkflowExecutionInitiated', {
    workflowExecution,
    childWorkflowOnly: isChild,
    reason,
    namespace: run.host.namespace,
  })
  run.host.after(INSIDE_MS, `${run.id} asks ${workflowId} to cancel`, () => {
    if (!run.isOpen) return
    const target = targetOf(run, of)
    const about: Attributes = { initiatedEventId, workflowExecution }
    if (target?.isOpen !== true) {
      run.record(() =>
        run.append('RequestCancelExternalWorkflowExecutionFailed', { ...about, cause: 1 }),
      )
      return
    }
    target.requestCancel({
      externalInitiatedEventId: initiatedEventId,
      externalWorkflowExecution: { workflowId: run.id, runId: run.runId },
    })
    run.record(() => run.append('ExternalWorkflowExecutionCancelRequested', about))
  })
}

function answerUpdate(
  run: Execution,
  of: Extract<Command, { kind: 'updateAccepted' | 'updateRejected' | 'updateCompleted' }>,
): void {
  const update = run.updates.get(of.updateId)
  if (update === undefined) return
  const tell = (state: UpdateState['state']) => {
    update.state = state
    for (const one of update.waiters.splice(0)) one(update)
  }
  if (of.kind === 'updateAccepted') {
    const before = run.events.findLast(({ type }) => type === 'WorkflowTaskScheduled')?.id ?? 0
    update.acceptedEventId = run.append('WorkflowExecutionUpdateAccepted', {
      protocolInstanceId: of.updateId,
      acceptedRequestMessageId: `${of.updateId}/request`,
      acceptedRequestSequencingEventId: before,
      acceptedRequest: update.request,
    }).id
    tell('accepted')
  } else if (of.kind === 'updateRejected') {
    run.updates.delete(of.updateId)
    update.outcome = { failure: of.failure }
    tell('rejected')
  } else {
    const outcome = 'success' in of.outcome ? of.outcome : { failure: of.outcome.failure }
    run.append('WorkflowExecutionUpdateCompleted', {
      meta: update.request.meta,
      acceptedEventId: update.acceptedEventId,
      outcome,
    })
    update.outcome = outcome
    tell('completed')
  }
}

function endRun(run: Execution, command: Ending): void {
  switch (command.kind) {
    case 'complete':
      run.append('WorkflowExecutionCompleted', {
        result: payloadsOf(command.result ? [command.result] : []),
      })
      return run.close('Completed')
    case 'fail':
      run.append('WorkflowExecutionFailed', { failure: command.failure, retryState: 5 })
      return run.close('Failed')
    case 'cancel':
      run.append('WorkflowExecutionCanceled', {})
      return run.close('Canceled')
    case 'continueAsNew':
      return continueRun(run, command)
  }
}

function continueRun(run: Execution, next: NextRun): void {
  const { order } = run
  const runId = run.host.uuid()
  run.append('WorkflowExecutionContinuedAsNew', {
    newExecutionRunId: runId,
    workflowType: { name: next.type },
    taskQueue: { name: next.queue || order.queue },
    input: next.input,
    initiator: 1,
    memo: { fields: next.memo },
    searchAttributes: { indexedFields: next.searchAttributes ?? {} },
  })
  run.close('ContinuedAsNew')
  run.host.begin({
    ...order,
    runId,
    type: next.type || order.type,
    queue: next.queue || order.queue,
    input: next.input,
    memo: next.memo,
    searchAttributes: next.searchAttributes ?? run.searchAttributes,
    runTimeoutMs: next.runTimeoutMs || (order.runTimeoutMs ?? 0),
    taskTimeoutMs: next.taskTimeoutMs || (order.taskTimeoutMs ?? 0),
    delayMs: next.backoffMs,
    continuedFrom: { runId: run.runId, firstRunId: run.firstRunId },
  })
}
