// What the books of an import leave open, in sentences: of rows whose answer was lost.

import { countText, formatNumber } from '../core/format.ts'
import { keptValuesText, writtenOverText } from '../core/domain/spared.ts'
import { readBackDifferent } from './account.ts'
import type { BooksReport } from './run-report.ts'

export interface BooksNote {
  readonly text: string
  /** Whether a person has to know of it. */
  readonly warns: boolean
}

export function booksNotes(
  books: Pick<
    BooksReport,
    'in_doubt' | 'kept' | 'looked_up' | 'maybe_created' | 'replayed' | 'written_over'
  >,
): BooksNote[] {
  const { in_doubt: doubts, kept, looked_up: found, maybe_created: maybe, replayed } = books
  const { written_over: over } = books
  const again = `${countText(replayed, 'row was', 'rows were')} sent again after a lost answer`
  const off = `up to ${formatNumber(maybe)} of "updated" may have been created by this run`
  return [
    ...(kept === null ? [] : [{ text: `${keptValuesText(kept)}.`, warns: false }]),
    ...(over === null ? [] : [{ text: `${writtenOverText(over)}.`, warns: true }]),
    ...(found > 0
      ? [
          {
            text: `${countText(found, 'row was', 'rows were')} settled by a look-up after a lost answer: the record was found as it was sent${maybe > 0 && replayed === 0 ? `; ${off}` : ''}.`,
            warns: false,
          },
        ]
      : []),
    ...(replayed > 0
      ? [{ text: maybe > 0 ? `${again}: ${off}.` : `${again}.`, warns: false }]
      : []),
    ...(doubts > 0
      ? [
          {
            text: `${countText(doubts, 'row is', 'rows are')} in doubt: no answer came, and the service may hold ${doubts === 1 ? 'it' : 'them'}.`,
            warns: true,
          },
        ]
      : []),
  ]
}

/** Rows that were accepted and read back otherwise; null if there is none. */
export function readBackNote(books: BooksReport): { rows: number; text: string } | null {
  const different = readBackDifferent(books)
  const total = different.reduce((sum, { rows }) => sum + rows, 0)
  const parts = different.map(({ name, rows }) => `${formatNumber(rows)} ${name}`).join(', ')
  const text = `${countText(total, 'row')} ${total === 1 ? 'was' : 'were'} accepted and read back otherwise (${parts})`
  return total === 0 ? null : { rows: total, text }
}
