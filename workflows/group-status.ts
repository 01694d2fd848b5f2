// How far a group is, for people and for lists: the query `progress`, the table next to the run, and the search attributes.

import { defineSearchAttributeKey } from '@temporalio/common'
import { setCurrentDetails, setHandler, upsertSearchAttributes } from '@temporalio/workflow'
import type { GroupPlan } from '../activities/index.ts'
import { LIVE_STATES, type RunState } from '../src/core/domain/books.ts'
import { groupedRuns, type GroupedRun, type GroupedSync } from '../src/core/domain/group-state.ts'
import { SYNC_KIND, SYNC_NAME, SYNC_STATE } from '../src/core/temporal/search-attributes.ts'
import {
  groupProgressQuery,
  groupRunChangedSignal,
  type GroupProgress,
  type GroupRunChange,
} from './messages.ts'
import { tableCell } from './status-text.ts'

const NOT_BEGUN: GroupedRun = { state: 'waiting', run: null, workflow: null, reason: null }

/** Syncs that the table shows; the query has all. */
const SHOWN_MAX = 50

const syncName = defineSearchAttributeKey(SYNC_NAME, 'KEYWORD')
const syncKind = defineSearchAttributeKey(SYNC_KIND, 'KEYWORD')
const syncState = defineSearchAttributeKey(SYNC_STATE, 'KEYWORD')

export class GroupStatus {
  #progress: GroupProgress

  /** Answers the query from now on, and takes what the runs tell. */
  constructor(group: string) {
    this.#progress = { group, step: 'plan', state: 'running', syncs: [], ignored: [] }
    upsertSearchAttributes([
      { key: syncName, value: group },
      { key: syncKind, value: 'group' },
      { key: syncState, value: 'running' },
    ])
    setHandler(groupProgressQuery, () => this.#progress, {
      description: 'Where the group is: each sync with its state, run and reason. Input: nothing.',
    })
    setHandler(groupRunChangedSignal, (change) => this.#noteRun(change), {
      description: 'Sent by the runs of the group. Not for people.',
    })
  }

  get progress(): GroupProgress {
    return this.#progress
  }

  begin({ members, ignored }: GroupPlan): void {
    const syncs = members.map(({ sync, kind, after }) => ({ sync, kind, after, ...NOT_BEGUN }))
    this.#update({ step: 'run', syncs, ignored })
  }

  note(sync: string, change: Partial<Omit<GroupedSync, 'sync' | 'kind' | 'after'>>): void {
    const syncs = this.#progress.syncs.map((one) =>
      one.sync === sync ? { ...one, ...change } : one,
    )
    this.#update({ syncs })
  }

  /** Changes what is known of the run that tries the waiting links of a sync. */
  noteLinks(sync: string, change: Partial<GroupedRun>): void {
    const { links = NOT_BEGUN } = this.#progress.syncs.find((one) => one.sync === sync) ?? {}
    this.note(sync, { links: { ...links, ...change } })
  }

  /** All syncs have ended; their waiting links are tried. */
  link(): void {
    this.#update({ step: 'link' })
  }

  end(state: RunState): void {
    this.#update({ step: 'closed', state })
    upsertSearchAttributes([{ key: syncState, value: state }])
  }

  /** What a run tells while it is live; how it ended is known by its result. */
  #noteRun({ sync, run, state, message }: GroupRunChange): void {
    const known = this.#progress.syncs.find((one) => one.sync === sync)
    const change = { run, state, reason: state === 'running' ? null : message }
    if (isLive(known)) this.note(sync, change)
    else if (isLive(known?.links)) this.noteLinks(sync, change)
  }

  #update(change: Partial<GroupProgress>): void {
    this.#progress = { ...this.#progress, ...change }
    setCurrentDetails(groupText(this.#progress))
  }
}

const isLive = (run: GroupedRun | undefined): boolean =>
  run !== undefined && run.state !== 'waiting' && LIVE_STATES.includes(run.state)

const words = (state: GroupedSync['state']): string => state.replaceAll('_', ' ')

/** The group as people read it next to it in the Temporal UI, in Markdown. */
export function groupText({ group, state, step, syncs, ignored }: GroupProgress): string {
  const why = ({ state: at, reason, after }: GroupedSync): string =>
    reason ?? (at === 'waiting' && after.length > 0 ? `after ${after.join(', ')}` : '')
  const rows = groupedRuns(syncs)
    .slice(0, SHOWN_MAX)
    .map(
      (one) => `| ${one.sync} | ${words(one.state)} | ${one.run ?? '–'} | ${tableCell(why(one))} |`,
    )
  const more = groupedRuns(syncs).length - SHOWN_MAX
  return [
    `**${tableCell(group)}**: ${step === 'closed' ? `**${words(state)}**` : words(state)}`,
    ...(rows.length === 0 ? [] : ['', '| sync | state | run | |', '|:--|:--|--:|:--|', ...rows]),
    ...(more > 0 ? ['', `and ${more} more`] : []),
    ...ignored.flatMap(({ sync, after }) => [
      '',
      tableCell(`${sync} does not wait for ${after.join(', ')}, not of this group.`),
    ]),
    // The UI cuts off the last line.
    '',
    '\u00a0',
  ].join('\n')
}
