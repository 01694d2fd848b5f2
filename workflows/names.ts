// The workflow types, by name: what a client starts. Free of workflow code, so that a client need not load it.

/** Input: `{"sync": "contacts"}`. */
export const importSync = 'importSync'
