// The calls of the server, as far as our code and the SDK's client library make them.

import type { temporal } from '@temporalio/proto'
import type { Execution, Status, UpdateState } from './execution.ts'
import { isClosing, wireEvent } from './history.ts'
import { isMatch } from './list.ts'
import { scheduleHandlers } from './schedules.ts'
import type { Server } from './server.ts'
import { api, CODE, msOf, RpcError, wireTime, type PayloadMap } from './wire.ts'

export type Handlers = Readonly<Record<string, (request: never) => unknown>>

type Api = typeof temporal.api.workflowservice.v1
type RequestOf<Name extends keyof Api> = Api[Name] extends {
  create(of: infer Shape): unknown
}
  ? NonNullable<Shape>
  : never

const { v1 } = api.workflowservice
const { HistoryEventFilterType, UpdateWorkflowExecutionLifecycleStage: Stage } = api.enums.v1

const STATUS: Record<Status, number> = {
  Running: 1,
  Completed: 2,
  Failed: 3,
  Canceled: 4,
  Terminated: 5,
  ContinuedAsNew: 6,
  TimedOut: 7,
}

export function createService(server: Server) {
  const required = (of: { workflowId?: string | null; runId?: string | null } | null | undefined) =>
    server.require(of?.workflowId ?? '', of?.runId)
  const workflowService: Handlers = {
    ...startHandlers(server),
    ...messageHandlers(server, required),
    ...readHandlers(server, required),
    ...scheduleHandlers(server),
  }
  const operatorService: Handlers = {
    listSearchAttributes: () => ({
      customAttributes: Object.fromEntries(server.searchAttributes ?? []),
    }),
    addSearchAttributes: ({ searchAttributes }: { searchAttributes: Record<string, number> }) => {
      server.searchAttributes ??= new Map()
      for (const [name, type] of Object.entries(searchAttributes))
        if (!server.searchAttributes.has(name)) server.searchAttributes.set(name, type)
      return {}
    },
  }
  return { workflowService, operatorService }
}

type Find = (
  of: { workflowId?: string | null; runId?: string | null } | null | undefined,
) => Execution

function startHandlers(server: Server): Handlers {
  const orderOf = (of: RequestOf<'StartWorkflowExecutionRequest'>) => ({
    workflowId: of.workflowId ?? '',
    type: of.workflowType?.name ?? '',
    queue: of.taskQueue?.name ?? '',
    input: of.input ?? undefined,
    header: { ...of.header?.fields } as PayloadMap,
    memo: { ...of.memo?.fields } as PayloadMap,
    searchAttributes: { ...of.searchAttributes?.indexedFields } as PayloadMap,
    executionTimeoutMs: msOf(of.workflowExecutionTimeout),
    expiresAt: of.workflowExecutionTimeout
      ? server.scheduler.now() + msOf(of.workflowExecutionTimeout)
      : 0,
    runTimeoutMs: msOf(of.workflowRunTimeout),
    taskTimeoutMs: msOf(of.workflowTaskTimeout),
    identity: of.identity ?? '',
    requestId: of.requestId ?? '',
    delayMs: msOf(of.workflowStartDelay),
    ...(of.userMetadata && { userMetadata: of.userMetadata }),
  })
  const policies = (of: RequestOf<'StartWorkflowExecutionRequest'>) => ({
    reuse: of.workflowIdReusePolicy ?? 0,
    conflict: of.workflowIdConflictPolicy ?? 0,
  })
  return {
    startWorkflowExecution: (of: RequestOf<'StartWorkflowExecutionRequest'>) => {
      const { runId } = server.begin(orderOf(of), policies(of))
      return v1.StartWorkflowExecutionResponse.fromObject({ runId, started: true })
    },
    signalWithStartWorkflowExecution: (
      of: RequestOf<'SignalWithStartWorkflowExecutionRequest'>,
    ) => {
      const { signalName, signalInput, identity } = of
      const before = server.find(of.workflowId ?? '')
      const run = before?.isOpen
        ? before
        : server.begin(orderOf(of as never), policies(of as never))
      run.signal({
        name: signalName ?? '',
        input: signalInput ?? undefined,
        identity: identity ?? '',
      })
      return v1.SignalWithStartWorkflowExecutionResponse.fromObject({ runId: run.runId })
    },
  }
}

