// Cells as a spreadsheet gets them, and as they come back. Promise kept here: what a spreadsheet would run as a formula is
// made text by a leading apostrophe, and `unescapeFormula` takes away exactly that.

import { canonicalDecimal, exactDouble } from '../core/decimal.ts'
import { isJsonObject, parseJson, writeJson, type Json } from '../core/json.ts'
import { LosslessNumber, numberFromDecimal } from '../core/lossless-number.ts'
import { truthValue } from './cell-change.ts'

const formulaStart = /^[\s\u200B\uFEFF]*[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/
/** Numbers and telephone numbers: nothing that a spreadsheet could call. */
const harmless = /^[+-]?[\d\s.,()/-]*$/
/** What looks like a telephone number and is a sum: a spreadsheet would show `+49-170-1` as -122. */
const sum = /^[+-]\s*[\d.,()]+(?:\s*[/-]\s*[\d.,()]+)+\s*$/

/** Whether a spreadsheet would run it. Of a text that has apostrophes already, whether it would without them. */
function isFormula(text: string): boolean {
  const bare = text.replace(/^'+/, '')
  return formulaStart.test(bare) && (!harmless.test(bare) || sum.test(bare))
}

/** With one more apostrophe, where a spreadsheet would run it as a formula. */
export const escapeFormula = (text: string): string => (isFormula(text) ? `'${text}` : text)

/** What `escapeFormula` was given. */
export const unescapeFormula = (text: string): string =>
  text.startsWith("'") && isFormula(text) ? text.slice(1) : text

/** A quoted CSV cell. `exact`: as it is, even if a spreadsheet would run it. */
export const csvCell = (text: string, exact: boolean): string =>
  `"${(exact ? text : escapeFormula(text)).replaceAll('"', '""')}"`

/** What is written of a cell of any shape; without what a file of text cannot hold. */
export function cellText(cell: Json | undefined): string {
  if (cell === null || cell === undefined) return ''
  const text = typeof cell === 'string' ? cell : writeJson(cell)
  return text.replaceAll(/\p{Surrogate}|\0/gu, '')
}

/**
 * A changed text as a cell of the shape that the old one had: a number stays a number where it is a plain decimal, JSON stays
 * JSON of that kind. Else the text itself; the mapping says later whether it can be used.
 */
export function restoreCellType(text: string, old: Json): Json {
  if (old === null || typeof old === 'string') return text
  if (text.trim() === '') return null
  if (typeof old === 'boolean') return truthValue(text) ?? text
  if (typeof old === 'number' || old instanceof LosslessNumber) {
    const decimal = canonicalDecimal(text.trim())
    if (decimal === null) return text
    // Without digits that a number would lose, unless it had such digits before.
    return old instanceof LosslessNumber
      ? numberFromDecimal(decimal)
      : (exactDouble(decimal) ?? text)
  }
  try {
    const value = parseJson(text)
    return Array.isArray(old)
      ? Array.isArray(value)
        ? value
        : text
      : isJsonObject(value)
        ? value
        : text
  } catch {
    return text
  }
}
