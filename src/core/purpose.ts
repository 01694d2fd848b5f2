// What a run is for. Besides the regular runs there are those that a person starts: a backfill, a retry of what another run
// left over, a reconciliation. What they are limited to is stored with the configuration of the run (runs/job.ts), so that everyone
// sees why it is not whole.

export const PURPOSES = ['sync', 'backfill', 'retry', 'reconcile'] as const
/** `sync`: a regular run, on schedule or by hand. */
export type Purpose = (typeof PURPOSES)[number]

/** Which of the rows that a closed run left over a retry takes; a field that is not given does not limit the choice. */
export interface RetryChoice {
  /** Codes of their errors, such as `request_invalid`. */
  readonly codes?: readonly string[]
  /** Reasons of their errors, such as `schema_invalid`. */
  readonly reasons?: readonly string[]
  /** Ordinals, both ends included. */
  readonly rows?: readonly (readonly [number, number])[]
  /** Rows as a person corrected them, by the number that `Ledger.addCorrections` returned; then only these are taken. */
  readonly correction?: number
}

/** What a retry was opened with. */
export interface RetryTask {
  /** The run whose rows it takes. */
  readonly of: number
  readonly choice: RetryChoice
}

/** What a reconciliation compares, and what it does about differences. */
export interface ReconcileScope {
  /** Whether differences are repaired: written to the service by an import, pulled into the warehouse by a mirror. */
  readonly repair: boolean
  /** Whether records that the source lacks are deleted at the service; only with `repair`, and only those we wrote. */
  readonly deleteExtra: boolean
  /** The number of rows or records, chosen evenly; null: all of them. */
  readonly sample: number | null
  /**
   * Of an import: only the rows whose column has the value of this digest (128 bits of its SHA-256, hex), because the value
   * itself may not enter Temporal; null: all of them.
   */
  readonly where: { readonly column: string; readonly digest: string } | null
  /** Of a mirror: object types; null: all that are mirrored. */
  readonly only: readonly string[] | null
  /** Of a mirror: whether every record is read and compared field by field, instead of counting. */
  readonly full: boolean
}

export const WHOLE_SCOPE: ReconcileScope = {
  repair: false,
  deleteExtra: false,
  sample: null,
  where: null,
  only: null,
  full: false,
}

/** Whether everything was compared, not a part of it. */
export const isWholeScope = ({ sample, where, only }: ReconcileScope): boolean =>
  sample === null && where === null && only === null

/** The text for people: `a sample of 500, with repair`. Empty if the scope is whole and the run only compares. */
export function reconcileText(scope: ReconcileScope): string {
  const parts = [
    ...(scope.sample === null ? [] : [`a sample of ${scope.sample}`]),
    ...(scope.where === null ? [] : [`where ${scope.where.column} has one value`]),
    ...(scope.only === null ? [] : [`of ${scope.only.join(', ')}`]),
    ...(scope.full ? ['every record read'] : []),
    ...(scope.repair
      ? [scope.deleteExtra ? 'with repair, deletions included' : 'with repair']
      : []),
  ]
  return parts.join(', ')
}

/** What a run is for if it is not a regular one; null: regular, or a backfill. */
export type Task = { readonly retry: RetryTask } | { readonly reconcile: ReconcileScope }
