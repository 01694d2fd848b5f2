// The task queues, by name. Apart from messages.ts so that whoever starts a worker need not load workflow code.

/** Task queue of workflows and short activities. */
export const TASK_QUEUE = 'records-sync'
/** Task queue of the activities that stream rows; a worker has few slots for them. */
export const IO_TASK_QUEUE = 'records-sync-io'
/** The same for backfills: slots of their own, so that they never keep another run waiting for one. */
export const BACKFILL_TASK_QUEUE = 'records-sync-backfill'
/** The same for mirrors: a pull of many object types keeps no import waiting. */
export const MIRROR_TASK_QUEUE = 'records-sync-mirror'
