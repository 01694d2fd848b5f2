// Limits of an import above which a person is asked first.

/** A limit that a run is above: `is` and `max` are rows, or percent. */
export interface Excess {
  readonly limit: 'rows_max' | 'creates_max_percent' | 'clears_max_percent'
  readonly is: number
  readonly max: number
}

/** What people read: `the limit rows_max is 5000; 40 % of the values are cleared, the limit clears_max_percent is 10`. */
export function excessText(excesses: readonly Excess[]): string {
  return excesses
    .map(({ limit, is, max }) => {
      if (limit === 'rows_max') return `the limit ${limit} is ${max}`
      const what =
        limit === 'creates_max_percent' ? 'of them are new records' : 'of the values are cleared'
      return `${is} % ${what}, the limit ${limit} is ${max}`
    })
    .join('; ')
}