function messageHandlers(server: Server, required: Find): Handlers {
  // The client library makes these ids by chance of its own.
  const ids = new Map<string, string>()
  const idOf = (given: string): string => {
    if (!/^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/.test(given)) return given
    if (!ids.has(given)) ids.set(given, server.uuid())
    return ids.get(given)!
  }
  const reached = (update: UpdateState, stage: number): boolean =>
    update.outcome !== null ||
    (update.state === 'accepted' &&
      stage <= Stage.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED)
  const until = (update: UpdateState, stage: number): Promise<UpdateState> =>
    new Promise((resolve, reject) => {
      const look = (now: UpdateState | RpcError): void => {
        if (now instanceof RpcError) reject(now)
        else if (reached(now, stage)) resolve(now)
        else update.waiters.push(look)
      }
      look(update)
    })
  const answerOf = ({ outcome }: UpdateState, run: Execution, updateId: string) => ({
    updateRef: { workflowExecution: { workflowId: run.id, runId: run.runId }, updateId },
    ...(outcome && { outcome }),
    stage: outcome
      ? Stage.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED
      : Stage.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED,
  })
  return {
    signalWorkflowExecution: (of: RequestOf<'SignalWorkflowExecutionRequest'>) => {
      required(of.workflowExecution).signal({
        name: of.signalName ?? '',
        input: of.input ?? undefined,
        identity: of.identity ?? '',
        header: { ...of.header?.fields } as PayloadMap,
      })
      return {}
    },
    requestCancelWorkflowExecution: (of: RequestOf<'RequestCancelWorkflowExecutionRequest'>) => {
      required(of.workflowExecution).requestCancel({ identity: of.identity ?? '' })
      return {}
    },
    terminateWorkflowExecution: (of: RequestOf<'TerminateWorkflowExecutionRequest'>) => {
      required(of.workflowExecution).terminate(of.reason ?? '', of.identity ?? '')
      return {}
    },
    updateWorkflowExecution: async (of: RequestOf<'UpdateWorkflowExecutionRequest'>) => {
      const run = required(of.workflowExecution)
      const { meta, input } = of.request ?? {}
      const updateId = idOf(meta?.updateId ?? '')
      const update = run.update({
        meta: { updateId, identity: meta?.identity ?? '' },
        input: {
          name: input?.name ?? '',
          args: input?.args ?? undefined,
          header: { fields: { ...input?.header?.fields } as PayloadMap },
        },
      })
      const now = await until(update, of.waitPolicy?.lifecycleStage ?? 0)
      return v1.UpdateWorkflowExecutionResponse.fromObject(answerOf(now, run, updateId))
    },
    pollWorkflowExecutionUpdate: async (of: RequestOf<'PollWorkflowExecutionUpdateRequest'>) => {
      const run = required(of.updateRef?.workflowExecution)
      const updateId = idOf(of.updateRef?.updateId ?? '')
      const update = run.updates.get(updateId)
      if (!update) throw new RpcError(CODE.notFound, `update ${updateId} not found`)
      const now = await until(update, of.waitPolicy?.lifecycleStage ?? 0)
      return v1.PollWorkflowExecutionUpdateResponse.fromObject(answerOf(now, run, updateId))
    },
    queryWorkflow: async (of: RequestOf<'QueryWorkflowRequest'>) => {
      const run = required(of.execution)
      const { queryType, queryArgs } = of.query ?? {}
      return await new Promise((resolve, reject) => {
        run.query({
          name: queryType ?? '',
          args: queryArgs ?? undefined,
          answer: (answer) => {
            if ('failure' in answer) {
              const { message } = answer.failure as { message?: string }
              reject(new RpcError(CODE.invalid, message ?? 'query failed'))
            } else resolve(v1.QueryWorkflowResponse.fromObject({ queryResult: answer.result }))
          },
        })
      })
    },
  }
}

