// Numbers as files write them, where the mapping says how: a separator of thousands, and a sign before or behind the digits. Promise
// kept here: both are taken away only where they have to be; a separator in another place is no separator.

import type { PropertyMapping } from '../../../config/index.ts'

type NumberForm = Pick<PropertyMapping, 'decimal' | 'thousands' | 'symbol'>

/** What may stand for a separator that is written as a space or an apostrophe. */
const SAME: Readonly<Record<string, string>> = { ' ': ' \\u00a0\\u202f', "'": "'\\u2019" }

/** Without its sign and its separators of thousands; null if it has separators in other places. */
export function bareNumber(cell: string, form: NumberForm): string | null {
  const { thousands, decimal = '.', symbol } = form
  const text = symbol === undefined ? cell.trim() : withoutSymbol(cell.trim(), symbol)
  if (thousands === undefined) return text
  const marks = new RegExp(`[${SAME[thousands] ?? `\\${thousands}`}]`, 'g')
  if (!marks.test(text)) return text
  const plain = text.replaceAll(marks, '_')
  const isGrouped = new RegExp(String.raw`^[+-]?\d{1,3}(?:_\d{3})+(?:[${decimal}]\d*)?$`).test(
    plain,
  )
  return isGrouped ? plain.replaceAll('_', '') : null
}

/** `-€5`, `€-5` and `5 €` are -5, -5 and 5. */
function withoutSymbol(text: string, symbol: string): string {
  const [, sign = '', rest = ''] = /^([+-]?)\s*(.*)$/s.exec(text)!
  const bare = rest.startsWith(symbol)
    ? rest.slice(symbol.length)
    : rest.endsWith(symbol)
      ? rest.slice(0, -symbol.length)
      : null
  return bare === null ? text : `${sign}${bare.trim()}`
}
