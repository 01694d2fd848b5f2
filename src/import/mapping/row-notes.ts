// What a person should know of the rows that were mapped, although each of their cells has a value: what was left out of them, and what
// looks like something else. Promise kept here: no cell is quoted but words for no value.

import { countText } from '../../core/format.ts'
import type { Json } from '../../core/json.ts'
import { noValue } from '../../core/no-value.ts'
import { isOfWords, isTotalsWord } from '../../core/totals.ts'
import type { Column } from './columns.ts'

const WHOLE = /^-?\d+\.0+$/
/** `4.91701E+11` and `4,917E11` are long numbers that lost digits; `12E3` is an id of its own. */
const SHORTENED = /^[+-]?(?:\d(?:[.,]\d+)?E\+\d+|\d[.,]\d+E\d+)$/i
const FRACTION = /^-?\d+\.\d*[1-9]\d*$/
/** No telephone number is longer. */
const PHONE_DIGITS_MAX = 15

const isLong = (cell: string): boolean =>
  cell.length > PHONE_DIGITS_MAX && cell.replaceAll(/\D/g, '').length > PHONE_DIGITS_MAX

/** One line each, in this order. @param name of a property, or the word and the column */
const NOTES = {
  unseen: (cells: number, name: string) =>
    `${countText(cells, 'cell')} of ${name} ${cells === 1 ? 'has' : 'have'} characters that cannot be seen, such as a zero width space: ${cells === 1 ? 'it is' : 'they are'} read without them`,
  shortened: (keys: number, name: string) =>
    `${countText(keys, 'key')} of ${name} ${keys === 1 ? 'is' : 'are'} in a form to which spreadsheets shorten long numbers, such as \`4.91701E+11\`: the last digits are lost, and different keys may have become the same; export that column again, as text`,
  whole: (keys: number, name: string) =>
    `${countText(keys, 'key')} of ${name} ${keys === 1 ? 'ends' : 'end'} in \`.0\`, as programs write the whole numbers of a column with gaps: \`7.0\` is another key than \`7\`; \`pattern: '^(?<id>.*?)(?:\\.0+)?$'\` in the mapping of ${name} takes it away`,
  long: (cells: number, name: string) =>
    `${countText(cells, 'cell')} of ${name} ${cells === 1 ? 'has' : 'have'} more digits than a telephone number, and may hold several: \`split\` makes a list of them, and \`phone:\` sets aside what is no number`,
  word: (cells: number, name: string) => {
    const [word, column] = JSON.parse(name) as [string, string]
    return noValue(word) === 'perhaps' && cells === 1
      ? null
      : `${countText(cells, 'cell')} of column ${JSON.stringify(column)} ${cells === 1 ? 'has' : 'have'} the text \`${word}\`, which is sent as it is; \`nulls: [${JSON.stringify(word)}]\` under \`from\` reads it as an empty cell`
  },
  cut: (times: number) =>
    `${countText(times, 'time')} ${times === 1 ? 'was' : 'were'} cut to milliseconds, the finest that records keep`,
}
type Note = keyof typeof NOTES

export class RowNotes {
  readonly #counts = new Map<Note, Map<string, number>>()
  #keys = 0
  #hasWords = false
  #hasFractions = false

  /** A cell that is sent, as it is given. */
  see(
    { property, name, leavesOut, isOnePhone }: SeenColumn,
    cell: Json,
    isCut: boolean | undefined,
  ): void {
    if (isCut === true) this.#add('cut', '')
    if (Array.isArray(cell) ? (cell as readonly Json[]).some(leavesOut) : leavesOut(cell))
      this.#add('unseen', property.name)
    if (typeof cell !== 'string') return
    if (isOnePhone && isLong(cell)) this.#add('long', property.name)
    if (noValue(cell) !== null) this.#add('word', JSON.stringify([cell.trim(), name]))
  }

  /**
   * The key of a row.
   * @param name the matching property
   * @returns whether the row is certainly a line of totals: it is a word for one, and the keys above it are no words
   */
  seeKey(key: string, name: string): boolean {
    if (isTotalsWord(key)) return this.#keys > 0 && !this.#hasWords
    this.#keys++
    this.#hasWords ||= isOfWords(key)
    if (SHORTENED.test(key)) this.#add('shortened', name)
    else if (WHOLE.test(key)) this.#add('whole', name)
    else if (FRACTION.test(key)) this.#hasFractions = true
    return false
  }

  texts(): string[] {
    return (Object.keys(NOTES) as Note[]).flatMap((note) => {
      // Versions such as 1.0, 1.1 and 2.0 are no numbers of a column with gaps.
      if (note === 'whole' && this.#hasFractions) return []
      return [...(this.#counts.get(note) ?? [])].flatMap(
        ([name, count]) => NOTES[note](count, name) ?? [],
      )
    })
  }

  #add(note: Note, name: string): void {
    const counts = this.#counts.get(note) ?? new Map<string, number>()
    this.#counts.set(note, counts.set(name, (counts.get(name) ?? 0) + 1))
  }
}

type SeenColumn = Pick<Column, 'name' | 'leavesOut' | 'isOnePhone'> & {
  readonly property: Pick<Column['property'], 'name'>
}
