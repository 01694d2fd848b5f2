// A Temporal server in memory: runs, queues, time, and what happens between runs. Real workflow code and real activities work on it
// (worker.ts), and the real client library talks to it (service.ts).

import type { Dice, Scheduler } from '../scheduler.ts'
import { Execution, type Status } from './execution.ts'
import type { Attributes, EventName } from './history.ts'
import type { Host, StartOrder, Task } from './host.ts'
import { Matching, type Poller } from './matching.ts'
import { api, CODE, RpcError, type PayloadMap } from './wire.ts'

const { WorkflowIdReusePolicy: Reuse, WorkflowIdConflictPolicy: Conflict } = api.enums.v1

/** How messages travel. */
export interface Wire {
  /** ms; null: the message is lost. */
  delay(from: string, to: string, what: string): number | null
}

export interface ServerOptions {
  readonly scheduler: Scheduler
  readonly dice: Dice
  readonly namespace?: string
  /** Default: 0 to 4 ms, and nothing is lost. */
  readonly wire?: Wire
  /** Names of search attributes with their types; default: whatever a workflow writes is taken. */
  readonly searchAttributes?: ReadonlyMap<string, number>
}

/** The name of the server for the wire. */
export const SERVER = 'temporal'

const CHILD_END: Partial<Record<Status, EventName>> = {
  Completed: 'ChildWorkflowExecutionCompleted',
  Failed: 'ChildWorkflowExecutionFailed',
  Canceled: 'ChildWorkflowExecutionCanceled',
  Terminated: 'ChildWorkflowExecutionTerminated',
  TimedOut: 'ChildWorkflowExecutionTimedOut',
}

/** Attributes that every server has. */
const BUILT_IN = new Set([
  'TemporalChangeVersion',
  'TemporalScheduledById',
  'TemporalScheduledStartTime',
])

export class Server implements Host {
  readonly scheduler: Scheduler
  readonly dice: Dice
  readonly namespace: string
  readonly wire: Wire
  readonly matching: Matching
  /** All runs of an id, oldest first. */
  readonly runs = new Map<string, Execution[]>()
  /** Registered search attributes; null: any. */
  searchAttributes: Map<string, number> | null
  #isUp = true
  /** What waits until the server is up again. */
  #late: (() => void)[] = []
  /** Grows when everything is wiped: what was planned before is void. */
  #age = 0
  readonly #wiped: (() => void)[] = []
  readonly #fallen = new Set<() => void>()

  constructor(options: ServerOptions) {
    const { scheduler, dice, namespace = 'default', searchAttributes } = options
    this.scheduler = scheduler
    this.dice = dice
    this.namespace = namespace
    this.wire = options.wire ?? { delay: () => dice.below(5) }
    this.matching = new Matching((count) => (count === 1 ? 0 : dice.below(count)))
    this.searchAttributes = searchAttributes ? new Map(searchAttributes) : null
  }

  get isUp(): boolean {
    return this.#isUp
  }

  uuid(): string {
    const hex = Array.from({ length: 32 }, () => this.dice.below(16).toString(16)).join('')
    return [
      hex.slice(0, 8),
      hex.slice(8, 12),
      `4${hex.slice(13, 16)}`,
      `8${hex.slice(17, 20)}`,
      hex.slice(20),
    ].join('-')
  }

