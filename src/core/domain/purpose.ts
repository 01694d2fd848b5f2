// What a run is for. Besides the regular runs there are those that a person starts: a backfill, a retry of what another run
// left over, a reconciliation, an undo. What they are limited to is stored with the configuration of the run (runs/job.ts), so that everyone
// sees why it is not whole.

import { namesOf, namesWith } from '../register.ts'

interface PurposeEntry {
  /** Whether it brings in what is new: only such runs are a sync's success, and only they are compared with the one before. */
  readonly regular: boolean
  /** The command that starts a run of this purpose once more. */
  readonly command: 'run' | 'retry' | 'reconcile' | 'undo'
}

const PURPOSE = {
  /** On schedule or by hand. */
  sync: { regular: true, command: 'run' },
  backfill: { regular: true, command: 'run' },
  retry: { regular: false, command: 'retry' },
  reconcile: { regular: false, command: 'reconcile' },
  /** Tries the links again that earlier runs left, and reads no row. */
  links: { regular: false, command: 'run' },
  /** Takes back what another run wrote. */
  undo: { regular: false, command: 'undo' },
} as const satisfies Record<string, PurposeEntry>
export type Purpose = keyof typeof PURPOSE

export const PURPOSES = namesOf(PURPOSE)

export const REGULAR_PURPOSES: readonly Purpose[] = namesWith(PURPOSE, { regular: true })

export const commandOf = (purpose: Purpose) => PURPOSE[purpose].command

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

/** Links of earlier runs that were not linked: all of the sync. */
export type LinksTask = Readonly<Record<string, never>>

/** Which part of a run an undo takes back; a field that is not given does not limit it. */
export interface UndoChoice {
  /** Ordinals, both ends included. */
  readonly rows?: readonly (readonly [number, number])[]
  /** Only rows that sent the value of this digest (`textHash`) for the property: the value itself may not enter Temporal. */
  readonly where?: { readonly property: string; readonly digest: string }
  /** Only these properties get their values back, and no record is deleted or made. */
  readonly properties?: readonly string[]
}

export interface UndoTask {
  /** The run that it undoes. */
  readonly of: number
  readonly choice: UndoChoice
  /** Deletions that a person has seen and confirmed: as many, or fewer, are not asked about again. */
  readonly confirmed?: number
}

/** What a run is for if it is not a regular one; null: regular, or a backfill. */
export type Task =
  | { readonly retry: RetryTask }
  | { readonly reconcile: ReconcileScope }
  | { readonly links: LinksTask }
  | { readonly undo: UndoTask }
