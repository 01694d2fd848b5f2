// Limits of an import: a run that exceeds one first asks a person for approval.

import { countText, formatNumber } from '../format.ts'
import type { RowVerdict } from './row-changes.ts'

/** A limit that a run is above, or below: `is` and `max` are rows, or percent. */
export interface LimitExceeded {
  readonly limit:
    | 'rows_min'
    | 'rows_max'
    | 'creates_max_percent'
    | 'updates_max'
    | 'updates_max_percent'
    | 'clears_max_percent'
    /** Every run asks: `is` and `max` say nothing. */
    | 'plan'
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

/** What a run does once it may, as all of its rows were looked up. */
export interface PlanToApprove {
  /** The run's own. */
  readonly number: number
  /** SHA-256, hex. */
  readonly digest: string
  readonly verdicts: Readonly<Partial<Record<RowVerdict, number>>>
  /** Left out if there are none. */
  readonly removals?: number
  readonly links?: number
}

/** How many characters of a digest people read and write. */
const DIGEST_CHARS = 12

/** As people read it: its first 12 characters. */
export const shownDigest = (digest: string): string => digest.slice(0, DIGEST_CHARS)

/** Whether a person means this plan: its number, or the first characters of its digest. */
export const isPlanNamed = (name: string, { number, digest }: PlanToApprove): boolean =>
  name === String(number) || (name.length >= DIGEST_CHARS && digest.startsWith(name.toLowerCase()))

/**
 * The command that allows what a run waits with: this plan alone, where its message names one (`planText`).
 * @param run with its message while it waits
 */
export function approveCommand({
  id,
  message,
}: {
  readonly id: number
  readonly message: string | null
}): string {
  const digest = /(?:^|; )plan (?:of run )?(\d+) \(([0-9a-f]{12})\): /.exec(message ?? '')
  return digest !== null && digest[1] === String(id)
    ? `approve ${id} --plan ${digest[2]}`
    : `approve ${id}`
}

/** `plan of run 12 (3f2a90bc1d2e): 10 create, 25 update, 5 equal` */
export function planText({ number, digest, verdicts, removals, links }: PlanToApprove): string {
  const counts = Object.entries(verdicts).filter(([, rows]) => rows > 0)
  const parts = [
    ...counts.map(([verdict, rows]) => `${formatNumber(rows)} ${verdict}`),
    ...(removals ? [`${formatNumber(removals)} to be removed`] : []),
    ...(links ? [countText(links, 'link')] : []),
  ]
  return `plan of run ${number} (${shownDigest(digest)}): ${parts.join(', ') || 'nothing'}`
}

const WHAT = {
  creates_max_percent: 'of them are new records',
  updates_max_percent: 'of them change a record',
  clears_max_percent: 'of the values are cleared',
} as const

/**
 * The text for people: `6000 rows wait for approval: the limit rows_max is 5000`, and the next limit after a `;`. Deletions come
 * last: `32 records wait to be deleted: 97 % of those that the sync has written; above 1 % a person is asked`. Then the plan, if the
 * rows were looked up.
 */
export function approvalText(
  rows: number,
  excesses: readonly LimitExceeded[],
  plan: PlanToApprove | null = null,
): string {
  const text = excessesText(rows, excesses)
  return plan === null ? text : `${text}; ${planText(plan)}`
}

function excessesText(rows: number, excesses: readonly LimitExceeded[]): string {
  const deletions = excesses.filter(isOfDeletions).map(deletionText)
  const others = excesses.filter((one) => !isOfDeletions(one))
  if (others.length === 0 && rows === 0) return deletions.join('; ')
  const sent =
    rows === 0 ? 'what is planned waits' : rows === 1 ? '1 row waits' : `${rows} rows wait`
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
    if (limit === 'plan') return 'every run of the sync asks'
    if (limit === 'updates_max')
      return `${is} of them change a record, the limit ${limit} is ${max}`
    if (limit === 'rows_max') return `the limit ${limit} is ${max}`
    const what = WHAT[limit as keyof typeof WHAT]
    return `${is} % ${what}, the limit ${limit} is ${max}`
  })
  return `${sent} for approval: ${limits.join('; ')}`
}
