// The text of a cell without what is around it, and the values that one cell holds.

import type { Json } from '../../core/json.ts'
import { isBlank } from '../../core/look.ts'

/** White space, and what has no place at the end of a text: the zero width space, the word joiner and the byte order mark. */
const AROUND = /[\s\u200b\u2060\ufeff]/

/** Without white space at both ends. A loop: an expression for the end would try each space inside the text as well. */
export function trimmed(text: string): string {
  let from = 0
  let to = text.length
  while (from < to && AROUND.test(text[from]!)) from++
  while (to > from && AROUND.test(text[to - 1]!)) to--
  return text.slice(from, to)
}

/** The values of a multi-value cell. */
export function partsOf(cell: Json, split: string | undefined): readonly Json[] {
  if (Array.isArray(cell)) return cell as readonly Json[]
  if (split === undefined || typeof cell !== 'string' || !cell.includes(split)) return [cell]
  return cell.split(split).filter((part) => !isBlank(part))
}
