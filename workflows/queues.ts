// The task queues, by name. Each project has its own, so that no worker takes the work of another project: the workflows of a
// project poll one queue, and the names of its other queues begin with that name. Free of workflow code, so that a client
// need not load it.

import type { Activities } from '../activities/index.ts'

const QUEUE_PREFIX = 'records-sync-'
/** Every worker polls it, and nothing is ever sent to it: its pollers show which projects a namespace serves. */
export const PROJECTS_QUEUE = 'records-sync-projects'

/** Queue of a project's workflows and short activities. */
export const taskQueueOf = (project: string): string => `${QUEUE_PREFIX}${project}`

/** Queues of the activities that work for minutes; a worker has few slots for each. */
export const STREAMING_QUEUES = {
  import: '-io',
  /** Its own queue, so that a pull of many object types does not make an import wait. */
  mirror: '-mirror',
  /** Its own slots, so that a backfill never makes another run wait for one. */
  backfill: '-backfill',
} as const

/**
 * Which workers serve an activity: `short` ones ask the ledger or the configuration and little else, and are served with the
 * workflows; `streaming` ones work for minutes. A workflow calls each as what it is listed here.
 */
export const ACTIVITY_KINDS = {
  openImport: 'short',
  stageImport: 'streaming',
  compareImport: 'streaming',
  planImport: 'streaming',
  reviewImport: 'streaming',
  noteImportVerdict: 'short',
  pushSegment: 'streaming',
  linkRows: 'streaming',
  removeImport: 'streaming',
  closeImport: 'streaming',
  openMirror: 'short',
  discoverMirror: 'streaming',
  mirrorStream: 'streaming',
  discoverReconcile: 'streaming',
  reconcileStream: 'streaming',
  noteVerdict: 'short',
  closeMirror: 'short',
  noteParked: 'short',
  listSyncs: 'short',
  checkBackfill: 'short',
  checkLinks: 'short',
  checkRetry: 'short',
  checkUndo: 'short',
  checkReconcile: 'short',
  planGroup: 'short',
  awaitRun: 'short',
  noteSkipped: 'short',
} as const satisfies Record<keyof Activities, 'short' | 'streaming'>

type NamesOf<Kind> = {
  [Name in keyof Activities]: (typeof ACTIVITY_KINDS)[Name] extends Kind ? Name : never
}[keyof Activities]
export type ShortActivities = Pick<Activities, NamesOf<'short'>>
export type StreamingActivities = Pick<Activities, NamesOf<'streaming'>>

/** @param taskQueue that of the workflow */
export const streamingQueueOf = (taskQueue: string, kind: keyof typeof STREAMING_QUEUES): string =>
  `${taskQueue}${STREAMING_QUEUES[kind]}`

/** The project whose workflows a queue holds. */
export const projectOfQueue = (taskQueue: string): string => taskQueue.slice(QUEUE_PREFIX.length)

/** `backfill-contacts-3f9ac2b1`: id of the backfills of a sync that the Temporal UI starts, and of its template. */
export const backfillId = (sync: string, project: string): string => `backfill-${sync}-${project}`

/** `undo-3f9ac2b1`: id of the undos that the Temporal UI starts, and of their template. */
export const undoId = (project: string): string => `undo-${project}`

/** `import-contacts-3f9ac2b1-2026-11-23T09-00-00-000Z`: id of a workflow that begins now. */
export const idOfStart = (name: string, project: string, nowMs: number): string =>
  `${name}-${project}-${stampOf(nowMs)}`

/** `links-contacts-3f9ac2b1-after-12`: id of the run that run 12 starts for the waiting links of a sync. */
export const idOfLinks = (sync: string, project: string, run: number): string =>
  `links-${sync}-${project}-after-${run}`

const stampOf = (ms: number): string => new Date(ms).toISOString().replaceAll(/[:.]/g, '-')

/** `group-nightly-3f9ac2b1`: id of the runs of a group that people begin, so that there is one at a time. */
export const groupId = (label: string, project: string): string => `group-${label}-${project}`
