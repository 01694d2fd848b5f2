// The search attributes of our runs: Temporal's list finds a run by them. Plain data, so that workflows, schedules and the
// worker that registers them share one definition.
// Promise kept here: none of them ever holds a value of a row; Temporal shows and stores them unencrypted.

/** Name of the sync that the run works for. */
export const SYNC_NAME = 'SyncName'
/** `import` or `mirror`. */
export const SYNC_KIND = 'SyncKind'
/** The run's state, as in the ledger. */
export const SYNC_STATE = 'SyncState'
/** Rows that failed or were rejected so far. */
export const ROWS_FAILED = 'RowsFailed'

/** Each one with its type, in the server's words (`temporal operator search-attribute create --type …`). */
export const SEARCH_ATTRIBUTES = {
  [SYNC_NAME]: 'Keyword',
  [SYNC_KIND]: 'Keyword',
  [SYNC_STATE]: 'Keyword',
  [ROWS_FAILED]: 'Int',
} as const

export type SearchAttributeName = keyof typeof SEARCH_ATTRIBUTES
