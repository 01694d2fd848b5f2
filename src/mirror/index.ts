// The mirror's public face: what the activities call, and the types of what crosses Temporal.

export { typeFailure } from './type-failure.ts'
export { closeMirror } from './close.ts'
export { checkTablesHolder, discoverStreams, type DiscoverJob } from './discover.ts'
export {
  DEFAULT_MIRROR_TUNING,
  type DeletionVerdict,
  type DiscoveredStreams,
  type MirrorClient,
  type MirrorDeps,
  type MirrorTuning,
  type StreamJob,
  type StreamRef,
  type StreamResult,
} from './ports.ts'
export { recheckTables } from './recheck-tables.ts'
export { closeReconcile, type ReconcileClosed } from './reconcile/close.ts'
export { discoverReconcile } from './reconcile/discover.ts'
export { reconcileStream, type ReconcileStreamJob } from './reconcile/stream.ts'
export type { RecordsJob } from './records-work.ts'
export { mirrorStream } from './stream.ts'
export { edgesStream } from './streams.ts'
export { withTableHeartbeat } from './table-heartbeat.ts'
export { streamsVisibility, withVisibilityCheck } from './visibility-check.ts'
