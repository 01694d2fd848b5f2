// Counts what the ledger books: rows by outcome, runs by final state. Promises kept here: nothing is counted that the ledger did
// not accept; a retry counts nothing twice, because the ledger books nothing twice; counting never fails a call that the ledger
// has carried out.

import {
  isWritten,
  COUNTED_WHEN_CLOSED,
  COUNTED_WHEN_SETTLED,
  WRITTEN_STATES,
  ENDED_LINK_STATES,
  DELETION_STATES,
  isReason,
  outcomeOf,
  type State,
} from '../core/domain/outcomes.ts'
import type { Clock } from '../core/ports.ts'
import { LIVE_STATES } from '../core/domain/books.ts'
import type { ItemOutcome, Ledger, Run, RunEnd, VerificationResult } from '../ledger/ledger.ts'
import type { Metrics } from './metrics.ts'

/** Outcomes of rows of a mirror's tables. */
export const MIRROR_OUTCOMES = ['inserted', 'changed', 'unchanged', 'deleted'] as const

/** Runs whose sync's name is kept in memory. */
const RUNS_KEPT_MAX = 1_000

/** The ledger, with every method unchanged. */
export function withLedgerMetrics(ledger: Ledger, metrics: Metrics, clock: Clock): Ledger {
  const { rows } = metrics
  const syncs = new Map<number, string>()
  /** Items in doubt that verify last read, by run. */
  const doubtful = new Map<number, ReadonlySet<number>>()

  const syncOf = async (run: number): Promise<string> => {
    const known = syncs.get(run)
    if (known !== undefined) return known
    const sync = (await ledger.run(run))?.sync ?? 'unknown'
    if (syncs.size >= RUNS_KEPT_MAX) syncs.clear()
    syncs.set(run, sync)
    return sync
  }

  return {
    ...ledger,

    async settle(run, segment, fence, batch, outcome, items) {
      const sync = await syncOf(run)
      await ledger.settle(run, segment, fence, batch, outcome, items)
      countEach(rows, sync, items, COUNTED_WHEN_SETTLED)
    },

    async settleUnanswered(run, segment, fence, items) {
      const sync = await syncOf(run)
      await ledger.settleUnanswered(run, segment, fence, items)
      countEach(rows, sync, items, COUNTED_WHEN_SETTLED)
    },

    async written(run, options) {
      const items = await ledger.written(run, options)
      const ordinals = items.filter(({ state }) => !isWritten(state)).map(({ ordinal }) => ordinal)
      doubtful.set(run, new Set(ordinals))
      return items
    },

    async recordVerified(run, items) {
      const sync = await syncOf(run)
      await ledger.recordVerified(run, items)
      const read = doubtful.get(run)
      doubtful.delete(run)
      const found = items.filter(
        ({ verdict, ordinal }) =>
          (verdict === 'equal' || verdict === 'normalised') && read?.has(ordinal),
      )
      countEach(rows, sync, found.map(stateOnceFound), WRITTEN_STATES)
    },

    async noteStream(run, books) {
      const sync = await syncOf(run)
      const before = (await ledger.streams(run)).find(({ stream }) => stream === books.stream)
      await ledger.noteStream(run, books)
      for (const outcome of MIRROR_OUTCOMES) {
        const more = books[outcome] - (before?.[outcome] ?? 0)
        if (more > 0) rows.add({ sync, outcome, reason: '' }, more)
      }
    },

    async closeRun(id, end) {
      const run = await ledger.run(id)
      await ledger.closeRun(id, end)
      doubtful.delete(id)
      syncs.delete(id)
      // Closing a closed run changes nothing.
      if (!run || run.mode === 'plan' || !LIVE_STATES.includes(run.state)) return
      countClosed(metrics, run, end, clock)
    },
  }
}

/** Labels of what ended in a state; one that is an outcome has no reason. */
export const labelsOf = (state: State) => ({
  outcome: outcomeOf(state) ?? state,
  reason: isReason(state) ? state : '',
})

const stateOnceFound = ({ found = 'updated' }: VerificationResult) => ({ state: found })

/** Counts the items in each of these states. */
function countEach(
  rows: Metrics['rows'],
  sync: string,
  items: readonly Pick<ItemOutcome, 'state'>[],
  states: readonly ItemOutcome['state'][],
): void {
  for (const state of states) {
    const count = items.filter((item) => item.state === state).length
    if (count > 0) rows.add({ sync, ...labelsOf(state) }, count)
  }
}

function countClosed(
  { rows, links, keptValues, writtenOver, deletions, runs, runDuration }: Metrics,
  { sync, kind, openedAt }: Run,
  { state, books }: RunEnd,
  clock: Clock,
): void {
  for (const state of COUNTED_WHEN_CLOSED)
    if (books) rows.add({ sync, ...labelsOf(state) }, books.states[state])
  for (const state of ENDED_LINK_STATES) {
    const count = books?.links?.states[state] ?? 0
    if (count > 0) links.add({ sync, ...labelsOf(state) }, count)
  }
  if (books?.kept) keptValues.add({ sync }, books.kept.values)
  if (books?.writtenOver) writtenOver.add({ sync }, books.writtenOver.values)
  for (const state of DELETION_STATES) {
    const count = books?.removals?.[state] ?? 0
    if (count > 0) deletions.add({ sync, ...labelsOf(state) }, count)
  }
  runs.add({ sync, kind, state })
  const seconds = (clock.now() - Date.parse(openedAt)) / 1_000
  runDuration.record({ sync, kind }, Math.max(0, seconds))
}
