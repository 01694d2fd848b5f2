// The rules for a mirror's tables that hold in every warehouse.

import { SyncError } from '../errors.ts'

/** The names of the columns that every table has. */
export const OWN_COLUMNS = [
  '_id',
  '_version',
  '_first_seen_at',
  '_last_seen_at',
  '_deleted_at',
  '_run',
  '_misfits',
] as const

/** Our own tables next to those of a mirror. */
export const BOOK_TABLES = [
  '_records_sync_mirror',
  '_records_sync_streams',
  '_records_sync_columns',
] as const

/** Names that PostgreSQL reserves in every table. */
export const SYSTEM_COLUMNS = ['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid'] as const

/** Digits of a decimal column of DuckDB, and those after the point; PostgreSQL's have no such bounds. */
export const DECIMAL = { digits: 38, scale: 9 } as const

const WHOLE_DIGITS = DECIMAL.digits - DECIMAL.scale
const DECIMAL_FORM = new RegExp(String.raw`^-?\d{1,${WHOLE_DIGITS}}(?:\.\d{1,${DECIMAL.scale}})?$`)

/** Whether a text is a decimal that every warehouse can hold; never a rounded one. */
export const fitsDecimal = (text: string): boolean => DECIMAL_FORM.test(text)

/** Bytes of a name in UTF-8; PostgreSQL would cut a longer one. */
export const NAME_BYTES_MAX = 63

/** A type without modification times and with at most this many records is listed by every run. */
export const LISTED_ALWAYS_MAX = 1_000

/** Who the tables of a schema belong to. */
export interface Holder {
  /** The org whose records they mirror: `https://api.example.com org 7`. */
  readonly owner: string
  /** The project that fills them; null if a release that had no projects made them. */
  readonly project: string | null
  /** The sync of that project whose tables they are; null if a release that noted none made them, or they were taken over. */
  readonly sync: string | null
}

/** Who asks for the tables of a schema. */
export interface HolderClaim {
  readonly owner: string
  readonly project: string
  /** Null: any sync of the project. */
  readonly sync: string | null
}

/** Two projects in one schema would undo each other's work, and each report its own counts. `where`: such as `The schema crm`. */
const ofOtherProject = (where: string, { owner, project }: Holder, ours: string): SyncError =>
  new SyncError(
    'warehouse_other_project',
    `${where} holds the mirror of ${owner}, which the project ${project} keeps with a ledger of its own; this is the project ${ours}. Name another \`schema\` for this mirror. Where that ledger is lost and this project is to go on with its tables: records-sync take-over SYNC --from ${project}`,
  )

/** Two mirrors of one project in one schema would do the same: one undoes what the settings of the other one keep. */
const ofOtherSync = (where: string, holder: Holder, { project, sync }: HolderClaim): SyncError =>
  new SyncError(
    'warehouse_other_sync',
    `${where} holds the tables that the sync "${holder.sync}" of this project keeps; this is "${sync}". Name another \`schema\` for this mirror. Where "${holder.sync}" was renamed, or is no more: records-sync take-over ${sync} --from ${project}`,
  )

/** @throws SyncError `warehouse_other_project`, `warehouse_other_sync` if the tables are not those of the claim */
export function checkHolder(where: string, holder: Holder, claim: HolderClaim): void {
  if (holder.project !== null && holder.project !== claim.project)
    throw ofOtherProject(where, holder, claim.project)
  if (holder.sync !== null && claim.sync !== null && holder.sync !== claim.sync)
    throw ofOtherSync(where, holder, claim)
}
