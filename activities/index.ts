// The activities: thin, over the modules of src. Each is safe to run again at any point: the ledger, and the tables of a
// mirror, hold what is done. Only names, ids and counts cross Temporal.

import {
  backfillActivities,
  type BackfillActivities,
  type BackfillActivityDeps,
} from './backfill.ts'
import { groupActivities, type GroupActivities, type GroupActivityDeps } from './group.ts'
import { linksActivities, type LinksActivities } from './links.ts'
import { importActivities, type ImportActivities, type ImportActivityDeps } from './import.ts'
import { mirrorActivities, type MirrorActivities, type MirrorActivityDeps } from './mirror.ts'
import { repairActivities, type RepairActivities } from './repair.ts'
import { undoActivities, type UndoActivities } from './undo.ts'

export type { EndedRun } from './group.ts'
export type { GroupMember, GroupPlan } from '../src/runs/group-plan.ts'
export type { SyncSummary } from './backfill.ts'
export type { RunCounters } from '../src/ledger/ledger.ts'
export type { RowError } from '../src/import/index.ts'
export type { SegmentRef } from './import.ts'
export type {
  DiscoveredStreams,
  StreamRef,
  StreamResult,
  DeletionVerdict,
} from '../src/mirror/index.ts'

/** What the composition root hands in. */
export type ActivityDeps = ImportActivityDeps &
  MirrorActivityDeps &
  BackfillActivityDeps &
  GroupActivityDeps

export type Activities = ImportActivities &
  LinksActivities &
  MirrorActivities &
  BackfillActivities &
  RepairActivities &
  UndoActivities &
  GroupActivities

export function createActivities(deps: ActivityDeps): Activities {
  return {
    ...importActivities(deps),
    ...linksActivities(deps),
    ...mirrorActivities(deps),
    ...backfillActivities(deps),
    ...repairActivities(deps),
    ...undoActivities(deps),
    ...groupActivities(deps),
  }
}
