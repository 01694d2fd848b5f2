// A workflow as one worker holds it: the SDK's virtual machine with its workflow, driven by the events of the history. What the SDK's
// native part (Core) does between server and workflow code is done here: events become jobs, commands are matched to their events, and
// what a cancel resolves at once is resolved at once. A replay takes the same path as the first time.

import { createHash } from 'node:crypto'
import { mismatch, isEnding, type Command, type TaskOutcome } from './commands.ts'
import { isClosing, isCommanded, type HistoryEvent, type UpdateRequest } from './history.ts'
import { commandsOf, type Machines } from './machines.ts'
import { jobsOf } from './jobs.ts'
import {
  activate,
  queryActivation,
  type Activation,
  type Job,
  type VmCreator,
  type VmWorkflow,
} from './vm.ts'
import { msOf, wireLong, wireTime, type Failure, type PayloadMap, type Payloads } from './wire.ts'

/** Core's order of the jobs of an activation. */
const ORDER: Readonly<Record<string, number>> = {
  initializeWorkflow: 1,
  notifyHasPatch: 2,
  updateRandomSeed: 3,
  signalWorkflow: 4,
  doUpdate: 4,
}
const rank = (job: Job): number => ORDER[Object.keys(job)[0]!] ?? 5

class Nondeterminism extends Error {}

/** A part of the history that one workflow task brings: from the end of the task before to the start of this one. */
interface Span {
  readonly events: readonly HistoryEvent[]
  /** What the task led to; null for the task that is at work. */
  readonly after: readonly HistoryEvent[] | null
  readonly started: HistoryEvent
}

export interface QueryOrder {
  readonly name: string
  readonly args: Payloads | undefined
}
export type QueryAnswer = { readonly result: Payloads } | { readonly failure: Failure }

export class WorkflowReplica {
  readonly #vm: VmWorkflow
  readonly #runId: string
  readonly machines: Machines
  /** Emitted, and not yet seen as events. */
  readonly #pending: Command[] = []
  readonly #flags = new Set<number>()
  #seen = 0
  #hasEnded = false
  #startedId = 0

  private constructor(vm: VmWorkflow, runId: string) {
    this.#vm = vm
    this.#runId = runId
    this.machines = {
      runId,
      activities: new Map(),
      timers: new Map(),
      children: new Map(),
      signals: new Map(),
      cancels: new Map(),
      byEvent: new Map(),
      patches: new Set(),
      updates: new Map(),
      searchAttributes: {},
      memo: {},
    }
  }

  static async create(
    creator: VmCreator,
    {
      history,
      namespace,
      taskQueue,
    }: { history: readonly HistoryEvent[]; namespace: string; taskQueue: string },
  ): Promise<WorkflowReplica> {
    const first = history[0]!
    const runId = String(first.attributes['originalExecutionRunId'])
    const task = history.find(({ type }) => type === 'WorkflowTaskStarted') ?? first
    const vm = await creator.createWorkflow({
      info: infoOf(first, { runId, namespace, taskQueue, firstTaskAt: task.at }),
      randomnessSeed: [...createHash('sha256').update(runId).digest().subarray(0, 8)],
      now: task.at,
      showStackTraceSources: false,
    })
    const replica = new WorkflowReplica(vm, runId)
    const { searchAttributes, memo } = first.attributes
    Object.assign(replica.machines.searchAttributes, searchAttributes?.indexedFields)
    Object.assign(replica.machines.memo, memo?.fields)
    return replica
  }

  /** Id of the event that began the last task that it has taken. */
  get startedId(): number {
    return this.#startedId
  }

  /** The server has taken the last, empty task out of the history. */
  forgetTask(eventId: number, startedId: number): void {
    this.#seen = eventId
    this.#startedId = startedId
  }

  async dispose(): Promise<void> {
    await this.#vm.dispose()
  }

