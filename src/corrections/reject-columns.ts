// The columns that follow the original ones in a file of rejects, and the reference that identifies a row.

/** What the file says of each row; `names` gives the names of the columns. */
export const REJECT_COLUMNS = [
  'line',
  'row',
  'state',
  'reason',
  'column',
  'value',
  'detail',
  'accepted',
  'request_id',
] as const
type Part = (typeof REJECT_COLUMNS)[number]

/** The column names: `_line`, `_row` and so on; if an original column has one of the names, all get one more underscore. */
export function rejectColumnNames(columns: readonly string[]): Readonly<Record<Part, string>> {
  let prefix = '_'
  while (REJECT_COLUMNS.some((part) => columns.includes(prefix + part))) prefix += '_'
  return Object.fromEntries(REJECT_COLUMNS.map((part) => [part, prefix + part])) as Record<
    Part,
    string
  >
}

/**
 * A text that no spreadsheet takes for a number, a date or a formula.
 * @param lastTried the later run whose attempt the cells show
 */
export const rowReference = (run: number, ordinal: number, lastTried?: number): string =>
  `run ${run} row ${ordinal}${lastTried === undefined ? '' : `, as in run ${lastTried}`}`

/** Null if `text` is not a reference. */
export function parseRowReference(text: string): { run: number; ordinal: number } | null {
  const match =
    /^\s*run\s+(\d{1,15})\s+row\s+(\d{1,15})(?:,\s*as\s+in\s+run\s+\d{1,15})?\s*$/i.exec(text)
  return match && { run: Number(match[1]), ordinal: Number(match[2]) }
}
