// Entry of the workflow bundle: every workflow type by its name.

export { backfill } from './backfill.ts'
export { groupSync } from './group.ts'
export { importSync } from './import.ts'
export { links } from './links.ts'
export { mirrorSync } from './mirror.ts'
export { reconcile } from './reconcile.ts'
export { retry } from './retry.ts'
export { undo } from './undo.ts'
