// Rows that are wrong in the source, and that a retry has corrected, in words.

import { formatNumber } from '../format.ts'

/** `3 rows were corrected by a retry, and the source still has the old values`; null if there is none. */
export function correctedText(corrected: number): string | null {
  if (corrected === 0) return null
  return corrected === 1
    ? '1 row was corrected by a retry, and the source still has the old value'
    : `${formatNumber(corrected)} rows were corrected by a retry, and the source still has the old values`
}
