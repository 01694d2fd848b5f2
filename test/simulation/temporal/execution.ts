// One run of a workflow as the server keeps it: its history, its open task, and what waits for it.

import { ActivityBook } from './activity-book.ts'
import { applyCommands, badCommand } from './apply.ts'
import { isEnding, type TaskOutcome } from './commands.ts'
import type { Attributes, EventName, HistoryEvent, UpdateRequest } from './history.ts'
import type { Host, QueryTask, StartOrder } from './host.ts'
import {
  api,
  CODE,
  RpcError,
  wireTimeIf,
  type Failure,
  type Metadata,
  type PayloadMap,
  type Payloads,
} from './wire.ts'

export type Status =
  | 'Running'
  | 'Completed'
  | 'Failed'
  | 'Canceled'
  | 'Terminated'
  | 'ContinuedAsNew'
  | 'TimedOut'

/** A workflow task that waits for a worker, or is at one. */
interface WorkflowTask {
  readonly id: number
  readonly attempt: number
  readonly scheduledAt: number
  /** Only updates made it: it leaves no trace if all of them are refused. */
  isSpeculative: boolean
  /** Whether its beginning is in the history; an attempt after a failure is not, until it succeeds. */
  isWritten: boolean
  worker: string | null
  startedAt: number
  timeout: { cancel(): void } | null
  scheduledId: number
}

export type Outcome = { readonly success: Payloads } | { readonly failure: Failure }

export interface UpdateState {
  readonly request: UpdateRequest
  state: 'admitted' | 'sent' | 'accepted' | 'completed' | 'rejected'
  acceptedEventId: number
  outcome: Outcome | null
  readonly waiters: ((state: UpdateState | RpcError) => void)[]
}

export interface Child {
  readonly workflowId: string
  runId: string
  readonly parentClosePolicy: number
}

/** What a worker gets with a task. */
export interface TaskPaper {
  readonly id: number
  readonly history: readonly HistoryEvent[]
  readonly updates: readonly UpdateRequest[]
  /** Id of the event that began the task before. */
  readonly previousStartedId: number
}

const TASK_TIMEOUT_MS = 10_000
/** What the SDK's native part does since some of its releases: ids are compared, and a patch is searchable. */
const CORE_FLAGS = [1, 2]
const ATTEMPT_WAIT_MAX_MS = 600_000
const causes = api.enums.v1.WorkflowTaskFailedCause
const CAUSE = {
  workflow: causes.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE,
  nondeterminism: causes.WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR,
  unhandledCommand: causes.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND,
  badSearchAttributes: causes.WORKFLOW_TASK_FAILED_CAUSE_BAD_SEARCH_ATTRIBUTES,
  forceClose: causes.WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND,
} as const

export class Execution {
  readonly host: Host
  readonly order: StartOrder
  readonly runId: string
  readonly startedAt: number
  readonly events: HistoryEvent[] = []
  readonly activities: ActivityBook
  readonly timers = new Map<string, { startedEventId: number; handle: { cancel(): void } }>()
  /** By the event that began them. */
  readonly children = new Map<number, Child>()
  readonly updates = new Map<string, UpdateState>()
  readonly memo: PayloadMap
  readonly searchAttributes: PayloadMap
  status: Status = 'Running'
  closedAt = 0
  isCancelRequested = false
  /** The worker that has the workflow in its cache, and is asked first. */
  sticky: { readonly worker: string; readonly waitMs: number } | null = null
  #task: WorkflowTask | null = null
  #tasks = 0
  #previousStartedId = 0
  #buffer: { readonly key: string | null; readonly write: () => void }[] = []
  #queries: QueryTask[] = []
  readonly #whenClosed: (() => void)[] = []
  /** Ends with the run. */
  readonly #lifetime: { cancel(): void }[] = []

