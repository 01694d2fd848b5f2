// A worker on the simulated server: it polls queues, keeps workflows in a cache, and runs activities. It can be killed, stopped and
// continued, and shut down in order.

import type { Client } from '@temporalio/client'
import { ActivityRun, type ActivityFunction, type AttemptInfo } from './activity-run.ts'
import type { TaskOutcome } from './commands.ts'
import type { TaskPaper } from './execution.ts'
import type { Execution } from './execution.ts'
import type { QueryTask, Task } from './host.ts'
import { WorkflowReplica } from './replica.ts'
import { SERVER, type Server } from './server.ts'
import { vmOf, type Bundle } from './vm.ts'

export type Activities = Readonly<Record<string, ActivityFunction>>

/** What is polled: the tasks of workflows, or activities. */
export interface QueueOptions {
  readonly queue: string
  readonly workflows?: boolean
  readonly activities?: Activities
  /** Activities at a time. Default 100. */
  readonly slots?: number
}

export interface WorkerOptions {
  /** Of its process; one that comes after it has another name. */
  readonly name: string
  readonly queues: readonly QueueOptions[]
  /** Workflow code; default: that of the server's options. Another one: a worker of another build. */
  readonly bundle?: Bundle
  /** For activities that ask for the client of their worker. */
  readonly client?: Client
  /** As our pollers set it. Default 3 s. */
  readonly stickyMs?: number
  /** As our pollers set it. Default 5 s. */
  readonly throttleMs?: number
  /** Workflows in the cache. Default 20. */
  readonly cached?: number
  /** How often a task finds its workflow gone from the cache, 0 to 1. Default 0. */
  readonly forgets?: number
  /** Runs an attempt, such as within the context of a process. */
  around?<Result>(about: AttemptInfo, run: () => Promise<Result>): Promise<Result>
}

export interface SimulatedWorker {
  readonly name: string
  /** Attempts that it has begun and not ended. */
  readonly running: number
  /** Its process is gone at once. What it was at is found by time-outs. */
  kill(): void
  /** Its process stands still, as after SIGSTOP: its open polls still take tasks, for up to a minute. */
  stop(): void
  continue(): void
  /** Polls no more, and asks its activities to end. */
  shutdown(): void
  /** Forgets a workflow, or all: the next task replays the history. */
  evict(runId?: string): void
}

const POLL_MS = 60_000
const POLLS = 5

export class Worker implements SimulatedWorker {
  readonly name: string
  readonly #server: Server
  readonly #options: WorkerOptions
  readonly #bundle: Bundle
  readonly #cache = new Map<string, WorkflowReplica>()
  readonly #running = new Set<ActivityRun>()
  #state: 'runs' | 'stopped' | 'shutting down' | 'killed' = 'runs'
  #stoppedAt = 0
  #swallowed = 0
  /** What arrives while it stands still. */
  #inbox: (() => void)[] = []
  /** One workflow task, or query, of a run at a time. */
  readonly #turns = new Map<string, Promise<void>>()

