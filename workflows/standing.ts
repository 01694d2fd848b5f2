// How a run stands, for people and for lists: the queries `progress` and `lastErrors`, the table beside the run, and the
// search attributes. What blocks a run is known to the workers, who tell it by signal.

import { defineSearchAttributeKey } from '@temporalio/common'
import { setCurrentDetails, setHandler, upsertSearchAttributes } from '@temporalio/workflow'
import { ROWS_FAILED, SYNC_KIND, SYNC_NAME, SYNC_STATE } from '../src/core/search-attributes.ts'
import type { RunState } from '../src/core/states.ts'
import {
  lastErrorsQuery,
  progressQuery,
  stateChangedSignal,
  type LastError,
  type RunProgress,
} from './messages.ts'

const errorsMax = 50
const messageCharsMax = 300

const syncName = defineSearchAttributeKey(SYNC_NAME, 'KEYWORD')
const syncKind = defineSearchAttributeKey(SYNC_KIND, 'KEYWORD')
const syncState = defineSearchAttributeKey(SYNC_STATE, 'KEYWORD')
const rowsFailed = defineSearchAttributeKey(ROWS_FAILED, 'INT')

export interface Standing<Progress extends RunProgress> {
  progress(): Progress
  note(change: Partial<Progress>): void
  noteErrors(errors: readonly LastError[]): void
  /** Rows that failed so far. */
  noteFailed(rows: number): void
  /** The run waits for a person for as long as it says why; null ends it. */
  noteWait(why: string | null): void
  /** The run is paused for as long as it says so; null ends it. */
  notePause(pause: { readonly reason: string | null } | null): void
}

/** One line of a Markdown table's cell. */
export const cell = (text: string): string =>
  text.replaceAll(/[\r\n|]+/g, ' ').slice(0, messageCharsMax)

/** Answers the queries from now on. `table` gives the lines below the headline. */
export function showStanding<Progress extends RunProgress>(
  kind: 'import' | 'mirror',
  initial: Progress,
  table: (progress: Progress) => readonly string[],
): Standing<Progress> {
  let progress = initial
  let errors: readonly LastError[] = []
  /** What holds a run up, by the workers. */
  let block: { readonly message: string | null } | null = null
  let wait: string | null = null
  let pause: { readonly reason: string | null } | null = null
  let told: RunState = 'running'

  const show = () => {
    const { sync, step, run, state, message } = progress
    const head = `**${sync}**: ${step}, run ${run ?? '–'}, **${state.replaceAll('_', ' ')}**`
    const why = message === null ? [] : ['', cell(message)]
    setCurrentDetails([head, ...why, ...table(progress)].join('\n'))
    if (state === told) return
    told = state
    upsertSearchAttributes([{ key: syncState, value: state }])
  }
  /** A run that has ended stays as it ended. */
  const stand = () => {
    if (progress.step === 'closed') return show()
    const held = block ? block.message : wait
    const state: RunState = pause ? 'paused' : block || wait !== null ? 'blocked' : 'running'
    progress = { ...progress, state, message: pause ? pause.reason : held }
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
    (change) => {
      block = change.state === 'blocked' ? { message: change.message } : null
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
    notePause(next) {
      pause = next
      stand()
    },
  }
}
