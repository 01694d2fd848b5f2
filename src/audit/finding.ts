// What an audit tells: findings, and how each sync stands.

export const FINDING_KINDS = [
  'run_missing',
  'manifest_missing',
  'manifest_orphaned',
  'manifest_altered',
  'chain_broken',
  'run_altered',
  'signature_missing',
  'signature_invalid',
  'books_altered',
  'books_unbalanced',
  'items_missing',
] as const
export type FindingKind = (typeof FINDING_KINDS)[number]

/** Something that is not as it was when a run was closed. */
export interface AuditFinding {
  readonly kind: FindingKind
  /** Null where the run that would tell is gone. */
  readonly sync: string | null
  /** Of several runs that are gone together the first. */
  readonly run: number
  /** What was found and what it means, in words. */
  readonly message: string
}

/** How a sync stands. All of them runs. */
export interface SyncAudit {
  readonly sync: string
  readonly runs: number
  /** Not closed yet: they have neither manifest nor books. */
  readonly live: number
  readonly sealed: number
  /** Closed before the first manifest of the sync: by an older release. */
  readonly unsealed: number
  readonly signed: number
  /** Whose books agree with the items, or with the streams that the manifest tells. */
  readonly booked: number
  /** Whose items were removed in their time, so that their books can be compared with the manifest only. */
  readonly pruned: number
  readonly findings: number
  /** The newest manifest: on it all the others hang. */
  readonly head: { readonly run: number; readonly digest: string } | null
}

/** Where findings are told. */
export type ReportFinding = (finding: AuditFinding) => void
