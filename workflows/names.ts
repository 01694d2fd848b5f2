// The workflow types and their updates, by name: what a client starts and sends. Free of workflow code, so that a client
// need not load it.

/** Input: `{"sync": "contacts"}`. */
export const importSync = 'importSync'
/** Input: `{"sync": "crm_copy"}`. */
export const mirrorSync = 'mirrorSync'

/** Input: `{"sync": "crm_copy", "from": "2026-01-01", "to": "2026-02-01"}`; to `{}` it answers with what can be written. */
export const backfill = 'backfill'

/** Input: `{"run": 12}`. */
export const retry = 'retry'
/** Input: `{"run": 12}`: what the run wrote is taken back. */
export const undo = 'undo'
/** Input: `{"sync": "contacts"}`; with `"repair": true` it makes both sides equal. */
export const reconcile = 'reconcile'
/** Input: `{"sync": "contacts"}`: links that earlier runs of it left are tried again. */
export const links = 'links'

/** Input: `{"group": "nightly"}`, or `{"syncs": ["companies", "contacts"]}`. */
export const groupSync = 'groupSync'

/** Update of every run: what waits may proceed. Input: `{"stream": "svc_contact"}`, or nothing for all that wait. */
export const approve = 'approve'
/** Update of every run: what waits is not done. Input as for `approve`. */
export const reject = 'reject'
/** Update of every run: it stops where it is, and keeps what it has done. Input: `{"reason": "maintenance"}`, or nothing. */
export const pause = 'pause'
/** Update of every run: a paused one continues. Input: nothing. */
export const resume = 'resume'
/** Signal of every run, sent by workers: the run's present state in the ledger. */
export const stateChanged = 'stateChanged'

/** Signal of a group, sent by its runs: number and state of a run. */
export const groupRunChanged = 'groupRunChanged'
/** Memo of a run that a group has begun: it reports to the group. */
export const GROUP_MEMO = 'group'
/** Memo of a `links` that a run has started: the number of that run. */
export const AFTER_MEMO = 'after'

/** Memo of a `backfill` that does nothing: it exists only as a template for new ones. */
export const TEMPLATE_MEMO = 'template'
