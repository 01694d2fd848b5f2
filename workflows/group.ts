// Several syncs in their order, as a workflow: each is a child, begun when those before it have ended well. At the end the waiting links
// whose targets they have brought are tried. It carries names, ids and counts. The order is asked for once, at its start; a sync whose settings change meanwhile is opened with those of then.

import {
  ActivityCancellationType,
  CancelledFailure,
  CancellationScope,
  ChildWorkflowCancellationType,
  isCancellation,
  ParentClosePolicy,
  proxyActivities,
  startChild,
} from '@temporalio/workflow'
import type { EndedRun, GroupMember } from '../activities/index.ts'
import { forEachConcurrent } from '../src/core/concurrency.ts'
import {
  countTargetMissing,
  isComplete,
  stateOnceLinked,
  type Books,
  type RunState,
} from '../src/core/domain/books.ts'
import {
  countedStates,
  groupedRuns,
  groupStateOf,
  type GroupedRun,
} from '../src/core/domain/group-state.ts'
import { skippedText } from '../src/core/domain/skipped.ts'
import { groupLabel, runInOrder, type GroupChoice } from '../src/core/domain/sync-order.ts'
import { GroupStatus } from './group-status.ts'
import { heldRun } from './held-run.ts'
import { GroupInput, SYNCS_IN_FLIGHT, type GroupResult, type ImportResult } from './messages.ts'
import { GROUP_MEMO, importSync, links, mirrorSync } from './names.ts'
import { idOfStart, type ShortActivities } from './queues.ts'
import { failureMessage, parseInput, SHORT, stacklessFailure } from './run.ts'
import { startLinks } from './start-links.ts'

const TEMPLATE = { group: 'nightly' }
/** Runs of others that one sync waits for. */
const WAITS_MAX = 10
const NAMED_MAX = 5

/** Runs syncs in their order. Input: `{"group": "nightly"}`, or `{"syncs": ["companies", "contacts"]}`, or `{"syncs": "all"}`. */
export async function groupSync(input?: unknown): Promise<GroupResult> {
  const given = typeof input === 'string' ? { group: input } : input
  return await new GroupRun(parseInput(GroupInput, given, TEMPLATE)).execute()
}

/** What a run returns. */
type RunResult = Pick<ImportResult, 'run' | 'state' | 'resolves'> & {
  readonly message?: string | null
  readonly books?: Books
}

/** What came of a sync: the run that counts for it. */
interface Ended {
  readonly state: RunState
  readonly run: number | null
  readonly reason: string | null
  readonly onceLinked?: RunState
}

/** A run that the group begins, as a child. */
interface Begun {
  readonly sync: string
  readonly id: string
  readonly type: string
  readonly input: object
  readonly summary: string
  /** Whether a run that is at work before may count instead. */
  readonly isRegular: boolean
  note(change: Partial<GroupedRun>): void
}