  after(ms: number, what: string, run: () => void): { cancel(): void } {
    const age = this.#age
    let isCancelled = false
    const fire = () => {
      if (isCancelled || age !== this.#age) return
      if (this.#isUp) run()
      else this.#late.push(fire)
    }
    const handle = this.scheduler.at(this.scheduler.now() + ms, `temporal: ${what}`, fire)
    return {
      cancel() {
        isCancelled = true
        handle.cancel()
      },
    }
  }

  /**
   * A worker's call: it is tried until the server takes it, as the SDK does. `done` gets the answer, or the refusal.
   * @param isAlive whether the caller still lives
   */
  call<Answer>(
    from: string,
    what: string,
    handle: () => Answer,
    {
      isAlive,
      done,
    }: {
      isAlive(): boolean
      done(answer: { readonly answer: Answer } | { readonly error: RpcError }): void | Promise<void>
    },
  ): void {
    const attempt = (waitMs: number) => {
      const again = () => {
        const wait = Math.min(10_000, waitMs * 2)
        this.scheduler.at(this.scheduler.now() + wait, `${from} asks again: ${what}`, () => {
          if (isAlive()) attempt(wait)
        })
      }
      const there = this.wire.delay(from, SERVER, what)
      if (there === null) return again()
      this.scheduler.at(this.scheduler.now() + there, `${from} → temporal: ${what}`, () => {
        if (!this.#isUp) return isAlive() ? again() : undefined
        let outcome: { readonly answer: Answer } | { readonly error: RpcError }
        try {
          outcome = { answer: handle() }
        } catch (error) {
          if (!(error instanceof RpcError)) throw error
          outcome = { error }
        }
        const back = this.wire.delay(SERVER, from, what)
        if (back === null) return again()
        this.scheduler.at(this.scheduler.now() + back, `temporal → ${from}: ${what}`, () =>
          done(outcome),
        )
      })
    }
    attempt(50)
  }

  /** Calls `fall` when the server goes down, until the returned function is called. */
  onFall(fall: () => void): () => void {
    this.#fallen.add(fall)
    return () => this.#fallen.delete(fall)
  }

  /** Calls `forget` whenever everything is lost. */
  whenWiped(forget: () => void): void {
    this.#wiped.push(forget)
  }

  down(): void {
    this.#isUp = false
    for (const fall of this.#fallen) fall()
  }

  up(): void {
    this.#isUp = true
    for (const fire of this.#late.splice(0)) fire()
    this.matching.matchAll()
  }

  /** Its database is gone: no run, no queue, no search attribute is known any more. */
  wipe(): void {
    this.#age++
    this.#late = []
    this.runs.clear()
    this.matching.clear()
    if (this.searchAttributes !== null) this.searchAttributes = new Map()
    for (const forget of this.#wiped) forget()
    for (const fall of this.#fallen) fall()
  }

  find(workflowId: string, runId?: string): Execution | null {
    const all = this.runs.get(workflowId) ?? []
    const found = runId ? all.find((one) => one.runId === runId) : all.at(-1)
    return found ?? null
  }

  /** @throws RpcError if it is unknown */
  require(workflowId: string, runId?: string | null): Execution {
    const found = this.find(workflowId, runId ?? undefined)
    if (found) return found
    throw new RpcError(CODE.notFound, `workflow not found for ID: ${workflowId}`)
  }

  begin(
    order: StartOrder,
    { reuse = 0, conflict = 0 }: { reuse?: number; conflict?: number } = {},
  ): Execution {
    const before = this.find(order.workflowId)
    if (before?.isOpen) {
      const isSame = order.requestId !== undefined && before.order.requestId === order.requestId
      if (isSame || conflict === Conflict.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING) return before
      const replaces =
        conflict === Conflict.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING ||
        reuse === Reuse.WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING
      if (!replaces)
        throw new RpcError(
          CODE.exists,
          `Workflow execution is already running. WorkflowId: ${order.workflowId}, RunId: ${before.runId}.`,
        )
      before.terminate('TerminateIfRunning WorkflowIdReusePolicy', 'history-service')
    } else if (before) {
      const isFailed = before.status !== 'Completed' && before.status !== 'ContinuedAsNew'
      const isRefused =
        reuse === Reuse.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE ||
        (reuse === Reuse.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY && !isFailed)
      if (isRefused)
        throw new RpcError(
          CODE.exists,
          `Workflow execution already finished. WorkflowId: ${order.workflowId}, RunId: ${before.runId}.`,
        )
    }
    const refused = this.refusedAttribute(order.searchAttributes ?? {})
    if (refused !== null) throw new RpcError(CODE.invalid, refused)
    const made = new Execution(this, order)
    this.runs.set(order.workflowId, [...(this.runs.get(order.workflowId) ?? []), made])
    return made
  }

  enqueue(queue: string, task: Task, sticky: string | null): void {
    this.after(0, `a task for ${queue}`, () => {
      const isKnown = sticky !== null && this.matching.isKnown(sticky, queue, this.scheduler.now())
      this.matching.add(queue, task, isKnown ? sticky : null)
    })
  }

  poll(poller: Poller): void {
    this.matching.poll(poller)
  }

  refusedAttribute(fields: PayloadMap): string | null {
    const known = this.searchAttributes
    if (known === null) return null
    const name = Object.keys(fields).find((each) => !known.has(each) && !BUILT_IN.has(each))
    return name === undefined
      ? null
      : `Namespace ${this.namespace} has no mapping defined for search attribute ${name}`
  }

  /** A run has ended: its children get what their policy says, and its parent is told. */
  ended(execution: Execution): void {
    const { status, order, id, runId } = execution
    for (const { workflowId, runId: childRun, parentClosePolicy } of execution.children.values()) {
      this.after(1, `the parent of ${workflowId} has ended`, () => {
        const child = this.find(workflowId, childRun || undefined)
        const now = child?.status === 'ContinuedAsNew' ? this.find(workflowId) : child
        if (now?.isOpen !== true || now.order.parent?.runId !== runId) return
        if (parentClosePolicy === 1) now.terminate('by parent close policy')
        if (parentClosePolicy === 3) now.requestCancel({ cause: 'by parent close policy' })
      })
    }
    const type = CHILD_END[status]
    if (order.parent === undefined || type === undefined) return
    const { initiatedEventId, ...of } = order.parent
    const parent = this.find(of.workflowId, of.runId)
    const closing = execution.events.at(-1)!.attributes
    this.after(1, `${of.workflowId} learns that its child ${id} has ended`, () => {
      if (!parent?.isOpen || !parent.children.delete(initiatedEventId)) return
      const { result, failure, details } = closing
      parent.record(() => {
        const started = parent.events.find(
          ({ type: name, attributes }) =>
            name === 'ChildWorkflowExecutionStarted' &&
            attributes.initiatedEventId === initiatedEventId,
        )
        const about: Attributes = {
          initiatedEventId,
          startedEventId: started?.id ?? 0,
          workflowExecution: { workflowId: id, runId },
          workflowType: { name: order.type },
          ...(result && { result }),
          ...(failure && { failure }),
          ...(details && { details }),
          ...(status === 'Failed' || status === 'TimedOut' ? { retryState: 5 } : {}),
        }
        parent.append(type, about)
      })
    })
  }
}
