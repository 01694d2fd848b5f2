// Runs, from opening to their last state, and the destinations that they write to.

import type { BlockReason } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import type { Purpose } from '../../core/domain/purpose.ts'
import type { Books, RunState } from '../../core/domain/books.ts'

/** A run as the ledger holds it. Times are ISO 8601 in UTC. */
export interface Run {
  readonly id: number
  readonly sync: string
  readonly kind: 'import' | 'mirror'
  /** A `plan` stages and counts, and never sends; it does not hold the sync. */
  readonly mode: 'run' | 'plan'
  readonly purpose: Purpose
  /** Of a retry: the run whose rows it takes. Of an undo: the run that it undoes. */
  readonly of: number | null
  readonly state: RunState
  readonly reason: BlockReason | 'abandoned' | null
  /** What a person should know about the state, in one line. */
  readonly message: string | null
  readonly workflowId: string
  readonly workflowRunId: string
  /** The resolved configuration of the sync, without secrets; every step after `open` uses this copy. */
  readonly config: Json
  readonly destination: number | null
  readonly keyFingerprint: string | null
  /** What the service reported about the properties that an import writes, when it was staged. */
  readonly schema: RunSchema | null
  readonly sourceColumns: readonly string[] | null
  readonly sourceDigest: string | null
  /** Source rows read; null until staging is complete. */
  readonly rowsRead: number | null
  /** Raised whenever staging begins, and whenever its work is taken over. */
  readonly stageFence: number
  readonly warnings: readonly string[]
  /** The state counts of an import at close; they outlive the items. */
  readonly counts: Books | null
  /** Of a whole reconciliation that left no difference: when it began. */
  readonly verifiedThrough: string | null
  readonly openedAt: string
  readonly closedAt: string | null
}

/** The mapped properties, by name. */
export type RunSchema = Readonly<Record<string, PropertyFacts>>

export interface PropertyFacts {
  readonly type: string
  readonly isMulti: boolean
  /** The first 100 values that it accepts, if it lists them. */
  readonly options: readonly string[]
  /** Of the matching property: whether the service ignores case in it; left out of others. */
  readonly folds?: boolean
  /** Of the matching property: whether the service refuses a second record with a value; left out of others. */
  readonly isUnique?: boolean
}

/** Where accepted values live: what was accepted in one destination says nothing about another. */
export interface Destination {
  readonly sync: string
  readonly origin: string
  readonly orgId: number
  readonly objectType: string
  readonly matchingProperty: string
}

/** The state of a run's work at a moment, from counters; cheap. */
export interface RunCounters {
  readonly read: number
  readonly planned: number
  readonly created: number
  readonly updated: number
  /** Rows that are not written: their mode does not, or what their record has is kept. */
  readonly skipped: number
  readonly rejected: number
  /** Those that write, those of links included. */
  readonly requests: number
  /** Requests that looked rows up before they are sent, of a run that took seconds for them. Left out if none is counted. */
  readonly lookUps?: number
  /** Left out if the run has no links. */
  readonly links?: LinkCounters
}

/** The same of the links of a run. `planned`: all that are or were to be sent; `unchanged` and `not_wanted`: as staging decided. */
export interface LinkCounters {
  readonly read: number
  readonly planned: number
  readonly unchanged: number
  readonly linked: number
  readonly target_missing: number
  readonly not_wanted: number
  readonly refused: number
  readonly outcome_unknown: number
  readonly not_sent: number
  readonly requests: number
}

export interface Runs {
  /** The runs that are not closed, oldest first: at most one of each sync. */
  liveRuns(): Promise<readonly Run[]>
  /**
   * Opens a run in one transaction, or returns the live run that holds the sync. `once`: or the closed one, if the same execution of
   * a workflow has opened it before, and it is not closed as abandoned.
   */
  openRun(run: {
    sync: string
    kind: Run['kind']
    mode: Run['mode']
    workflowId: string
    workflowRunId: string
    config: Json
    /** Default `sync`. */
    purpose?: Purpose
    of?: number | null
    once?: boolean
  }): Promise<{ run: Run } | { heldBy: Run }>
  run(id: number): Promise<Run | null>
  /** Newest first. */
  runs(filter: {
    sync?: string
    limit: number
    purposes?: readonly Purpose[]
    /** Only those that were opened to apply the plan of this number. */
    plan?: number
  }): Promise<readonly Run[]>
  /** The undos of a run, or its retries and the retries of these, oldest first. */
  laterRuns(run: number, purpose: 'retry' | 'undo'): Promise<readonly Run[]>
  /** Does nothing to a closed run. */
  setRunState(
    id: number,
    state: RunState,
    reason?: Run['reason'],
    message?: string | null,
  ): Promise<void>
  /** Adds to what a person should know about a live run. */
  addWarnings(run: number, warnings: readonly string[]): Promise<void>
  /** Notes the destination, the key in use and the warnings of the mapping. Returns the destination's id. */
  bindDestination(
    id: number,
    destination: Destination,
    facts: { keyFingerprint: string; warnings: readonly string[]; schema: RunSchema },
  ): Promise<number>
  /** Where a run writes to; null until `bindDestination`. */
  destinationOf(run: number): Promise<Destination | null>
  progress(run: number): Promise<RunCounters>
}
