// Limits of an import: a run that exceeds one first asks a person for approval.

/** A limit that a run is above, or below: `is` and `max` are rows, or percent. */
export interface LimitExceeded {
  readonly limit:
    | 'rows_min'
    | 'rows_max'
    | 'creates_max_percent'
    | 'clears_max_percent'
    | 'deletes_max_percent'
    | 'missing_rows_max_percent'
  readonly is: number
  readonly max: number
  /** Of deletions: how many records would be deleted. */
  readonly records?: number
  /** Of deletions: why a person is asked however few they are. */
  readonly reason?: string
  /** Of deletions: the records are changed instead (`missing_rows: clear`). */
  readonly clears?: true
}

const WHAT = {
  creates_max_percent: 'of them are new records',
  clears_max_percent: 'of the values are cleared',
} as const

/**
 * The text for people: `6000 rows wait for approval: the limit rows_max is 5000`, and the next limit after a `;`. Deletions come
 * last: `32 records wait to be deleted: 97 % of those that the sync has written; above 1 % a person is asked`.
 */
export function approvalText(rows: number, excesses: readonly LimitExceeded[]): string {
  const deletions = excesses.filter(isOfDeletions).map(deletionText)
  const others = excesses.filter((one) => !isOfDeletions(one))
  if (others.length === 0 && rows === 0) return deletions.join('; ')
  const sent = rows === 1 ? '1 row waits' : `${rows} rows wait`
  if (others.length === 0) return [...deletions, `${sent} with them`].join('; ')
  return [rowsText(sent, others), ...deletions].join('; ')
}

/** What waits, in a few words: `40 rows`, `32 deletions`, or both. */
export function waitingText(rows: number, excesses: readonly LimitExceeded[]): string {
  const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`
  const deletions = excesses.filter(isOfDeletions).map(({ records, clears }) => {
    const what = clears ? 'change' : 'deletion'
    return records === undefined ? `${what}s` : counted(records, what)
  })
  return [...(rows > 0 || deletions.length === 0 ? [counted(rows, 'row')] : []), ...deletions].join(
    ' and ',
  )
}

const isOfDeletions = ({ limit }: LimitExceeded): boolean =>
  limit === 'deletes_max_percent' || limit === 'missing_rows_max_percent'

const deletionText = ({ is, max, records, reason, clears }: LimitExceeded): string => {
  const count =
    records === undefined
      ? 'records wait'
      : records === 1
        ? '1 record waits'
        : `${records} records wait`
  const why = reason ?? `above ${max} % a person is asked`
  return `${count} to be ${clears ? 'changed because their rows are gone' : 'deleted'}: ${is} % of those that the sync has written; ${why}`
}

function rowsText(sent: string, excesses: readonly LimitExceeded[]): string {
  const limits = excesses.map(({ limit, is, max }) => {
    if (limit === 'rows_min') return `the source has ${is}, the limit ${limit} is ${max}`
    if (limit === 'rows_max') return `the limit ${limit} is ${max}`
    const what = WHAT[limit as keyof typeof WHAT]
    return `${is} % ${what}, the limit ${limit} is ${max}`
  })
  return `${sent} for approval: ${limits.join('; ')}`
}
