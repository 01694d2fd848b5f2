// What people do to runs and schedules.

/** `run`, `retry`, `undo`, `reconcile`, `backfill` and `links` start a run. */
export const ACTION_NAMES = [
  'approve',
  'reject',
  'pause',
  'resume',
  'cancel',
  'run',
  'retry',
  'undo',
  'reconcile',
  'backfill',
  'links',
  'pause_schedule',
  'resume_schedule',
  'trigger_schedule',
] as const
export type ActionName = (typeof ACTION_NAMES)[number]