  constructor(host: Host, order: StartOrder) {
    this.host = host
    this.order = order
    this.runId = order.runId ?? host.uuid()
    this.startedAt = host.scheduler.now()
    this.memo = { ...order.memo }
    this.searchAttributes = { ...order.searchAttributes }
    this.activities = new ActivityBook(this)
    this.append('WorkflowExecutionStarted', this.#beginning(), order.userMetadata)
    const ends = [
      order.runTimeoutMs ? this.startedAt + order.runTimeoutMs : Infinity,
      order.expiresAt || Infinity,
    ]
    const end = Math.min(...ends)
    if (end < Infinity)
      this.during(end - this.startedAt, `workflow ${this.id} runs out of time`, () =>
        this.#timeOut(),
      )
    if (order.delayMs)
      this.during(order.delayMs, `workflow ${this.id} begins`, () => this.needTask())
    else this.needTask()
  }

  get id(): string {
    return this.order.workflowId
  }
  get isOpen(): boolean {
    return this.status === 'Running'
  }
  get firstRunId(): string {
    return this.order.continuedFrom?.firstRunId ?? this.runId
  }
  get isTaskStarted(): boolean {
    return this.#task !== null && this.#task.worker !== null
  }
  get now(): number {
    return this.host.scheduler.now()
  }

  /** Does something later, unless the run has ended by then. */
  during(ms: number, what: string, run: () => void): { cancel(): void } {
    const handle = this.host.after(ms, what, run)
    this.#lifetime.push(handle)
    return handle
  }

  append(type: EventName, attributes: Attributes = {}, userMetadata?: Metadata): HistoryEvent {
    const event = {
      id: this.events.length + 1,
      at: this.now,
      type,
      attributes,
      ...(userMetadata && { userMetadata }),
    }
    this.events.push(event)
    return event
  }

  /** Writes down what has happened; while a worker decides, it is kept until the decision is written. */
  record(write: () => void, key: string | null = null): void {
    if (!this.isOpen) return
    if (this.isTaskStarted) this.#buffer.push({ key, write })
    else {
      if (this.#task?.isSpeculative) this.#writeTask(this.#task)
      write()
      this.needTask()
    }
  }

  /** Takes something back that was not written yet. */
  unrecord(key: string): boolean {
    const at = this.#buffer.findIndex((one) => one.key === key)
    if (at >= 0) this.#buffer.splice(at, 1)
    return at >= 0
  }

  /** Something has to be decided. */
  needTask(): void {
    if (this.#task === null && this.isOpen) this.#schedule({ isSpeculative: false, attempt: 1 })
  }

  #schedule({
    isSpeculative,
    attempt,
    waitMs = 0,
  }: {
    isSpeculative: boolean
    attempt: number
    waitMs?: number
  }): void {
    const task: WorkflowTask = {
      id: ++this.#tasks,
      attempt,
      scheduledAt: this.now,
      isSpeculative,
      isWritten: false,
      worker: null,
      startedAt: 0,
      timeout: null,
      scheduledId: 0,
    }
    this.#task = task
    if (!isSpeculative && attempt === 1) this.#writeTask(task)
    if (waitMs > 0)
      this.host.after(waitMs, `workflow task of ${this.id} is tried again`, () => this.#offer(task))
    else this.#offer(task)
  }

  #writeTask(task: WorkflowTask): void {
    task.isSpeculative = false
    if (task.isWritten) return
    task.isWritten = true
    task.scheduledId = this.append('WorkflowTaskScheduled', this.#taskScheduled(task)).id
  }

  #taskScheduled = ({ attempt }: WorkflowTask): Attributes => ({
    taskQueue: { name: this.order.queue },
    startToCloseTimeout: wireTimeIf(this.#taskTimeoutMs),
    attempt,
  })

  get #taskTimeoutMs(): number {
    return this.order.taskTimeoutMs || TASK_TIMEOUT_MS
  }

