// The status of a run, for people and for lists: the queries `progress` and `lastErrors`, the table next to the run, and the
// search attributes. Workers know what blocks a run, and report it by signal.

import { defineSearchAttributeKey } from '@temporalio/common'
import {
  getExternalWorkflowHandle,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow'
import type { BlockReason } from '../src/core/errors.ts'
import {
  ROWS_FAILED,
  SYNC_KIND,
  SYNC_NAME,
  SYNC_STATE,
} from '../src/core/temporal/search-attributes.ts'
import type { RunState } from '../src/core/domain/books.ts'
import { startLink } from '../src/core/temporal/temporal-ui.ts'
import {
  groupRunChangedSignal,
  lastErrorsQuery,
  progressQuery,
  stateChangedSignal,
  type LastError,
  type RunProgress,
  type StateChange,
} from './messages.ts'
import { backfill, GROUP_MEMO } from './names.ts'
import { backfillId, projectOfQueue } from './queues.ts'
import { statusText } from './status-text.ts'

const errorsMax = 50
/** Changes that a run tells its group: the group's history has room for so many of each of its runs. */
const TOLD_MAX = 20

const syncName = defineSearchAttributeKey(SYNC_NAME, 'KEYWORD')
const syncKind = defineSearchAttributeKey(SYNC_KIND, 'KEYWORD')
const syncState = defineSearchAttributeKey(SYNC_STATE, 'KEYWORD')
const rowsFailed = defineSearchAttributeKey(ROWS_FAILED, 'INT')

interface PauseStatus {
  readonly phase: 'stopping' | 'parked'
  readonly reason: string | null
}

export class RunStatus<Progress extends RunProgress> {
  readonly #kind: 'import' | 'mirror'
  readonly #table: (progress: Progress) => readonly string[]
  readonly #backfillUrl: string
  #progress: Progress
  #errors: readonly LastError[] = []
  /** What blocks the run, as the workers report it. */
  #block: { readonly reason: BlockReason | null; readonly message: string | null } | null = null
  #wait: string | null = null
  #pause: PauseStatus | null = null
  /** The state that lists show. */
  #listed: RunState = 'running'
  /** What the group of the run was told last, and how often it was told something. */
  #told = { what: '', times: 0 }

  /** Answers the queries from now on. `table` returns the lines below the headline. */
  constructor(
    kind: 'import' | 'mirror',
    initial: Progress,
    table: (progress: Progress) => readonly string[],
  ) {
    this.#kind = kind
    this.#table = table
    this.#progress = initial
    const { namespace, taskQueue } = workflowInfo()
    this.#backfillUrl = startLink(
      { ui: '', namespace },
      {
        taskQueue,
        workflowType: backfill,
        workflowId: backfillId(initial.sync, projectOfQueue(taskQueue)),
      },
    )
    upsertSearchAttributes([
      { key: syncName, value: initial.sync },
      { key: syncKind, value: kind },
      { key: syncState, value: this.#listed },
      { key: rowsFailed, value: 0 },
    ])
    setHandler(progressQuery, () => this.#progress, {
      description: 'Where the run is: step, state and counts. Input: nothing.',
    })
    setHandler(lastErrorsQuery, () => this.#errors, {
      description: 'What went wrong last: rows by ordinal, code and reason. Input: nothing.',
    })
    setHandler(stateChangedSignal, (change) => this.#noteState(change), {
      description: 'Sent by the workers, for the details of the run. Not for people.',
    })
  }

  get progress(): Progress {
    return this.#progress
  }

  note(change: Partial<Progress>): void {
    this.#progress = { ...this.#progress, ...change }
    this.#update()
  }

  noteErrors(more: readonly LastError[]): void {
    const known = new Set(this.#errors.map((error) => JSON.stringify(error)))
    const fresh = more.filter((error) => !known.has(JSON.stringify(error)))
    this.#errors = [...this.#errors, ...fresh].slice(-errorsMax)
  }

  /** Rows that failed so far. */
  noteFailed(rows: number): void {
    upsertSearchAttributes([{ key: rowsFailed, value: rows }])
  }

  /** The run waits for a person; `why` says for what. Null ends the wait. */
  noteWait(why: string | null): void {
    this.#wait = why
    this.#update()
  }

  /** `stopping` while any work still runs, then `parked`; null ends it. */
  notePause(pause: PauseStatus | null): void {
    this.#pause = pause
    this.#update()
  }

  #noteState({ state, reason, message }: StateChange): void {
    const known = reason !== null && reason !== 'abandoned' ? reason : null
    const text = message?.replace(/^blocked: /, '') ?? null
    this.#block = state === 'blocked' ? { reason: known, message: text } : null
    this.#update()
  }

  /** A run that has ended keeps the status it ended with. */
  #update(): void {
    if (this.#progress.step !== 'closed')
      this.#progress = { ...this.#progress, ...this.#liveState() }
    this.#show()
  }

  #liveState(): Pick<RunProgress, 'state' | 'message'> {
    const [block, pause] = [this.#block, this.#pause]
    if (pause?.phase === 'parked')
      return { state: 'paused', message: pause.reason ?? 'paused by a person' }
    const state = block !== null || this.#wait !== null ? 'blocked' : 'running'
    if (pause === null) return { state, message: block ? block.message : this.#wait }
    const why = pause.reason ? ` (${pause.reason})` : ''
    return { state, message: `pausing: what is in flight is finished first${why}` }
  }

  #show(): void {
    const progress = this.#progress
    const { state } = progress
    setCurrentDetails(
      statusText(this.#kind, progress, this.#block?.reason ?? 'approval', {
        table: this.#table(progress),
        backfillUrl: this.#backfillUrl,
      }),
    )
    this.#tellGroup()
    if (state === this.#listed) return
    this.#listed = state
    upsertSearchAttributes([{ key: syncState, value: state }])
  }

  /** Tells the group that began the run, if one did: its number, and its state while it is live. How it ends is its result. */
  #tellGroup(): void {
    const { parent } = workflowInfo()
    const { sync, run, state, step, message } = this.#progress
    if (!isOfGroup() || !parent || run === null || step === 'closed') return
    const what = `${run} ${state}`
    if (what === this.#told.what || this.#told.times >= TOLD_MAX) return
    this.#told = { what, times: this.#told.times + 1 }
    getExternalWorkflowHandle(parent.workflowId, parent.runId)
      .signal(groupRunChangedSignal, { sync, run, state, message })
      // A group that is over is told nothing.
      .catch(() => {})
  }
}

/** Whether a group has begun the run. */
export const isOfGroup = (): boolean => workflowInfo().memo?.[GROUP_MEMO] === true
