// The rules of a mirror's tables that hold in every warehouse.

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

/** Our own tables beside those of a mirror. */
export const BOOK_TABLES = [
  '_records_sync_mirror',
  '_records_sync_streams',
  '_records_sync_columns',
] as const

/** Names that PostgreSQL keeps for itself in every table. */
export const SYSTEM_COLUMNS = ['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid'] as const

/** Digits of a decimal column of DuckDB, and those after the point; PostgreSQL's have no such bounds. */
export const DECIMAL = { digits: 38, scale: 9 } as const

/** Bytes of a name in UTF-8; PostgreSQL would cut a longer one. */
export const NAME_BYTES_MAX = 63

/** Records up to which a type without modification times is listed by every run. */
export const LISTED_ALWAYS_MAX = 1_000
