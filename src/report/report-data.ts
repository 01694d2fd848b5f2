// The data of a report, as plain JSON: `records-sync report RUN --json` prints it, and the page is drawn from it alone. Promise
// kept here: it holds figures, names and our own words; no value of a row, no key and no record id. Times are ISO 8601 in UTC.

import type { DifferenceCounts, DifferenceKind, ChangedBy } from '../core/differences.ts'
import type { Purpose } from '../core/purpose.ts'
import type { ItemState, RunState, TimedState } from '../core/states.ts'

export interface ReportData {
  /** Version of this format. */
  readonly v: 1
  readonly made_at: string
  readonly run: RunFacts
  readonly verdict: ReportVerdict
  /** The most important figures; the page's first row of them. */
  readonly figures: readonly ReportFigure[]
  /** For an import; null for a mirror. */
  readonly books: BooksData | null
  /** For a mirror; null for an import. */
  readonly streams: readonly StreamData[] | null
  /** For a reconciliation; null for other runs. */
  readonly comparison: ReportComparison | null
  readonly work: WorkData
  readonly errors: ErrorsData
  /** For a retry: the run whose rows it took. */
  readonly retry_of: number | null
  /** What is left of the rows that were not accepted; null while the run is live, and if nothing of it is known. */
  readonly left: LeftOver | null
  /** Runs that retried rows of this one, and runs that retried theirs, oldest first. */
  readonly retries: readonly RetryData[]
  readonly provenance: ProvenanceData
  /** Commands that show the rows themselves, and that check the ledger. */
  readonly commands: { readonly rejects: string; readonly audit: string }
}

export interface RunFacts {
  readonly run: number
  readonly sync: string
  readonly kind: 'import' | 'mirror'
  readonly mode: 'run' | 'plan'
  readonly purpose: Purpose
  /** What it was limited to, in words; null for an unlimited run. */
  readonly limits: string | null
  readonly state: RunState
  readonly reason: string | null
  readonly message: string | null
  readonly opened_at: string
  /** Null while the run is live. */
  readonly closed_at: string | null
  /** From its opening to its end, or to the time of the report. */
  readonly seconds: number
}

/** What the state of the run means, for a person who reads nothing else. */
export interface ReportVerdict {
  /** `good`: nothing to do. `live`: still at work. `look`: a person should look. `bad`: a person has to. */
  readonly tone: 'good' | 'live' | 'look' | 'bad'
  /** `Complete, with rejects` */
  readonly words: string
  /** One or two sentences. */
  readonly meaning: string
  readonly next: readonly Step[]
}

export interface Step {
  readonly text: string
  /** The command to type; null if there is none. */
  readonly command: string | null
}

export interface ReportFigure {
  readonly name: string
  readonly value: number
}

export interface BooksData {
  /** Rows of the source. */
  readonly read: number
  readonly sum: number
  /** Every row has exactly one outcome. Not yet true of a live run. */
  readonly balanced: boolean
  /** False for a run that ended before its source was read to its end: the rows after that are in no book. */
  readonly read_to_end: boolean
  /** Every state with a row, in the order of all reports. */
  readonly states: readonly {
    readonly state: ItemState
    readonly rows: number
    readonly meaning: string
  }[]
  /** Rows that were sent again after a lost answer. */
  readonly replayed: number
  /** Rows that the service may or may not hold. */
  readonly in_doubt: number
  /** What reading back showed, the worst first; none if nothing was read back. */
  readonly read_back: readonly {
    readonly name: 'missing' | 'different' | 'overwritten' | 'normalised' | 'equal'
    readonly rows: number
    readonly meaning: string
  }[]
}

export interface StreamData {
  readonly stream: string
  readonly table: string | null
  readonly state: 'waiting' | 'pulling' | 'sweeping' | 'approval' | 'complete' | 'failed'
  readonly mode: 'full' | 'incremental' | null
  readonly read: number
  readonly inserted: number
  readonly changed: number
  readonly deleted: number
  readonly requests: number
  readonly misfits: number | null
  /** Records by the service's count, and rows of the table; null if they were not counted. */
  readonly service_count: number | null
  readonly table_count: number | null
  /** Rows that were newer than the service's; whether the table is known to differ: null if that is not known. */
  readonly reverted?: number
  readonly differs?: boolean | null
  readonly message: string | null
}

