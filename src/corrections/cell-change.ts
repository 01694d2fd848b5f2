// What a spreadsheet changes in a cell that no person touched. Promise kept here: `different` means that a person wrote it, as
// far as the two texts show.

import { isNumberFormatOf } from './number-formats.ts'
import { isTimeFormatOf } from './time-formats.ts'

/**
 * How two texts compare.
 * - `same`: equal, or written differently: `007` and `7`, `2026-01-31` and `31.01.26`, `true` and `WAHR`.
 * - `damaged`: the second is what is left of the first, and no person would write it: `1.23457E+19`, `MÃ¼ller`.
 * - `different`: anything else.
 */
export type CellChange = 'same' | 'damaged' | 'different'

/** Characters that a cell of a workbook can hold. */
const cellCharsMax = 32_767
/** Longer texts are no numbers or times that a spreadsheet would rewrite. */
const shortCharsMax = 400

/** How spreadsheets write truth values, by language. */
const truths = new Map([
  ...'true wahr vrai verdadero vero waar prawda verdadeiro sant sand sann tosi igaz pravda истина'
    .split(' ')
    .map((word) => [word, true] as const),
  ...'false falsch faux falso onwaar fałsz falskt falsk usann epätosi hamis nepravda ложь'
    .split(' ')
    .map((word) => [word, false] as const),
])

/** The truth value that a cell shows, or null. */
export const truthValue = (text: string): boolean | null =>
  truths.get(text.trim().toLowerCase()) ?? null

/** Without invisible differences: Unicode forms, kinds of line breaks and spaces, space at both ends. */
function visible(text: string): string {
  return text
    .normalize('NFC')
    .replaceAll('_x000D_', '')
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/[\u00A0\u202F\uFEFF]/g, ' ')
    .trim()
}

/** Whether `found` is `stored` in UTF-8, read as windows-1252 or a related encoding, in which 0x80 to 0x9F differ. */
function isMisread(stored: string, found: string): boolean {
  const bytes = Buffer.from(stored)
  if (bytes.length === stored.length || bytes.length !== found.length) return false
  return bytes.every((byte, index) => {
    const code = found.charCodeAt(index)
    return byte < 0x80 || byte > 0x9f ? code === byte : code >= 0x80
  })
}

/** @param stored the original text @param found the text that a spreadsheet wrote */
export function compareCells(stored: string, found: string): CellChange {
  if (stored === found) return 'same'
  const was = visible(stored)
  const is = visible(found)
  if (was === is) return 'same'
  if (found.length >= cellCharsMax && was.startsWith(is)) return 'damaged'
  if (isMisread(stored.replaceAll(/\r\n?/g, '\n'), found.replaceAll('\r\n', '\n'))) return 'damaged'
  if (was === '' || is === '' || was.length > shortCharsMax || is.length > shortCharsMax)
    return 'different'
  const truth = truthValue(was)
  if (truth !== null) return truth === truthValue(is) ? 'same' : 'different'
  const number = isNumberFormatOf(was, is)
  if (number !== 'different') return number
  if (isTimeFormatOf(was, is)) return 'same'
  // A typed apostrophe only marks a cell as text.
  return was.startsWith("'") && !is.startsWith("'") ? compareCells(was.slice(1), is) : 'different'
}
