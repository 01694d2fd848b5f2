// The books of a run, the state that they give it, and the states of items and runs (design section 4).
// Promise kept here: rows read equals the sum of the item states, always.

import { ITEM_STATES, OPEN_STATES, REJECT_STATES, type ItemState } from './item-states.ts'
import { LINK_REJECT_STATES, LINK_STATES, OPEN_LINK_STATES, type LinkState } from './link-states.ts'
import type { KeptReason } from './protection.ts'
import { zeroCounts } from '../register.ts'
import {
  countLeftRemovals,
  countOpenRemovals,
  countRejectedRemovals,
  type RemovalCounts,
} from './removals.ts'
import type { CompleteState } from './run-states.ts'

export * from './item-states.ts'
export * from './link-states.ts'
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
  readonly removals?: RemovalCounts
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

/** What the run knows to differ: such rows, and records that the source has no row of and that are left. */
export const countKnownDifferent = (books: Books): number =>
  countReadBackDifferent(books) + countLeftRemovals(books.removals)

/** Rows in a state that needs a person's attention. */
export const countRejects = ({ states }: Pick<Books, 'states'>): number =>
  REJECT_STATES.reduce((sum, state) => sum + states[state], 0)

/** Links in a state that needs a person's attention. */
export const countLinkRejects = ({ links }: Pick<Books, 'links'>): number =>
  links === undefined ? 0 : LINK_REJECT_STATES.reduce((sum, state) => sum + links.states[state], 0)

/** Links whose targets do not exist yet. */
export const countParked = ({ links }: Pick<Books, 'links'>): number => links?.states.parked ?? 0

/** Links that the service answered as made, and that are not there. */
export const countNotKept = ({ links }: Pick<Books, 'links'>): number => links?.states.not_kept ?? 0

/** Links that are not there, and that a later run makes. */
export const countMissingLinks = (books: Pick<Books, 'links'>): number =>
  countParked(books) + countNotKept(books)

/** Rows that need a person, and records without a row that could not be removed. */
export const countNeedsPerson = (books: Books): number =>
  countRejects(books) + countRejectedRemovals(books.removals)

export const emptyStates = (): Record<ItemState, number> => zeroCounts(ITEM_STATES)

export function sumOfStates(states: Readonly<Record<ItemState, number>>): number {
  return ITEM_STATES.reduce((sum, state) => sum + states[state], 0)
}

export const sumOfLinkStates = (states: LinkBooks['states']): number =>
  LINK_STATES.reduce((sum, state) => sum + states[state], 0)

/** True if every link read is in exactly one terminal state. */
const areLinksBalanced = ({ read, states }: LinkBooks): boolean =>
  read === sumOfLinkStates(states) && OPEN_LINK_STATES.every((state) => states[state] === 0)

/** True if every row read is in exactly one terminal state, every link too, and no removal is open. */
export function isBalanced(books: Books): boolean {
  return (
    books.read === sumOfStates(books.states) &&
    OPEN_STATES.every((state) => books.states[state] === 0) &&
    (books.links === undefined || areLinksBalanced(books.links)) &&
    countOpenRemovals(books.removals) === 0
  )
}

/**
 * The final state of a run that ended by itself. Books that do not balance are never complete, and neither is a run that
 * knows of a difference.
 * @param found of a reconciliation: `left`, the records that still differ, and whether it only compared. Rows and links of a run
 * that only compared are `unsent`, and nothing has rejected them.
 */
export function finalState(
  books: Books,
  found: { readonly left: number; readonly isLook: boolean } = { left: 0, isLook: false },
): CompleteState | 'failed' {
  if (!isBalanced(books)) return 'failed'
  const unsent = books.states.unsent + (books.links?.states.unsent ?? 0)
  const rejects = countNeedsPerson(books) + countLinkRejects(books) - (found.isLook ? unsent : 0)
  if (rejects > 0) return 'complete_with_rejects'
  return found.left + countKnownDifferent(books) + countMissingLinks(books) > 0
    ? 'complete_with_differences'
    : 'complete'
}

/** The final state that a run would have if its parked links were linked: another run has taken them up. */
export function stateWithoutParked(books: Books): CompleteState | 'failed' {
  const { links } = books
  if (links === undefined) return finalState(books)
  const { parked, linked } = links.states
  const states = { ...links.states, parked: 0, linked: linked + parked }
  return finalState({ ...books, links: { ...links, states } })
}
