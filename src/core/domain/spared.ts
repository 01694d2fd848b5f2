// Rows that an import does not write, in words.

import { formatNumber } from '../format.ts'
import type { Books } from './books.ts'

/** `3 rows are there already, and were not written; 1 row is not there, and was not created`; null if there is none. */
export function sparedText({
  states: { exists, absent, kept },
}: Pick<Books, 'states'>): string | null {
  const was = (rows: number) => (rows === 1 ? 'was' : 'were')
  const texts = [
    ...(exists > 0 ? [`${countText(exists)} there already, and ${was(exists)} not written`] : []),
    ...(kept > 0
      ? [
          `${formatNumber(kept)} ${kept === 1 ? 'row was' : 'rows were'} changed by others, and left`,
        ]
      : []),
    ...(absent > 0 ? [`${countText(absent)} not there, and ${was(absent)} not created`] : []),
  ]
  return texts.join('; ') || null
}

const countText = (rows: number): string =>
  rows === 1 ? '1 row is' : `${formatNumber(rows)} rows are`