class GroupRun {
  readonly #choice: GroupChoice
  readonly #tuning: GroupInput['tuning']
  readonly #status: GroupStatus
  /** Syncs whose waiting links may find their targets now, each with a run that has brought some. */
  readonly #resolves = new Map<string, number>()
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
    await this.#link(plan.members)
    return this.#end()
  }

  #end(): GroupResult {
    const { group, syncs } = this.#status.progress
    const isCancelled = CancellationScope.current().consideredCancelled
    const state = isCancelled ? 'cancelled' : groupStateOf(countedStates(syncs))
    this.#status.end(state)
    if (isCancelled) throw new CancelledFailure('cancelled')
    const result = { group, state, syncs }
    if (state !== 'failed') return result
    const stopped = groupedRuns(syncs).filter((one) => !isComplete(one.state as RunState))
    const named = stopped.slice(0, NAMED_MAX).map((one) => `${one.sync}: ${one.state}`)
    const more = stopped.length > NAMED_MAX ? ` and ${stopped.length - NAMED_MAX} more` : ''
    throw stacklessFailure(`${named.join(', ')}${more}`, 'GroupIncomplete', [result])
  }

  /** Runs one sync; gives whether it came to its end. */
  async #work({ sync, kind }: GroupMember): Promise<boolean> {
    const end = await this.#runOf({
      sync,
      id: `${kind}-${sync}`,
      type: kind === 'import' ? importSync : mirrorSync,
      input: { sync, tuning: this.#tuning[kind] ?? {} },
      summary: `${kind} ${sync}`,
      isRegular: true,
      note: (change) => this.#status.note(sync, change),
    })
    this.#status.note(sync, end)
    return isComplete(end.state)
  }

  /** Tries the waiting links whose targets are there now. Those of syncs of no part in the group go on by themselves. */
  async #link(members: readonly GroupMember[]): Promise<void> {
    if (this.#resolves.size === 0 || CancellationScope.current().consideredCancelled) return
    this.#status.link()
    const own = members.filter(({ sync }) => this.#resolves.has(sync))
    const others = [...this.#resolves].filter(([name]) => !own.some(({ sync }) => sync === name))
    for (const [sync, run] of others) await startLinks(run, [sync])
    const atOnce = this.#tuning.syncs_in_flight ?? SYNCS_IN_FLIGHT
    for (const { sync } of own) this.#status.noteLinks(sync, {})
    await forEachConcurrent(own, atOnce, async ({ sync }) => {
      const note = (change: Partial<GroupedRun>) => this.#status.noteLinks(sync, change)
      const end = await this.#runOf({
        sync,
        id: `links-${sync}`,
        type: links,
        input: { sync, tuning: this.#tuning.import ?? {} },
        summary: `links of ${sync}`,
        isRegular: false,
        note,
      })
      note(end)
    })
  }

  async #runOf(begun: Begun): Promise<Ended> {
    for (let waits = 0; ; waits++) {
      if (CancellationScope.current().consideredCancelled)
        return { state: 'cancelled', run: null, reason: 'not begun' }
      try {
        return await this.#child(begun)
      } catch (error) {
        const held = heldRun(error)
        if (held === null) return this.#failed(begun, error)
        if (waits === WAITS_MAX)
          return { state: 'failed', run: null, reason: 'other runs of it keep beginning' }
        const end = await this.#awaited(begun, held)
        if (end !== null) return end
      }
    }
  }

  /** Starts a run of the sync, and waits for its end. */
  async #child({ id, type, input, summary, note }: Begun): Promise<Ended> {
    // As that of a run that a person begins.
    const workflowId = idOfStart(id, this.#project, Date.now())
    const child = await startChild(type, {
      workflowId,
      args: [input],
      staticSummary: summary,
      memo: { [GROUP_MEMO]: true },
      parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
      cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
    })
    note({ state: 'running', run: null, workflow: workflowId, reason: null })
    const { run, state, message, books, resolves } = (await child.result()) as RunResult
    for (const one of resolves ?? []) this.#resolves.set(one, run)
    // Of a mirror there are none.
    const isParked = books !== undefined && 'states' in books && countTargetMissing(books) > 0
    const onceLinked = isParked ? { onceLinked: stateOnceLinked(books) } : {}
    return { run, state, reason: message ?? null, ...onceLinked }
  }

  #failed({ sync, isRegular }: Begun, error: unknown): Ended {
    const known = this.#status.progress.syncs.find((one) => one.sync === sync)
    const run = (isRegular ? known : known?.links)?.run ?? null
    if (!isCancellation(error)) return { state: 'failed', run, reason: failureMessage(error) }
    return { state: 'cancelled', run, reason: run === null ? 'not begun' : null }
  }

  /**
   * The end of a run that was at work before: it did what a run of the group would have done. Null if it did something else, so
   * that ours begins after it.
   */
  async #awaited({ sync, isRegular, note }: Begun, of: number): Promise<Ended | null> {
    const reason = 'was at work before'
    note({ state: 'running', run: of, workflow: null, reason })
    const summary = `wait for run ${of} of ${sync}`
    let ended: EndedRun
    try {
      ended = await this.#waiting.awaitRun.executeWithOptions({ summary }, [{ sync, of }])
    } catch (error) {
      return isCancellation(error)
        ? { state: 'cancelled', run: null, reason: 'not begun' }
        : { state: 'failed', run: of, reason: failureMessage(error) }
    }
    const { state, message } = ended
    if (!isRegular || !ended.isRegular) {
      note({ run: null, reason: null })
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
