// What the rows that were read say of a guess of `init`, and what becomes of it. Promise kept here: a guess is active only if every
// row supports it and no other reading does; otherwise it waits for a person. No cell is in it.

import { formatNumber } from '../../core/format.ts'

export interface GuessEvidence {
  /** Rows that the guess reads. */
  readonly for: number
  /** Rows that another reading reads, and it does not. */
  readonly against: number
  /** Rows that no reading reads: a run sets them aside, and says so. */
  readonly unread: number
  /** Other readings that hold too, in words. */
  readonly others: readonly string[]
}

/**
 * Why a guess waits for a person; null: it becomes an active line.
 * @param isNamed whether more than the values speaks for it: then rows that no reading reads do not matter
 */
export function doubtOf(
  { against, unread, others }: GuessEvidence,
  isNamed: boolean,
): string | null {
  if (others.length > 0) return others.join(', and ')
  const misfits = against + (isNamed ? 0 : unread)
  return misfits === 0 ? null : `${rowsText(misfits)} ${misfits === 1 ? 'does' : 'do'} not fit`
}

const rowsText = (count: number): string => `${formatNumber(count)} ${count === 1 ? 'row' : 'rows'}`

/** `for 120 rows, against 0` */
export function guessEvidenceText({ for: fitting, against, unread }: GuessEvidence): string {
  const rest = unread === 0 ? '' : `; ${rowsText(unread)} with another value`
  return `for ${rowsText(fitting)}, against ${formatNumber(against)}${rest}`
}
