// What a workflow has begun, by the numbers that its code knows, and what its commands mean.

import type { ActivityOrder, ChildOrder, Command } from './commands.ts'
import type { UpdateRequest } from './history.ts'
import type { Job, WireCommand } from './vm.ts'
import { msOf, payloadsOf, type Failure, type PayloadMap, type Payload } from './wire.ts'

export interface ActivityMachine {
  readonly kind: 'activity'
  readonly seq: number
  readonly order: ActivityOrder
  /** 0 try, 1 wait, 2 abandon. */
  readonly cancellationType: number
  eventId: number
  isResolved: boolean
}
export interface ChildMachine {
  readonly kind: 'child'
  readonly seq: number
  readonly order: ChildOrder
  /** 0 abandon, 1 try, 2 wait for the end, 3 wait for the request. */
  readonly cancellationType: number
  eventId: number
  startedEventId: number
  runId: string
  isResolved: boolean
}
export interface SimpleMachine {
  readonly kind: 'timer' | 'signal' | 'cancel'
  readonly seq: number
  eventId: number
}

export interface Machines {
  readonly runId: string
  readonly activities: Map<number, ActivityMachine>
  readonly timers: Map<number, SimpleMachine>
  readonly children: Map<number, ChildMachine>
  readonly signals: Map<number, SimpleMachine>
  readonly cancels: Map<number, SimpleMachine>
  /** By the event that shows their beginning. */
  readonly byEvent: Map<number, { eventId: number }>
  /** Changes of the code whose markers were written. */
  readonly patches: Set<string>
  readonly updates: Map<string, UpdateRequest>
  readonly searchAttributes: PayloadMap
  readonly memo: PayloadMap
}

interface Sink {
  emit(command: Command): void
  /** Takes a command back that was not sent yet. */
  take(isIt: (command: Command) => boolean): boolean
  resolve(job: Job): void
}

/** What a command of the workflow code leads to. */
export function commandsOf(wire: WireCommand, machines: Machines, sink: Sink): void {
  const { userMetadata } = wire
  const described = userMetadata ? { userMetadata } : {}
  if (wire.scheduleActivity) schedule(wire.scheduleActivity, described, machines, sink)
  else if (wire.requestCancelActivity)
    cancelActivity(machines.activities.get(wire.requestCancelActivity.seq ?? 0), sink)
  else if (wire.startTimer) {
    const { seq = 0, startToFireTimeout } = wire.startTimer
    machines.timers.set(seq!, { kind: 'timer', seq: seq!, eventId: 0 })
    const ms = Math.max(1, msOf(startToFireTimeout))
    sink.emit({ kind: 'startTimer', seq: seq!, timerId: String(seq), ms, ...described })
  } else if (wire.cancelTimer) {
    const { seq } = wire.cancelTimer
    const isUnsent = sink.take((one) => one.kind === 'startTimer' && one.seq === seq)
    if (!isUnsent && machines.timers.has(seq!))
      sink.emit({ kind: 'cancelTimer', timerId: String(seq) })
    machines.timers.delete(seq!)
  } else if (wire.startChildWorkflowExecution)
    startChild(wire.startChildWorkflowExecution, described, machines, sink)
  else if (wire.cancelChildWorkflowExecution)
    cancelChild(
      machines.children.get(wire.cancelChildWorkflowExecution.childWorkflowSeq ?? 0),
      sink,
    )
  else if (wire.signalExternalWorkflowExecution) {
    const { seq, signalName, args, headers, workflowExecution, childWorkflowId } =
      wire.signalExternalWorkflowExecution
    machines.signals.set(seq!, { kind: 'signal', seq: seq!, eventId: 0 })
    sink.emit({
      kind: 'signalExternal',
      seq: seq!,
      workflowId: workflowExecution?.workflowId ?? childWorkflowId ?? '',
      runId: workflowExecution?.runId ?? '',
      isChild: workflowExecution == null,
      signalName: signalName!,
      input: payloadsOf(args),
      header: headers ?? {},
    })
  } else if (wire.cancelSignalWorkflow) {
    const { seq } = wire.cancelSignalWorkflow
    if (sink.take((one) => one.kind === 'signalExternal' && one.seq === seq))
      sink.resolve({
        resolveSignalExternalWorkflow: {
          seq: seq!,
          failure: { message: 'Signal was cancelled before being sent', canceledFailureInfo: {} },
        },
      })
  } else if (wire.requestCancelExternalWorkflowExecution) {
    const { seq, workflowExecution, reason } = wire.requestCancelExternalWorkflowExecution
    machines.cancels.set(seq!, { kind: 'cancel', seq: seq!, eventId: 0 })
    sink.emit({
      kind: 'cancelExternal',
      seq: seq!,
      workflowId: workflowExecution?.workflowId ?? '',
      runId: workflowExecution?.runId ?? '',
      isChild: false,
      reason: `Cancel requested by workflow with run id ${machines.runId} with reason: ${reason ?? ''}`,
    })
  } else writeDown(wire, machines, sink)
}

