// Rows that an import does not write, in words.

import { formatNumber } from '../format.ts'
import type { Books, KeptCounts } from './books.ts'

/** `3 rows are there already, and were not written; 1 row is not there, and was not created`; null if there is none. */
export function sparedText({
  states: { exists, absent, kept },
  kept: values,
}: Pick<Books, 'states' | 'kept'>): string | null {
  const was = (rows: number) => (rows === 1 ? 'was' : 'were')
  const texts = [
    ...(exists > 0 ? [`${countText(exists)} there already, and ${was(exists)} not written`] : []),
    ...(values === undefined ? [] : [keptValuesText(values)]),
    ...(kept > 0 && values === undefined
      ? [
          `${formatNumber(kept)} ${kept === 1 ? 'row was' : 'rows were'} changed by others, and left`,
        ]
      : []),
    ...(absent > 0 ? [`${countText(absent)} not there, and ${was(absent)} not created`] : []),
  ]
  return texts.join('; ') || null
}

/** `12 values of 9 rows were kept as others changed them` */
export const keptValuesText = ({ values, rows }: KeptCounts): string =>
  `${values === 1 ? '1 value' : `${formatNumber(values)} values`} of ${rows === 1 ? '1 row' : `${formatNumber(rows)} rows`} ${values === 1 ? 'was kept as others changed it' : 'were kept as others changed them'}`

const countText = (rows: number): string =>
  rows === 1 ? '1 row is' : `${formatNumber(rows)} rows are`
