// Lines above the header, such as the title of a report, by the first bytes of a file. `init` uses it; a reader never does (decision 80).

import { sniffCsv } from './sniff.ts'

const LINES_MAX = 60
const DELIMITERS = [',', ';', '\t', '|']
/** So many of the lines from the header on have as many cells as it. */
const AGREEING_MIN = 0.7

const filled = (cells: readonly string[]): readonly string[] =>
  cells.map((cell) => cell.trim().replaceAll(/^"|"$/g, '')).filter((cell) => cell !== '')

/** A name has a letter, and no `@`; each is there once. */
const isHeader = (cells: readonly string[]): boolean =>
  filled(cells).length === cells.length &&
  new Set(filled(cells)).size === cells.length &&
  cells.every((cell) => /\p{L}/u.test(cell) && !cell.includes('@'))

const VALUE = /[\d@]/

/** Whether a column has numbers or addresses in each row, and a name without them: `Lovelace, Ada` is no header of `Meyer, Bob`. */
const differs = (header: readonly string[], rows: readonly (readonly string[])[]): boolean =>
  header.some((name, at) => !VALUE.test(name) && rows.every((cells) => VALUE.test(cells[at]!)))

/**
 * The number of the header's line, if there are lines above it: each of them has one filled cell at most, and the header is the first line
 * with as many cells as most lines have. Null: the first line is the header, as far as can be seen.
 */
export function headerBelow(head: Buffer): number | null {
  const lines = new TextDecoder(sniffCsv(head).encoding).decode(head).split(/\r\n|\r|\n/, LINES_MAX)
  const found = DELIMITERS.flatMap((delimiter) => {
    const rows = lines.map((line) => line.split(delimiter))
    const index = rows.findIndex((cells) => filled(cells).length > 1)
    if (index < 1 || rows.slice(0, index).every((cells) => filled(cells).length === 0)) return []
    const header = rows[index]!
    const below = rows.slice(index + 1).filter((cells) => filled(cells).length > 0)
    const agreeing = below.filter((cells) => cells.length === header.length)
    const fits = agreeing.length > 0 && agreeing.length >= below.length * AGREEING_MIN
    const isOne = fits && isHeader(header) && differs(header, agreeing)
    return isOne ? [{ line: index + 1, cells: header.length }] : []
  })
  return found.toSorted((one, other) => other.cells - one.cells)[0]?.line ?? null
}
