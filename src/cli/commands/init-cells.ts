// What the cells of a file show of the whole file: words for no value, a line of totals, and letters that were damaged before.

import { noValue } from '../../core/no-value.ts'
import { isTotalsWord } from '../../core/totals.ts'
import type { SourceSample } from '../../import/index.ts'

/** Signs and names that a person may mean as no value. */
const SIGNS = /^(?:None|#|--?|–|—)$/
/** Someone may be called `Null`, in one column. */
const COLUMNS_MIN = 2
const ROWS_MIN = 2

export interface NullWord {
  readonly word: string
  readonly rows: number
  /** Whether it cannot be a value. */
  readonly isCertain: boolean
}

/** The words for no value that cells are, in the order of the file. */
export function nullWords({ rows }: SourceSample): NullWord[] {
  const found = new Map<string, { rows: number; readonly columns: Set<number> }>()
  for (const cells of rows)
    for (const [column, cell] of cells.entries()) {
      if (typeof cell !== 'string' || (noValue(cell) === null && !SIGNS.test(cell))) continue
      const count = found.get(cell) ?? { rows: 0, columns: new Set<number>() }
      count.rows += 1
      count.columns.add(column)
      found.set(cell, count)
    }
  return [...found].flatMap(([word, { rows: count, columns }]) => {
    if (noValue(word) === 'certainly') return { word, rows: count, isCertain: true }
    if (count < ROWS_MIN) return []
    return { word, rows: count, isCertain: !SIGNS.test(word) && columns.size >= COLUMNS_MIN }
  })
}

/** Whether the last row is one of totals. */
export const endsWithTotals = ({ rows }: SourceSample): boolean =>
  rows.length > 1 &&
  isTotalsWord(String(rows.at(-1)!.find((cell) => String(cell).trim() !== '') ?? ''))

/** Two-byte letters of UTF-8 that were read as windows-1252, and written as UTF-8 again: `Ã¼` for `ü`, `â€œ` for a quote. */
const DAMAGED =
  /[ÂÃ][\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â€[\u0080-\u00bf™œš˜ž¦“”†‡]|[ÐÑ][\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹Œ‘’“”•–—˜™š›œžŸ][ÐÑ]/

export const damagedRows = ({ columns, rows }: SourceSample): number =>
  [columns, ...rows].filter((cells) =>
    cells.some((cell) => typeof cell === 'string' && DAMAGED.test(cell)),
  ).length
