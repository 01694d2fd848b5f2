// Several syncs in their order, as a workflow: each is a child, begun when those before it have ended well. It carries names, ids
// and counts. The order is asked for once, at its start; a sync whose settings change meanwhile is opened with those of then.

import {
  ActivityCancellationType,
  ApplicationFailure,
  CancelledFailure,
  CancellationScope,
  ChildWorkflowCancellationType,
  isCancellation,
  ParentClosePolicy,
  proxyActivities,
  startChild,
} from '@temporalio/workflow'
import type { EndedRun, GroupMember } from '../activities/index.ts'
import { isComplete, type RunState } from '../src/core/domain/books.ts'
import { groupStateOf } from '../src/core/domain/group-state.ts'
import { skippedText } from '../src/core/domain/skipped.ts'
import { groupLabel, runInOrder, type GroupChoice } from '../src/core/domain/sync-order.ts'
import { GroupStatus } from './group-status.ts'
import { GroupInput, SYNCS_IN_FLIGHT, type GroupResult } from './messages.ts'
import { GROUP_MEMO, importSync, mirrorSync } from './names.ts'
import { idOfStart, type ShortActivities } from './queues.ts'
import { failureMessage, parseInput, SHORT, stacklessFailure } from './run.ts'

const TEMPLATE = { group: 'nightly' }
/** Runs of others that one sync waits for. */
const WAITS_MAX = 10
const NAMED_MAX = 5

/** Runs syncs in their order. Input: `{"group": "nightly"}`, or `{"syncs": ["companies", "contacts"]}`, or `{"syncs": "all"}`. */
export async function groupSync(input?: unknown): Promise<GroupResult> {
  const given = typeof input === 'string' ? { group: input } : input
  return await new GroupRun(parseInput(GroupInput, given, TEMPLATE)).execute()
}

/** What came of a sync: the run that counts for it. */
interface Ended {
  readonly state: RunState
  readonly run: number | null
  readonly reason: string | null
}