  /** Does the task that the history ends with. */
  async work(
    history: readonly HistoryEvent[],
    updates: readonly UpdateRequest[],
  ): Promise<TaskOutcome> {
    try {
      for (const span of spansOf(history, this.#seen)) {
        const isLast = span.after === null
        await this.#take(span, isLast ? updates : [], isLast, history.length)
      }
      return { commands: [...this.#pending], flags: [...this.#flags] }
    } catch (error) {
      if (error instanceof TaskFailure) return { failure: error.failure, cause: 'workflow' }
      if (error instanceof Nondeterminism)
        return {
          failure: { message: `[TMPRL1100] Nondeterminism error: ${error.message}` },
          cause: 'nondeterminism',
        }
      throw error
    }
  }

  /** Answers from the state after the last task that was completed. */
  async query(history: readonly HistoryEvent[], { name, args }: QueryOrder): Promise<QueryAnswer> {
    for (const span of spansOf(history, this.#seen))
      if (span.after !== null) await this.#take(span, [], false, history.length)
    const queryWorkflow = {
      queryId: 'legacy',
      queryType: name,
      arguments: args?.payloads ?? [],
    }
    const activation = queryActivation(this.#activation([{ queryWorkflow }]))
    const { successful, failed } = await activate(this.#vm, activation)
    if (failed) return { failure: failed.failure ?? {} }
    const answer = successful?.commands?.find((one) => one.respondToQuery)?.respondToQuery
    if (answer?.failed) return { failure: answer.failed }
    const response = answer?.succeeded?.response
    return { result: { payloads: response ? [response] : [] } }
  }

  async #take(
    { events, after, started }: Span,
    updates: readonly UpdateRequest[],
    isLast: boolean,
    length: number,
  ): Promise<void> {
    const jobs: Job[] = []
    for (const event of events) {
      if (event.id <= this.#seen) continue
      this.#seen = event.id
      if (isCommanded(event)) this.#match(event)
      else jobs.push(...jobsOf(event, this.machines))
      if (event.type === 'WorkflowTaskCompleted') this.#noteFlags(event)
    }
    // A refused update makes no event.
    const missing = this.#pending.find(({ kind }) => kind !== 'updateRejected')
    if (missing) throw new Nondeterminism(`command ${missing.kind} has no event`)
    this.#pending.length = 0
    if (after?.[0]) this.#noteFlags(after[0])
    for (const event of after ?? []) {
      const { markerName, acceptedRequest } = event.attributes
      if (event.type === 'MarkerRecorded' && markerName === 'core_patch')
        jobs.push({ notifyHasPatch: { patchId: patchOf(event) } })
      if (acceptedRequest) jobs.push(this.#updateJob(acceptedRequest, false))
    }
    jobs.push(...updates.map((update) => this.#updateJob(update, true)))
    this.#startedId = started.id
    await this.#run(jobs, started, { isReplaying: !isLast, length: isLast ? length : started.id })
  }

  /** Activates until nothing is left that can be resolved without the server. */
  async #run(
    first: Job[],
    started: HistoryEvent,
    { isReplaying, length }: { isReplaying: boolean; length: number },
  ): Promise<void> {
    let jobs = first
    while (jobs.length > 0 && !this.#hasEnded) {
      const sorted = jobs.toSorted((one, other) => rank(one) - rank(other))
      const activation = {
        ...this.#activation(sorted),
        timestamp: wireTime(started.at),
        isReplaying,
        historyLength: length,
      }
      const { successful, failed } = await activate(this.#vm, activation)
      await this.#vm.getAndResetSinkCalls()
      if (failed) throw new TaskFailure(failed.failure ?? {})
      for (const flag of successful?.usedInternalFlags ?? []) this.#flags.add(flag)
      jobs = []
      for (const wire of successful?.commands ?? []) {
        if (this.#hasEnded) break
        commandsOf(wire, this.machines, {
          emit: (command) => {
            this.#pending.push(command)
            this.#hasEnded ||= isEnding(command)
          },
          take: (isIt) => {
            const at = this.#pending.findIndex((one) => isIt(one))
            if (at >= 0) this.#pending.splice(at, 1)
            return at >= 0
          },
          resolve: (job) => jobs.push(job),
        })
      }
    }
  }

  #activation(jobs: Job[]): Activation {
    return {
      runId: this.#runId,
      jobs,
      availableInternalFlags: [...this.#flags],
      historySizeBytes: wireLong(0),
      continueAsNewSuggested: false,
    }
  }

  #match(event: HistoryEvent): void {
    const at = this.#pending.findIndex(({ kind }) => kind !== 'updateRejected')
    const command = this.#pending[at]
    const wrong = mismatch(command, event.type, event.attributes)
    if (wrong !== null) throw new Nondeterminism(wrong)
    this.#pending.splice(0, at + 1)
    if (command && 'seq' in command) {
      const { kind, seq } = command
      if (kind === 'scheduleActivity') this.#note(this.machines.activities.get(seq), event)
      if (kind === 'startChild') this.#note(this.machines.children.get(seq), event)
      if (kind === 'startTimer') this.#note(this.machines.timers.get(seq), event)
      if (kind === 'signalExternal') this.#note(this.machines.signals.get(seq), event)
      if (kind === 'cancelExternal') this.#note(this.machines.cancels.get(seq), event)
    }
    if (isClosing(event)) this.#hasEnded = true
  }

  #note(machine: { eventId: number } | undefined, event: HistoryEvent): void {
    if (machine === undefined) return
    machine.eventId = event.id
    this.machines.byEvent.set(event.id, machine)
  }

  #noteFlags({ attributes }: HistoryEvent): void {
    for (const flag of attributes.sdkMetadata?.langUsedFlags ?? []) this.#flags.add(flag)
  }

  #updateJob(request: UpdateRequest, runValidator: boolean): Job {
    const { meta, input } = request
    this.machines.updates.set(meta.updateId, request)
    return {
      doUpdate: {
        id: meta.updateId,
        protocolInstanceId: meta.updateId,
        name: input.name,
        input: input.args?.payloads ?? [],
        headers: input.header?.fields ?? {},
        meta,
        runValidator,
      },
    }
  }
}

class TaskFailure extends Error {
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.message ?? 'the workflow task failed')
    this.failure = failure
  }
}

/** The tasks of a history that a replica has not seen. Those that failed, or ran out of time, are no tasks of their own. */
function spansOf(history: readonly HistoryEvent[], seen: number): Span[] {
  const spans: Span[] = []
  let first = seen
  for (let at = seen; at < history.length; at++) {
    const event = history[at]!
    if (event.type !== 'WorkflowTaskStarted') continue
    const next = history[at + 1]
    if (next !== undefined && next.type !== 'WorkflowTaskCompleted') continue
    let end = at + 2
    while (history[end] && isCommanded(history[end]!)) end++
    spans.push({
      events: history.slice(first, at + 1),
      after: next === undefined ? null : history.slice(at + 1, end),
      started: event,
    })
    first = at + 1
  }
  return spans
}

const patchOf = ({ attributes }: HistoryEvent): string => {
  const { payloads } = (attributes.details as Record<string, Payloads>)['patch-data'] ?? {}
  const data = JSON.parse(Buffer.from(payloads?.[0]?.data ?? []).toString()) as { id: string }
  return data.id
}

/** What a workflow can read of itself from its first line on. */
function infoOf(
  { attributes, at }: HistoryEvent,
  of: { runId: string; namespace: string; taskQueue: string; firstTaskAt: number },
) {
  const timeout = (name: string) =>
    msOf(attributes[name] as Parameters<typeof msOf>[0]) || undefined
  const parent = attributes['parentWorkflowExecution'] as
    | { workflowId: string; runId: string }
    | undefined
  const { runId, namespace, taskQueue, firstTaskAt } = of
  return {
    workflowId: attributes.workflowId,
    runId,
    workflowType: attributes.workflowType?.name,
    searchAttributes: {},
    typedSearchAttributes: undefined,
    parent: parent && { ...parent, namespace },
    root: attributes['rootWorkflowExecution'],
    taskQueue,
    namespace,
    firstExecutionRunId: attributes['firstExecutionRunId'],
    continuedFromExecutionRunId: attributes['continuedExecutionRunId'] || undefined,
    startTime: new Date(at),
    runStartTime: new Date(firstTaskAt),
    executionTimeoutMs: timeout('workflowExecutionTimeout'),
    runTimeoutMs: timeout('workflowRunTimeout'),
    taskTimeoutMs: timeout('workflowTaskTimeout') ?? 10_000,
    attempt: attributes.attempt,
    historyLength: 3,
    historySize: 0,
    continueAsNewSuggested: false,
    targetWorkerDeploymentVersionChanged: false,
    suggestedContinueAsNewReasons: [],
    currentBuildId: '',
    unsafe: { isReplaying: false, isReplayingHistoryEvents: false },
    memo: decodedMemo(attributes.memo?.fields),
  }
}

const decodedMemo = (fields: PayloadMap | undefined) => (fields === undefined ? undefined : {})
