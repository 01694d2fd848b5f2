// The register of removals: what became of a record whose row is gone from the source, or asks for its deletion. Lists of states, the
// SQL of the ledger, the state of a run, the report and the commands derive from it.

import { formatNumber } from '../format.ts'
import type { Purpose } from './purpose.ts'
import { namesOf, namesWith, zeroCounts } from '../register.ts'

interface RemovalStateEntry {
  /**
   * `done`: the service holds nothing more of it, or what it was to be changed to. `left`: nothing is to be done about it.
   * `differs`: it is left as it is although the source has no row of it. `reject`: a person has to look at it. Null: nothing yet.
   */
  readonly outcome: 'done' | 'left' | 'differs' | 'reject' | null
  /** Whether the next run looks at the record again although the source said nothing new. */
  readonly carried: boolean
  readonly meaning: string
}

const REMOVAL_STATE = {
  removed: { outcome: 'done', carried: false, meaning: 'deleted at the service' },
  cleared: { outcome: 'done', carried: false, meaning: 'changed to the values of `clear`' },
  gone_already: { outcome: 'done', carried: false, meaning: 'not at the service any more' },
  not_tracked: {
    outcome: 'left',
    carried: false,
    meaning: 'never written by this sync, left alone',
  },
  kept: {
    outcome: 'left',
    carried: false,
    meaning: 'of another row or sync too, or in the source still; left alone',
  },
  changed_since: {
    outcome: 'differs',
    carried: false,
    meaning: 'changed at the service since, left alone',
  },
  unclear: { outcome: 'differs', carried: true, meaning: 'not proven to be as we left it' },
  rejected: { outcome: 'reject', carried: true, meaning: 'refused by the service' },
  failed: { outcome: 'reject', carried: true, meaning: 'no known outcome, or retries spent' },
  unsent: { outcome: 'reject', carried: true, meaning: 'the run ended before, or did not remove' },
  planned: { outcome: null, carried: false, meaning: 'waiting to be removed' },
  sent: { outcome: null, carried: false, meaning: 'in flight' },
} as const satisfies Record<string, RemovalStateEntry>
export type RemovalState = keyof typeof REMOVAL_STATE

export const REMOVAL_STATES = namesOf(REMOVAL_STATE)

/** States that a removal may leave. */
export const OPEN_REMOVALS = namesWith(REMOVAL_STATE, { outcome: null })
/** States whose record is gone, or changed as it was to be. */
export const DONE_REMOVALS = namesWith(REMOVAL_STATE, { outcome: 'done' })
/** States of records that the next run looks at again. */
export const CARRIED_REMOVALS = namesWith(REMOVAL_STATE, { carried: true })
/** States in which a person finds something to look at. */
export const NOTED_REMOVALS: readonly RemovalState[] = REMOVAL_STATES.filter((state) => {
  const { outcome } = REMOVAL_STATE[state]
  return outcome === 'differs' || outcome === 'reject'
})

/** The state that an attempt leaves a removal in. */
export type SettledRemoval = Exclude<RemovalState, (typeof OPEN_REMOVALS)[number]>

export const removalMeaning = (state: RemovalState): string => REMOVAL_STATE[state].meaning

/**
 * Why: the row is gone from the source, it asks for the deletion itself (`delete_when`), a reconciliation found the record to be extra, or
 * the run that made the record is undone.
 */
export const REMOVAL_CAUSES = ['missing', 'asked', 'extra', 'undo'] as const
export type RemovalCause = (typeof REMOVAL_CAUSES)[number]

/** Removals by state: those that occur. */
export type RemovalCounts = Readonly<Partial<Record<RemovalState, number>>>

export const allRemovalCounts = (counts: RemovalCounts): Record<RemovalState, number> => ({
  ...zeroCounts(REMOVAL_STATES),
  ...counts,
})

const sumOf = (counts: RemovalCounts, outcome: RemovalStateEntry['outcome']): number =>
  REMOVAL_STATES.filter((state) => REMOVAL_STATE[state].outcome === outcome).reduce(
    (sum, state) => sum + (counts[state] ?? 0),
    0,
  )

export const countOpenRemovals = (counts: RemovalCounts = {}): number => sumOf(counts, null)
export const countDoneRemovals = (counts: RemovalCounts = {}): number => sumOf(counts, 'done')
export const countRejectedRemovals = (counts: RemovalCounts = {}): number => sumOf(counts, 'reject')
/** Records that the source has no row of, and that are left as they are. */
export const countLeftRemovals = (counts: RemovalCounts = {}): number => sumOf(counts, 'differs')

/** What happens to the record. */
export const REMOVAL_ACTIONS = ['delete', 'clear'] as const
export type RemovalAction = (typeof REMOVAL_ACTIONS)[number]

/** What the records of removals are, in a run of this purpose. */
export const removalsOf = (purpose: Purpose): string =>
  purpose === 'undo' ? 'records that the run made' : 'records without a row'

/** `records without a row: 12 removed, 1 changed_since`; null if there is none. */
export function removalsText(counts: RemovalCounts = {}, purpose: Purpose = 'sync'): string | null {
  const parts = REMOVAL_STATES.filter((state) => (counts[state] ?? 0) > 0).map(
    (state) => `${formatNumber(counts[state]!)} ${state}`,
  )
  return parts.length === 0 ? null : `${removalsOf(purpose)}: ${parts.join(', ')}`
}
