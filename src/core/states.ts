// The states of items and runs, and the books (design section 4).
// Promise kept here: rows read equals the sum of the item states, always.

/** Every state an item can be in, in the order in which reports list them. */
export const ITEM_STATES = [
  'created',
  'updated',
  'unchanged',
  'superseded',
  'invalid',
  'rejected',
  'failed',
  'unsent',
  'planned',
  'sent',
] as const
export type ItemState = (typeof ITEM_STATES)[number]

/** States that an item never leaves. */
export const TERMINAL_STATES: readonly ItemState[] = [
  'created',
  'updated',
  'unchanged',
  'superseded',
  'invalid',
  'rejected',
  'failed',
  'unsent',
]

/** States of rows that a person has to look at. */
export const REJECT_STATES: readonly ItemState[] = ['invalid', 'rejected', 'failed', 'unsent']

export const RUN_STATES = [
  'running',
  'paused',
  'blocked',
  'complete',
  'complete_with_rejects',
  'cancelled',
  'failed',
] as const
export type RunState = (typeof RUN_STATES)[number]

/** States in which a run holds its sync. */
export const LIVE_STATES: readonly RunState[] = ['running', 'paused', 'blocked']

/** The account of a run: how many rows were read, and how many items are in each state. */
export interface Books {
  readonly read: number
  readonly states: Readonly<Record<ItemState, number>>
  /** Items replayed after an unknown outcome: while above 0, `created` is a lower bound (a replay answers 200). */
  readonly replayed: number
  /** Items whose last request has no known outcome. */
  readonly inDoubt: number
}

/** Books with every state at zero. */
export function emptyStates(): Record<ItemState, number> {
  return Object.fromEntries(ITEM_STATES.map((state) => [state, 0])) as Record<ItemState, number>
}

/** The sum of all item states. */
export function sumOfStates(states: Readonly<Record<ItemState, number>>): number {
  return ITEM_STATES.reduce((sum, state) => sum + states[state], 0)
}

/** True where every row read is in exactly one terminal state. */
export function isBalanced(books: Books): boolean {
  return (
    books.read === sumOfStates(books.states) &&
    books.states.planned === 0 &&
    books.states.sent === 0
  )
}

/** The final state of a run that ended by itself. Books that do not balance are never complete. */
export function finalState(books: Books): 'complete' | 'complete_with_rejects' | 'failed' {
  if (!isBalanced(books)) return 'failed'
  return REJECT_STATES.some((state) => books.states[state] > 0)
    ? 'complete_with_rejects'
    : 'complete'
}
