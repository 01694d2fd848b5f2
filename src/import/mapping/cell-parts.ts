// What counts as nothing in a cell, and the values that one cell holds.

import type { Json } from '../../core/json.ts'

const BLANK = /^[\s\u200b\u2060\ufeff]*$/
const INVISIBLE = /[\s\u200b\u2060\ufeff]/

/** White space, and what cannot be seen at all: the zero width space, the word joiner and the byte order mark. */
export const isBlank = (text: string): boolean => BLANK.test(text)

/** Without what cannot be seen at both ends. A loop: an expression for the end would try each space inside the text as well. */
export function trimmed(text: string): string {
  let from = 0
  let to = text.length
  while (from < to && INVISIBLE.test(text[from]!)) from++
  while (to > from && INVISIBLE.test(text[to - 1]!)) to--
  return text.slice(from, to)
}

/** The values of a multi-value cell. */
export function partsOf(cell: Json, split: string | undefined): readonly Json[] {
  if (Array.isArray(cell)) return cell as readonly Json[]
  if (split === undefined || typeof cell !== 'string' || !cell.includes(split)) return [cell]
  return cell.split(split).filter((part) => !isBlank(part))
}
