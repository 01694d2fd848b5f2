// What an audit reports: findings, and the state of each sync.

export type FindingKind =
  | 'run_missing'
  | 'manifest_missing'
  | 'manifest_orphaned'
  | 'manifest_altered'
  | 'chain_broken'
  | 'run_altered'
  | 'signature_missing'
  | 'signature_invalid'
  | 'books_altered'
  | 'books_unbalanced'
  | 'items_missing'

/** Something that has changed since a run was closed. */
export interface AuditFinding {
  readonly kind: FindingKind
  /** Null if the run that would name it is missing. */
  readonly sync: string | null
  /** If several runs are missing together, the first. */
  readonly run: number
  /** What was found and what it means, in words. */
  readonly message: string
}

/** The audited state of a sync. The numbers count runs. */
export interface SyncAudit {
  readonly sync: string
  readonly runs: number
  /** Not closed yet: without manifest and books. */
  readonly live: number
  readonly sealed: number
  readonly signed: number
  /** Runs whose books agree with the items, or with the streams in the manifest. */
  readonly booked: number
  /** Runs whose items were removed in their time, so that their books can be compared only with the manifest. */
  readonly pruned: number
  readonly findings: number
  /** The newest manifest, to which all others are chained. */
  readonly head: { readonly run: number; readonly digest: string } | null
}

/** Reports a finding of the run that is checked. */
export type ReportProblem = (kind: FindingKind, message: string) => void