/** Commands that nothing comes back for. */
function writeDown(wire: WireCommand, machines: Machines, sink: Sink): void {
  if (wire.upsertWorkflowSearchAttributes) {
    const { indexedFields } = wire.upsertWorkflowSearchAttributes.searchAttributes ?? {}
    const fields = { ...indexedFields } as PayloadMap
    Object.assign(machines.searchAttributes, fields)
    sink.emit({ kind: 'searchAttributes', fields })
  } else if (wire.modifyWorkflowProperties) {
    const fields = { ...wire.modifyWorkflowProperties.upsertedMemo?.fields } as PayloadMap
    Object.assign(machines.memo, fields)
    sink.emit({ kind: 'memo', fields })
  } else if (wire.setPatchMarker) {
    const { patchId, deprecated } = wire.setPatchMarker
    if (machines.patches.has(patchId!)) return
    machines.patches.add(patchId!)
    sink.emit({ kind: 'marker', patchId: patchId!, deprecated: deprecated === true })
    if (!deprecated)
      sink.emit({
        kind: 'searchAttributes',
        fields: { TemporalChangeVersion: patchList(machines) },
      })
  } else if (wire.updateResponse) answerUpdate(wire.updateResponse, machines, sink)
  else if (wire.completeWorkflowExecution)
    sink.emit({ kind: 'complete', result: wire.completeWorkflowExecution.result ?? null })
  else if (wire.failWorkflowExecution)
    sink.emit({ kind: 'fail', failure: wire.failWorkflowExecution.failure ?? {} })
  else if (wire.cancelWorkflowExecution) sink.emit({ kind: 'cancel' })
  else if (wire.continueAsNewWorkflowExecution) continueAsNew(wire, machines, sink)
  else throw new Error(`the simulation knows no command ${Object.keys(wire).join(', ')}`)
}

const patchList = ({ patches }: Machines): Payload => ({
  metadata: { encoding: Buffer.from('json/plain'), type: Buffer.from('KeywordList') },
  data: Buffer.from(JSON.stringify([...patches])),
})

type Described = { readonly userMetadata?: NonNullable<WireCommand['userMetadata']> }

function schedule(
  given: NonNullable<WireCommand['scheduleActivity']>,
  described: Described,
  machines: Machines,
  sink: Sink,
): void {
  const order: ActivityOrder = {
    kind: 'scheduleActivity',
    seq: given.seq!,
    activityId: given.activityId ?? '',
    type: given.activityType ?? '',
    queue: given.taskQueue ?? '',
    input: payloadsOf(given.arguments),
    header: given.headers ?? {},
    scheduleToCloseMs: msOf(given.scheduleToCloseTimeout),
    scheduleToStartMs: msOf(given.scheduleToStartTimeout),
    startToCloseMs: msOf(given.startToCloseTimeout),
    heartbeatMs: msOf(given.heartbeatTimeout),
    retryPolicy: given.retryPolicy ?? null,
    ...described,
  }
  machines.activities.set(order.seq, {
    kind: 'activity',
    seq: order.seq,
    order,
    cancellationType: given.cancellationType ?? 0,
    eventId: 0,
    isResolved: false,
  })
  sink.emit(order)
}

function cancelActivity(machine: ActivityMachine | undefined, sink: Sink): void {
  if (machine === undefined || machine.isResolved) return
  const { seq, eventId, cancellationType } = machine
  const isUnsent = sink.take((one) => one.kind === 'scheduleActivity' && one.seq === seq)
  if (!isUnsent && cancellationType !== 2)
    sink.emit({ kind: 'cancelActivity', scheduledEventId: eventId })
  if (!isUnsent && cancellationType === 1) return
  machine.isResolved = true
  sink.resolve({
    resolveActivity: { seq, result: { cancelled: { failure: cancelledActivity(machine) } } },
  })
}

