// Runs as the columns of a chart and the lines of a list: what became of the rows of each.

import { countOf, outcomeCounts } from '../../core/domain/outcome-counts.ts'
import { isComplete, LIVE_STATES, type Books } from '../../core/domain/books.ts'
import type { Run, RunBrief, RunCounters } from '../../ledger/ledger.ts'
import type { RunBar, Tone } from './shapes.ts'

export function toneOf({ state, reason }: Pick<Run, 'state' | 'reason'>): Tone {
  if (state === 'complete') return 'good'
  if (state === 'running') return 'live'
  if (state === 'failed') return 'bad'
  if (state === 'blocked') return reason === 'approval' ? 'look' : 'bad'
  return 'look'
}

const partsOfBooks = ({ states, removals }: Books): NonNullable<RunBar['parts']> => ({
  ...outcomeCounts('row', states),
  deleted: countOf(removals, 'deleted'),
})

/** Of a live import, from its counters. */
export function partsOfCounters(counters: RunCounters, done = false) {
  const { created, updated, skipped, rejected, planned } = counters
  const settled = created + updated + skipped + rejected
  return {
    created,
    updated,
    unchanged: 0,
    skipped,
    deleted: 0,
    rejected,
    pending: done ? 0 : Math.max(0, planned - settled),
  }
}

export function barOf(brief: RunBrief): RunBar {
  const { counts, streams } = brief
  const parts =
    counts !== null
      ? partsOfBooks(counts)
      : streams === null
        ? null
        : {
            created: streams.inserted,
            updated: streams.changed,
            unchanged: Math.max(0, streams.read - streams.inserted - streams.changed),
            skipped: 0,
            deleted: streams.deleted,
            rejected: 0,
          }
  const isLive = LIVE_STATES.includes(brief.state)
  return {
    run: brief.id,
    purpose: brief.purpose,
    state: brief.state,
    tone: toneOf(brief),
    opened_at: brief.openedAt,
    seconds:
      brief.closedAt === null
        ? null
        : (Date.parse(brief.closedAt) - Date.parse(brief.openedAt)) / 1_000,
    rows: brief.rowsRead ?? streams?.read ?? null,
    parts: isLive && brief.kind === 'import' ? null : parts,
  }
}

/** Whether a run of these brought in what was new. */
export const endedWell = ({ state }: Pick<RunBrief, 'state'>): boolean => isComplete(state)
