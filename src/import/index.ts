// The import's public face: what the activities call step by step, and what a plan and a check use.

export {
  imageChangeReader,
  plannedChanges,
  PropertyTotals,
  type PlannedChange,
  type PropertyChange,
} from './changes/image-changes.ts'
export { lookUpChanges, type LookedUp, type LookUpBounds } from './changes/plan-changes.ts'
export { keepOwnPlan } from './changes/own-plan.ts'
export { planDigest } from './changes/plan-digest.ts'
export { readPlan, storePlan, type PropertyTotal, type StoredPlan } from './changes/stored-plan.ts'
export {
  appliedPlan,
  checkPlan,
  checkStaged,
  notAsPlannedText,
  readNotAsPlanned,
} from './changes/applied-plan.ts'
export { hasLimits, makesPlan, rulesOf } from './approval-rules.ts'
export { closeImport, type CloseResult, type ReconcileFindings } from './close.ts'
export { finishImport } from './finish.ts'
export { linkBoundsOf } from './links/link-target.ts'
export { linkRows } from './links/link-rows.ts'
export { openNoRows } from './links/no-rows.ts'
export { isLinking, syncsToLink } from './links/waiting-syncs.ts'
export { sourceCellText } from './mapping/coerce.ts'
export { compileMapping, loadMapping, textHash } from './mapping/map.ts'
export { mappingChecker, type CheckRow } from './mapping/row-checker.ts'
export { readTarget, type Target } from './mapping/target.ts'
export {
  DEFAULT_IMPORT_TUNING,
  type ImportClient,
  type ImportDeps,
  type ImportTuning,
} from './ports.ts'
export { doubtOf, guessEvidenceText, type GuessEvidence } from './proposal/evidence.ts'
export {
  keyText,
  proposeLinks,
  withoutLinked,
  type KeyedRows,
  type ProposedLink,
} from './proposal/links.ts'
export { headerDoubt } from './proposal/header.ts'
export {
  proposeImport,
  withAnswer,
  type OpenProperty,
  type Proposal,
  type ProposalWishes,
} from './proposal/propose.ts'
export { sharedPrefix } from './proposal/words.ts'
export type { ReadingSettings } from './proposal/reading.ts'
export type { SourceSample } from './proposal/columns.ts'
export {
  checkDrained,
  checkSingleWritesDrained,
  drainInFlight,
  InFlightWaits,
} from './push/drain.ts'
export type { PushResult } from './push/claimed-segment.ts'
export { firstPlanned, push } from './push/push.ts'
export { noteOtherKey } from './push/second-records.ts'
export { settleInFlight } from './push/settle-in-flight.ts'
export { compareRun } from './reconcile/reconcile.ts'
export { requestsOf } from './requests.ts'
export { checkOwnRecords, openKeys } from './source-keys.ts'
export { removeMissing } from './remove/remove.ts'
export { reviewLimits } from './review.ts'
export { readsAll } from './run-configs.ts'
export { rowErrors, type RowError } from './row-errors.ts'
export { openLeftoverRows } from './stage/leftover-rows.ts'
export { wroteElsewhere } from './undo/bind-undo.ts'
export { undoProblem } from './undo/undo-problem.ts'
export { planUndo, type UndoPlan } from './undo/plan-undo.ts'
export { isPart, sendsAgain, undoneSync } from './undo/undone-sync.ts'
export { stageUndo, type StagedUndo } from './undo/stage-undo.ts'
export type { ReportChanges, UndoneChange } from './undo/undone-change.ts'
export type { UndoFindings } from './undo/undo-warnings.ts'
export { stagedParts } from './stage/staged-parts.ts'
export { stage, type StageResult } from './stage/stage.ts'
export { overwritingProblem } from './overwriting.ts'
