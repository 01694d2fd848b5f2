// What reading an item back means for the item, and for what is accepted.

import type { VerificationResult } from '../roles/verification.ts'

/** Of an item without a note. */
export const NO_NOTE = {
  reason: null,
  field: null,
  detail: null,
  column: null,
  value: null,
} as const

/** The columns of an item that was read back. A form of the service's own counts as equal. */
export function verifiedColumns({
  ordinal,
  verdict,
  recordId,
  field,
  told,
  found,
}: VerificationResult) {
  const isForm = verdict === 'normalised'
  return {
    ...NO_NOTE,
    ...told,
    ordinal,
    verified: isForm ? 'equal' : verdict,
    normalised: isForm ? 1 : 0,
    recordId,
    field,
    found: found ?? ('updated' as const),
  }
}

/** Whether what was sent is accepted now. Of what an earlier run has written it is accepted as of that one. */
export const isAcceptedOnceRead = ({ verdict, isHeld }: VerificationResult): boolean =>
  isHeld !== true && (verdict === 'equal' || verdict === 'normalised')

/**
 * Whether what was read is noted next to what was accepted. The service does not hold what was sent: unless it is a form of
 * its own, the next run must send it again.
 */
export const isNotedOnceRead = ({ verdict }: VerificationResult): boolean => verdict !== 'equal'

/**
 * A column of the note of an item that is read back. The note of its answer stays only if the reading has no note of its own
 * and does not find it equal.
 * @param verdict, reason, value of the reading, as SQL
 */
export const readBackColumnSql = (
  column: string,
  read: { readonly verdict: string; readonly reason: string; readonly value: string },
): string =>
  `${column} = CASE WHEN items.verified = 'answered' AND (${read.verdict} = 'equal' OR ${read.reason} IS NOT NULL) THEN ${read.value}
     ELSE coalesce(${read.value}, items.${column}) END`
