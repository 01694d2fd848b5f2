// The status of a run, for people and for lists: the queries `progress` and `lastErrors`, the table next to the run, and the
// search attributes. Workers know what blocks a run, and report it by signal.

import { defineSearchAttributeKey } from '@temporalio/common'
import {
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow'
import type { BlockReason } from '../src/core/errors.ts'
import { ROWS_FAILED, SYNC_KIND, SYNC_NAME, SYNC_STATE } from '../src/core/search-attributes.ts'
import type { RunState } from '../src/core/states.ts'
import { startLink } from '../src/core/temporal-ui.ts'
import {
  lastErrorsQuery,
  progressQuery,
  stateChangedSignal,
  type LastError,
  type RunProgress,
} from './messages.ts'
import { backfill } from './names.ts'
import { backfillId, projectOfQueue } from './queues.ts'

const errorsMax = 50
const messageCharsMax = 300

const syncName = defineSearchAttributeKey(SYNC_NAME, 'KEYWORD')
const syncKind = defineSearchAttributeKey(SYNC_KIND, 'KEYWORD')
const syncState = defineSearchAttributeKey(SYNC_STATE, 'KEYWORD')
const rowsFailed = defineSearchAttributeKey(ROWS_FAILED, 'INT')

/** What a person does about a run that is blocked. */
const NEXT: Readonly<Record<BlockReason, string>> = {
  auth: 'Put a working key where the configuration reads it. The run goes on by itself then.',
  permission: 'Grant the key what it lacks. The run goes on by itself then.',
  contract:
    'Read the reasons with `records-sync show`; cancel the run, mend the mapping, run again.',
  service: 'Nothing to do here: the service is asked again by itself.',
  ledger: 'Free the ledger. It is tried again by itself.',
  warehouse: 'Free the warehouse, or mend its connection. It is tried again by itself.',
  disk: 'Free some space. It is tried again by itself.',
  approval: 'More Actions → Send an Update → `approve` or `reject`.',
}

export interface RunStatus<Progress extends RunProgress> {
  progress(): Progress
  note(change: Partial<Progress>): void
  noteErrors(errors: readonly LastError[]): void
  /** Rows that failed so far. */
  noteFailed(rows: number): void
  /** The run waits for a person; `why` says for what. Null ends the wait. */
  noteWait(why: string | null): void
  /** `stopping` while any work still runs, then `parked`; null ends it. */
  notePause(pause: PauseStatus | null): void
}

export interface PauseStatus {
  readonly phase: 'stopping' | 'parked'
  readonly reason: string | null
}

/** A text as one line, for a cell of a Markdown table. */
export const tableCell = (text: string): string =>
  text.replaceAll(/[\r\n|]+/g, ' ').slice(0, messageCharsMax)
/** Answers the queries from now on. `table` returns the lines below the headline. */
export function showRunStatus<Progress extends RunProgress>(
  kind: 'import' | 'mirror',
  initial: Progress,
  table: (progress: Progress) => readonly string[],
): RunStatus<Progress> {
  let progress = initial
  let errors: readonly LastError[] = []
  /** What blocks the run, as the workers report it. */
  let block: { readonly reason: BlockReason | null; readonly message: string | null } | null = null
  let wait: string | null = null
  let pause: PauseStatus | null = null
  let told: RunState = 'running'
  const { namespace, taskQueue } = workflowInfo()
  const form = {
    taskQueue,
    workflowType: backfill,
    workflowId: backfillId(initial.sync, projectOfQueue(taskQueue)),
  }
  const again = startLink({ ui: '', namespace }, form)

  /** What a person does next, if anything. */
  const next = (): string | null => {
    const { run, state } = progress
    const isCompared = kind === 'mirror' || 'found' in progress
    const differs = `What differs: \`records-sync show ${run}\``
    switch (state) {
      case 'paused':
        return 'More Actions → Send an Update → `resume`.'
      case 'blocked':
        return NEXT[block?.reason ?? 'approval']
      case 'complete_with_rejects':
        return isCompared ? differs : `The rejects: \`records-sync rejects ${run}\``
      case 'complete_with_differences':
        return differs
      case 'running':
      case 'complete':
      case 'cancelled':
      case 'failed':
        return progress.step === 'closed' ? `The books: \`records-sync show ${run}\`` : null
    }
  }
  const show = () => {
    const { sync, step, run, state, message } = progress
    const words = state.replaceAll('_', ' ')
    const at = step === 'closed' ? `**${words}**` : `${step}, **${words}**`
    const lines = [message, next()].flatMap((line) => (line === null ? [] : ['', tableCell(line)]))
    const link = `[Backfill ${sync}](${again})`
    // The UI cuts off the last line of the details, so the last line is empty.
    const text = [`**${sync}**, run ${run ?? '–'}: ${at}`, ...lines, ...table(progress), '', link]
    setCurrentDetails([...text, '', '\u00a0'].join('\n'))
    if (state === told) return
    told = state
    upsertSearchAttributes([{ key: syncState, value: state }])
  }
  /** A run that has ended keeps the status it ended with. */
  const stand = () => {
    if (progress.step === 'closed') return show()
    const isBlocked = block !== null || wait !== null
    const state = pause?.phase === 'parked' ? 'paused' : isBlocked ? 'blocked' : 'running'
    const held = block ? block.message : wait
    const why = pause?.reason ?? (pause?.phase === 'parked' ? 'paused by a person' : null)
    const stopping = `pausing: what is in flight is finished first${why ? ` (${why})` : ''}`
    const message = pause ? (pause.phase === 'parked' ? why : stopping) : held
    progress = { ...progress, state, message }
    show()
  }

  upsertSearchAttributes([
    { key: syncName, value: initial.sync },
    { key: syncKind, value: kind },
    { key: syncState, value: told },
    { key: rowsFailed, value: 0 },
  ])
  setHandler(progressQuery, () => progress, {
    description: 'Where the run is: step, state and counts. Input: nothing.',
  })
  setHandler(lastErrorsQuery, () => errors, {
    description: 'What went wrong last: rows by ordinal, code and reason. Input: nothing.',
  })
  setHandler(
    stateChangedSignal,
    ({ state, reason, message }) => {
      const known = reason !== null && reason !== 'abandoned' ? reason : null
      block =
        state === 'blocked'
          ? { reason: known, message: message?.replace(/^blocked: /, '') ?? null }
          : null
      stand()
    },
    { description: 'Sent by the workers, for the details of the run. Not for people.' },
  )

  return {
    progress: () => progress,
    note(change) {
      progress = { ...progress, ...change }
      stand()
    },
    noteErrors(more) {
      const known = new Set(errors.map((error) => JSON.stringify(error)))
      const fresh = more.filter((error) => !known.has(JSON.stringify(error)))
      errors = [...errors, ...fresh].slice(-errorsMax)
    },
    noteFailed(rows) {
      upsertSearchAttributes([{ key: rowsFailed, value: rows }])
    },
    noteWait(why) {
      wait = why
      stand()
    },
    notePause(change) {
      pause = change
      stand()
    },
  }
}