function readHandlers(server: Server, required: Find): Handlers {
  const all = () => [...server.runs.values()].flat()
  const listed = (query: string) =>
    all()
      .filter((run) => isMatch(run, query))
      .toSorted((one, other) => other.startedAt - one.startedAt)
  return {
    describeWorkflowExecution: (of: RequestOf<'DescribeWorkflowExecutionRequest'>) => {
      const run = required(of.execution)
      return v1.DescribeWorkflowExecutionResponse.fromObject({
        executionConfig: {
          taskQueue: { name: run.order.queue },
          ...(run.order.userMetadata && { userMetadata: run.order.userMetadata }),
        },
        workflowExecutionInfo: infoOf(run),
        pendingActivities: [...run.activities.open.values()].map((one) => ({
          activityId: one.order.activityId,
          activityType: { name: one.order.type },
          state: one.worker === null ? 1 : one.isCancelRequested ? 3 : 2,
          attempt: one.attempt,
          scheduledTime: wireTime(one.offeredAt),
          ...(one.startedAt > 0 && { lastStartedTime: wireTime(one.startedAt) }),
          ...(one.details && {
            heartbeatDetails: one.details,
            lastHeartbeatTime: wireTime(one.heartbeatAt),
          }),
          ...(one.lastFailure && { lastFailure: one.lastFailure }),
          ...(one.nextAt > 0 && { nextAttemptScheduleTime: wireTime(one.nextAt) }),
          lastWorkerIdentity: one.lastWorker,
        })),
      })
    },
    getWorkflowExecutionHistory: async (of: RequestOf<'GetWorkflowExecutionHistoryRequest'>) => {
      const run = required(of.execution)
      const isClose =
        of.historyEventFilterType === HistoryEventFilterType.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT
      if (of.waitNewEvent && run.isOpen)
        await new Promise<void>((resolve) => run.whenClosed(resolve))
      const events = isClose ? run.events.filter(isClosing) : run.events
      return { history: { events: events.map(wireEvent) }, nextPageToken: new Uint8Array() }
    },
    listWorkflowExecutions: (of: RequestOf<'ListWorkflowExecutionsRequest'>) =>
      v1.ListWorkflowExecutionsResponse.fromObject({
        executions: listed(of.query ?? '').map(infoOf),
      }),
    countWorkflowExecutions: (of: RequestOf<'CountWorkflowExecutionsRequest'>) =>
      v1.CountWorkflowExecutionsResponse.fromObject({ count: listed(of.query ?? '').length }),
    describeTaskQueue: (of: RequestOf<'DescribeTaskQueueRequest'>) => {
      const kind = of.taskQueueType === 2 ? 'activity' : 'workflow'
      const pollers = server.matching.pollersOf(of.taskQueue?.name ?? '', kind)
      return v1.DescribeTaskQueueResponse.fromObject({
        pollers: pollers.map(({ worker }) => ({
          identity: worker,
          lastAccessTime: wireTime(server.scheduler.now()),
        })),
      })
    },
    describeNamespace: () => ({ namespaceInfo: { name: server.namespace } }),
    getSystemInfo: () => ({ serverVersion: 'simulation', capabilities: {} }),
  }
}

const infoOf = (run: Execution) => ({
  execution: { workflowId: run.id, runId: run.runId },
  type: { name: run.order.type },
  taskQueue: run.order.queue,
  status: STATUS[run.status],
  historyLength: run.events.length,
  startTime: wireTime(run.startedAt),
  executionTime: wireTime(run.startedAt),
  ...(run.isOpen ? {} : { closeTime: wireTime(run.closedAt) }),
  memo: { fields: run.memo },
  searchAttributes: { indexedFields: run.searchAttributes },
  ...(run.order.parent && {
    parentExecution: { workflowId: run.order.parent.workflowId, runId: run.order.parent.runId },
  }),
})
