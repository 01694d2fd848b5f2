// What a person should know of the cells that were mapped, although each of them has a value: what was left out of them, and keys that
// look like something else. Promise kept here: no cell is quoted.

import { countText } from '../../core/format.ts'
import type { Json } from '../../core/json.ts'
import type { Column } from './columns.ts'

const WHOLE = /^-?\d+\.0+$/
/** `4.91701E+11` and `4,917E11` are long numbers that lost digits; `12E3` is an id of its own. */
const SHORTENED = /^[+-]?(?:\d(?:[.,]\d+)?E\+\d+|\d[.,]\d+E\d+)$/i
const FRACTION = /^-?\d+\.\d*[1-9]\d*$/

export class RowNotes {
  readonly #unseen = new Map<string, number>()
  #wholeKeys = 0
  #shortenedKeys = 0
  #hasFractions = false

  /** A cell that is read, as it is given. */
  seen(
    { property: { name }, leavesOut }: Pick<Column, 'property' | 'leavesOut'>,
    cell: Json,
  ): Json {
    if (Array.isArray(cell) ? (cell as readonly Json[]).some(leavesOut) : leavesOut(cell))
      this.#unseen.set(name, (this.#unseen.get(name) ?? 0) + 1)
    return cell
  }

  /** The key of a row, as it is given. */
  seenKey(key: string): string {
    if (SHORTENED.test(key)) this.#shortenedKeys++
    else if (WHOLE.test(key)) this.#wholeKeys++
    else if (FRACTION.test(key)) this.#hasFractions = true
    return key
  }

  /** One line each. @param keyName the matching property */
  texts(keyName: string): string[] {
    const texts = [...this.#unseen].map(
      ([name, cells]) =>
        `${countText(cells, 'cell')} of ${name} ${cells === 1 ? 'has' : 'have'} characters that cannot be seen, such as a zero width space: ${cells === 1 ? 'it is' : 'they are'} read without them`,
    )
    if (this.#shortenedKeys > 0)
      texts.push(
        `${countText(this.#shortenedKeys, 'key')} of ${keyName} ${this.#shortenedKeys === 1 ? 'is' : 'are'} in a form to which spreadsheets shorten long numbers, such as \`4.91701E+11\`: the last digits are lost, and different keys may have become the same; export that column again, as text`,
      )
    // Versions such as 1.0, 1.1 and 2.0 are no numbers of a column with gaps.
    if (this.#wholeKeys > 0 && !this.#hasFractions)
      texts.push(
        `${countText(this.#wholeKeys, 'key')} of ${keyName} ${this.#wholeKeys === 1 ? 'ends' : 'end'} in \`.0\`, as programs write the whole numbers of a column with gaps: \`7.0\` is another key than \`7\`; \`pattern: '^(?<id>.*?)(?:\\.0+)?$'\` in the mapping of ${keyName} takes it away`,
      )
    return texts
  }
}
