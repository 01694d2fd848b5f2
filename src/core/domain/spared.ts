// Rows that an import does not write, in words.

import { formatNumber } from '../format.ts'
import type { Books, KeptCounts } from './books.ts'
import { keptBecause } from './protection.ts'

/** `3 rows are there already, and were not written; 1 row is not there, and was not created`; null if there is none. */
export function sparedText({
  states: { exists, not_found: absent, protected: kept },
  kept: values,
  writtenOver: over,
}: Pick<Books, 'states' | 'kept' | 'writtenOver'>): string | null {
  const was = (rows: number) => (rows === 1 ? 'was' : 'were')
  const texts = [
    ...(exists > 0 ? [`${countText(exists)} there already, and ${was(exists)} not written`] : []),
    ...(values === undefined ? [] : [keptValuesText(values)]),
    ...(over === undefined ? [] : [writtenOverText(over)]),
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
export const keptValuesText = (counts: KeptCounts): string =>
  `${valuesOfRows(counts)} ${counts.values === 1 ? 'was' : 'were'} ${keptBecause(counts.values, counts.reasons)}`

/** `2 values of 1 row differ, and are kept as others changed them` */
export const keptDifferText = (counts: KeptCounts): string =>
  `${valuesOfRows(counts)} ${counts.values === 1 ? 'differs, and is' : 'differ, and are'} ${keptBecause(counts.values, counts.reasons)}`

/** `3 values of 2 rows were written over that this sync had not written before` */
export const writtenOverText = (counts: KeptCounts): string =>
  `${valuesOfRows(counts)} ${counts.values === 1 ? 'was' : 'were'} written over that this sync had not written before`

/** The same of a plan. */
export const writesOverText = (counts: KeptCounts): string =>
  `A run writes over ${valuesOfRows(counts)} that this sync has not written before`

const valuesOfRows = ({ values, rows }: KeptCounts): string =>
  `${values === 1 ? '1 value' : `${formatNumber(values)} values`} of ${rows === 1 ? '1 row' : `${formatNumber(rows)} rows`}`

const countText = (rows: number): string =>
  rows === 1 ? '1 row is' : `${formatNumber(rows)} rows are`
