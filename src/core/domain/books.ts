// The books of a run, the state that they give it, and the states of items and runs (design section 4).
// Promise kept here: rows read equals the sum of the item states, always.

import { type ItemState, type LinkState } from './outcomes.ts'
import { countDiffering, countOf, countAll, zeroStates, type Counts } from './outcome-counts.ts'
import type { DeletionCounts } from './deletions.ts'
import type { KeptReason } from './protection.ts'
import type { CompleteState } from './run-states.ts'

export * from './run-states.ts'

/** What reading back showed, as counts of rows that were written. */
export interface ReadBack {
  readonly equal: number
  /** Accepted, and the service holds another value. */
  readonly different: number
  /** Accepted, and not found by its key. */
  readonly missing: number
  /** Accepted, and then overwritten: a later row of the run, of another key, was written to the same record. Left out if none. */
  readonly overwritten?: number
  /** Sent twice, and read back the same other value both times: the service's own form of it. Not sent a third time. */
  readonly normalised: number
}

export const READ_BACK_NAMES = [
  'missing',
  'different',
  'overwritten',
  'normalised',
  'equal',
] as const satisfies readonly (keyof ReadBack)[]

export const NOT_READ_BACK: ReadBack = { equal: 0, different: 0, missing: 0, normalised: 0 }

/** The account of a run: how many rows were read, and how many items are in each state. */
export interface Books {
  readonly read: number
  readonly states: Readonly<Record<ItemState, number>>
  /** Items replayed after an unknown outcome: while above 0, `created` is a lower bound (a replay answers 200). */
  readonly replayed: number
  /** Items whose answer was lost, or said nothing certain, and whose record was found as it was sent. Left out if none. */
  readonly lookedUp?: number
  /** Of both, those that count as updated and whose records were there before their first sending. Left out if none. */
  readonly thereBefore?: number
  /** Items whose last request has no known outcome. */
  readonly inDoubt: number
  /** False if the source was not read to its end: no book counts the rows that were not read. */
  readonly readToEnd?: false
  readonly readBack: ReadBack
  /** Records whose rows are gone, or ask for it, by what became of them. Left out if there is none. */
  readonly removals?: DeletionCounts
  /** Values of records that the run did not write over. Left out if there are none. */
  readonly kept?: KeptCounts
  /** Values of records that the run wrote over although the sync, which protects values, had not written them before. Left out if none. */
  readonly writtenOver?: KeptCounts
  /** Left out if the run has no links. */
  readonly links?: LinkBooks
}

/** Values that were not written over, or that were, and how many rows that is. */
export interface KeptCounts {
  readonly values: number
  readonly rows: number
  /** Why, as counts of values; only those that occur. Left out of values that were written over. */
  readonly reasons?: Readonly<Partial<Record<KeptReason, number>>> | undefined
}

/** The account of a run's links. */
export interface LinkBooks {
  /** Read from its rows, or carried over from earlier runs. A link that a row names twice counts once. */
  readonly read: number
  readonly states: Readonly<Record<LinkState, number>>
  /** New links that took the place of another one, as the definition of their association has it. Left out if none. */
  readonly replaced?: number
}

/** Rows that were accepted, and that the service does not hold as they were sent. */
export const countReadBackDifferent = ({ readBack }: Books): number =>
  readBack.different + readBack.missing + (readBack.overwritten ?? 0)

/** Rows, links and deletions of a run, each by state. */
const countsOf = ({ states, links, removals }: Books): readonly (Counts | undefined)[] => [
  states,
  links?.states,
  removals,
]

/** What the run knows to differ: rows read back otherwise, and records that are left although the source has no row of them. */
export const countKnownDifferent = (books: Books): number =>
  countReadBackDifferent(books) + countDiffering(books.removals)

/** Rows that were rejected. */
export const countRejects = ({ states }: Pick<Books, 'states'>): number =>
  countOf(states, 'rejected')

/** Links that were rejected. */
export const countLinkRejects = ({ links }: Pick<Books, 'links'>): number =>
  countOf(links?.states, 'rejected')

/** Links whose targets do not exist yet. */
export const countTargetMissing = ({ links }: Pick<Books, 'links'>): number =>
  links?.states.target_missing ?? 0

/** Links that are not there, and that a later run makes. */
export const countWaiting = ({ links }: Pick<Books, 'links'>): number =>
  countOf(links?.states, 'waiting')

/** Rows that need a person, and deletions that were rejected. */
export const countNeedsPerson = (books: Books): number =>
  countRejects(books) + countOf(books.removals, 'rejected')

export const emptyStates = (): Record<ItemState, number> => zeroStates('row')

/** True if each row read and each link has exactly one outcome, and no deletion is open. */
export function isBalanced(books: Books): boolean {
  const { read, states, links } = books
  return (
    read === countAll(states) &&
    (links === undefined || links.read === countAll(links.states)) &&
    countsOf(books).every((counts) => countOf(counts, null) === 0)
  )
}

/**
 * The final state of a run that ended by itself. Books that do not balance are never complete, and neither is a run that
 * knows of a difference.
 * @param found of a reconciliation: `left`, the records that still differ, and whether it only compared. Rows and links of a run
 * that only compared are `not_sent`, and nothing has rejected them.
 */
export function finalState(
  books: Books,
  found: { readonly left: number; readonly isLook: boolean } = { left: 0, isLook: false },
): CompleteState | 'failed' {
  if (!isBalanced(books)) return 'failed'
  const notSent = books.states.not_sent + (books.links?.states.not_sent ?? 0)
  const rejects = countNeedsPerson(books) + countLinkRejects(books) - (found.isLook ? notSent : 0)
  if (rejects > 0) return 'complete_with_rejects'
  return found.left + countKnownDifferent(books) + countWaiting(books) > 0
    ? 'complete_with_differences'
    : 'complete'
}

/** The final state that a run would have if the links whose targets were missing were linked: another run has taken them up. */
export function stateOnceLinked(books: Books): CompleteState | 'failed' {
  const { links } = books
  if (links === undefined) return finalState(books)
  const { target_missing: waiting, linked } = links.states
  const states = { ...links.states, target_missing: 0, linked: linked + waiting }
  return finalState({ ...books, links: { ...links, states } })
}
