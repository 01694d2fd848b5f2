// The bounds of our own work. Those of the service are in src/contract/limits.ts.

/** Rows that one ledger transaction may touch: a longer one would hold the lock for too long. */
export const LEDGER_ROWS_MAX = 1_000
/** Characters of values that one call of the ledger takes or gives, except for the first row: rows may be of a megabyte each. */
export const LEDGER_CHARS_MAX = 4 * 1_048_576
/** Characters of a row's cells and of what is sent of it, as JSON: what every part of the program can hold several of. */
export const ROW_CHARS_MAX = 16 * 1_048_576
/** Whole-request failures in a row after which a run is `blocked: service`. */
export const SERVICE_FAILURES_MAX = 5
/** Attempts of an item that is answered 500 or 503 inside an answer. */
export const ITEM_ATTEMPTS_MAX = 5
/** For a longer wait on the quota the activity ends and comes back by `nextRetryDelay`. */
export const QUOTA_WAIT_MAX_MS = 45_000
/** Bytes of one CSV record; an unclosed quote is detected after this many. */
export const CSV_RECORD_BYTES_MAX = 1_048_576
/** Characters of a value that an error report shows. */
export const REPORT_VALUE_CHARS_MAX = 200
/** Rows that a sampled verification reads back. */
export const VERIFY_SAMPLE_ROWS = 1_000
/** Records whose links a sampled verification lists: one request each, where one reads 100 rows back. */
export const VERIFY_SAMPLE_LINKED = 100
/** How long items and requests of closed runs are kept. */
export const RETENTION_MS = 30 * 24 * 60 * 60 * 1_000
/**
 * How old a plan may be that a run applies. Its rows are kept for RETENTION_MS, and a run that applies it needs them to its end.
 */
export const PLAN_AGE_MAX_MS = 7 * 24 * 60 * 60 * 1_000
/** Values of a property's list of options that are kept. */
export const OPTIONS_KEPT_MAX = 100
/** Characters of the target of a link: a key of another record, or its id. A page of 1,000 links is far below LEDGER_CHARS_MAX. */
export const LINK_TARGET_CHARS_MAX = 2_000