export interface ReportComparison {
  /** Whether both sides were compared in full. */
  readonly whole: boolean
  readonly repair: boolean
  /** Whether the repair deletes what the source lacks. */
  readonly delete_extra: boolean
  /** Rows of the source, or records of the service; null while the number is not known. */
  readonly compared: number | null
  readonly equal: number | null
  /** Records that differ, and those of them that are not repaired. */
  readonly found: DifferenceCounts
  readonly left: DifferenceCounts
  /** By stream and field, most differences first. `field` is null for records that exist on one side only. */
  readonly fields: readonly FieldDifferences[]
  /** How many of these were left out. */
  readonly fields_omitted: number
  /** The time up to which this run proved the sync equal on both sides; null if it did not. */
  readonly verified_through: string | null
}

export interface FieldDifferences {
  readonly stream: string
  readonly field: string | null
  readonly differences: number
  readonly repaired: number
  readonly kinds: Readonly<Record<DifferenceKind, number>>
  /** By the side that last changed it. */
  readonly whose: Readonly<Record<ChangedBy, number>>
  /** Number of a row of the source; null if none is known. */
  readonly example_row: number | null
}

export interface WorkData {
  readonly requests: number
  /** Requests a minute that the service allows, as known when the report was made; null if it is not known. */
  readonly limit_per_minute: number | null
  /** Outcomes of rows over time, in equal shares; null if the run was too short. */
  readonly outcomes: {
    readonly share_seconds: number
    readonly points: readonly ({ readonly at: string } & Readonly<Record<TimedState, number>>)[]
  } | null
  /** Requests over time, in shares of a minute or more; null if the run was too short. */
  readonly rate: {
    readonly share_seconds: number
    readonly points: readonly {
      readonly at: string
      readonly per_minute: number
      /** Of these, those that were not answered with success. */
      readonly failed_per_minute: number
    }[]
  } | null
}

export interface ErrorsData {
  /** Rows that were not accepted. */
  readonly rows: number
  /** Most rows first. */
  readonly groups: readonly ErrorGroup[]
  /** Groups that were left out. */
  readonly omitted: number
}

export interface ErrorGroup {
  readonly rows: number
  readonly state: ItemState
  readonly code: string | null
  readonly reason: string | null
  /** Column of the source. */
  readonly column: string | null
  readonly property: string | null
  /** Number of the group's first row. */
  readonly example_row: number
}

export interface LeftOver {
  /** Rows that no later run brought in: no retry, no retry of one, and no regular run. */
  readonly rows: number
  /** The number of rejects that there were. */
  readonly of: number
  /** By the run that last tried them. */
  readonly by_run: readonly { readonly run: number; readonly rows: number }[]
}

export interface RetryData {
  readonly run: number
  /** The run that it retries: this one, or one of its retries. */
  readonly of: number | null
  readonly state: RunState
  readonly opened_at: string
  readonly rows: number | null
  /** Rows that the service holds as they were sent; null while the retry is live. */
  readonly mended: number | null
}

export interface ProvenanceData {
  /** Where the rows came from and went to, in words: no path, no query. */
  readonly from: string | null
  readonly to: string | null
  /** SHA-256 of the source, hex. */
  readonly source_digest: string | null
  readonly key_fingerprint: string | null
  readonly warnings: readonly string[]
  readonly workflow_id: string
  readonly workflow_run_id: string
  /** Address of the run in the Temporal UI; null if it is not known. */
  readonly workflow_url: string | null
  /** From the sealed account of a closed run. */
  readonly manifest: {
    readonly digest: string
    readonly signed: boolean
    /** Digest of the previous manifest. */
    readonly previous: string | null
  } | null
}
