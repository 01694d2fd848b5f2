// Every number of specification section 8.

/** Largest and default page of a query or an aggregate. */
export const PAGE_LIMIT_MAX = 100
/** Items of one batch. */
export const BATCH_ITEMS_MAX = 50
export const SORTS_MAX = 1
export const SEARCH_CHARS_MAX = 200
/** Levels of a filter tree; a single leaf is level 1. */
export const FILTER_DEPTH_MAX = 8
/** Values of an `in` or `not_in` list. For `contains_any` and `not_contains_any`, whose limit is not specified, it is ours. */
export const IN_VALUES_MAX = 100
/** The specification leaves the maximum open; this one is ours. */
export const FILTER_GROUPS_MAX = 50
/** Leaves of a filter tree; ours. */
export const FILTER_LEAVES_MAX = 500
export const CURSOR_LIFETIME_MS = 24 * 60 * 60 * 1_000
