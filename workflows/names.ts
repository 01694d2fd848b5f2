// The workflow types and their updates, by name: what a client starts and sends. Free of workflow code, so that a client
// need not load it.

/** Input: `{"sync": "contacts"}`. */
export const importSync = 'importSync'
/** Input: `{"sync": "crm_copy"}`. */
export const mirrorSync = 'mirrorSync'

/** Update of `mirrorSync`: lets deletions that wait be made. Input: `{"stream": "svc_contact"}`, or nothing for all. */
export const approve = 'approve'
/** Update of `mirrorSync`: leaves the rows that would be deleted. Input as that of `approve`. */
export const reject = 'reject'
