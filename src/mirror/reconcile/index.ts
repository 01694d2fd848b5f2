// The reconciliation of a mirror: service against warehouse. Promises kept here: what is told was looked at twice; what the mirror
// has not read yet is no difference; without repair nothing in the warehouse changes; a run that was killed goes on.

export { closeReconcile, type ReconcileClosed } from './close.ts'
export { discoverReconcile, type DiscoverReconcileJob } from './discover.ts'
export { reconcileStream, type ReconcileStreamJob } from './stream.ts'
