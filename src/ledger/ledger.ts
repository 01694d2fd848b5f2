// The ledger: the outbox and the books of every run at once. The state of an item is the checkpoint; there is no other
// cursor (design sections 3 to 5). Promises kept here: every source row has exactly one item; a stale worker settles
// nothing (fences); no transaction touches more than 1,000 rows. Ask for the roles that you use.

import type { AcceptedRecords } from './roles/accepted-records.ts'
import type { Actions } from './roles/actions.ts'
import type { Archive } from './roles/archive.ts'
import type { BeforeImages } from './roles/before-images.ts'
import type { RunClosing } from './roles/closing.ts'
import type { Differences } from './roles/differences.ts'
import type { LedgerIdentity } from './roles/identity.ts'
import type { Leftovers } from './roles/leftovers.ts'
import type { Links } from './roles/links.ts'
import type { Outbox } from './roles/outbox.ts'
import type { Plans } from './roles/plans.ts'
import type { Reconciliation } from './roles/reconciliation.ts'
import type { Removals } from './roles/removals.ts'
import type { RowHistories } from './roles/row-history.ts'
import type { RunReports } from './roles/run-reports.ts'
import type { Runs } from './roles/runs.ts'
import type { RowStaging } from './roles/staging.ts'
import type { SchemaHistory } from './roles/schema-history.ts'
import type { Streams, StepStates } from './roles/streams.ts'
import type { Syncs } from './roles/syncs.ts'
import type { Verification } from './roles/verification.ts'

/**
 * The ledger's drivers implement this; `test/suites/ledger.suite.ts` holds for each of them.
 * Every method may throw `LedgerError`; those that take a fence may throw `FenceLost`.
 */
export interface Ledger
  extends
    Actions,
    LedgerIdentity,
    Runs,
    Syncs,
    RowStaging,
    Links,
    Leftovers,
    Outbox,
    BeforeImages,
    Plans,
    Verification,
    AcceptedRecords,
    Reconciliation,
    Differences,
    Removals,
    StepStates,
    RunClosing,
    Streams,
    SchemaHistory,
    RunReports,
    RowHistories,
    Archive {
  close(): Promise<void>
}

export type * from './roles/accepted-records.ts'
export type * from './roles/actions.ts'
export * from './roles/archive.ts'
export type * from './roles/before-images.ts'
export type * from './roles/closing.ts'
export type * from './roles/differences.ts'
export type * from './roles/identity.ts'
export type * from './roles/leftovers.ts'
export * from './roles/links.ts'
export type * from './roles/on-slice.ts'
export type * from './roles/outbox.ts'
export type * from './roles/plans.ts'
export type * from './roles/reconciliation.ts'
export type * from './roles/removals.ts'
export type * from './roles/row-history.ts'
export type * from './roles/run-reports.ts'
export type * from './roles/runs.ts'
export type * from './roles/staging.ts'
export type * from './roles/schema-history.ts'
export type * from './roles/streams.ts'
export type * from './roles/syncs.ts'
export type * from './roles/verification.ts'
