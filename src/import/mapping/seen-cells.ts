// What the cells of a reading have in common that a person should know: values that look like words for nothing, and times that were cut.
// Promise kept here: no value is quoted but the words themselves.

import { formatNumber } from '../../core/format.ts'
import type { Json } from '../../core/json.ts'
import type { Coerced } from './coerce.ts'
import type { Column } from './columns.ts'

/** Words of databases, data frames and spreadsheets for no value, or for an error. */
const NO_VALUE = new Set([
  '#N/A',
  '#N/A N/A',
  '#NA',
  '#NV',
  '#REF!',
  '#VALUE!',
  '#DIV/0!',
  '#NAME?',
  '#NULL!',
  '#NUM!',
  '#SPILL!',
  '#CALC!',
  '#ERROR!',
  '#BEZUG!',
  '#WERT!',
  '\\N',
  'NULL',
  '<NA>',
  'NaN',
])
/** The first characters of these words: most cells are none after one look. */
const FIRST = new Set([...NO_VALUE].map((word) => word[0]))
/** `NULL` may be a name once. */
const NAMES = ['NULL', 'NaN']

export class SeenCells {
  readonly #words = new Map<string, number>()
  #cut = 0

  /** A cell that is sent. */
  see(column: Column, cell: Json, { isCut }: Extract<Coerced, { readonly ok: true }>): void {
    if (isCut === true) this.#cut++
    if (typeof cell !== 'string' || !FIRST.has(cell[0])) return
    const text = cell.trim()
    if (!NO_VALUE.has(text)) return
    const name = JSON.stringify([text, column.name])
    this.#words.set(name, (this.#words.get(name) ?? 0) + 1)
  }

  /** One line each. */
  texts(): readonly string[] {
    const words = [...this.#words].flatMap(([name, count]) => {
      const [word, column] = JSON.parse(name) as [string, string]
      if (NAMES.includes(word) && count === 1) return []
      const cells = count === 1 ? '1 cell' : `${formatNumber(count)} cells`
      return [
        `${cells} of column ${JSON.stringify(column)} ${count === 1 ? 'has' : 'have'} the text \`${word}\`, which is sent as it is; \`nulls: [${JSON.stringify(word)}]\` under \`from\` reads it as an empty cell`,
      ]
    })
    const times = this.#cut === 1 ? '1 time was' : `${formatNumber(this.#cut)} times were`
    return [
      ...words,
      ...(this.#cut === 0 ? [] : [`${times} cut to milliseconds, the finest that records keep`]),
    ]
  }
}
