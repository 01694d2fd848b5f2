// What is known of a group while it is followed: its own account from its workflow, and its runs from the ledger.

import type { Client, WorkflowHandle } from '@temporalio/client'
import type { GroupProgress } from '../../../workflows/messages.ts'
import { groupedRuns, type GroupedSync } from '../../core/domain/group-state.ts'
import { LIVE_STATES } from '../../core/domain/books.ts'
import { systemClock } from '../../core/ports.ts'
import type { Ledger, Run } from '../../ledger/ledger.ts'
import { heldUpBy, heldUpRun, type HeldUp } from '../../temporal/held-up.ts'
import { describeWorkflow } from '../../temporal/is-live.ts'
import type { CommandContext } from './context.ts'

const ANSWER_MAX_MS = 5_000
/** Between two questions for what holds a run up that its ledger could not be told. */
const HELD_EVERY_MS = 2_000

/** A live run of the group. */
export interface LiveRun {
  readonly sync: string
  readonly run: Run
}

export class GroupReader {
  readonly #context: Pick<CommandContext, 'findLedger'>
  readonly #client: Client
  readonly #handle: WorkflowHandle
  readonly #held = new Map<number, { readonly held: HeldUp | null; readonly at: number }>()
  #ledger: Ledger | null = null
  #progress: GroupProgress | null = null
  #isAsking = false

  constructor(context: Pick<CommandContext, 'findLedger'>, client: Client, handle: WorkflowHandle) {
    this.#context = context
    this.#client = client
    this.#handle = handle
  }

  /** The latest answer; null before the first. */
  get progress(): GroupProgress | null {
    return this.#progress
  }

  get ledger(): Ledger | null {
    return this.#ledger
  }

  /** Asks the workflow, one question at a time, without waiting for the answer: it needs a worker. */
  ask(): void {
    if (this.#isAsking) return
    this.#isAsking = true
    void this.asked().finally(() => {
      this.#isAsking = false
    })
  }

  /** Asks once; what is not answered leaves the latest answer as it is. */
  async asked(): Promise<void> {
    const answer = await this.#client
      .withDeadline(Date.now() + ANSWER_MAX_MS, () =>
        this.#handle.query<GroupProgress, []>('progress'),
      )
      .catch(() => null)
    if (answer !== null) this.#progress = answer
  }

  /** The runs that are live, by the names of `groupedRuns`, as the ledger has them, or their server where the ledger could not be told. */
  async liveRuns(): Promise<readonly LiveRun[]> {
    const ledger = (this.#ledger ??= await this.#context.findLedger())
    const live: LiveRun[] = []
    for (const { sync, run: id } of this.#liveSyncs()) {
      const run = id === null ? null : await ledger?.run(id)
      if (run && LIVE_STATES.includes(run.state))
        live.push({ sync, run: heldUpRun(run, await this.#heldOf(run)) })
    }
    return live
  }

  /** Every run of these syncs, by the names of `groupedRuns`. What the group ended with may be newer than its last answer here. */
  async allRuns(syncs: GroupProgress['syncs']): Promise<ReadonlyMap<string, Run>> {
    const ledger = (this.#ledger ??= await this.#context.findLedger())
    const runs = new Map<string, Run>()
    for (const { sync, run: id } of groupedRuns(syncs)) {
      const run = id === null ? null : await ledger?.run(id)
      if (run) runs.set(sync, run)
    }
    return runs
  }

  async close(): Promise<void> {
    await this.#ledger?.close()
  }

  #liveSyncs(): readonly GroupedSync[] {
    return groupedRuns(this.#progress?.syncs ?? []).filter(
      ({ state }) => state !== 'waiting' && LIVE_STATES.includes(state),
    )
  }

  async #heldOf(run: Run): Promise<HeldUp | null> {
    const known = this.#held.get(run.id)
    if (known && systemClock.now() - known.at < HELD_EVERY_MS) return known.held
    const description = await this.#client
      .withDeadline(Date.now() + ANSWER_MAX_MS, () => describeWorkflow(this.#client, run))
      .catch(() => null)
    const held = description && heldUpBy(description)
    this.#held.set(run.id, { held, at: systemClock.now() })
    return held
  }
}
