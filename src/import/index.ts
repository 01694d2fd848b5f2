// The import's public face: what the activities call step by step, and what a plan and a check use.

export {
  imageChangeReader,
  plannedChanges,
  PropertyTotals,
  type PlannedChange,
  type PropertyChange,
} from './judge/image-changes.ts'
export { lookUpChanges, type LookedUp, type LookUpBounds } from './steps/plan-changes.ts'
export { keepOwnPlan } from './steps/own-plan.ts'
export { planDigest } from './judge/plan-digest.ts'
export { readPlan, storePlan, type PropertyTotal, type StoredPlan } from './judge/stored-plan.ts'
export {
  appliedPlan,
  checkPlan,
  checkStaged,
  notAsPlannedText,
  readNotAsPlanned,
} from './judge/applied-plan.ts'
export { hasLimits, makesPlan, rulesOf } from './steps/approval-rules.ts'
export { closeImport, type CloseResult, type ReconcileFindings } from './steps/close.ts'
export { finishImport } from './steps/finish.ts'
export { linkBoundsOf } from './mapping/link-target.ts'
export { linkRows } from './outbox/link-rows.ts'
export { openNoRows } from './steps/no-rows.ts'
export { isLinking, syncsToLink } from './steps/waiting-syncs.ts'
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
} from './outbox/drain.ts'
export type { PushResult } from './judge/claimed-segment.ts'
export { firstPlanned, push } from './outbox/push.ts'
export { noteOtherKey } from './judge/second-records.ts'
export { settleInFlight } from './outbox/settle-in-flight.ts'
export { compareRun } from './steps/reconcile.ts'
export { requestsOf } from './steps/requests.ts'
export { checkOwnRecords, openKeys } from './steps/source-keys.ts'
export { removeMissing } from './outbox/remove.ts'
export { reviewLimits } from './steps/review.ts'
export { readsAll } from './look/run-configs.ts'
export { rowErrors, type RowError } from './outbox/row-errors.ts'
export { openLeftoverRows } from './steps/leftover-rows.ts'
export { wroteElsewhere } from './steps/bind-undo.ts'
export { undoProblem } from './steps/undo-problem.ts'
export { planUndo, type UndoPlan } from './steps/plan-undo.ts'
export { isPart, sendsAgain, undoneSync } from './steps/undone-sync.ts'
export { stageUndo, type StagedUndo } from './steps/stage-undo.ts'
export type { ReportChanges, UndoneChange } from './steps/undone-change.ts'
export type { UndoFindings } from './steps/undo-warnings.ts'
export { stagedParts } from './steps/staged-parts.ts'
export { stage, type StageResult } from './steps/stage.ts'
export { overwritingProblem } from './judge/overwriting.ts'
