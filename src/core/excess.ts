// Limits of an import above which a person is asked first.

/** A limit that a run is above, or below: `is` and `max` are rows, or percent. */
export interface Excess {
  readonly limit:
    | 'rows_min'
    | 'rows_max'
    | 'creates_max_percent'
    | 'clears_max_percent'
    | 'deletes_max_percent'
  readonly is: number
  readonly max: number
}

const WHAT = {
  creates_max_percent: 'of them are new records',
  clears_max_percent: 'of the values are cleared',
  deletes_max_percent: 'of the records are deleted',
} as const

/** What people read: `6000 rows wait for approval: the limit rows_max is 5000`, and the next limit after a `;`. */
export function approvalText(rows: number, excesses: readonly Excess[]): string {
  const limits = excesses.map(({ limit, is, max }) => {
    if (limit === 'rows_min') return `the source has ${is}, the limit ${limit} is ${max}`
    if (limit === 'rows_max') return `the limit ${limit} is ${max}`
    const what = WHAT[limit]
    return `${is} % ${what}, the limit ${limit} is ${max}`
  })
  return `${rows} rows wait for approval: ${limits.join('; ')}`
}
