// The row of a driver's answer that says which row a key came in by.

/** A row that a correction is of; without an ordinal: a retry whose rows are not kept any more. */
export interface CorrectedRow {
  readonly run: number
  readonly ordinal: number | null
}

/** Of a key, the run that brought it in as `retry`, and run and ordinal of the row that was corrected. */
export const readCorrectedRow = (
  row: Readonly<Record<string, unknown>>,
): [key: string, corrected: CorrectedRow] => [
  String(row['key']),
  row['run'] === null
    ? { run: Number(row['retry']), ordinal: null }
    : { run: Number(row['run']), ordinal: Number(row['ordinal']) },
]
