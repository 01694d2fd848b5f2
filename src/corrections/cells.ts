// Converts cells for a spreadsheet and back. Promise kept here: a text that a spreadsheet would run as a formula gets a leading
// apostrophe, and `unescapeFormula` removes exactly that.

import { canonicalDecimal, exactDouble } from '../core/decimal.ts'
import { isJsonObject, parseJson, writeJson, type Json } from '../core/json.ts'
import { LosslessNumber, numberFromDecimal } from '../core/lossless-number.ts'
import { truthValue } from './cell-change.ts'

const formulaStart = /^[\s\u200B\uFEFF]*[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/
/** Numbers and telephone numbers: nothing that a spreadsheet could run. */
const harmless = /^[+-]?[\d\s.,()/-]*$/
/** A telephone number that is also a sum: a spreadsheet would show `+49-170-1` as -122. */
const sum = /^[+-]\s*[\d.,()]+(?:\s*[/-]\s*[\d.,()]+)+\s*$/

/** Whether a spreadsheet would run it. If a text has apostrophes already, whether it would without them. */
function isFormula(text: string): boolean {
  const bare = text.replace(/^'+/, '')
  return formulaStart.test(bare) && (!harmless.test(bare) || sum.test(bare))
}

/** With one more apostrophe if a spreadsheet would run it as a formula. */
export const escapeFormula = (text: string): string => (isFormula(text) ? `'${text}` : text)

/** The original text that `escapeFormula` received. */
export const unescapeFormula = (text: string): string =>
  text.startsWith("'") && isFormula(text) ? text.slice(1) : text

/** A quoted CSV cell. `exact`: unchanged, even if a spreadsheet would run it. */
export const csvCell = (text: string, exact: boolean): string =>
  `"${(exact ? text : escapeFormula(text)).replaceAll('"', '""')}"`

/** The text of a cell of any type, without what a text file cannot hold. */
export function cellText(cell: Json | undefined): string {
  if (cell === null || cell === undefined) return ''
  const text = typeof cell === 'string' ? cell : writeJson(cell)
  return text.replaceAll(/\p{Surrogate}|\0/gu, '')
}

/**
 * Converts a changed text to a cell of the old cell's type: a number stays a number if the text is a plain decimal, JSON stays
 * JSON of that kind. Otherwise the text itself; the mapping decides later whether it can be used.
 */
export function restoreCellType(text: string, old: Json): Json {
  if (old === null || typeof old === 'string') return text
  if (text.trim() === '') return null
  if (typeof old === 'boolean') return truthValue(text) ?? text
  if (typeof old === 'number' || old instanceof LosslessNumber) {
    const decimal = canonicalDecimal(text.trim())
    if (decimal === null) return text
    // An exact decimal only if the old number was one; otherwise a double, if it keeps every digit.
    return old instanceof LosslessNumber
      ? numberFromDecimal(decimal)
      : (exactDouble(decimal) ?? text)
  }
  try {
    const value = parseJson(text)
    const isOfKind = Array.isArray(old) ? Array.isArray(value) : isJsonObject(value)
    return isOfKind ? value : text
  } catch {
    return text
  }
}