  #offer(task: WorkflowTask): void {
    if (this.#task !== task) return
    const { sticky } = this
    this.host.enqueue(
      this.order.queue,
      { kind: 'workflow', execution: this, task: task.id },
      sticky?.worker ?? null,
    )
    if (sticky === null) return
    const what = `the worker that knows ${this.id} does not take its task`
    task.timeout = this.host.after(sticky.waitMs, what, () => {
      if (this.#task !== task || task.worker !== null) return
      this.sticky = null
      this.#writeTask(task)
      this.append('WorkflowTaskTimedOut', {
        scheduledEventId: task.scheduledId,
        timeoutType: 2,
      })
      this.#task = null
      this.needTask()
    })
  }

  isTaskWaiting(id: number): boolean {
    return this.#task?.id === id && this.#task.worker === null
  }

  /** A worker takes a task; null if nobody waits for it any more. */
  startTask(id: number, worker: string): TaskPaper | null {
    const task = this.#task
    if (task?.id !== id || task.worker !== null) return null
    task.worker = worker
    task.startedAt = this.now
    task.timeout?.cancel()
    let history: readonly HistoryEvent[]
    if (task.isWritten) {
      const { scheduledId: scheduledEventId } = task
      this.append('WorkflowTaskStarted', { scheduledEventId, identity: worker })
      history = this.events.slice()
    } else {
      const at = this.events.length
      history = [
        ...this.events,
        this.#event(at + 1, task.scheduledAt, 'WorkflowTaskScheduled', this.#taskScheduled(task)),
        this.#event(at + 2, this.now, 'WorkflowTaskStarted', {
          scheduledEventId: at + 1,
          identity: worker,
        }),
      ]
    }
    task.timeout = this.host.after(
      this.#taskTimeoutMs,
      `workflow task of ${this.id} times out`,
      () => this.#taskTimedOut(task),
    )
    const updates = [...this.updates.values()].filter(({ state }) => state === 'admitted')
    for (const update of updates) update.state = 'sent'
    return {
      id,
      history,
      updates: updates.map(({ request }) => request),
      previousStartedId: this.#previousStartedId,
    }
  }

  #event = (id: number, at: number, type: EventName, attributes: Attributes): HistoryEvent => ({
    id,
    at,
    type,
    attributes,
  })

  /**
   * What a worker has decided.
   * @returns the id of the last event that it need not read again, if the task left no trace; else null
   * @throws RpcError if the task is no longer its own
   */
  completeTask(
    id: number,
    worker: string,
    outcome: TaskOutcome,
    stickyMs: number | null,
  ): { readonly dropped: { readonly last: number; readonly startedId: number } | null } {
    const task = this.#task
    if (task?.id !== id || task.worker !== worker)
      throw new RpcError(CODE.notFound, 'Workflow task not found.')
    task.timeout?.cancel()
    if ('failure' in outcome) {
      this.#failTask(task, outcome.cause, outcome.failure)
      return { dropped: null }
    }
    const { commands, flags } = outcome
    const bad = badCommand(this, commands)
    const isLate = commands.some(isEnding) && this.#buffer.length > 0
    if (bad !== null || isLate) {
      this.#failTask(task, bad === null ? 'unhandledCommand' : 'badSearchAttributes', {
        message: bad ?? 'UnhandledCommand',
      })
      throw new RpcError(CODE.invalid, bad ?? 'UnhandledCommand')
    }
    this.sticky = stickyMs === null ? null : { worker, waitMs: stickyMs }
    const isTraceless = commands.every(({ kind }) => kind === 'updateRejected')
    if (task.isSpeculative && !task.isWritten && isTraceless && this.#buffer.length === 0) {
      this.#task = null
      applyCommands(this, commands)
      this.#go()
      return { dropped: { last: this.events.length, startedId: this.#previousStartedId } }
    }
    const startedId = this.#writeStart(task)
    this.append('WorkflowTaskCompleted', {
      scheduledEventId: task.scheduledId,
      startedEventId: startedId,
      identity: worker,
      sdkMetadata: { coreUsedFlags: CORE_FLAGS, langUsedFlags: flags },
    })
    this.#previousStartedId = startedId
    this.#task = null
    applyCommands(this, commands)
    this.#go()
    return { dropped: null }
  }

  /** The id of the event that began a task. */
  #writeStart(task: WorkflowTask): number {
    if (task.isWritten) return this.events.length
    const at = this.events.length
    task.scheduledId = at + 1
    this.events.push(
      this.#event(at + 1, task.scheduledAt, 'WorkflowTaskScheduled', this.#taskScheduled(task)),
      this.#event(at + 2, task.startedAt, 'WorkflowTaskStarted', {
        scheduledEventId: at + 1,
        identity: task.worker!,
      }),
    )
    return at + 2
  }

  /** Writes what came in between, and lets the next task begin if there is something to decide. */
  #go(): void {
    const buffer = this.#buffer
    this.#buffer = []
    if (this.isOpen) {
      for (const { write } of buffer) write()
      if (buffer.length > 0 || this.activities.hasNews) this.needTask()
      this.activities.hasNews = false
      this.#offerUpdates()
    }
    for (const query of this.#queries.splice(0)) this.query(query)
  }

  #offerUpdates(): void {
    const isWaiting = [...this.updates.values()].some(({ state }) => state === 'admitted')
    if (isWaiting && this.#task === null) this.#schedule({ isSpeculative: true, attempt: 1 })
  }

  #failTask(task: WorkflowTask, cause: keyof typeof CAUSE, failure: Failure): void {
    if (task.attempt === 1) {
      const startedId = this.#writeStart(task)
      this.append('WorkflowTaskFailed', {
        scheduledEventId: task.scheduledId,
        startedEventId: startedId,
        cause: CAUSE[cause],
        failure,
        identity: task.worker!,
      })
    }
    this.#retryTask(task, cause === 'unhandledCommand')
  }

  #taskTimedOut(task: WorkflowTask): void {
    if (this.#task !== task || !this.isOpen) return
    if (task.attempt === 1) {
      const startedId = this.#writeStart(task)
      this.append('WorkflowTaskTimedOut', {
        scheduledEventId: task.scheduledId,
        startedEventId: startedId,
        timeoutType: 1,
      })
    }
    this.#retryTask(task, false)
  }

  #retryTask(task: WorkflowTask, isFresh: boolean): void {
    this.#task = null
    this.sticky = null
    for (const update of this.updates.values())
      if (update.state === 'sent') update.state = 'admitted'
    const buffer = this.#buffer
    this.#buffer = []
    for (const { write } of buffer) write()
    const attempt = isFresh || buffer.length > 0 ? 1 : task.attempt + 1
    // Later attempts are not reported by the SDK: they run out of time, and longer each time.
    const waitMs =
      attempt <= 2 ? 0 : Math.min(ATTEMPT_WAIT_MAX_MS, this.#taskTimeoutMs * 2 ** (attempt - 3))
    this.#schedule({ isSpeculative: false, attempt, waitMs })
  }

  signal(signal: {
    name: string
    input?: Payloads | undefined
    identity?: string
    header?: PayloadMap
    from?: object
  }): void {
    this.requireOpen()
    const { name, input, identity = '', header = {}, from } = signal
    this.record(() =>
      this.append('WorkflowExecutionSignaled', {
        signalName: name,
        input,
        identity,
        header: { fields: header },
        ...(from && { externalWorkflowExecution: from }),
      }),
    )
  }

  requestCancel(of: Attributes = {}): void {
    this.requireOpen()
    if (this.isCancelRequested) return
    this.isCancelRequested = true
    this.record(() => this.append('WorkflowExecutionCancelRequested', of))
  }

  terminate(reason: string, identity = ''): void {
    this.requireOpen()
    // A terminated run is closed in the middle of whatever is decided.
    const task = this.#task
    if (task?.worker) {
      task.timeout?.cancel()
      const startedId = this.#writeStart(task)
      this.append('WorkflowTaskFailed', {
        scheduledEventId: task.scheduledId,
        startedEventId: startedId,
        cause: CAUSE.forceClose,
      })
    }
    for (const { write } of this.#buffer.splice(0)) write()
    this.append('WorkflowExecutionTerminated', { reason, identity })
    this.close('Terminated')
  }

  requireOpen(): void {
    if (!this.isOpen) throw new RpcError(CODE.notFound, 'workflow execution already completed')
  }

  #timeOut(): void {
    if (!this.isOpen) return
    this.append('WorkflowExecutionTimedOut', { retryState: 3 })
    this.close('TimedOut')
  }

  /** An update; one of the same id is the same update. */
  update(request: UpdateRequest): UpdateState {
    const { updateId } = request.meta
    const known = this.updates.get(updateId)
    if (known) return known
    this.requireOpen()
    const made: UpdateState = {
      request,
      state: 'admitted',
      acceptedEventId: 0,
      outcome: null,
      waiters: [],
    }
    this.updates.set(updateId, made)
    if (this.#task === null) this.#offerUpdates()
    return made
  }

  /** Asks the workflow; while a task is open, after it. */
  query(query: QueryTask): void {
    const isReady = this.#previousStartedId > 0 && (!this.isOpen || this.#task === null)
    if (!isReady && this.isOpen) {
      this.#queries.push(query)
      return
    }
    this.host.enqueue(
      this.order.queue,
      { kind: 'query', execution: this, query },
      this.sticky?.worker ?? null,
    )
  }

  whenClosed(then: () => void): void {
    if (this.isOpen) this.#whenClosed.push(then)
    else then()
  }

  /** After its closing event. */
  close(status: Exclude<Status, 'Running'>): void {
    this.status = status
    this.closedAt = this.now
    this.#task?.timeout?.cancel()
    this.#task = null
    this.#buffer = []
    this.activities.clear()
    for (const handle of this.#lifetime.splice(0)) handle.cancel()
    for (const { handle } of this.timers.values()) handle.cancel()
    for (const [id, update] of this.updates) this.#abandon(id, update)
    this.host.ended(this)
    for (const then of this.#whenClosed.splice(0)) then()
    for (const query of this.#queries.splice(0)) this.query(query)
  }

  #abandon(id: string, update: UpdateState): void {
    const waiters = update.waiters.splice(0)
    if (update.state === 'accepted') {
      update.state = 'completed'
      update.outcome = {
        failure: {
          message:
            'Workflow Update failed because the Workflow completed before the Update completed.',
          applicationFailureInfo: { type: 'AcceptedUpdateCompletedWorkflow', nonRetryable: true },
        },
      }
      for (const tell of waiters) tell(update)
    } else if (update.state === 'admitted' || update.state === 'sent') {
      this.updates.delete(id)
      const gone = new RpcError(CODE.notFound, 'workflow execution already completed')
      for (const tell of waiters) tell(gone)
    }
  }

  #beginning(): Attributes {
    const { order } = this
    const fields = (map: PayloadMap | undefined) => map && Object.keys(map).length > 0
    return {
      workflowType: { name: order.type },
      workflowId: order.workflowId,
      taskQueue: { name: order.queue },
      input: order.input,
      workflowExecutionTimeout: wireTimeIf(order.executionTimeoutMs ?? 0),
      workflowRunTimeout: wireTimeIf(order.runTimeoutMs ?? 0),
      workflowTaskTimeout: wireTimeIf(this.#taskTimeoutMs),
      originalExecutionRunId: this.runId,
      firstExecutionRunId: this.firstRunId,
      continuedExecutionRunId: order.continuedFrom?.runId ?? '',
      identity: order.identity ?? '',
      attempt: order.attempt ?? 1,
      retryPolicy: order.retryPolicy ?? undefined,
      header: { fields: order.header ?? {} },
      ...(fields(order.memo) && { memo: { fields: order.memo! } }),
      ...(fields(order.searchAttributes) && {
        searchAttributes: { indexedFields: order.searchAttributes! },
      }),
      ...(order.parent && {
        parentWorkflowNamespace: this.host.namespace,
        parentWorkflowExecution: {
          workflowId: order.parent.workflowId,
          runId: order.parent.runId,
        },
        parentInitiatedEventId: order.parent.initiatedEventId,
      }),
      ...(order.root && { rootWorkflowExecution: order.root }),
    }
  }
}