class GroupRun {
  readonly #choice: GroupChoice
  readonly #tuning: GroupInput['tuning']
  readonly #status: GroupStatus
  #project = ''
  readonly #short = proxyActivities<ShortActivities>(SHORT)
  /** A wait for a run of somebody else is given up at once. */
  readonly #waiting = proxyActivities<ShortActivities>({
    ...SHORT,
    cancellationType: ActivityCancellationType.TRY_CANCEL,
  })

  constructor({ group, syncs, tuning }: GroupInput) {
    this.#choice = group === undefined ? { syncs: syncs! } : { group }
    this.#tuning = tuning
    this.#status = new GroupStatus(groupLabel(this.#choice))
  }

  async execute(): Promise<GroupResult> {
    const label = groupLabel(this.#choice)
    const plan = await this.#short.planGroup.executeWithOptions({ summary: `plan ${label}` }, [
      { choice: this.#choice, label },
    ])
    if ('problem' in plan)
      throw stacklessFailure(plan.problem, 'InvalidInput', [{ template: TEMPLATE }])
    this.#project = plan.project
    this.#status.begin(plan)
    await runInOrder(plan.members, {
      limit: this.#tuning.syncs_in_flight ?? SYNCS_IN_FLIGHT,
      work: (member) => this.#work(member),
      skip: (member, failed) => this.#skip(member, failed),
    })
    return this.#end()
  }

  /** All syncs have ended: the one place for what the group does after them, before its state is known. */
  #end(): GroupResult {
    const { group, syncs } = this.#status.progress
    const isCancelled = CancellationScope.current().consideredCancelled
    const states = syncs.map((one) => one.state as RunState)
    const state = isCancelled ? 'cancelled' : groupStateOf(states)
    this.#status.end(state)
    if (isCancelled) throw new CancelledFailure('cancelled')
    const result = { group, state, syncs }
    if (state !== 'failed') return result
    const stopped = syncs.filter((one) => !isComplete(one.state as RunState))
    const named = stopped.slice(0, NAMED_MAX).map((one) => `${one.sync}: ${one.state}`)
    const more = stopped.length > NAMED_MAX ? ` and ${stopped.length - NAMED_MAX} more` : ''
    throw stacklessFailure(`${named.join(', ')}${more}`, 'GroupIncomplete', [result])
  }

  /** Runs one sync; gives whether it came to its end. */
  async #work(member: GroupMember): Promise<boolean> {
    const ended = await this.#runOf(member)
    this.#status.note(member.sync, ended)
    return isComplete(ended.state)
  }

  async #runOf(member: GroupMember): Promise<Ended> {
    const { sync } = member
    for (let waits = 0; ; waits++) {
      if (CancellationScope.current().consideredCancelled)
        return { state: 'cancelled', run: null, reason: 'not begun' }
      try {
        return await this.#child(member)
      } catch (error) {
        const held = heldRun(error)
        if (held === null) return this.#failed(sync, error)
        if (waits === WAITS_MAX)
          return { state: 'failed', run: null, reason: 'other runs of it keep beginning' }
        const ended = await this.#awaited(sync, held)
        if (ended !== null) return ended
      }
    }
  }

  /** Starts a run of the sync, and waits for its end. */
  async #child({ sync, kind }: GroupMember): Promise<Ended> {
    // As that of a run that a person begins.
    const workflowId = idOfStart(`${kind}-${sync}`, this.#project, Date.now())
    const tuning = this.#tuning[kind] ?? {}
    const child = await startChild(kind === 'import' ? importSync : mirrorSync, {
      workflowId,
      args: [{ sync, tuning }],
      staticSummary: `${kind} ${sync}`,
      memo: { [GROUP_MEMO]: true },
      parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
      cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
    })
    this.#status.note(sync, { state: 'running', run: null, workflow: workflowId, reason: null })
    const { run, state, message } = (await child.result()) as {
      readonly run: number
      readonly state: RunState
      readonly message?: string | null
    }
    return { run, state, reason: message ?? null }
  }

  #failed(sync: string, error: unknown): Ended {
    const run = this.#status.progress.syncs.find((one) => one.sync === sync)?.run ?? null
    if (!isCancellation(error)) return { state: 'failed', run, reason: failureMessage(error) }
    return { state: 'cancelled', run, reason: run === null ? 'not begun' : null }
  }

  /**
   * The end of a run that was at work before: it did what a run of the group would have done. Null if it is another kind of run,
   * so that the sync begins after it.
   */
  async #awaited(sync: string, of: number): Promise<Ended | null> {
    const reason = 'was at work before'
    this.#status.note(sync, { state: 'running', run: of, workflow: null, reason })
    const summary = `wait for run ${of} of ${sync}`
    let ended: EndedRun
    try {
      ended = await this.#waiting.awaitRun.executeWithOptions({ summary }, [{ sync, of }])
    } catch (error) {
      return isCancellation(error)
        ? { state: 'cancelled', run: null, reason: 'not begun' }
        : { state: 'failed', run: of, reason: failureMessage(error) }
    }
    const { state, message, isRegular } = ended
    if (!isRegular) {
      this.#status.note(sync, { run: null, reason: null })
      return null
    }
    return { state, run: of, reason: message === null ? reason : `${reason}; ${message}` }
  }

  /** Leaves a sync out, and writes that down where people look for its runs. */
  async #skip({ sync, kind }: GroupMember, failed: readonly string[]): Promise<void> {
    if (CancellationScope.current().consideredCancelled)
      return this.#status.note(sync, { state: 'cancelled', reason: 'not begun' })
    const message = skippedText(failed)
    this.#status.note(sync, { state: 'skipped', reason: message })
    try {
      const noted = await this.#short.noteSkipped.executeWithOptions(
        { summary: `${sync} ${message}` },
        [{ sync, kind, message }],
      )
      this.#status.note(sync, { run: noted.skipped })
    } catch (error) {
      this.#status.note(sync, { reason: `${message}; not in the ledger: ${failureMessage(error)}` })
    }
  }
}

/** The run that holds the sync, as the worker that found it says; null for any other failure. */
function heldRun(error: unknown): number | null {
  let current = error
  for (let depth = 0; depth < 10 && current instanceof Error; depth++) {
    if (current instanceof ApplicationFailure && current.type === 'AlreadyRunning') {
      const [details] = (current.details ?? []) as readonly { readonly run?: unknown }[]
      return typeof details?.run === 'number' ? details.run : null
    }
    current = current.cause
  }
  return null
}