  constructor(server: Server, options: WorkerOptions, bundle: Bundle) {
    this.#server = server
    this.#options = options
    this.#bundle = options.bundle ?? bundle
    this.name = options.name
    for (const { queue, workflows, activities, slots = 100 } of options.queues) {
      if (workflows)
        server.poll({
          worker: this.name,
          queue,
          kind: 'workflow',
          isFree: () => this.#takes(),
          take: (task) => this.#takeDecision(task),
        })
      if (!activities) continue
      let taken = 0
      server.poll({
        worker: this.name,
        queue,
        kind: 'activity',
        isFree: () => taken < slots && this.#takes(),
        take: (task) => {
          if (task.kind !== 'activity') return
          taken++
          this.#takeActivity(task, activities, () => {
            taken--
            this.#server.matching.matchAll()
          })
        },
      })
    }
  }

  get running(): number {
    return this.#running.size
  }

  #takes(): boolean {
    if (!this.#server.isUp) return false
    if (this.#state === 'runs') return true
    const isPolling = this.#server.scheduler.now() - this.#stoppedAt < POLL_MS
    return this.#state === 'stopped' && isPolling && this.#swallowed < POLLS
  }

  /** Brings a task to the worker. */
  #deliver(what: string, arrive: () => void | Promise<void>): void {
    if (this.#state === 'stopped') this.#swallowed++
    const { scheduler, wire } = this.#server
    const ms = wire.delay(SERVER, this.name, what)
    // Lost: the server finds out by a time-out.
    if (ms === null) return
    scheduler.at(scheduler.now() + ms, `${this.name} gets ${what}`, async () => {
      if (this.#state === 'killed') return
      if (this.#state === 'stopped') this.#inbox.push(() => void arrive())
      else await arrive()
    })
  }

  #takeActivity(
    task: Extract<Task, { kind: 'activity' }>,
    activities: Activities,
    free: () => void,
  ): void {
    const { execution, scheduledEventId, attempt } = task
    const paper = execution.activities.start(scheduledEventId, attempt, this.name)
    if (paper === null) return free()
    const { type } = paper.order
    this.#deliver(`${type} of ${execution.id}, attempt ${attempt}`, () => {
      const run = new ActivityRun(
        {
          server: this.#server,
          worker: this.name,
          client: this.#options.client,
          throttleMs: this.#options.throttleMs ?? 5_000,
          isAlive: () => this.#state !== 'killed',
          whenMoving: (act) => this.#whenMoving(act),
          around: this.#options.around ?? ((_about, work) => work()),
        },
        paper,
        activities[type],
      )
      this.#running.add(run)
      run.run(() => {
        this.#running.delete(run)
        free()
      })
      if (this.#state === 'shutting down') run.cancel('WORKER_SHUTDOWN')
    })
  }

  #whenMoving(act: () => void): void {
    if (this.#state === 'stopped') this.#inbox.push(act)
    else if (this.#state !== 'killed') act()
  }

  #takeDecision(task: Task): void {
    if (task.kind === 'query') {
      const { execution, query } = task
      const history = execution.events.slice()
      this.#deliver(`query ${query.name} of ${execution.id}`, () =>
        this.#inTurn(execution.runId, () => this.#answer(execution, query, history)),
      )
    } else if (task.kind === 'workflow') {
      const { execution } = task
      const paper = execution.startTask(task.task, this.name)
      if (paper === null) return
      this.#deliver(`workflow task of ${execution.id}`, () =>
        this.#inTurn(execution.runId, () => this.#decide(execution, paper)),
      )
    }
  }

  async #inTurn(runId: string, work: () => Promise<void>): Promise<void> {
    const before = this.#turns.get(runId) ?? Promise.resolve()
    const mine = before.then(work)
    this.#turns.set(
      runId,
      mine.catch(() => {}),
    )
    await mine
  }

  async #replica(execution: Execution, history: TaskPaper['history'], previous: number | null) {
    const { runId, order } = execution
    const known = this.#cache.get(runId)
    const isForgotten = known && this.#server.dice.often(this.#options.forgets ?? 0)
    if (known && !isForgotten && (previous === null || known.startedId === previous)) {
      this.#cache.delete(runId)
      this.#cache.set(runId, known)
      return known
    }
    if (known) await this.#drop(runId)
    const { namespace } = this.#server
    const creator = await vmOf(this.#bundle)
    const made = await WorkflowReplica.create(creator, {
      history,
      namespace,
      taskQueue: order.queue,
    })
    this.#cache.set(runId, made)
    const [oldest] = this.#cache.keys()
    if (this.#cache.size > (this.#options.cached ?? 20)) await this.#drop(oldest!)
    return made
  }

  async #drop(runId: string): Promise<void> {
    const replica = this.#cache.get(runId)
    this.#cache.delete(runId)
    await replica?.dispose()
  }

  async #decide(execution: Execution, paper: TaskPaper): Promise<void> {
    const replica = await this.#replica(execution, paper.history, paper.previousStartedId).catch(
      // The code of this worker does not have the workflow.
      (error: unknown) => ({ message: (error as Error).message }),
    )
    const outcome: TaskOutcome =
      replica instanceof WorkflowReplica
        ? await replica.work(paper.history, paper.updates)
        : { failure: replica, cause: 'workflow' }
    if (this.#state === 'killed') return
    const { id: workflowId, runId } = execution
    const isBad = 'failure' in outcome
    if (isBad) await this.#drop(runId)
    const server = this.#server
    const { stickyMs = 3_000 } = this.#options
    server.call(
      this.name,
      `decision of ${workflowId}`,
      () =>
        server
          .require(workflowId, runId)
          .completeTask(paper.id, this.name, outcome, this.#state === 'runs' ? stickyMs : null),
      {
        isAlive: () => this.#state !== 'killed',
        done: async (reply) => {
          if (isBad) return
          // What the workflow believes to have decided is not in the history.
          if ('error' in reply) await this.#inTurn(runId, () => this.#drop(runId))
          else if (reply.answer.dropped && replica instanceof WorkflowReplica) {
            const { last, startedId } = reply.answer.dropped
            replica.forgetTask(last, startedId)
          }
        },
      },
    )
  }

  async #answer(
    execution: Execution,
    query: QueryTask,
    history: TaskPaper['history'],
  ): Promise<void> {
    const replica = await this.#replica(execution, history, null)
    const answer = await replica.query(history, query)
    this.#server.call(this.name, `answer to ${query.name}`, () => query.answer(answer), {
      isAlive: () => this.#state !== 'killed',
      done: () => {},
    })
  }

  kill(): void {
    if (this.#state === 'killed') return
    this.#state = 'killed'
    this.#inbox = []
    this.#running.clear()
    this.#leave()
    this.evict()
  }

  #leave(): void {
    this.#server.matching.leave(this.name, this.#server.scheduler.now())
  }

  stop(): void {
    if (this.#state !== 'runs') return
    this.#state = 'stopped'
    this.#stoppedAt = this.#server.scheduler.now()
    this.#swallowed = 0
  }

  continue(): void {
    if (this.#state !== 'stopped') return
    this.#state = 'runs'
    for (const act of this.#inbox.splice(0)) act()
    this.#server.matching.matchAll()
  }

  shutdown(): void {
    if (this.#state !== 'runs') return
    this.#state = 'shutting down'
    this.#leave()
    for (const run of this.#running) run.cancel('WORKER_SHUTDOWN')
  }

  evict(runId?: string): void {
    for (const id of runId === undefined ? [...this.#cache.keys()] : [runId])
      void this.#inTurn(id, () => this.#drop(id))
  }
}
