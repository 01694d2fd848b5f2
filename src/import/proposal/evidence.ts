// What the rows that were read say of a guess of `init`, and what becomes of it. Promise kept here: a guess is active only if every
// row supports it and no other reading does; otherwise it waits for a person. No cell is in it.

import { formatNumber } from '../../core/format.ts'

export interface GuessEvidence {
  /** Rows that the guess reads. */
  readonly for: number
  /** Rows that it does not read: a run sets them aside. */
  readonly against: number
  /** Other readings that hold too, in words. */
  readonly others: readonly string[]
}

/** Why a guess waits for a person; null: it becomes an active line. */
export function doubtOf({ against, others }: GuessEvidence): string | null {
  if (others.length > 0) return others.join(', and ')
  return against === 0 ? null : `${rowsText(against)} ${against === 1 ? 'does' : 'do'} not fit`
}

const rowsText = (count: number): string => `${formatNumber(count)} ${count === 1 ? 'row' : 'rows'}`

/** `for 120 rows, against 0` */
export const guessEvidenceText = ({ for: fitting, against }: GuessEvidence): string =>
  `for ${rowsText(fitting)}, against ${formatNumber(against)}`
