// Runs as the columns of a chart and the lines of a list: what became of the rows of each.

import { countRejects, isComplete, LIVE_STATES, type Books } from '../../core/domain/books.ts'
import { countDoneRemovals } from '../../core/domain/removals.ts'
import type { Run, RunBrief, RunCounters } from '../../ledger/ledger.ts'
import type { RunBar, Tone } from './shapes.ts'

export function toneOf({ state, reason }: Pick<Run, 'state' | 'reason'>): Tone {
  if (state === 'complete') return 'good'
  if (state === 'running') return 'live'
  if (state === 'failed') return 'bad'
  if (state === 'blocked') return reason === 'approval' ? 'look' : 'bad'
  return 'look'
}

function partsOfBooks(books: Books): NonNullable<RunBar['parts']> {
  const { created, updated, kept, unchanged, superseded, exists, absent, withdrawn, corrected } =
    books.states
  return {
    created,
    updated,
    deleted: books.removals ? countDoneRemovals(books.removals) : 0,
    kept,
    rejected: countRejects(books),
    rest: unchanged + superseded + exists + absent + withdrawn + corrected,
  }
}

/** Of a live import, from its counters. */
export function partsOfCounters(counters: RunCounters, done = false) {
  const { created, updated, rejected, failed, spared, planned } = counters
  const settled = created + updated + rejected + failed + spared
  return {
    created,
    updated,
    deleted: 0,
    kept: 0,
    rejected: rejected + failed,
    rest: spared,
    planned: done ? 0 : Math.max(0, planned - settled),
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
            deleted: streams.deleted,
            kept: 0,
            rejected: 0,
            rest: Math.max(0, streams.read - streams.inserted - streams.changed),
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
