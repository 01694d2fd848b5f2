// Limits of an import: a run that exceeds one first asks a person for approval.

/** A limit that a run is above, or below: `is` and `max` are rows, or percent. */
export interface LimitExceeded {
  readonly limit:
    | 'rows_min'
    | 'rows_max'
    | 'creates_max_percent'
    | 'clears_max_percent'
    | 'deletes_max_percent'
  readonly is: number
  readonly max: number
  /** With `deletes_max_percent`: how many records would be deleted. */
  readonly records?: number
  /** With `deletes_max_percent`: why a person is asked however few they are. */
  readonly reason?: string
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
  const deletions = excesses
    .filter(({ limit }) => limit === 'deletes_max_percent')
    .map(deletionText)
  const others = excesses.filter(({ limit }) => limit !== 'deletes_max_percent')
  if (others.length === 0 && rows === 0) return deletions.join('; ')
  const sent = rows === 1 ? '1 row waits' : `${rows} rows wait`
  if (others.length === 0) return [...deletions, `${sent} with them`].join('; ')
  return [rowsText(sent, others), ...deletions].join('; ')
}

/** What waits, in a few words: `40 rows`, `32 deletions`, or both. */
export function waitingText(rows: number, excesses: readonly LimitExceeded[]): string {
  const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`
  const deletions = excesses
    .filter(({ limit }) => limit === 'deletes_max_percent')
    .map(({ records }) => (records === undefined ? 'deletions' : counted(records, 'deletion')))
  return [...(rows > 0 || deletions.length === 0 ? [counted(rows, 'row')] : []), ...deletions].join(
    ' and ',
  )
}

const deletionText = ({ is, max, records, reason }: LimitExceeded): string => {
  const count =
    records === undefined
      ? 'records wait'
      : records === 1
        ? '1 record waits'
        : `${records} records wait`
  const why = reason ?? `above ${max} % a person is asked`
  return `${count} to be deleted: ${is} % of those that the sync has written; ${why}`
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
