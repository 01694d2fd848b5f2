// Limits of an import above which a person is asked first.

/** A limit that a run is above: `is` and `max` are rows, or percent. */
export interface Excess {
  readonly limit: 'rows_max' | 'creates_max_percent' | 'clears_max_percent'
  readonly is: number
  readonly max: number
}

/** What people read: `12000 rows (rows_max 5000)`. */
export function excessText(excesses: readonly Excess[]): string {
  return excesses
    .map(({ limit, is, max }) => {
      if (limit === 'rows_max') return `${is} rows (${limit} ${max})`
      const what =
        limit === 'creates_max_percent'
          ? 'of the rows are new records'
          : 'of the values are cleared'
      return `${is} % ${what} (${limit} ${max})`
    })
    .join('; ')
}