/** The failure of an activity that was cancelled. */
export const cancelledActivity = (
  { order, eventId }: ActivityMachine,
  details?: Failure['canceledFailureInfo'],
): Failure => ({
  message: 'Activity cancelled',
  cause: { message: 'Activity cancelled', canceledFailureInfo: details ?? {} },
  activityFailureInfo: {
    activityId: order.activityId,
    activityType: { name: order.type },
    scheduledEventId: eventId as never,
    retryState: 4,
  },
})

function startChild(
  given: NonNullable<WireCommand['startChildWorkflowExecution']>,
  described: Described,
  machines: Machines,
  sink: Sink,
): void {
  const order: ChildOrder = {
    kind: 'startChild',
    seq: given.seq!,
    workflowId: given.workflowId ?? '',
    type: given.workflowType ?? '',
    queue: given.taskQueue ?? '',
    input: payloadsOf(given.input),
    memo: given.memo ?? {},
    searchAttributes: { ...given.searchAttributes?.indexedFields },
    parentClosePolicy: given.parentClosePolicy || 1,
    reusePolicy: given.workflowIdReusePolicy ?? 0,
    executionTimeoutMs: msOf(given.workflowExecutionTimeout),
    runTimeoutMs: msOf(given.workflowRunTimeout),
    taskTimeoutMs: msOf(given.workflowTaskTimeout),
    ...described,
  }
  machines.children.set(order.seq, {
    kind: 'child',
    seq: order.seq,
    order,
    cancellationType: given.cancellationType ?? 0,
    eventId: 0,
    startedEventId: 0,
    runId: '',
    isResolved: false,
  })
  sink.emit(order)
}

function cancelChild(machine: ChildMachine | undefined, sink: Sink): void {
  if (machine === undefined || machine.isResolved) return
  const { seq, order, cancellationType, runId } = machine
  if (sink.take((one) => one.kind === 'startChild' && one.seq === seq)) {
    machine.isResolved = true
    const failure = {
      ...childFailure(machine, 'Child Workflow Execution cancelled before scheduled: '),
      cause: { canceledFailureInfo: {} },
    }
    sink.resolve({ resolveChildWorkflowExecutionStart: { seq, cancelled: { failure } } })
    return
  }
  if (cancellationType !== 0)
    sink.emit({
      kind: 'cancelExternal',
      // Not a number that the code knows.
      seq: -seq,
      workflowId: order.workflowId,
      runId,
      isChild: true,
      reason: '',
    })
  if (cancellationType > 1) return
  machine.isResolved = true
  sink.resolve(cancelledChild(machine))
}

export const cancelledChild = (machine: ChildMachine): Job => ({
  resolveChildWorkflowExecution: {
    seq: machine.seq,
    result: {
      cancelled: {
        failure: {
          ...childFailure(machine, 'Child Workflow execution cancelled'),
          cause: { canceledFailureInfo: {} },
        },
      },
    },
  },
})

export const childFailure = (
  { order, runId, eventId, startedEventId }: ChildMachine,
  message: string,
  retryState = 2,
): Failure => ({
  message,
  childWorkflowExecutionFailureInfo: {
    namespace: 'default',
    workflowExecution: { workflowId: order.workflowId, runId },
    workflowType: { name: order.type },
    initiatedEventId: eventId as never,
    startedEventId: startedEventId as never,
    retryState,
  },
})

function answerUpdate(
  response: NonNullable<WireCommand['updateResponse']>,
  { updates }: Machines,
  { emit }: Sink,
): void {
  const updateId = response.protocolInstanceId ?? ''
  if (response.accepted) emit({ kind: 'updateAccepted', updateId, request: updates.get(updateId)! })
  else if (response.rejected) emit({ kind: 'updateRejected', updateId, failure: response.rejected })
  else {
    const { completed } = response
    emit({
      kind: 'updateCompleted',
      updateId,
      outcome: { success: { payloads: completed ? [completed] : [] } },
    })
  }
}

function continueAsNew(wire: WireCommand, machines: Machines, sink: Sink): void {
  const given = wire.continueAsNewWorkflowExecution!
  const memo = given.memo ?? {}
  sink.emit({
    kind: 'continueAsNew',
    type: given.workflowType ?? '',
    queue: given.taskQueue ?? '',
    input: payloadsOf(given.arguments),
    memo: Object.keys(memo).length > 0 ? memo : { ...machines.memo },
    searchAttributes: given.searchAttributes?.indexedFields ?? { ...machines.searchAttributes },
    runTimeoutMs: msOf(given.workflowRunTimeout),
    taskTimeoutMs: msOf(given.workflowTaskTimeout),
    backoffMs: msOf(given.backoffStartInterval),
  })
}
