// The columns that follow the original ones in a file of rejects, and the reference by which a row is found again.

/** What is told of each row; `names` says how the columns are called. */
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

/**
 * Their names: `_line`, `_row` and so on; with one more underscore, all of them, while an original column has one of the
 * names.
 */
export function rejectColumnNames(columns: readonly string[]): Readonly<Record<Part, string>> {
  let prefix = '_'
  while (REJECT_COLUMNS.some((part) => columns.includes(prefix + part))) prefix += '_'
  return Object.fromEntries(REJECT_COLUMNS.map((part) => [part, prefix + part])) as Record<
    Part,
    string
  >
}

/**
 * Nothing that a spreadsheet would take for a number, a date or a formula.
 * @param lastTried the later run whose attempt the cells are of
 */
export const rowReference = (run: number, ordinal: number, lastTried?: number): string =>
  `run ${run} row ${ordinal}${lastTried === undefined ? '' : `, as in run ${lastTried}`}`

/** Null where `text` is no reference. */
export function parseRowReference(text: string): { run: number; ordinal: number } | null {
  const match =
    /^\s*run\s+(\d{1,15})\s+row\s+(\d{1,15})(?:,\s*as\s+in\s+run\s+\d{1,15})?\s*$/i.exec(text)
  return match && { run: Number(match[1]), ordinal: Number(match[2]) }
}
