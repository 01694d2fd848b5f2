// Yes and no as files write them.

import type { ColumnFacts } from './columns.ts'
import { FITS_MIN, type CellReading, type Trial } from './reading.ts'

/** Pairs of words; the first is what a mapping reads without a setting. */
const PAIRS = [
  ['true yes 1', 'false no 0'],
  ['ja wahr j', 'nein falsch'],
  ['y t on x checked ✓ ✔ ☑', 'n f off unchecked ✗ ✘ ☐ -'],
  ['oui vrai o', 'non faux'],
  ['si sí sì verdadero vero s', 'no falso'],
  ['sim verdadeiro', 'não nao falso'],
  ['waar', 'nee niet onwaar'],
  ['tak prawda', 'nie fałsz'],
  ['ano áno', 'ne nie'],
  ['sant', 'nej falskt falsk'],
  ['kyllä kylla', 'ei'],
  ['igen', 'nem'],
  ['da да', 'nu нет'],
  ['evet', 'hayır hayir'],
  ['はい', 'いいえ'],
  ['نعم', 'لا'],
  ['हाँ हां', 'नहीं'],
  ['是', '否'],
  ['active aktiv subscribed opted-in', 'inactive inaktiv unsubscribed opted-out'],
].map((pair) => pair.map((words) => words.split(' ')))
const [[TRUE, FALSE]] = PAIRS as [[string[], string[]]]
/** More different words than these are no yes and no. */
const WORDS_MAX = 8

const MIXED = 'its words of yes are of several kinds, such as O and X, one of which may mean no'

/** Whether no pair has all of these words of yes, besides those that are read without a setting. */
function isMixed(yes: readonly string[]): boolean {
  const own = yes.filter((word) => !TRUE.includes(word))
  return own.length > 1 && !PAIRS.some(([words]) => own.every((word) => words!.includes(word)))
}

export function booleanReading({ values }: ColumnFacts, trial: Trial): CellReading {
  const words = [...new Set([...values.keys()].map((value) => value.trim().toLowerCase()))]
  const known = (side: 0 | 1) =>
    words.filter((word) => PAIRS.some((pair) => pair[side]!.includes(word)))
  const [yes, no] = [known(0), known(1)]
  const other = (found: readonly string[], usual: readonly string[]) =>
    found.every((word) => usual.includes(word)) ? undefined : found
  const [ours, theirs] = [other(yes, TRUE), other(no, FALSE)]
  const settings = { ...(ours && { true: ours }), ...(theirs && { false: theirs }) }
  const fits = words.length > WORDS_MAX ? 0 : trial(settings)
  const what =
    no.length === 0 ? 'yes; an empty cell leaves it alone and does not mean no' : 'yes and no'
  return fits >= FITS_MIN
    ? { settings, fits, what, ...(isMixed(yes) && { doubt: MIXED }) }
    : { settings: {}, fits, what, problem: 'takes words of yes and no' }
}
