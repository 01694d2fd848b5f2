// Amounts below zero as accounts write them: `30-` and `(30)`. A run reads them where the mapping says so.

import type { CellForm } from './cell-form.ts'
import type { ReadingSettings } from './reading.ts'

/** `50.-` is 50 in Switzerland: the mark before the dash stands for no cents. */
const TRAILING = /^([^-]*\d[^-.,]*)-([^\d-]*)$/
const PARENTHESES = /^([^\d()]*)\(([^()]*\d[^()]*)\)([^\d()]*)$/

/** How some of the numbers say that they are below zero; undefined: none does, or in more than one way. */
export function negativeOf(values: ReadonlyMap<string, number>): ReadingSettings['negative'] {
  const cells = [...values.keys()].map((value) => value.trim())
  const [isTrailing, isInParentheses] = [TRAILING, PARENTHESES].map((form) =>
    cells.some((cell) => form.test(cell)),
  )
  if (isTrailing === isInParentheses) return undefined
  return isTrailing ? 'trailing' : 'parentheses'
}

/** The number without what says so, for a look at its marks and its currency. */
export const unsigned: CellForm = {
  settings: {},
  change: (cell) => {
    const parts = TRAILING.exec(cell.trim()) ?? PARENTHESES.exec(cell.trim())
    return parts === null ? null : parts.slice(1).join('').trim()
  },
}

/** Whether all numbers are in parentheses, which may mean something else then. */
export const isAllInParentheses = (values: ReadonlyMap<string, number>): boolean =>
  [...values.keys()].every((value) => PARENTHESES.test(value.trim()))
